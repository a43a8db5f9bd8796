//! The bridge's own file: what Telegram told and the daemon has not taken yet, and what must be
//! known of what was sent. One SQLite file, one thread that owns the connection, and plain blocking
//! functions that run there.

pub(crate) mod heard;
mod open;
mod said;
pub(crate) mod topics;

pub use heard::SetAside;
pub use open::OpenError;
pub(crate) use said::{Begun, Openness, Receipt, SeenTopic};

use rusqlite::Connection;
use std::{path::Path, thread, time::Duration};
use tokio::sync::{mpsc, oneshot};
use vigie_core::Timestamp;

/// Callers wait for their answer anyway, so a longer queue would only hide a slow disk.
const MAILBOX: usize = 32;

/// A disk that needs longer than this is in trouble, and whoever waits should hear so.
const PATIENCE: Duration = Duration::from_secs(20);

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The handle to the thread that owns the connection.
#[derive(Clone)]
pub(crate) struct Store {
    jobs: mpsc::Sender<Job>,
}

/// The disk failed us; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the Telegram bridge's database failed: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error("the Telegram bridge's database did not answer within {} s", PATIENCE.as_secs())]
    Slow,
    #[error("the Telegram bridge's database is closed")]
    Closed,
}

impl Store {
    /// Opens or makes the file, mode 0600, brings its tables up to date, and forgets what is too old
    /// to matter at `now`.
    pub(crate) fn open(file: &Path, now: Timestamp) -> Result<Self, OpenError> {
        let mut db = open::open(file)?;
        said::prune(&db, now).map_err(|source| OpenError::Sql { file: file.into(), source })?;
        let (jobs, mut todo) = mpsc::channel::<Job>(MAILBOX);
        let body = move || {
            while let Some(job) = todo.blocking_recv() {
                job(&mut db);
            }
        };
        thread::Builder::new()
            .name("telegram-db".into())
            .spawn(body)
            .map_err(|source| OpenError::Thread { source })?;
        Ok(Self { jobs })
    }

    /// Runs `job` on the thread that owns the connection. A job once taken runs to its end even if
    /// its caller is gone, so no transaction is torn.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |db| {
            let _ = answer.send(job(db)); // the caller may have given up waiting
        });
        let work = async {
            self.jobs.send(job).await.map_err(|_| StoreError::Closed)?;
            answered.await.map_err(|_| StoreError::Closed)
        };
        let done = tokio::time::timeout(PATIENCE, work).await.map_err(|_| StoreError::Slow)??;
        Ok(done?)
    }
}
