//! What stands in for buttons: the meaning of reactions on our messages, our own reactions to tap
//! on, and polls.

use matrix_sdk::ruma::{EventId, OwnedEventId, OwnedRoomId, RoomId};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::BTreeMap;
use vigie_bridge_kit::database::DatabaseError;
use vigie_core::{Timestamp, bridge::Action};

use super::{Store, said::read_event};

/// What one emoji on a message means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// Without variation selector and skin tone, see [`bare`].
    pub emoji: String,
    pub action: Action,
}

/// One of our own reactions on a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quick {
    pub emoji: String,
    /// `None`: it was tried, and nobody knows what became of it.
    pub reaction: Option<OwnedEventId>,
}

/// An emoji as it is looked up: without variation selectors and skin tones, which differ between
/// the keyboards of phones.
pub(crate) fn bare(emoji: &str) -> String {
    let counts = |c: &char| !matches!(c, '\u{FE0E}' | '\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}');
    emoji.chars().filter(counts).collect()
}

impl Store {
    /// What `emoji`, as it came and put then, on a message of ours means.
    pub(crate) async fn legend(
        &self,
        room: &RoomId,
        event: &EventId,
        emoji: &str,
        put: Timestamp,
    ) -> Result<Option<Action>, DatabaseError> {
        let (room, event, emoji) = (room.to_string(), event.to_string(), bare(emoji));
        self.run(move |db| {
            let ask = "select action from legend where room = ?1 and event = ?2 and emoji = ?3
                and since <= ?4 and (until is null or ?4 < until) order by since desc limit 1";
            let key = params![room, event, emoji, put.timestamp_millis()];
            let found: Option<String> = db.query_row(ask, key, |row| row.get(0)).optional()?;
            // Of a version that knew other buttons: it means nothing any more.
            Ok(found.and_then(|action| action.parse().ok()))
        })
        .await
    }

    /// Reactions on that message mean this and nothing else, if they were put from then on; earlier
    /// ones mean what they meant. `None`: from its beginning.
    pub(crate) async fn set_legend(
        &self,
        room: &RoomId,
        event: &EventId,
        meanings: Vec<Meaning>,
        since: Option<Timestamp>,
    ) -> Result<(), DatabaseError> {
        let (room, event) = (room.to_string(), event.to_string());
        let since = since.map_or(0, |since| since.timestamp_millis());
        self.run(move |db| set_legend(db, &room, &event, &meanings, since)).await
    }

    /// Our own reactions on that message.
    pub(crate) async fn quick(
        &self,
        room: &RoomId,
        event: &EventId,
    ) -> Result<Vec<Quick>, DatabaseError> {
        let (room, event) = (room.to_string(), event.to_string());
        self.run(move |db| {
            let ask = "select emoji, reaction from quick where room = ?1 and event = ?2
                order by rowid";
            let mut rows = db.prepare_cached(ask)?;
            let quick = |row: &rusqlite::Row<'_>| {
                Ok(Quick { emoji: row.get(0)?, reaction: read_event(row, 1)? })
            };
            rows.query_map([room, event], quick)?.collect()
        })
        .await
    }

    /// Such a reaction is about to be put there, or is there.
    pub(crate) async fn keep_quick(
        &self,
        room: &RoomId,
        event: &EventId,
        quick: Quick,
    ) -> Result<(), DatabaseError> {
        let (room, event) = (room.to_string(), event.to_string());
        self.run(move |db| {
            let put = "insert into quick (room, event, emoji, reaction) values (?1, ?2, ?3, ?4)
                on conflict do update set reaction = coalesce(?4, reaction)";
            let reaction = quick.reaction.map(|id| id.to_string());
            db.execute(put, params![room, event, quick.emoji, reaction]).map(drop)
        })
        .await
    }

    /// Such a reaction is there no more.
    pub(crate) async fn drop_quick(
        &self,
        room: &RoomId,
        event: &EventId,
        emoji: String,
    ) -> Result<(), DatabaseError> {
        let (room, event) = (room.to_string(), event.to_string());
        self.run(move |db| {
            let gone = "delete from quick where room = ?1 and event = ?2 and emoji = ?3";
            db.execute(gone, [room, event, emoji]).map(drop)
        })
        .await
    }

    /// Messages below which a reaction of ours is begun and not known to be there; newest first, at most
    /// so many.
    pub(crate) async fn owed(
        &self,
        most: usize,
    ) -> Result<Vec<(OwnedRoomId, OwnedEventId)>, DatabaseError> {
        self.run(move |db| {
            let ask = "select room, event from quick where reaction is null
                group by room, event order by max(rowid) desc limit ?1";
            let mut rows = db.prepare_cached(ask)?;
            let found = rows.query_map([most], |row| Ok((row.get(0)?, read_event(row, 1)?)))?;
            let found = found.collect::<rusqlite::Result<Vec<(String, _)>>>()?;
            let read = |(room, event): (String, Option<_>)| Some((room.try_into().ok()?, event?));
            Ok(found.into_iter().filter_map(read).collect())
        })
        .await
    }

    /// What is not there below that message does not come any more.
    pub(crate) async fn owe_no_more(
        &self,
        room: &RoomId,
        event: &EventId,
    ) -> Result<(), DatabaseError> {
        let (room, event) = (room.to_string(), event.to_string());
        self.run(move |db| {
            let gone = "delete from quick where room = ?1 and event = ?2 and reaction is null";
            db.execute(gone, [room, event]).map(drop)
        })
        .await
    }

    /// The poll beside that card, if it is open.
    pub(crate) async fn open_poll(
        &self,
        room: &RoomId,
        card: &EventId,
    ) -> Result<Option<OwnedEventId>, DatabaseError> {
        let (room, card) = (room.to_string(), card.to_string());
        self.run(move |db| {
            let ask = "select poll from poll where room = ?1 and card = ?2 and ended = 0";
            let found = db.query_row(ask, [room, card], |row| read_event(row, 0)).optional()?;
            Ok(found.flatten())
        })
        .await
    }

    /// The poll beside that card is there.
    pub(crate) async fn keep_poll(
        &self,
        room: &RoomId,
        card: &EventId,
        poll: &EventId,
    ) -> Result<(), DatabaseError> {
        let row = [room.to_string(), card.to_string(), poll.to_string()];
        self.run(move |db| {
            let put = "insert into poll (room, card, poll) values (?1, ?2, ?3)
                on conflict do update set poll = ?3";
            db.execute(put, row).map(drop)
        })
        .await
    }

    /// It takes no more votes.
    pub(crate) async fn end_poll(
        &self,
        room: &RoomId,
        card: &EventId,
    ) -> Result<(), DatabaseError> {
        let row = [room.to_string(), card.to_string()];
        let end = "update poll set ended = 1 where room = ?1 and card = ?2";
        self.run(move |db| db.execute(end, row).map(drop)).await
    }
}

