//! The bridge's own file: what Telegram told and the daemon has not taken yet, and what must be
//! known of what was sent.

pub(crate) mod heard;
mod said;
pub(crate) mod topics;

pub use heard::SetAside;
pub(crate) use said::{Begun, Openness, Receipt, SeenTopic};

use rusqlite::Connection;
use std::path::Path;
use vigie_bridge_kit::database::{Database, DatabaseError, OpenError, Owner};
use vigie_core::Timestamp;

const OWNER: Owner = Owner {
    title: "the Telegram bridge",
    thread: "telegram-db",
    migrations: &[include_str!("migrations/001.sql")],
};

/// The handle to the bridge's file.
#[derive(Clone)]
pub(crate) struct Store {
    db: Database,
}

impl Store {
    /// Opens or makes the file and forgets what is too old to matter at `now`.
    pub(crate) fn open(file: &Path, now: Timestamp) -> Result<Self, OpenError> {
        let (db, ()) = Database::open(file, OWNER, |db| said::prune(db, now))?;
        Ok(Self { db })
    }

    /// Runs `job` where the connection is; jobs are plain blocking functions of this module's parts.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        self.db.sql(job).await
    }

    /// As [`Self::run`], as often as it takes.
    pub(crate) async fn written<T: Send + 'static>(
        &self,
        job: impl Fn(&mut Connection) -> rusqlite::Result<T> + Clone + Send + 'static,
    ) -> T {
        self.db.written(job).await
    }
}
