//! The log on disk: one SQLite file, one thread that owns the connection, and plain blocking
//! functions that run there.

mod act;
mod hear;
mod open;
mod read;
mod row;
mod say;

pub(crate) use act::{ActError, Done, Edit, NewText, Tap, again, edit, mark_read, tap, text};
pub(crate) use hear::{Outcome, Refused, accepted, next_waiting, outcome, refused};
pub use open::OpenError;
pub(crate) use read::{
    Changes, Continue, Page, Snapshot, Summary, changes, document, last_seq, page, snapshot,
};
pub(crate) use row::{Content, MessageRow};
pub(crate) use say::{SayFailed, say};

use rusqlite::Connection;
use std::{path::Path, time::Duration};
use tokio::sync::{mpsc, oneshot};

use crate::ids::Ids;

/// Callers wait for their answer anyway, so a longer queue would only hide a slow disk.
const MAILBOX: usize = 32;

/// A disk that needs longer than this is in trouble, and whoever waits should hear so.
const PATIENCE: Duration = Duration::from_secs(20);

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The handle to the thread that owns the connection.
#[derive(Clone)]
pub(crate) struct Store {
    jobs: mpsc::Sender<Job>,
    ids: Ids,
}

/// The disk or a row on it failed us; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the phone page's database failed: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error("the phone page's database holds a row that does not read: {table}.{column}, id {id}")]
    Row { table: &'static str, column: &'static str, id: i64, source: serde_json::Error },
    #[error("the phone page's database did not answer within {} s", PATIENCE.as_secs())]
    Slow,
    #[error("the phone page's database is closed")]
    Closed,
}

impl Store {
    /// Opens or makes the file, mode 0600, and brings its tables up to date.
    pub(crate) fn open(file: &Path, now: i64) -> Result<Self, OpenError> {
        let (mut connection, epoch) = open::open(file, now)?;
        let (jobs, mut todo) = mpsc::channel::<Job>(MAILBOX);
        let thread = move || {
            while let Some(job) = todo.blocking_recv() {
                job(&mut connection);
            }
        };
        std::thread::Builder::new()
            .name("phone-store".into())
            .spawn(thread)
            .map_err(|source| OpenError::Thread { source })?;
        Ok(Self { jobs, ids: Ids::new(&epoch) })
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Runs `work` on the connection's thread. Once taken it runs to its end, even when the caller
    /// is gone, so no transaction is torn.
    pub(crate) async fn run<T, E>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |db| {
            // Nobody waits any more: the work is done all the same.
            let _ = answer.send(work(db));
        });
        let ask = async {
            self.jobs.send(job).await.map_err(|_| StoreError::Closed)?;
            answered.await.map_err(|_| StoreError::Closed)
        };
        tokio::time::timeout(PATIENCE, ask).await.map_err(|_| StoreError::Slow)??
    }
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
