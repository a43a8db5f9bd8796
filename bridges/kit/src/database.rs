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
use tracing::warn;

use crate::pause;

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

impl OpenError {
    /// Only a file that is no database is said to be none: of a full disk nothing is to be moved away.
    fn of(source: rusqlite::Error, file: &Path, owner: Owner) -> Self {
        let file = file.into();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::NoDatabase { file, owner: owner.title, source }
            }
            Some(_) | None => Self::Sql { file, source },
        }
    }
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
        let done = first(&mut db).map_err(|source| OpenError::of(source, file, owner))?;
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

    /// As [`Self::sql`], as often as it takes: for what must be on disk before anything else is done.
    pub async fn written<T: Send + 'static>(
        &self,
        job: impl Fn(&mut Connection) -> rusqlite::Result<T> + Clone + Send + 'static,
    ) -> T {
        let mut failures = 0_u32;
        loop {
            match self.sql(job.clone()).await {
                Ok(done) => return done,
                Err(error) => warn!(%error, bridge = self.title, "cannot write; it is tried again"),
            }
            tokio::time::sleep(pause::after(failures)).await;
            failures = failures.saturating_add(1);
        }
    }
}

/// The connection alone, with its tables up to date, for whoever looks at a file by themselves.
///
/// # Errors
/// When the file cannot be used.
pub fn connect(file: &Path, owner: Owner) -> Result<Connection, OpenError> {
    only_ours(file).map_err(|source| OpenError::File { file: file.into(), source })?;
    let wrong = |source| OpenError::of(source, file, owner);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };
    use tempfile::TempDir;

    const BEFORE: Owner = Owner {
        title: "the harbour bridge",
        thread: "harbour-db",
        migrations: &["create table berth (name text not null) strict;"],
    };
    const NOW: Owner = Owner {
        migrations: &[BEFORE.migrations[0], "alter table berth add column depth int;"],
        ..BEFORE
    };

    fn file(folder: &TempDir) -> PathBuf {
        folder.path().join("harbour.db")
    }

    fn open(folder: &TempDir) -> Database {
        Database::open(&file(folder), NOW, |_| Ok(())).unwrap().0
    }

    fn berths(db: &mut Connection) -> rusqlite::Result<i64> {
        db.query_row("select count(*) from berth", [], |row| row.get(0))
    }

    fn moor(db: &mut Connection) -> rusqlite::Result<()> {
        db.execute("insert into berth (name) values ('north quay')", []).map(drop)
    }

    #[tokio::test]
    async fn the_file_is_ours_alone_and_durable() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(file(&folder), "").unwrap();
        fs::set_permissions(file(&folder), Permissions::from_mode(0o644)).unwrap();
        let db = open(&folder);
        let mode = |name: &str| {
            fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode("harbour.db"), mode("harbour.db-wal")), (0o600, 0o600));
        let ask = |db: &mut Connection| {
            db.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))
        };
        assert_eq!(db.sql(ask).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_file_of_before_keeps_its_rows_and_gets_the_new_columns() {
        let folder = tempfile::tempdir().unwrap();
        moor(&mut connect(&file(&folder), BEFORE).unwrap()).unwrap();
        let (db, found) = Database::open(&file(&folder), NOW, berths).unwrap();
        assert_eq!(found, 1, "what runs first sees the rows");
        let deep = |db: &mut Connection| db.execute("update berth set depth = 7", []);
        assert_eq!(db.sql(deep).await.unwrap(), 1);
        drop(db);
        assert_eq!(Database::open(&file(&folder), NOW, berths).unwrap().1, 1, "and once only");
    }

    #[test]
    fn a_file_of_a_newer_vigie_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        connect(&file(&folder), NOW).unwrap();
        let refused = connect(&file(&folder), BEFORE).unwrap_err();
        assert!(matches!(refused, OpenError::Newer { found: 2, known: 1, .. }), "{refused}");
        connect(&file(&folder), NOW).unwrap();
    }

    #[test]
    fn what_is_no_database_is_said_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let list = "a shopping list, and certainly no database\n".repeat(200);
        fs::write(file(&folder), &list).unwrap();
        let refused = connect(&file(&folder), NOW).unwrap_err();
        assert!(refused.to_string().contains("is no database of the harbour bridge; move it away"));
        assert_eq!(fs::read_to_string(file(&folder)).unwrap(), list);
    }

    #[test]
    fn a_database_in_trouble_is_not_called_none() {
        let folder = tempfile::tempdir().unwrap();
        let full = |db: &mut Connection| -> rusqlite::Result<()> {
            db.pragma_update(None, "max_page_count", 1)?;
            db.execute_batch("create table crate (x); insert into crate values (zeroblob(1e5))")
        };
        let refused = Database::open(&file(&folder), NOW, full).unwrap_err();
        assert!(refused.to_string().contains("nothing is wrong with it"), "{refused}");
        let nowhere = folder.path().join("no such folder").join("harbour.db");
        assert!(matches!(connect(&nowhere, NOW).unwrap_err(), OpenError::File { .. }));
    }

    #[derive(Debug, PartialEq, Eq)]
    enum Moored {
        Full,
        Broken,
    }

    impl From<DatabaseError> for Moored {
        fn from(_: DatabaseError) -> Self {
            Self::Broken
        }
    }

    #[tokio::test]
    async fn a_job_says_in_its_own_words_why_it_failed() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder);
        assert_eq!(db.run(|_| Err::<(), _>(Moored::Full)).await, Err(Moored::Full));
        assert_eq!(db.run(|db| berths(db).map_err(DatabaseError::from)).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn what_must_be_written_is_tried_until_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder);
        let tries = Arc::new(AtomicU32::new(0));
        let second = move |db: &mut Connection| match tries.fetch_add(1, Ordering::Relaxed) {
            0 => db.execute_batch("this is no SQL"),
            _ => moor(db),
        };
        db.written(second).await;
        assert_eq!(db.sql(berths).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_job_whose_caller_is_gone_runs_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let job = db.sql(move |db| {
            let _ = held.recv();
            moor(db)
        });
        // As long as the job is held it has no answer, so this always gives up.
        assert!(tokio::time::timeout(Duration::from_millis(1), job).await.is_err());
        drop(release);
        assert_eq!(db.sql(berths).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_job_that_panics_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder);
        let failed = db.sql(|_| -> rusqlite::Result<()> { panic!("a mistake") }).await.unwrap_err();
        assert_eq!(failed.to_string(), "the database of the harbour bridge is closed");
    }
}
