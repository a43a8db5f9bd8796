//! The journal as a chain: each line's hash is over the hash before it and the line itself. Whoever has
//! the file can write it anew from any line on; whoever noted a head beforehand sees that.

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, path::Path};

use super::{BUSY, JournalRow, StoreError, read};

/// What stands before the first line.
const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What was found of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Lines that carry a hash.
    pub entries: u64,
    /// Lines of an older Vigie, before the chain.
    pub before: u64,
    /// The hash of the last line; `None`: there is none yet.
    pub head: Option<String>,
    pub standing: Standing,
}

/// Whether all lines fit, or the first that does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "chain", rename_all = "snake_case")]
pub enum Standing {
    Whole,
    /// That line, the first that does not fit, is another than was written, or the one before it is.
    Changed {
        seq: u64,
    },
    /// From that line on some, or all, are gone.
    Missing {
        seq: u64,
    },
    /// Every line fits, and none has the head that was expected: it was written anew.
    OtherHead,
}

/// The journal of a database that is only read, whether a daemon runs or not.
pub struct Audit(Connection);

impl Audit {
    /// Opens the database in `folder`.
    ///
    /// # Errors
    /// When there is none, or it is of an older Vigie that was not started since.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let file = folder.join("vigie.db");
        let refused = |source| StoreError::Open { file: file.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&file, flags).map_err(refused)?;
        db.busy_timeout(BUSY).map_err(refused)?;
        Ok(Self(db))
    }

    /// Looks at every line. `expect`: a head that was noted before, which has to be one of them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify(&self, expect: Option<&str>) -> Result<Chain, StoreError> {
        verify(&self.0, expect)
    }

    /// The newest lines, at most so many, whose kinds begin with one of `prefixes`; newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn history(
        &self,
        before: u64,
        most: usize,
        prefixes: &[&str],
    ) -> Result<Vec<JournalRow>, StoreError> {
        read::history(&self.0, before, most, prefixes, None)
    }
}

/// Gives the line that was just written its hash, in the same transaction.
pub(super) fn seal(db: &Connection, seq: i64) -> Result<(), StoreError> {
    let before: Option<String> = db
        .prepare_cached("SELECT hash FROM event WHERE seq < ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([seq], |row| row.get::<_, Option<String>>(0))
        .optional()?
        .flatten();
    let hash = db
        .prepare_cached(&format!("{LINES} WHERE seq = ?1"))?
        .query_row([seq], |row| link(before.as_deref().unwrap_or(START), row))?;
    db.prepare_cached("UPDATE event SET hash = ?2 WHERE seq = ?1")?.execute(params![seq, hash])?;
    Ok(())
}

const LINES: &str = "SELECT seq, at, kind, session, gate, human, detail, hash FROM event";

/// The hash of a line behind that one: of both, with everything of the line as JSON.
fn link(before: &str, row: &rusqlite::Row<'_>) -> rusqlite::Result<String> {
    let text = |at: usize| row.get::<_, Option<String>>(at);
    let line = (
        row.get::<_, i64>(0)?,
        row.get::<_, i64>(1)?,
        row.get::<_, String>(2)?,
        text(3)?,
        text(4)?,
        text(5)?,
        row.get::<_, String>(6)?,
    );
    let line = serde_json::to_string(&line).unwrap_or_default();
    let digest =
        Sha256::new().chain_update(before).chain_update("\n").chain_update(line).finalize();
    Ok(digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}"); // a String takes everything
        hex
    }))
}

