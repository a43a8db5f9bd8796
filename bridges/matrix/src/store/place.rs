//! What is known of rooms before anybody writes there, and how sessions' threads look.

use matrix_sdk::ruma::{OwnedEventId, OwnedRoomId, OwnedUserId, RoomId};
use rusqlite::{OptionalExtension as _, Row, params};
use vigie_bridge_kit::database::DatabaseError;

use super::{Store, said::read_event};

/// How far the making of a room is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Making {
    /// It was never tried.
    First,
    /// It was tried, and nobody knows what came of it.
    UnderWay,
    Made(OwnedRoomId),
}

/// A session's thread or room as it was last shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// A digest; empty when nobody knows.
    pub content: String,
    /// The newest event known in it.
    pub last: Option<OwnedEventId>,
}

impl Store {
    /// It is encrypted from now on, for ever.
    pub(crate) async fn is_sealed_now(&self, room: &RoomId) -> Result<(), DatabaseError> {
        let room = room.to_string();
        let put = "update room set encrypted = 1 where room = ?1";
        self.run(move |db| db.execute(put, [room]).map(drop)).await
    }

    /// The space that the rooms of sessions are in.
    pub(crate) async fn space(&self) -> Result<Option<String>, DatabaseError> {
        let ask = "select room from room where kind = 'space' and state = 'open' limit 1";
        self.run(move |db| db.query_row(ask, [], |row| row.get(0)).optional()).await
    }

    /// Writes down that the room of that key is about to be made, unless that is known already.
    pub(crate) async fn begin_room(&self, key: &str) -> Result<Making, DatabaseError> {
        let key = key.to_owned();
        self.run(move |db| {
            let put = "insert into made (key) values (?1) on conflict do nothing";
            if db.execute(put, [&key])? == 1 {
                return Ok(Making::First);
            }
            let ask = "select room from made where key = ?1";
            let room: Option<String> = db.query_row(ask, [&key], |row| row.get(0))?;
            let room = room.and_then(|room| room.try_into().ok());
            Ok(room.map_or(Making::UnderWay, Making::Made))
        })
        .await
    }

    /// The room of that key is there, and all about it is done.
    pub(crate) async fn made(&self, key: &str, room: &RoomId) -> Result<(), DatabaseError> {
        let row = [key.to_owned(), room.to_string()];
        self.run(move |db| db.execute("update made set room = ?2 where key = ?1", row).map(drop))
            .await
    }

    /// Rooms that cannot be one whose making is in doubt.
    pub(crate) async fn made_rooms(&self) -> Result<Vec<String>, DatabaseError> {
        self.run(|db| {
            let ask = "select room from made where room is not null
                union select room from room where kind = 'chat' and state <> 'open'";
            db.prepare_cached(ask)?.query_map([], |row| row.get(0))?.collect()
        })
        .await
    }

    /// People who were admitted when they were last heard.
    pub(crate) async fn admitted(&self) -> Result<Vec<OwnedUserId>, DatabaseError> {
        self.run(|db| {
            let mut rows = db.prepare_cached("select user from person")?;
            let users = rows.query_map([], |row| row.get::<_, String>(0))?;
            let users: Vec<String> = users.collect::<rusqlite::Result<_>>()?;
            Ok(users.into_iter().filter_map(|user| user.try_into().ok()).collect())
        })
        .await
    }

    /// How that thread was last shown; `thread` is an event, or the session's room itself.
    pub(crate) async fn shown(&self, room: &RoomId, thread: &str) -> Result<Shown, DatabaseError> {
        let key = [room.to_string(), thread.to_owned()];
        let ask = "select shown, last from thread where room = ?1 and root = ?2";
        let read = |row: &Row<'_>| Ok(Shown { content: row.get(0)?, last: read_event(row, 1)? });
        self.run(move |db| Ok(db.query_row(ask, key, read).optional()?.unwrap_or_default())).await
    }

    /// It is shown like that now.
    pub(crate) async fn keep_shown(
        &self,
        room: &RoomId,
        thread: &str,
        content: String,
    ) -> Result<(), DatabaseError> {
        let (room, thread) = (room.to_string(), thread.to_owned());
        let put = "insert into thread (room, root, shown) values (?1, ?2, ?3)
            on conflict do update set shown = ?3";
        self.run(move |db| db.execute(put, params![room, thread, content]).map(drop)).await
    }

    /// That event is the newest of its thread, whoever wrote it.
    pub(crate) async fn newest_in_thread(
        &self,
        room: &RoomId,
        thread: &str,
        event: &str,
    ) -> Result<(), DatabaseError> {
        let row = [room.to_string(), thread.to_owned(), event.to_owned()];
        let put = "insert into thread (room, root, shown, last) values (?1, ?2, '', ?3)
            on conflict do update set last = ?3";
        self.run(move |db| db.execute(put, row).map(drop)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        rooms::Kind,
        tests::{event, room, store},
    };

    #[tokio::test]
    async fn a_room_is_encrypted_for_ever() {
        let (_folder, store) = store();
        let sealed = async || store.room("!room").await.unwrap().unwrap().encrypted;
        let put =
            "insert into room (room, kind, chat, encrypted) values ('!room', 'chat', '!room', 0)";
        store.run(move |db| db.execute(put, []).map(drop)).await.unwrap();
        assert!(!sealed().await);
        store.is_sealed_now(&room()).await.unwrap();
        assert!(sealed().await);
    }

    #[tokio::test]
    async fn there_is_one_space() {
        let (_folder, store) = store();
        assert_eq!(store.space().await.unwrap(), None);
        store.room_is("!room", Kind::Space, "!room").await.unwrap();
        assert_eq!(store.space().await.unwrap(), Some("!room".into()));
    }

    #[tokio::test]
    async fn a_room_is_in_doubt_until_it_is_made() {
        let (_folder, store) = store();
        let begin = async || store.begin_room("k").await.unwrap();
        assert_eq!(begin().await, Making::First);
        assert_eq!(begin().await, Making::UnderWay);
        store.made("k", &room()).await.unwrap();
        assert_eq!(begin().await, Making::Made(room()));
        assert_eq!(store.made_rooms().await.unwrap(), ["!room"]);
    }

    #[tokio::test]
    async fn a_thread_is_shown_and_goes_on() {
        let (_folder, store) = store();
        assert_eq!(store.shown(&room(), "$event1").await.unwrap(), Shown::default());
        store.newest_in_thread(&room(), "$event1", "$event2").await.unwrap();
        store.keep_shown(&room(), "$event1", "a".into()).await.unwrap();
        let shown = Shown { content: "a".into(), last: Some(event(2)) };
        assert_eq!(store.shown(&room(), "$event1").await.unwrap(), shown);
    }
}
