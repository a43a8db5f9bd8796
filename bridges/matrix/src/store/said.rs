//! What was said under which key, and which of our messages changed how often.

use matrix_sdk::ruma::{EventId, OwnedEventId, RoomId, TransactionId};
use rusqlite::{Connection, OptionalExtension as _, Row, params, types::Type};
use vigie_bridge_kit::database::DatabaseError;
use vigie_core::{Timestamp, id::DeliveryId};

use super::Store;

/// A key comes again within minutes, a message changes within days. After that the rows say nothing
/// that anybody asks for. In days.
const KEPT_DAYS: i64 = 30;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// One event of a delivery; a delivery that is one event is that at number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub key: DeliveryId,
    pub number: usize,
}

/// What is known of a part before it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It was never tried, or surely not taken.
    First,
    /// It was tried, first at that time, and nobody knows what came of it.
    InDoubt { first: Timestamp, content: String },
    /// It is said, and shows that content.
    Said { event: OwnedEventId, content: String },
}

/// How a message of ours has changed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edited {
    /// A digest of what it shows; empty when it never changed.
    pub content: String,
    pub times: usize,
    /// When it last changed.
    pub at: Timestamp,
}

/// The part of a delivery that is a change of a message: no delivery is so many events.
const CHANGE: usize = 1_000_000;

impl Part {
    pub(crate) fn first(key: DeliveryId) -> Self {
        Self { key, number: 0 }
    }

    /// The transaction id it goes by, the same whenever it is tried.
    pub(crate) fn transaction(self) -> String {
        format!("vigie.{}.{}", self.key, self.number)
    }

    /// The part that goes by `transaction`; `None` when that is no post of ours.
    pub(crate) fn of(transaction: &str) -> Option<Self> {
        let (key, number) = transaction.strip_prefix("vigie.")?.split_once('.')?;
        Some(Self { key: key.parse().ok()?, number: number.parse().ok()? })
    }
}

impl Store {
    /// Writes down that the part is about to be said, unless that is known already.
    pub(crate) async fn begin(
        &self,
        part: Part,
        room: &RoomId,
        content: String,
        now: Timestamp,
    ) -> Result<Begun, DatabaseError> {
        let room = room.to_string();
        self.run(move |db| begin(db, part, &room, &content, now)).await
    }

    /// The event that the part became in that room, as far as that is known.
    pub(crate) async fn said_in(
        &self,
        part: Part,
        room: &RoomId,
    ) -> Result<Option<OwnedEventId>, DatabaseError> {
        let (key, room) = (part.key.to_string(), room.to_string());
        self.run(move |db| {
            let ask = "select event from said where key = ?1 and part = ?2 and room = ?3";
            let found =
                db.query_row(ask, params![key, part.number, room], |row| read_event(row, 0));
            Ok(found.optional()?.flatten())
        })
        .await
    }

    /// The part is there, showing `content`.
    pub(crate) async fn said(
        &self,
        part: Part,
        event: &EventId,
        content: String,
    ) -> Result<(), DatabaseError> {
        let event = event.to_string();
        self.run(move |db| {
            let put = "update said set event = ?3, content = ?4 where key = ?1 and part = ?2";
            db.execute(put, params![part.key.to_string(), part.number, event, content]).map(drop)
        })
        .await
    }

    /// The part was surely not said: the next try is a first one.
    pub(crate) async fn not_said(&self, part: Part) -> Result<(), DatabaseError> {
        let forget = "delete from said where key = ?1 and part = ?2 and event is null";
        self.run(move |db| db.execute(forget, params![part.key.to_string(), part.number]).map(drop))
            .await
    }

    /// That delivery changes the message from now on: until it is settled, nobody knows which version a
    /// person saw. `false`: it was begun before.
    pub(crate) async fn begin_change(
        &self,
        key: DeliveryId,
        room: &RoomId,
        message: &EventId,
        now: Timestamp,
    ) -> Result<bool, DatabaseError> {
        let (room, message) = (room.to_string(), message.to_string());
        self.run(move |db| {
            let put = "insert into said (key, part, room, content, first, at, event)
                values (?1, ?2, ?3, '', ?4, ?4, ?5) on conflict do nothing";
            let now = now.timestamp_millis();
            let added = db.execute(put, params![key.to_string(), CHANGE, room, now, message])?;
            Ok(added > 0)
        })
        .await
    }

