use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};
use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Numbered, only ever added.
const MIGRATIONS: [&str; 2] =
    [include_str!("migrations/001_log.sql"), include_str!("migrations/002_told.sql")];

/// How long another process may hold the file, such as a copy being made of it.
const BUSY: Duration = Duration::from_secs(5);

/// How long a handed-in update is remembered, so that a phone which was switched off for weeks
/// and sends it again does not send it twice.
const REMEMBERED_MS: i64 = 90 * 24 * 3600 * 1000;

/// Why the phone page's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("could not open {}; look whether its folder exists and is yours", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{} is no database of the phone page; move it away to begin with an empty one", file.display())]
    NoDatabase { file: PathBuf, source: rusqlite::Error },
    #[error("{} cannot be used now, and nothing is wrong with it: {source}; look at its disk", file.display())]
    Sql { file: PathBuf, source: rusqlite::Error },
    #[error(
        "{} was written by a newer Vigie (version {found}, this one knows {known}); use that one", file.display()
    )]
    Newer { file: PathBuf, found: usize, known: usize },
    #[error("could not start the phone page's database thread")]
    Thread { source: io::Error },
}

/// The connection, and the log's own name.
pub(super) fn open(file: &Path, now: i64) -> Result<(Connection, String), OpenError> {
    only_ours(file).map_err(|source| OpenError::File { file: file.into(), source })?;
    let wrong = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::PermissionDenied,
        ) => OpenError::Sql { file: file.into(), source },
        Some(_) | None => OpenError::NoDatabase { file: file.into(), source },
    };
    let mut db = Connection::open(file).map_err(wrong)?;
    prepare(&db).map_err(wrong)?;
    let found = migrate(&mut db).map_err(wrong)?;
    if found > MIGRATIONS.len() {
        return Err(OpenError::Newer { file: file.into(), found, known: MIGRATIONS.len() });
    }
    let forget = "delete from heard where state = 'accepted' and created < ?1";
    db.execute(forget, params![now - REMEMBERED_MS]).map_err(wrong)?;
    let epoch = db.query_row("select epoch from log", [], |row| row.get(0)).map_err(wrong)?;
    Ok((db, epoch))
}

/// SQLite gives the files beside it the same mode.
fn only_ours(file: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(file)?;
    fs::set_permissions(file, Permissions::from_mode(0o600))
}

fn prepare(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY)?;
    db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "full")?;
    db.pragma_update(None, "trusted_schema", false)
}

/// Returns the version the file has in the end.
fn migrate(db: &mut Connection) -> rusqlite::Result<usize> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: usize = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in MIGRATIONS.iter().skip(found) {
        tx.execute_batch(migration)?;
    }
    let version = found.max(MIGRATIONS.len());
    tx.pragma_update(None, "user_version", version)?;
    tx.commit()?;
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_ours_alone_and_durable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phone.db");
        let (db, epoch) = open(&file, 0).unwrap();
        let mode = |name: &str| {
            fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode("phone.db"), mode("phone.db-wal")), (0o600, 0o600));
        let ask = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(ask("synchronous"), 2);
        drop(db);
        assert_eq!(open(&file, 0).unwrap().1, epoch, "a log keeps its name");
    }

    #[test]
    fn what_sessions_were_told_before_shows_in_their_threads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phone.db");
        let old = Connection::open(&file).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        let rows = r#"
            insert into thread values (1, '{"session":"docs"}', 0, 1), (2, '{"session":"docs"}', 0, 2);
            insert into message (thread, kind, body, mark, card, loud, created, seq) values
                (0, 'text', 'a', '{"mark":"stored","targets":["docs","gone"]}', null, 1, 0, 3),
                (2, 'text', 'b', '{"mark":"taken","targets":["docs"]}', null, 1, 0, 4),
                (0, 'text', 'c', '{"mark":"kept","why":"nobody"}', null, 1, 0, 5),
                (0, 'post', '{"body":{"body":"card","opened":"2026-11-29T08:58:00Z"}}', null, 'decided', 1, 0, 6);
            pragma user_version = 1;"#;
        old.execute_batch(rows).unwrap();
        drop(old);
        let (db, _) = open(&file, 0).unwrap();
        let told = "select group_concat(message || ' in ' || thread) from told";
        let told: String = db.query_row(told, [], |row| row.get(0)).unwrap();
        assert_eq!(told, "1 in 2", "once, in the newest thread of that name");
        let until = "select json_extract(body, '$.body.until') from message where card is not null";
        let until: String = db.query_row(until, [], |row| row.get(0)).unwrap();
        assert_eq!(until, "2026-11-29T08:58:00Z");
    }

    #[test]
    fn a_file_of_a_newer_vigie_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phone.db");
        open(&file, 0).unwrap().0.pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(open(&file, 0), Err(OpenError::Newer { found: 99, .. })));
    }

    #[test]
    fn a_file_that_is_no_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phone.db");
        fs::write(&file, "a shopping list, and certainly no database\n".repeat(200)).unwrap();
        assert!(matches!(open(&file, 0), Err(OpenError::NoDatabase { .. })));
    }
}