fn set_legend(
    db: &mut Connection,
    room: &str,
    event: &str,
    meanings: &[Meaning],
    since: i64,
) -> rusqlite::Result<()> {
    let tx = db.transaction()?;
    let wanted: BTreeMap<_, _> =
        meanings.iter().map(|it| (bare(&it.emoji), it.action.to_string())).collect();
    let (known, newest) = newest_legend(&tx, room, event)?;
    if known == wanted {
        return Ok(());
    }
    // Versions follow one another, whatever a clock does.
    let since = newest.map_or(since, |newest| since.max(newest + 1));
    tx.execute(
        "update legend set until = ?3 where room = ?1 and event = ?2 and until is null",
        params![room, event, since],
    )?;
    for (emoji, action) in wanted {
        tx.execute(
            "insert into legend (room, event, emoji, action, since) values (?1, ?2, ?3, ?4, ?5)",
            params![room, event, emoji, action, since],
        )?;
    }
    tx.commit()
}

/// What reactions on that message mean now, and when the newest change of that was.
fn newest_legend(
    db: &Connection,
    room: &str,
    event: &str,
) -> rusqlite::Result<(BTreeMap<String, String>, Option<i64>)> {
    let ask = "select emoji, action from legend where room = ?1 and event = ?2 and until is null";
    let mut rows = db.prepare_cached(ask)?;
    let known = rows.query_map([room, event], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let ask =
        "select max(max(since, coalesce(until, 0))) from legend where room = ?1 and event = ?2";
    let newest = db.query_row(ask, [room, event], |row| row.get(0))?;
    Ok((known.collect::<Result<_, _>>()?, newest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{event, now, room, store};
    use chrono::TimeDelta;
    use vigie_core::id::GateId;

    fn allow() -> Action {
        Action::Allow { gate: GateId::from_parts(Timestamp::default(), 1) }
    }

    fn deny() -> Action {
        Action::Deny { gate: GateId::from_parts(Timestamp::default(), 1) }
    }

    fn choose(question: usize, option: usize) -> Action {
        Action::Choose { gate: GateId::from_parts(Timestamp::default(), 1), question, option }
    }

    fn meaning(emoji: &str, action: Action) -> Meaning {
        Meaning { emoji: emoji.into(), action }
    }

    #[tokio::test]
    async fn a_reaction_means_what_its_message_showed_when_it_was_put() {
        let (_folder, store) = store();
        let (room, card) = (room(), event(1));
        let at = |seconds| now() + TimeDelta::seconds(seconds);
        let both = vec![meaning("👍", allow()), meaning("👎", deny())];
        store.set_legend(&room, &card, both, None).await.unwrap();
        let means = async |emoji: &str, put| store.legend(&room, &card, emoji, put).await.unwrap();
        assert_eq!(means("👍", at(0)).await, Some(allow()));
        assert_eq!(means("👎🏽", at(-9)).await, Some(deny()));
        assert_eq!(means("🎉", at(0)).await, None);
        assert_eq!(store.legend(&room, &event(2), "👍", at(0)).await.unwrap(), None);
        store.set_legend(&room, &card, Vec::new(), Some(at(5))).await.unwrap();
        assert_eq!(means("👍", at(5)).await, None);
        assert_eq!(means("👍", at(4)).await, Some(allow()), "it was put before, and heard after");
    }

    #[tokio::test]
    async fn the_keycap_of_one_question_never_answers_the_next() {
        let (_folder, store) = store();
        let at = |seconds| now() + TimeDelta::seconds(seconds);
        let one = "1\u{FE0F}\u{20E3}";
        for (question, since) in [(0, None), (1, Some(at(5))), (2, Some(at(9))), (2, Some(at(20)))]
        {
            let caps = vec![meaning(one, choose(question, 0))];
            store.set_legend(&room(), &event(1), caps, since).await.unwrap();
        }
        for (put, question) in [(0, 0), (4, 0), (5, 1), (8, 1), (9, 2), (15, 2), (60, 2)] {
            let means = store.legend(&room(), &event(1), one, at(put)).await.unwrap();
            assert_eq!(means, Some(choose(question, 0)), "put {put} s later");
        }
    }

    #[tokio::test]
    async fn versions_follow_one_another_even_if_a_clock_goes_back() {
        let (_folder, store) = store();
        let at = |seconds| now() + TimeDelta::seconds(seconds);
        for (question, since) in [(0, None), (1, Some(at(9))), (2, Some(at(5)))] {
            let caps = vec![meaning("1", choose(question, 0))];
            store.set_legend(&room(), &event(1), caps, since).await.unwrap();
        }
        let means = store.legend(&room(), &event(1), "1", at(10)).await.unwrap();
        assert_eq!(means, Some(choose(2, 0)));
    }

    #[tokio::test]
    async fn a_keycap_is_one_with_and_without_its_selector() {
        let (_folder, store) = store();
        let caps = vec![meaning("1\u{FE0F}\u{20E3}", allow())];
        store.set_legend(&room(), &event(1), caps, None).await.unwrap();
        for emoji in ["1\u{FE0F}\u{20E3}", "1\u{20E3}"] {
            let means = store.legend(&room(), &event(1), emoji, now()).await.unwrap();
            assert_eq!(means, Some(allow()), "{emoji:?}");
        }
    }

    #[tokio::test]
    async fn our_own_reactions_are_known_until_they_are_gone() {
        let (_folder, store) = store();
        let (room, card) = (room(), event(1));
        let quick = |reaction| Quick { emoji: "👍".into(), reaction };
        store.keep_quick(&room, &card, quick(None)).await.unwrap();
        store.keep_quick(&room, &card, quick(Some(event(2)))).await.unwrap();
        store.keep_quick(&room, &card, quick(None)).await.unwrap();
        assert_eq!(store.quick(&room, &card).await.unwrap(), [quick(Some(event(2)))]);
        store.drop_quick(&room, &card, "👍".into()).await.unwrap();
        assert_eq!(store.quick(&room, &card).await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_reaction_that_was_begun_is_owed_until_it_is_there() {
        let (_folder, store) = store();
        let (room, card) = (room(), event(1));
        let quick = |emoji: &str, reaction| Quick { emoji: emoji.into(), reaction };
        for emoji in ["👎", "👍"] {
            store.keep_quick(&room, &card, quick(emoji, None)).await.unwrap();
        }
        store.keep_quick(&room, &event(9), quick("👍", Some(event(10)))).await.unwrap();
        store.keep_quick(&room, &card, quick("👎", Some(event(2)))).await.unwrap();
        assert_eq!(store.owed(9).await.unwrap(), [(room.clone(), card.clone())]);
        store.owe_no_more(&room, &card).await.unwrap();
        assert_eq!(store.owed(9).await.unwrap(), []);
        assert_eq!(store.quick(&room, &card).await.unwrap(), [quick("👎", Some(event(2)))]);
    }

    #[tokio::test]
    async fn a_poll_is_open_until_it_is_ended() {
        let (_folder, store) = store();
        let (room, card) = (room(), event(1));
        store.keep_poll(&room, &card, &event(2)).await.unwrap();
        assert_eq!(store.open_poll(&room, &card).await.unwrap(), Some(event(2)));
        store.end_poll(&room, &card).await.unwrap();
        assert_eq!(store.open_poll(&room, &card).await.unwrap(), None);
    }
}