    /// It surely did not change.
    pub(crate) async fn not_changed(&self, key: DeliveryId) -> Result<(), DatabaseError> {
        let forget = "delete from said where key = ?1 and part = ?2";
        self.run(move |db| db.execute(forget, params![key.to_string(), CHANGE]).map(drop)).await
    }

    /// What became of that delivery is known, with all that answers it; or nothing becomes of it.
    pub(crate) async fn settle(&self, key: DeliveryId) -> Result<(), DatabaseError> {
        let put = "update said set settled = 1 where key = ?1";
        self.run(move |db| db.execute(put, [key.to_string()]).map(drop)).await
    }

    /// An event of ours came back down the sync: what was in doubt under its transaction id is said.
    pub(crate) async fn echoed(
        &self,
        transaction: &TransactionId,
        event: &EventId,
    ) -> Result<(), DatabaseError> {
        let Some(part) = Part::of(transaction.as_str()) else { return Ok(()) };
        let event = event.to_string();
        self.run(move |db| {
            let put = "update said set event = ?3 where key = ?1 and part = ?2 and event is null";
            db.execute(put, params![part.key.to_string(), part.number, event]).map(drop)
        })
        .await
    }

    /// How that message of ours has changed.
    pub(crate) async fn edited(
        &self,
        room: &RoomId,
        event: &EventId,
    ) -> Result<Edited, DatabaseError> {
        let key = [room.to_string(), event.to_string()];
        self.run(move |db| {
            let ask = "select content, times, at from edited where room = ?1 and event = ?2";
            let read = |row: &Row<'_>| {
                Ok(Edited { content: row.get(0)?, times: row.get(1)?, at: read_time(row, 2)? })
            };
            Ok(db.query_row(ask, key, read).optional()?.unwrap_or_default())
        })
        .await
    }

    /// It has changed once more, at that time, and shows `content` now.
    pub(crate) async fn keep_edit(
        &self,
        room: &RoomId,
        event: &EventId,
        content: String,
        at: Timestamp,
    ) -> Result<(), DatabaseError> {
        let (room, event) = (room.to_string(), event.to_string());
        self.run(move |db| {
            let put = "insert into edited (room, event, at, content, times)
                values (?1, ?2, ?3, ?4, 1)
                on conflict do update set at = ?3, content = ?4, times = times + 1";
            db.execute(put, params![room, event, at.timestamp_millis(), content]).map(drop)
        })
        .await
    }
}

/// Whether that event is ours, or may be, and what answers it is not known yet. One that is no message
/// of a person's may be any of those in that room of which nobody knows what they became.
pub(crate) fn is_unsettled(db: &mut Connection, room: &str, event: &str) -> rusqlite::Result<bool> {
    let ask = "select case
        when exists (select 1 from said where room = ?1 and event = ?2)
            then exists (select 1 from said where room = ?1 and event = ?2 and settled = 0)
        when exists (select 1 from heard where room = ?1 and event = ?2) then 0
        else exists (select 1 from said where room = ?1 and event is null and settled = 0) end";
    db.prepare_cached(ask)?.query_row([room, event], |row| row.get(0))
}

/// Forgets what is too old to come again.
pub(super) fn prune(db: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let before = now.timestamp_millis() - KEPT_DAYS * DAY_MS;
    db.execute("delete from legend where until < ?1", [before])?;
    for table in ["said", "edited", "receipt"] {
        db.execute(&format!("delete from {table} where at < ?1"), [before])?;
    }
    Ok(())
}

