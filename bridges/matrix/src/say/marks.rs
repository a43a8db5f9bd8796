//! Receipts on people's messages: read, a reaction, and words where those do not say enough.

use matrix_sdk::ruma::{
    EventId, api::client::receipt::create_receipt::v3::ReceiptType, events::receipt::ReceiptThread,
};
use tracing::warn;
use vigie_core::{
    bridge::{Mark, Said, SayError},
    id::DeliveryId,
};

use super::{
    Spot, content,
    door::{Door, Failed},
    layout,
    once::{Changes, MESSAGE, Outgoing},
    outcome::{self, Refusal},
    posts,
};
use crate::store::{Part, Receipt};

pub(super) async fn mark(
    door: &Door<'_>,
    spot: &Spot,
    message: &EventId,
    mark: &Mark,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let known = door.bridge.store.receipt(&spot.room, message).await;
    let known = known.map_err(outcome::unwritten)?;
    let is_new = known.is_none();
    let receipt = known.unwrap_or_default();
    let mut marking = Marking { door, spot, message, receipt, key, calls: 0 };
    if is_new {
        marking.read().await?;
    }
    marking.react(emoji(mark)).await?;
    marking.say(words(mark)).await?;
    Ok(Said { calls: marking.calls, ..Said::default() })
}

/// That it is written down is shown by its being read: an account may send few events.
fn emoji(mark: &Mark) -> Option<&'static str> {
    match mark {
        Mark::Stored { .. } | Mark::Kept { .. } => None,
        Mark::Taken { .. } => Some("👌"),
        Mark::NotTaken { .. } => Some("⚠️"),
    }
}

/// Why something is kept is asked about in a message of its own.
fn words(mark: &Mark) -> Option<&str> {
    match mark {
        Mark::Stored { words, .. } => words.as_deref(),
        Mark::NotTaken { why } => Some(why),
        Mark::Taken { .. } | Mark::Kept { .. } => None,
    }
}

struct Marking<'a> {
    door: &'a Door<'a>,
    spot: &'a Spot,
    message: &'a EventId,
    receipt: Receipt,
    key: DeliveryId,
    calls: usize,
}

impl Marking<'_> {
    /// Shows the room as read up to there, once. It is no event, and that it fails is no reason to try
    /// again before the next mark.
    async fn read(&self) -> Result<(), SayError> {
        let message = self.message.to_owned();
        let thread = ReceiptThread::Unthreaded;
        let read = self.door.room.send_single_receipt(ReceiptType::Read, thread, message);
        match self.door.within(read).await {
            Ok(()) => self.keep().await,
            Err(Failed { error, .. }) => {
                warn!(%error, "a message is not shown as read");
                Ok(())
            }
        }
    }

    /// Puts the reaction on, and takes an earlier one off.
    async fn react(&mut self, emoji: Option<&str>) -> Result<(), SayError> {
        if self.receipt.emoji.as_deref() == emoji {
            return Ok(());
        }
        let before = self.receipt.reaction.take();
        self.receipt.emoji = None;
        if let Some(emoji) = emoji {
            self.receipt.reaction = self.put(emoji).await?;
            self.receipt.emoji = Some(emoji.to_owned());
        }
        if let Some(before) = before {
            self.calls += 1;
            let transaction = format!("vigie.u.{}", self.key);
            self.door.redact(&before, &transaction).await?;
        }
        self.keep().await
    }

    async fn put(
        &mut self,
        emoji: &str,
    ) -> Result<Option<matrix_sdk::ruma::OwnedEventId>, SayError> {
        self.calls += 1;
        let content = content::reaction(self.message, emoji);
        let transaction = format!("vigie.m.{}", self.key);
        match self.door.send("m.reaction", &content, &transaction).await {
            Ok(event) => Ok(Some(event)),
            Err(Failed { refusal: Some(Refusal::Duplicate), .. }) => Ok(None),
            Err(Failed { refusal: Some(Refusal::NotFound), .. }) => Err(SayError::NoMessage),
            Err(failed) => Err(failed.error),
        }
    }

    /// Says the words below the message, or takes back what is no longer so.
    async fn say(&mut self, words: Option<&str>) -> Result<(), SayError> {
        let Some(words) = words else { return self.take_back().await };
        match self.receipt.reply.clone() {
            Some((_, said)) if said == words => Ok(()),
            Some((reply, _)) => {
                let content = content::words(&layout::plain(words), None);
                match posts::change(self.door, &reply, &content, self.key, false).await {
                    Ok(calls) => self.calls += calls,
                    // Somebody deleted it; the words still matter.
                    Err(SayError::NoMessage) => return self.answer(words).await,
                    Err(error) => return Err(error),
                }
                self.receipt.reply = Some((reply, words.to_owned()));
                self.keep().await
            }
            None => self.answer(words).await,
        }
    }

    async fn answer(&mut self, words: &str) -> Result<(), SayError> {
        let part = Part::first(self.key);
        let reply_to = Some(self.message.to_owned());
        let standing = posts::standing(self.door, self.spot, reply_to).await?;
        let content = content::words(&layout::plain(words), None);
        let reply = Outgoing {
            kind: MESSAGE,
            digest: content::digest(&content),
            content: content::placed(content, &standing, part),
            changes: Changes::ByEdit,
            door: self.door,
        };
        let arrived = reply.once(part).await?;
        self.calls += arrived.calls;
        self.receipt.reply = Some((arrived.event, words.to_owned()));
        self.keep().await
    }

    /// What the words said is over.
    async fn take_back(&mut self) -> Result<(), SayError> {
        let Some((reply, _)) = self.receipt.reply.take() else { return Ok(()) };
        self.calls += 1;
        self.door.redact(&reply, &format!("vigie.w.{}", self.key)).await?;
        self.keep().await
    }

    async fn keep(&self) -> Result<(), SayError> {
        let bridge = self.door.bridge;
        let receipt = self.receipt.clone();
        let kept = bridge.store.keep_receipt(&self.spot.room, self.message, receipt, bridge.now());
        kept.await.map_err(outcome::unwritten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::Timestamp;

    #[test]
    fn an_event_is_spent_only_where_reading_does_not_say_it() {
        let stored = |words: Option<&str>| Mark::Stored {
            targets: Vec::new(),
            words: words.map(str::to_owned),
        };
        let kept = Mark::Kept { why: "which session?".into() };
        let taken = Mark::Taken { targets: Vec::new(), at: Timestamp::default() };
        let not = Mark::NotTaken { why: "it ended".into() };
        let shown = |mark: &Mark| (emoji(mark), words(mark).map(str::to_owned));
        assert_eq!(shown(&stored(None)), (None, None));
        assert_eq!(shown(&stored(Some("2nd in line"))), (None, Some("2nd in line".into())));
        assert_eq!(shown(&kept), (None, None));
        assert_eq!(shown(&taken), (Some("👌"), None));
        assert_eq!(shown(&not), (Some("⚠️"), Some("it ended".into())));
    }
}
