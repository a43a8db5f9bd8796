use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// Numbered, only ever added.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/001.sql")];

/// How long another process may hold the file, such as a copy being made of it.
const BUSY: Duration = Duration::from_secs(5);

/// Why the bridge's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("could not open {}; look whether its folder exists and is yours", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{} is no database of the Telegram bridge; move it away to begin with an empty one", file.display())]
    NoDatabase { file: PathBuf, source: rusqlite::Error },
    #[error("{} cannot be used now, and nothing is wrong with it: {source}; look at its disk", file.display())]
    Sql { file: PathBuf, source: rusqlite::Error },
    #[error("{} was written by a newer Vigie (version {found}, this one knows {known}); use that one", file.display())]
    Newer { file: PathBuf, found: usize, known: usize },
    #[error("could not start the Telegram bridge's database thread")]
    Thread { source: io::Error },
}

pub(super) fn open(file: &Path) -> Result<Connection, OpenError> {
    only_ours(file).map_err(|source| OpenError::File { file: file.into(), source })?;
    let wrong = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::NoDatabase { file: file.into(), source }
        }
        Some(_) | None => OpenError::Sql { file: file.into(), source },
    };
    let mut db = Connection::open(file).map_err(wrong)?;
    prepare(&db).map_err(wrong)?;
    let found = migrate(&mut db).map_err(wrong)?;
    if found > MIGRATIONS.len() {
        return Err(OpenError::Newer { file: file.into(), found, known: MIGRATIONS.len() });
    }
    Ok(db)
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