fn begin(
    db: &mut Connection,
    part: Part,
    room: &str,
    content: &str,
    now: Timestamp,
) -> rusqlite::Result<Begun> {
    let tx = db.transaction()?;
    let key = part.key.to_string();
    let now = now.timestamp_millis();
    let known = tx
        .query_row(
            "select first, content, event from said where key = ?1 and part = ?2 and room = ?3",
            params![key, part.number, room],
            begun,
        )
        .optional()?;
    if known.is_some() {
        let again = "update said set at = ?3 where key = ?1 and part = ?2";
        tx.execute(again, params![key, part.number, now])?;
    } else {
        // The same key in another room: it never arrived in the one that moved.
        tx.execute(
            "insert or replace into said (key, part, room, content, first, at)
             values (?1, ?2, ?3, ?4, ?5, ?5)",
            params![key, part.number, room, content, now],
        )?;
    }
    tx.commit()?;
    Ok(known.unwrap_or(Begun::First))
}

fn begun(row: &Row<'_>) -> rusqlite::Result<Begun> {
    let content = row.get(1)?;
    Ok(match read_event(row, 2)? {
        Some(event) => Begun::Said { event, content },
        None => Begun::InDoubt { first: read_time(row, 0)?, content },
    })
}

fn read_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    Ok(Timestamp::from_timestamp_millis(row.get(at)?).unwrap_or_default())
}

