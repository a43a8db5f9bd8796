//! What an emoji on a message of ours, or a vote beside it, means; and what of ours came back.

use matrix_sdk::ruma::{EventId, RoomId, TransactionId};
use rusqlite::OptionalExtension as _;
use vigie_core::{Timestamp, bridge::Action};

use super::Hearing;

impl Hearing<'_> {
    /// What `emoji`, put then on that message of ours, means; `None`: it is an emoji like any.
    pub(super) async fn meaning(
        self,
        room: &str,
        on: &str,
        emoji: &str,
        put: Timestamp,
    ) -> Option<Action> {
        let (room, on) = (RoomId::parse(room).ok()?, EventId::parse(on).ok()?);
        self.on_disk(|| self.bridge.store.legend(&room, &on, emoji, put)).await
    }

    /// The card that the poll stands beside.
    pub(super) async fn card_of(self, room: &str, poll: &str) -> Option<String> {
        let key = [room.to_owned(), poll.to_owned()];
        let ask = "select card from poll where room = ?1 and poll = ?2";
        self.written(move |db| db.query_row(ask, key.clone(), |row| row.get(0)).optional()).await
    }

    /// One of our own events came back.
    pub(super) async fn echoed(self, transaction: &str, event: &str) {
        let Ok(event) = EventId::parse(event) else { return };
        let transaction = <&TransactionId>::from(transaction);
        self.on_disk(|| self.bridge.store.echoed(transaction, &event)).await;
    }
}
