//! The log on disk: one SQLite file, one thread that owns the connection, and plain blocking
//! functions that run there.

mod act;
mod hear;
mod read;
mod row;
mod say;

pub(crate) use act::{ActError, Done, Edit, NewText, Tap, again, edit, mark_read, tap, text};
pub(crate) use hear::{Outcome, Refused, accepted, next_waiting, outcome, refused};
pub(crate) use read::{
    Changes, Continue, Page, Snapshot, Summary, changes, document, last_seq, page, snapshot,
};
pub(crate) use row::{Content, MessageRow};
pub(crate) use say::{SayFailed, say};

use rusqlite::{Connection, params};
use std::path::Path;
use vigie_bridge_kit::database::{Database, DatabaseError, OpenError, Owner};

use crate::ids::Ids;

const OWNER: Owner = Owner {
    title: "the phone page",
    thread: "phone-store",
    migrations: &[include_str!("migrations/001_log.sql"), include_str!("migrations/002_told.sql")],
};

/// How long a handed-in update is remembered, so that a phone which was switched off for weeks
/// and sends it again does not send it twice.
const REMEMBERED_MS: i64 = 90 * 24 * 3600 * 1000;

/// The handle to the log.
#[derive(Clone)]
pub(crate) struct Store {
    db: Database,
    ids: Ids,
}

/// The disk or a row on it failed us; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the phone page's database holds a row that does not read: {table}.{column}, id {id}")]
    Row { table: &'static str, column: &'static str, id: i64, source: serde_json::Error },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Store {
    /// Opens or makes the file and forgets what is too old to matter at `now`.
    pub(crate) fn open(file: &Path, now: i64) -> Result<Self, OpenError> {
        let (db, epoch) = Database::open(file, OWNER, |db| {
            forget(db, now)?;
            epoch(db)
        })?;
        Ok(Self { db, ids: Ids::new(&epoch) })
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Runs `work` where the connection is; what it fails with is its own.
    pub(crate) async fn run<T, E>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.db.run(move |db| Ok(work(db))).await.map_err(StoreError::Database)?
    }
}

fn forget(db: &Connection, now: i64) -> rusqlite::Result<()> {
    let old = "delete from heard where state = 'accepted' and created < ?1";
    db.execute(old, params![now - REMEMBERED_MS]).map(drop)
}

/// The log's own name.
fn epoch(db: &Connection) -> rusqlite::Result<String> {
    db.query_row("select epoch from log", [], |row| row.get(0))
}

/// Takes the next change's number.
fn next_seq(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("update log set seq = seq + 1 returning seq", [], |row| row.get(0))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("our own types have string keys and cannot fail")
}

fn parse<T: serde::de::DeserializeOwned>(
    text: &str,
    (table, column, id): (&'static str, &'static str, i64),
) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Row { table, column, id, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_bridge_kit::database::connect;

    #[test]
    fn a_log_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phone.db");
        let first = epoch(&connect(&file, OWNER).unwrap()).unwrap();
        let again = epoch(&connect(&file, OWNER).unwrap()).unwrap();
        assert_eq!(first, again);
    }

    #[test]
    fn what_was_handed_in_long_ago_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let db = connect(&folder.path().join("phone.db"), OWNER).unwrap();
        let rows = "insert into heard (person, client, message, heard, state, created) values
            ('ines', 'a', 1, '{}', 'accepted', 0), ('ines', 'b', 2, '{}', 'waiting', 0),
            ('ines', 'c', 3, '{}', 'accepted', 1)";
        db.execute_batch(rows).unwrap();
        forget(&db, REMEMBERED_MS + 1).unwrap();
        let kept = "select group_concat(client) from heard";
        let kept: String = db.query_row(kept, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "b,c", "what waits is never forgotten");
    }

    #[test]
    fn what_sessions_were_told_before_shows_in_their_threads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phone.db");
        let before = Owner { migrations: &OWNER.migrations[..1], ..OWNER };
        let rows = r#"
            insert into thread values (1, '{"session":"docs"}', 0, 1), (2, '{"session":"docs"}', 0, 2);
            insert into message (thread, kind, body, mark, card, loud, created, seq) values
                (0, 'text', 'a', '{"mark":"stored","targets":["docs","gone"]}', null, 1, 0, 3),
                (2, 'text', 'b', '{"mark":"taken","targets":["docs"]}', null, 1, 0, 4),
                (0, 'text', 'c', '{"mark":"kept","why":"nobody"}', null, 1, 0, 5),
                (0, 'post', '{"body":{"body":"card","opened":"2026-11-29T08:58:00Z"}}', null, 'decided', 1, 0, 6);"#;
        connect(&file, before).unwrap().execute_batch(rows).unwrap();
        let db = connect(&file, OWNER).unwrap();
        let told = "select group_concat(message || ' in ' || thread) from told";
        let told: String = db.query_row(told, [], |row| row.get(0)).unwrap();
        assert_eq!(told, "1 in 2", "once, in the newest thread of that name");
        let until = "select json_extract(body, '$.body.until') from message where card is not null";
        let until: String = db.query_row(until, [], |row| row.get(0)).unwrap();
        assert_eq!(until, "2026-11-29T08:58:00Z");
    }
}