fn verify(db: &Connection, expect: Option<&str>) -> Result<Chain, StoreError> {
    let begins = db.query_row("SELECT begins FROM audit", [], |row| row.get(0)).optional()?;
    let begins: i64 = begins.unwrap_or(1); // whoever took that away took no line of the chain along
    let before: i64 =
        db.query_row("SELECT count(*) FROM event WHERE seq < ?1", [begins], |row| row.get(0))?;
    // SQLite's own count goes on where lines at the end are gone.
    let last: i64 = db
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'event'", [], |row| row.get(0))
        .optional()?
        .unwrap_or_default();
    let number = |seq: i64| u64::try_from(seq).unwrap_or_default();
    let mut chain =
        Chain { entries: 0, before: number(before), head: None, standing: Standing::Whole };
    let foreign: bool =
        db.query_row("SELECT EXISTS (SELECT 1 FROM event WHERE seq < 1)", [], |row| row.get(0))?;
    if foreign {
        chain.standing = Standing::Changed { seq: 0 }; // Vigie counts from 1
        return Ok(chain);
    }
    // Lines of an older Vigie have no hash: whoever moved the beginning moved it over lines that do.
    let moved: Option<i64> = db.query_row(
        "SELECT min(seq) FROM event WHERE seq < ?1 AND hash IS NOT NULL",
        [begins],
        |row| row.get(0),
    )?;
    if let Some(seq) = moved {
        chain.standing = Standing::Changed { seq: number(seq) };
        return Ok(chain);
    }
    let mut statement = db.prepare(&format!("{LINES} WHERE seq >= ?1 ORDER BY seq"))?;
    let mut rows = statement.query([begins])?;
    let mut next = begins;
    let mut met = expect.is_none();
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        if seq != next {
            chain.standing = Standing::Missing { seq: number(next) };
            return Ok(chain);
        }
        let hash: Option<String> = row.get(7)?;
        let right = link(chain.head.as_deref().unwrap_or(START), row)?;
        if hash.as_deref() != Some(right.as_str()) {
            chain.standing = Standing::Changed { seq: number(seq) };
            return Ok(chain);
        }
        met |= expect.is_some_and(|expect| right.eq_ignore_ascii_case(expect));
        chain.head = Some(right);
        chain.entries += 1;
        next = seq + 1;
    }
    if next <= last {
        chain.standing = Standing::Missing { seq: number(next) };
    } else if !met {
        chain.standing = Standing::OtherHead;
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use serde_json::json;
    use vigie_core::state::{JournalEntry, Row};

    async fn journal(store: &Store, count: u64) {
        let entry = |number| JournalEntry {
            at: vigie_core::Timestamp::UNIX_EPOCH,
            kind: "gate_answered".into(),
            session: None,
            gate: None,
            human: None,
            detail: json!({ "number": number }),
        };
        let rows = (0..count).map(|number| Row::Journal(entry(number))).collect();
        store.write(rows).await.await.unwrap().unwrap();
    }

    fn change(folder: &Path, sql: &str) {
        Connection::open(folder.join("vigie.db")).unwrap().execute_batch(sql).unwrap();
    }

    fn standing(folder: &Path, expect: Option<&str>) -> Chain {
        Audit::open(folder).unwrap().verify(expect).unwrap()
    }

    #[tokio::test]
    async fn the_chain_is_whole_while_it_grows_and_once_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let none = standing(folder.path(), None);
        assert_eq!((none.entries, none.head, none.standing), (0, None, Standing::Whole));
        journal(&store, 3).await;
        let first = standing(folder.path(), None);
        assert_eq!((first.entries, &first.standing), (3, &Standing::Whole));
        journal(&store, 2).await;
        drop(store);
        let head = first.head.unwrap();
        let later = standing(folder.path(), Some(&head.to_uppercase()));
        assert_eq!((later.entries, later.standing), (5, Standing::Whole));
        assert_ne!(later.head.unwrap(), head);
        let other = standing(folder.path(), Some(&START.replace('0', "a")));
        assert_eq!(other.standing, Standing::OtherHead);
        let again = Store::open(folder.path()).unwrap();
        journal(&again, 1).await;
        assert_eq!(standing(folder.path(), Some(&head)).entries, 6);
    }

    #[tokio::test]
    async fn whatever_is_changed_or_gone_is_named() {
        for (sql, found) in [
            ("UPDATE event SET detail = '{}' WHERE seq = 3", Standing::Changed { seq: 3 }),
            ("UPDATE event SET human = 'mate' WHERE seq = 1", Standing::Changed { seq: 1 }),
            ("UPDATE event SET at = 1 WHERE seq = 5", Standing::Changed { seq: 5 }),
            ("UPDATE event SET hash = NULL WHERE seq = 2", Standing::Changed { seq: 2 }),
            (
                "UPDATE audit SET begins = 1000; UPDATE event SET human = 'mate' WHERE seq = 4",
                Standing::Changed { seq: 1 },
            ),
            ("DELETE FROM event WHERE seq = 2", Standing::Missing { seq: 2 }),
            ("DELETE FROM event WHERE seq = 5", Standing::Missing { seq: 5 }),
            ("DELETE FROM event", Standing::Missing { seq: 1 }),
            (
                "UPDATE event SET seq = 99 WHERE seq = 2; UPDATE event SET seq = 2 WHERE seq = 3; UPDATE event SET seq = 3 WHERE seq = 99",
                Standing::Changed { seq: 2 },
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).unwrap();
            journal(&store, 5).await;
            drop(store);
            change(folder.path(), sql);
            assert_eq!(standing(folder.path(), None).standing, found, "{sql}");
        }
    }

    #[tokio::test]
    async fn a_chain_that_was_written_anew_has_another_head() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        journal(&store, 5).await;
        drop(store);
        let noted = standing(folder.path(), None).head.unwrap();
        let db = Connection::open(folder.path().join("vigie.db")).unwrap();
        db.execute_batch("UPDATE event SET detail = '{}' WHERE seq = 3").unwrap();
        for seq in 3..=5 {
            seal(&db, seq).unwrap();
        }
        assert_eq!(standing(folder.path(), None).standing, Standing::Whole);
        assert_eq!(standing(folder.path(), Some(&noted)).standing, Standing::OtherHead);
    }

    #[tokio::test]
    async fn lines_of_an_older_database_stand_before_the_chain() {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path()).unwrap());
        change(
            folder.path(),
            "INSERT INTO event (at, kind, detail) VALUES (1, 'old', '{}'), (2, 'old', '{}');
             UPDATE audit SET begins = (SELECT max(seq) + 1 FROM event)",
        );
        let store = Store::open(folder.path()).unwrap();
        journal(&store, 2).await;
        let chain = standing(folder.path(), None);
        assert_eq!((chain.before, chain.entries, chain.standing), (2, 2, Standing::Whole));
    }
}
