//! What people's messages bear by now.

use matrix_sdk::ruma::{EventId, OwnedEventId, RoomId};
use rusqlite::{OptionalExtension as _, Row, params};
use vigie_bridge_kit::database::DatabaseError;
use vigie_core::Timestamp;

use super::{Store, said::read_event};

/// Our reaction on a person's message, and our reply to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub emoji: Option<String>,
    /// The event that put it there; `None` where it is not known which.
    pub reaction: Option<OwnedEventId>,
    /// Our message that says it in words, and the words.
    pub reply: Option<(OwnedEventId, String)>,
}

impl Store {
    /// `None`: nothing was shown on it yet.
    pub(crate) async fn receipt(
        &self,
        room: &RoomId,
        message: &EventId,
    ) -> Result<Option<Receipt>, DatabaseError> {
        let key = [room.to_string(), message.to_string()];
        self.run(move |db| {
            let ask = "select emoji, reaction, reply, words from receipt
                where room = ?1 and message = ?2";
            db.query_row(ask, key, receipt).optional()
        })
        .await
    }

    pub(crate) async fn keep_receipt(
        &self,
        room: &RoomId,
        message: &EventId,
        receipt: Receipt,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let (room, message) = (room.to_string(), message.to_string());
        self.run(move |db| {
            let (reply, words) =
                receipt.reply.map(|(event, words)| (event.to_string(), words)).unzip();
            let reaction = receipt.reaction.map(|event| event.to_string());
            let put = "insert or replace into receipt
                (room, message, at, emoji, reaction, reply, words)
                values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let at = now.timestamp_millis();
            let row = params![room, message, at, receipt.emoji, reaction, reply, words];
            db.execute(put, row).map(drop)
        })
        .await
    }
}

fn receipt(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    let words: Option<String> = row.get(3)?;
    Ok(Receipt {
        emoji: row.get(0)?,
        reaction: read_event(row, 1)?,
        reply: read_event(row, 2)?.zip(words),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{event, now, room, store};

    #[tokio::test]
    async fn a_receipt_is_kept_and_replaced() {
        let (_folder, store) = store();
        assert_eq!(store.receipt(&room(), &event(1)).await.unwrap(), None);
        let full = Receipt {
            emoji: Some("👌".into()),
            reaction: Some(event(2)),
            reply: Some((event(3), "2nd in line".into())),
        };
        store.keep_receipt(&room(), &event(1), full.clone(), now()).await.unwrap();
        assert_eq!(store.receipt(&room(), &event(1)).await.unwrap(), Some(full.clone()));
        let bare = Receipt { reply: None, ..full.clone() };
        store.keep_receipt(&room(), &event(1), bare.clone(), now()).await.unwrap();
        assert_eq!(store.receipt(&room(), &event(1)).await.unwrap(), Some(bare));
    }
}
