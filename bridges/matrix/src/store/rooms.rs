//! Which room is what, and who is in a room of ours already.

use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::HashSet;
use vigie_bridge_kit::database::DatabaseError;

use super::{Store, heard::as_text};

/// What a room is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A place where people write.
    Chat,
    /// The room of one session, which belongs to a chat.
    Session,
    /// The space around rooms; nobody writes there.
    Space,
}

as_text!(Kind { Chat = "chat", Session = "session", Space = "space" });

/// How we stand in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    Left,
    /// It was replaced by another one.
    Moved,
}

as_text!(Standing { Open = "open", Left = "left", Moved = "moved" });

/// A room as a sync showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) room: String,
    /// What it is, unless that is known already.
    pub(crate) kind: Kind,
    pub(crate) chat: String,
    pub(crate) encrypted: bool,
    pub(crate) latest: Option<String>,
}

/// A room as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownRoom {
    pub(crate) room: String,
    pub(crate) kind: Kind,
    pub(crate) chat: String,
    pub(crate) encrypted: bool,
    pub(crate) standing: Standing,
    pub(crate) introduced: bool,
    pub(crate) successor: Option<String>,
}

impl Store {
    /// The room of that id, if we were ever in it.
    pub(crate) async fn room(&self, room: &str) -> Result<Option<KnownRoom>, DatabaseError> {
        let room = room.to_owned();
        self.run(move |db| one(db, &room)).await
    }

    /// Says what a room of our own making is, before or after a sync has shown it. Nobody needs to
    /// be told of it.
    pub(crate) async fn room_is(
        &self,
        room: &str,
        kind: Kind,
        chat: &str,
    ) -> Result<(), DatabaseError> {
        let (room, chat) = (room.to_owned(), chat.to_owned());
        self.run(move |db| is(db, &room, kind, &chat)).await
    }
}

/// Writes down a room that a sync showed. What it is stays as it was said first; encryption stays on.
pub(crate) fn seen(db: &Connection, room: &Seen) -> rusqlite::Result<()> {
    let put = "insert into room (room, kind, chat, encrypted, latest) values (?1, ?2, ?3, ?4, ?5)
        on conflict do update set encrypted = max(encrypted, ?4), latest = coalesce(?5, latest)";
    let Seen { room, kind, chat, encrypted, latest } = room;
    db.prepare_cached(put)?.execute(params![room, kind, chat, encrypted, latest])?;
    Ok(())
}

pub(crate) fn is(db: &mut Connection, room: &str, kind: Kind, chat: &str) -> rusqlite::Result<()> {
    let encrypted = kind != Kind::Space;
    let put =
        "insert into room (room, kind, chat, encrypted, introduced) values (?1, ?2, ?3, ?4, 1)
        on conflict do update set kind = ?2, chat = ?3, introduced = 1";
    db.prepare_cached(put)?.execute(params![room, kind, chat, encrypted])?;
    Ok(())
}

const COLUMNS: &str = "room, kind, chat, encrypted, state, introduced, successor";

fn a_room(row: &Row<'_>) -> rusqlite::Result<KnownRoom> {
    Ok(KnownRoom {
        room: row.get(0)?,
        kind: row.get(1)?,
        chat: row.get(2)?,
        encrypted: row.get(3)?,
        standing: row.get(4)?,
        introduced: row.get(5)?,
        successor: row.get(6)?,
    })
}

pub(crate) fn one(db: &mut Connection, room: &str) -> rusqlite::Result<Option<KnownRoom>> {
    let ask = format!("select {COLUMNS} from room where room = ?1");
    db.prepare_cached(&ask)?.query_row([room], a_room).optional()
}

pub(crate) fn all(db: &mut Connection) -> rusqlite::Result<Vec<KnownRoom>> {
    let ask = format!("select {COLUMNS} from room order by room");
    db.prepare_cached(&ask)?.query_map([], a_room)?.collect()
}

/// Rooms that the daemon does not know of yet.
pub(crate) fn strange(db: &mut Connection) -> rusqlite::Result<HashSet<String>> {
    let ask = "select room from room where introduced = 0";
    db.prepare_cached(ask)?.query_map([], |row| row.get(0))?.collect()
}

/// The daemon knows that the room stands like this.
pub(crate) fn stands(db: &mut Connection, room: &str, standing: Standing) -> rusqlite::Result<()> {
    let put = "update room set state = ?2, introduced = 1 where room = ?1";
    db.prepare_cached(put)?.execute(params![room, standing])?;
    Ok(())
}

