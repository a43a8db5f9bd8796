//! Whom the bridge knows, and what its own file tells of rooms.

use matrix_sdk::{Client, ruma::UserId};
use rusqlite::Connection;
use vigie_bridge_kit::database::DatabaseError;

use super::{Shared, look::RoomKind};
use crate::store::Store;

/// Whether a person is one that the configuration names, one who was admitted, or ourselves.
pub(super) async fn knows(
    shared: &Shared,
    client: &Client,
    user: &UserId,
) -> Result<bool, DatabaseError> {
    if client.user_id() == Some(user) || shared.people.iter().any(|known| known == user.as_str()) {
        return Ok(true);
    }
    let user = user.to_string();
    let ask = "select exists (select 1 from person where user = ?1)";
    shared.store.run(move |db| db.query_row(ask, [user], |row| row.get(0))).await
}

/// A room as the bridge's file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoomRow {
    pub(super) room: String,
    pub(super) kind: RoomKind,
    pub(super) encrypted: bool,
}

/// What is written down about rooms, people and what cannot be read yet.
pub(super) struct Written {
    /// Where we are in.
    pub(super) rooms: Vec<RoomRow>,
    /// Who was admitted.
    pub(super) people: Vec<String>,
    /// Messages whose keys are missing.
    pub(super) sealed: u64,
}

pub(super) async fn written(store: &Store) -> Result<Written, DatabaseError> {
    store
        .run(|db| Ok(Written { rooms: rooms(db)?, people: people(db)?, sealed: sealed(db)? }))
        .await
}

fn rooms(db: &Connection) -> rusqlite::Result<Vec<RoomRow>> {
    let ask = "select room, kind, encrypted from room where state = 'open' order by kind, room";
    let row = |row: &rusqlite::Row<'_>| {
        let kind: String = row.get(1)?;
        let kind = match kind.as_str() {
            "space" => RoomKind::Space,
            "session" => RoomKind::Session,
            _ => RoomKind::Chat, // the table has these three
        };
        Ok(RoomRow { room: row.get(0)?, kind, encrypted: row.get(2)? })
    };
    db.prepare(ask)?.query_map([], row)?.collect()
}

fn people(db: &Connection) -> rusqlite::Result<Vec<String>> {
    db.prepare("select user from person order by user")?.query_map([], |row| row.get(0))?.collect()
}

fn sealed(db: &Connection) -> rusqlite::Result<u64> {
    let ask = "select count(*) from heard where trust = 'sealed' and state = 'new'";
    db.query_row(ask, [], |row| row.get(0))
}
