//! The bridge's own file: what was heard and is not handed in yet, what was said under which key, and
//! which room is what.

mod cursor;
pub(crate) mod heard;
mod identity;
mod legend;
mod place;
mod receipt;
pub(crate) mod rooms;
pub(crate) mod said;
pub(crate) mod used;

pub use heard::SetAside;

pub(crate) use legend::{Meaning, Quick, bare};
pub(crate) use place::Making;
pub(crate) use receipt::Receipt;
pub(crate) use said::{Begun, Part};

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
        include_str!("migrations/004_used.sql"),
        include_str!("migrations/005_used.sql"),
        include_str!("migrations/006_identity.sql"),
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
        let (db, ()) = Database::open(file, OWNER, |db| said::prune(db, now))?;
        Ok(Self { db })
    }

    /// Runs `job` where the connection is; jobs are plain blocking functions of this module's parts.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut rusqlite::Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        self.db.sql(job).await
    }

    /// The same, as often as it takes.
    pub(crate) async fn written<T: Send + 'static>(
        &self,
        job: impl Fn(&mut rusqlite::Connection) -> rusqlite::Result<T> + Clone + Send + 'static,
    ) -> T {
        self.db.written(job).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk::ruma::{OwnedEventId, OwnedRoomId, owned_room_id};
    use tempfile::TempDir;

    pub(super) fn now() -> Timestamp {
        Timestamp::from_timestamp(1_796_000_000, 0).unwrap()
    }

    /// An empty one.
    pub(super) fn store() -> (TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("matrix.db"), now()).unwrap();
        (folder, store)
    }

    pub(super) fn room() -> OwnedRoomId {
        owned_room_id!("!room")
    }

    pub(super) fn event(number: u32) -> OwnedEventId {
        format!("$event{number}").try_into().unwrap()
    }
}
