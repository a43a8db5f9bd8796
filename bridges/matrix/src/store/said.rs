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
}

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
            let ask = "select content, times from edited where room = ?1 and event = ?2";
            let read = |row: &Row<'_>| Ok(Edited { content: row.get(0)?, times: row.get(1)? });
            Ok(db.query_row(ask, key, read).optional()?.unwrap_or_default())
        })
        .await
    }

    /// It has changed once more and shows `content` now.
    pub(crate) async fn keep_edit(
        &self,
        room: &RoomId,
        event: &EventId,
        content: String,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let (room, event) = (room.to_string(), event.to_string());
        self.run(move |db| {
            let put = "insert into edited (room, event, at, content, times)
                values (?1, ?2, ?3, ?4, 1)
                on conflict do update set at = ?3, content = ?4, times = times + 1";
            db.execute(put, params![room, event, now.timestamp_millis(), content]).map(drop)
        })
        .await
    }
}

/// Forgets what is too old to come again.
pub(super) fn prune(db: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let before = now.timestamp_millis() - KEPT_DAYS * DAY_MS;
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
    }

    #[tokio::test]
    async fn changes_are_counted() {
        let (_folder, store) = store();
        assert_eq!(store.edited(&room(), &event(1)).await.unwrap(), Edited::default());
        for content in ["a", "b"] {
            store.keep_edit(&room(), &event(1), content.into(), now()).await.unwrap();
        }
        let edited = store.edited(&room(), &event(1)).await.unwrap();
        assert_eq!(edited, Edited { content: "b".into(), times: 2 });
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
