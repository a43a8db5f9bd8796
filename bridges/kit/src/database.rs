//! A bridge's own file: one SQLite database, one thread that owns the connection, and plain blocking
//! functions that run there.

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// Callers wait for their answer anyway, so a longer queue would only hide a slow disk.
const MAILBOX: usize = 32;

/// A disk that needs longer than this is in trouble, and whoever waits should hear so.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long another process may hold the file, such as a copy being made of it.
const BUSY: Duration = Duration::from_secs(5);

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Whose file it is.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// For a person: "the Telegram bridge".
    pub title: &'static str,
    /// Of the thread: at most 15 bytes.
    pub thread: &'static str,
    /// Numbered from 1, only ever added.
    pub migrations: &'static [&'static str],
}

/// The handle to the thread that owns the connection.
#[derive(Clone, Debug)]
pub struct Database {
    jobs: mpsc::Sender<Job>,
    title: &'static str,
}

/// The disk failed us; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("the database failed: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error("the database of {owner} did not answer within {} s", PATIENCE.as_secs())]
    Slow { owner: &'static str },
    #[error("the database of {owner} is closed")]
    Closed { owner: &'static str },
}

/// Why a bridge's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("could not open {}; look whether its folder exists and is yours", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{} is no database of {owner}; move it away to begin with an empty one", file.display())]
    NoDatabase { file: PathBuf, owner: &'static str, source: rusqlite::Error },
    #[error("{} cannot be used now, and nothing is wrong with it: {source}; look at its disk", file.display())]
    Sql { file: PathBuf, source: rusqlite::Error },
    #[error("{} was written by a newer Vigie (version {found}, this one knows {known}); use that one", file.display())]
    Newer { file: PathBuf, found: usize, known: usize },
    #[error("could not start the database thread of {owner}")]
    Thread { owner: &'static str, source: io::Error },
}

impl Database {
    /// Opens or makes the file, mode 0600, brings its tables up to date, and runs `first` on it
    /// before anybody else does.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn open<T>(
        file: &Path,
        owner: Owner,
        first: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<(Self, T), OpenError> {
        let mut db = connect(file, owner)?;
        let done = first(&mut db).map_err(|source| OpenError::Sql { file: file.into(), source })?;
        let (jobs, mut todo) = mpsc::channel::<Job>(MAILBOX);
        let body = move || {
            while let Some(job) = todo.blocking_recv() {
                job(&mut db);
            }
        };
        thread::Builder::new()
            .name(owner.thread.into())
            .spawn(body)
            .map_err(|source| OpenError::Thread { owner: owner.title, source })?;
        Ok((Self { jobs, title: owner.title }, done))
    }

    /// Runs `job` on the thread that owns the connection. A job once taken runs to its end even if
    /// its caller is gone, so no transaction is torn.
    ///
    /// # Errors
    /// Those of the job, and when the disk gives no answer.
    pub async fn run<T, E>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |db| {
            let _ = answer.send(job(db)); // the caller may have given up waiting
        });
        let owner = self.title;
        let work = async {
            self.jobs.send(job).await.map_err(|_| DatabaseError::Closed { owner })?;
            answered.await.map_err(|_| DatabaseError::Closed { owner })
        };
        let done = tokio::time::timeout(PATIENCE, work).await;
        done.map_err(|_| DatabaseError::Slow { owner })??
    }

    /// As [`Self::run`], for jobs that can fail by the database alone.
    ///
    /// # Errors
    /// When the disk fails or gives no answer.
    pub async fn sql<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        self.run(move |db| job(db).map_err(DatabaseError::from)).await
    }
}

fn connect(file: &Path, owner: Owner) -> Result<Connection, OpenError> {
    only_ours(file).map_err(|source| OpenError::File { file: file.into(), source })?;
    let wrong = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::NoDatabase { file: file.into(), owner: owner.title, source }
        }
        Some(_) | None => OpenError::Sql { file: file.into(), source },
    };
    let mut db = Connection::open(file).map_err(wrong)?;
    prepare(&db).map_err(wrong)?;
    let found = migrate(&mut db, owner.migrations).map_err(wrong)?;
    let known = owner.migrations.len();
    if found > known {
        return Err(OpenError::Newer { file: file.into(), found, known });
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
fn migrate(db: &mut Connection, migrations: &[&str]) -> rusqlite::Result<usize> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: usize = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in migrations.iter().skip(found) {
        tx.execute_batch(migration)?;
    }
    let version = found.max(migrations.len());
    tx.pragma_update(None, "user_version", version)?;
    tx.commit()?;
    Ok(version)
}
