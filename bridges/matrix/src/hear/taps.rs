//! What an emoji on a message of ours, or a vote beside it, means.

use rusqlite::OptionalExtension as _;
use vigie_core::bridge::Action;

use super::Hearing;

impl Hearing<'_> {
    /// What `emoji` on that message of ours means; `None`: it is an emoji like any.
    pub(super) async fn meaning(self, room: &str, on: &str, emoji: &str) -> Option<Action> {
        let key = [room.to_owned(), on.to_owned(), bare(emoji)];
        let ask = "select action from legend where room = ?1 and event = ?2 and emoji = ?3";
        let found = self
            .written(move |db| {
                db.query_row(ask, key.clone(), |row| row.get::<_, String>(0)).optional()
            })
            .await;
        found.and_then(|action| action.parse().ok())
    }

    /// The card that the poll stands beside.
    pub(super) async fn card_of(self, room: &str, poll: &str) -> Option<String> {
        let key = [room.to_owned(), poll.to_owned()];
        let ask = "select card from poll where room = ?1 and poll = ?2";
        self.written(move |db| db.query_row(ask, key.clone(), |row| row.get(0)).optional()).await
    }

    /// One of our own events came back.
    pub(super) async fn echoed(self, transaction: &str, event: &str) {
        let _ = (transaction, event);
    }
}

/// Apps differ in these.
fn bare(emoji: &str) -> String {
    let counts = |c: &char| !matches!(c, '\u{FE0E}' | '\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}');
    emoji.chars().filter(counts).collect()
}