/// The event in that column.
pub(super) fn read_event(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<OwnedEventId>> {
    let text: Option<String> = row.get(at)?;
    let event = text.map(OwnedEventId::try_from).transpose();
    event.map_err(|bad| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(bad)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{event, now, room, store};
    use chrono::TimeDelta;
    use proptest::prelude::*;

    fn part(number: usize) -> Part {
        Part { key: DeliveryId::from_parts(now(), 7), number }
    }

    #[tokio::test]
    async fn a_part_is_first_in_doubt_and_then_said() {
        let (_folder, store) = store();
        let begin = async |content: &str, seconds| {
            let at = now() + TimeDelta::seconds(seconds);
            store.begin(part(0), &room(), content.into(), at).await.unwrap()
        };
        assert_eq!(begin("a", 0).await, Begun::First);
        let doubt = Begun::InDoubt { first: now(), content: "a".into() };
        assert_eq!(begin("b", 9).await, doubt);
        assert_eq!(begin("b", 18).await, doubt, "the first time stays the first");
        store.said(part(0), &event(1), "b".into()).await.unwrap();
        assert_eq!(begin("c", 27).await, Begun::Said { event: event(1), content: "b".into() });
    }

    #[tokio::test]
    async fn parts_and_rooms_are_kept_apart_and_what_was_not_said_is_a_first_try_again() {
        let (_folder, store) = store();
        let other = matrix_sdk::ruma::owned_room_id!("!other");
        store.begin(part(0), &room(), "a".into(), now()).await.unwrap();
        let begin =
            async |part, room: &RoomId| store.begin(part, room, "a".into(), now()).await.unwrap();
        assert_eq!(begin(part(1), &room()).await, Begun::First);
        store.not_said(part(0)).await.unwrap();
        assert_eq!(begin(part(0), &room()).await, Begun::First);
        assert_eq!(begin(part(0), &other).await, Begun::First);
    }

    #[tokio::test]
    async fn an_echo_settles_what_was_in_doubt_and_nothing_else() {
        let (_folder, store) = store();
        store.begin(part(0), &room(), "a".into(), now()).await.unwrap();
        let echo = async |transaction: &str, number| {
            store.echoed(transaction.into(), &event(number)).await.unwrap();
        };
        echo("m1796.3", 4).await;
        echo(&part(1).transaction(), 4).await;
        echo(&part(0).transaction(), 1).await;
        echo(&part(0).transaction(), 2).await;
        let begun = store.begin(part(0), &room(), "a".into(), now()).await.unwrap();
        assert_eq!(begun, Begun::Said { event: event(1), content: "a".into() });
        assert_eq!(store.said_in(part(0), &room()).await.unwrap(), Some(event(1)));
        let other = matrix_sdk::ruma::owned_room_id!("!other");
        assert_eq!(store.said_in(part(0), &other).await.unwrap(), None);
        assert_eq!(store.said_in(part(1), &room()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_may_be_ours_is_unsettled_until_its_delivery_is() {
        let (_folder, store) = store();
        let unsettled = async |number| {
            let (room, event) = (room().to_string(), event(number).to_string());
            store.run(move |db| is_unsettled(db, &room, &event)).await.unwrap()
        };
        assert!(!unsettled(1).await, "nothing is under way");
        store.begin(part(0), &room(), "a".into(), now()).await.unwrap();
        assert!(unsettled(1).await, "it may be that one");
        store.echoed(part(0).transaction().as_str().into(), &event(1)).await.unwrap();
        assert!(unsettled(1).await, "what answers it is not known yet");
        assert!(!unsettled(2).await, "it is surely another one");
        store.settle(part(0).key).await.unwrap();
        assert!(!unsettled(1).await);
    }

    #[tokio::test]
    async fn what_is_surely_another_one_is_not_unsettled() {
        let (_folder, store) = store();
        let other = matrix_sdk::ruma::owned_room_id!("!other");
        store.begin(part(0), &other, "a".into(), now()).await.unwrap();
        let ask = async |room: &RoomId, number| {
            let (room, event) = (room.to_string(), event(number).to_string());
            store.run(move |db| is_unsettled(db, &room, &event)).await.unwrap()
        };
        assert!(!ask(&room(), 1).await, "that is in another room");
        let written = "insert into heard (room, event, sender, sent, received, json, trust)
            values ('!other', '$event1', '@ines:example.org', 0, 0, '{}', 'signed')";
        store.run(|db| db.execute(written, [])).await.unwrap();
        assert!(!ask(&other, 1).await, "a person wrote that");
        assert!(ask(&other, 2).await);
        store.not_said(part(0)).await.unwrap();
        assert!(!ask(&other, 2).await);
    }

    #[tokio::test]
    async fn a_message_that_changes_is_unsettled_meanwhile() {
        let (_folder, store) = store();
        let key = part(0).key;
        let begin = async || store.begin_change(key, &room(), &event(1), now()).await.unwrap();
        let unsettled = async || {
            let ask = |db: &mut Connection| is_unsettled(db, "!room", "$event1");
            store.run(ask).await.unwrap()
        };
        assert!(begin().await);
        assert!(!begin().await, "it was begun before");
        assert!(unsettled().await);
        store.not_changed(key).await.unwrap();
        assert!(!unsettled().await);
        assert!(begin().await);
        store.settle(key).await.unwrap();
        assert!(!unsettled().await);
    }

    #[tokio::test]
    async fn changes_are_counted() {
        let (_folder, store) = store();
        assert_eq!(store.edited(&room(), &event(1)).await.unwrap(), Edited::default());
        for content in ["a", "b"] {
            store.keep_edit(&room(), &event(1), content.into(), now()).await.unwrap();
        }
        let edited = store.edited(&room(), &event(1)).await.unwrap();
        assert_eq!(edited, Edited { content: "b".into(), times: 2, at: now() });
    }

    #[tokio::test]
    async fn old_rows_go() {
        let (_folder, store) = store();
        store.begin(part(0), &room(), "a".into(), now()).await.unwrap();
        let prune_at = async |days| {
            store.run(move |db| prune(db, now() + TimeDelta::days(days))).await.unwrap();
            let count = "select count(*) from said";
            store.run(move |db| db.query_row(count, [], |row| row.get::<_, i64>(0))).await.unwrap()
        };
        assert_eq!(prune_at(29).await, 1);
        assert_eq!(prune_at(31).await, 0);
    }

    proptest! {
        #[test]
        fn a_transaction_reads_back(random in any::<u128>(), number in 0_usize..1000) {
            let part = Part { key: DeliveryId::from_parts(now(), random), number };
            prop_assert_eq!(Part::of(&part.transaction()), Some(part));
        }

        #[test]
        fn any_other_transaction_is_none(text in "(vigie\\.)?\\PC{0,20}") {
            prop_assert_eq!(Part::of(&text), None);
        }
    }
}