/// The daemon knows that `to` is what `from` was.
pub(crate) fn moved(db: &mut Connection, from: &str, to: &str) -> rusqlite::Result<()> {
    let tx = db.transaction()?;
    let old = "update room set state = 'moved', successor = ?2, introduced = 1 where room = ?1";
    tx.execute(old, [from, to])?;
    tx.execute("update room set state = 'open', introduced = 1 where room = ?1", [to])?;
    tx.execute("update room set chat = ?2 where chat = ?1 and kind = 'session'", [from, to])?;
    tx.commit()
}

/// Nobody needs to know it better, and a write that is not made costs nothing.
const TO_THE_HOUR_MS: i64 = 3_600_000;

/// The person was admitted when they were heard just now.
pub(crate) fn admitted(db: &mut Connection, user: &str, now: i64) -> rusqlite::Result<()> {
    let put = "insert into person (user, at) values (?1, ?2)
        on conflict do update set at = ?2 where at < ?2 - ?3";
    db.prepare_cached(put)?.execute(params![user, now, TO_THE_HOUR_MS])?;
    Ok(())
}

/// A room for somebody, as far as we got with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    /// When it was begun, in milliseconds since 1970.
    pub(crate) at: i64,
    pub(crate) room: Option<String>,
}

pub(crate) fn welcome(db: &mut Connection, user: &str) -> rusqlite::Result<Option<Welcome>> {
    let ask = "select at, room from welcome where user = ?1";
    let row = |row: &Row<'_>| Ok(Welcome { at: row.get(0)?, room: row.get(1)? });
    db.prepare_cached(ask)?.query_row([user], row).optional()
}

/// A room for this person is about to be made.
pub(crate) fn begin_welcome(db: &mut Connection, user: &str, now: i64) -> rusqlite::Result<()> {
    let put = "insert into welcome (user, at) values (?1, ?2) on conflict do update set at = ?2";
    db.prepare_cached(put)?.execute(params![user, now])?;
    Ok(())
}

/// This person has a room with us.
pub(crate) fn welcomed(
    db: &mut Connection,
    user: &str,
    room: &str,
    now: i64,
) -> rusqlite::Result<()> {
    let put = "insert into welcome (user, at, room) values (?1, ?2, ?3)
        on conflict do update set room = ?3";
    db.prepare_cached(put)?.execute(params![user, now, room])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("migrations/003_rooms.sql")).unwrap();
        db
    }

    fn shown(room: &str, encrypted: bool) -> Seen {
        Seen { room: room.into(), kind: Kind::Chat, chat: room.into(), encrypted, latest: None }
    }

    #[test]
    fn encryption_once_on_stays_on() {
        let mut db = database();
        seen(&db, &shown("!a", true)).unwrap();
        seen(&db, &shown("!a", false)).unwrap();
        assert!(one(&mut db, "!a").unwrap().unwrap().encrypted);
    }

    #[test]
    fn what_a_room_of_ours_is_does_not_depend_on_who_says_it_first() {
        let mut db = database();
        seen(&db, &shown("!late", true)).unwrap();
        is(&mut db, "!late", Kind::Session, "!main").unwrap();
        is(&mut db, "!early", Kind::Session, "!main").unwrap();
        seen(&db, &shown("!early", true)).unwrap();
        for room in ["!late", "!early"] {
            let known = one(&mut db, room).unwrap().unwrap();
            assert_eq!((known.kind, known.chat.as_str()), (Kind::Session, "!main"), "{room}");
            assert!(known.introduced, "{room}");
        }
    }

    #[test]
    fn rooms_of_sessions_go_along_when_their_chat_moves() {
        let mut db = database();
        seen(&db, &shown("!old", true)).unwrap();
        seen(&db, &shown("!new", true)).unwrap();
        is(&mut db, "!session", Kind::Session, "!old").unwrap();
        moved(&mut db, "!old", "!new").unwrap();
        let old = one(&mut db, "!old").unwrap().unwrap();
        assert_eq!((old.standing, old.successor.as_deref()), (Standing::Moved, Some("!new")));
        assert_eq!(one(&mut db, "!session").unwrap().unwrap().chat, "!new");
    }

    #[test]
    fn a_room_for_somebody_is_in_doubt_until_it_is_known() {
        let mut db = database();
        assert_eq!(welcome(&mut db, "@ines:example.org").unwrap(), None);
        begin_welcome(&mut db, "@ines:example.org", 5).unwrap();
        let begun = welcome(&mut db, "@ines:example.org").unwrap().unwrap();
        assert_eq!(begun, Welcome { at: 5, room: None });
        welcomed(&mut db, "@ines:example.org", "!a", 9).unwrap();
        let done = welcome(&mut db, "@ines:example.org").unwrap().unwrap();
        assert_eq!(done.room.as_deref(), Some("!a"));
    }
}
