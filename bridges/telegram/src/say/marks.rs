//! Receipts on people's messages: a reaction, and words where a reaction does not say enough.

use vigie_core::{
    bridge::{Mark, Said, SayError},
    id::DeliveryId,
};

use super::{Spot, doubt, layout, outcome, parcel::Parcel, posts};
use crate::{
    TelegramBridge,
    api::{CallError, DeleteMessage, Reaction, Refusal, ReplyTo, SetMessageReaction, TgMessage},
    store::Receipt,
};

pub(super) async fn mark(
    bridge: &TelegramBridge,
    spot: Spot,
    message: TgMessage,
    mark: &Mark,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let known = bridge.store.receipt(spot.chat, message).await.map_err(outcome::unwritten)?;
    let mut receipt = Marking { bridge, spot, message, receipt: known };
    receipt.react(emoji(mark)).await?;
    let calls = receipt.say(words(mark), key).await?;
    Ok(Said { calls, ..Said::default() })
}

/// Source of what can be a reaction: Bot API, `ReactionTypeEmoji`.
fn emoji(mark: &Mark) -> &'static str {
    match mark {
        Mark::Stored { .. } => "👀",
        Mark::Taken { .. } => "👌",
        Mark::Kept { .. } => "🤔",
        Mark::NotTaken { .. } => "👎",
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
    bridge: &'a TelegramBridge,
    spot: Spot,
    message: TgMessage,
    receipt: Receipt,
}

impl Marking<'_> {
    /// Puts the reaction on. Where the chat allows no such reaction there is none: what must be known
    /// is said in words anyway.
    async fn react(&mut self, emoji: &str) -> Result<(), SayError> {
        if self.receipt.reaction.as_deref() == Some(emoji) {
            return Ok(());
        }
        let reaction = SetMessageReaction {
            chat_id: self.spot.chat,
            message_id: self.message,
            reaction: vec![Reaction::Emoji { emoji: emoji.into() }],
        };
        if let Err(error) = self.bridge.api.call(&reaction).await
            && !is_about_reactions(&error)
        {
            return Err(outcome::unsaid(self.bridge, error));
        }
        self.receipt.reaction = Some(emoji.into());
        self.keep().await
    }

    /// Says the words below the message, or takes back what is no longer so. Returns the calls that
    /// the chat's budget counts.
    async fn say(&mut self, words: Option<&str>, key: DeliveryId) -> Result<usize, SayError> {
        let Some(words) = words else {
            self.take_back().await?;
            return Ok(0);
        };
        match self.receipt.reply.clone() {
            Some((_, said)) if said == words => Ok(0),
            Some((reply, _)) => self.change(reply, words, key).await,
            None => self.answer(words, key).await,
        }
    }

    async fn answer(&mut self, words: &str, key: DeliveryId) -> Result<usize, SayError> {
        let text = layout::plain(words);
        let reply = Some(ReplyTo(self.message));
        let parcel = Parcel::words(self.spot, text, None, true, reply);
        let arrived = doubt::once(self.bridge, key, &parcel).await?;
        self.receipt.reply = Some((arrived.message, words.to_owned()));
        self.keep().await?;
        Ok(arrived.calls)
    }

    async fn change(
        &mut self,
        reply: TgMessage,
        words: &str,
        key: DeliveryId,
    ) -> Result<usize, SayError> {
        let text = layout::plain(words);
        match posts::edit_text(self.bridge, self.spot, reply, text, None).await {
            Ok(said) => {
                self.receipt.reply = Some((reply, words.to_owned()));
                self.keep().await?;
                Ok(said.calls)
            }
            // Somebody deleted it; the words still matter.
            Err(SayError::NoMessage) => Ok(self.answer(words, key).await? + 1),
            Err(error) => Err(error),
        }
    }

    /// What the words said is over. That they stay is no reason to try for ever.
    async fn take_back(&mut self) -> Result<(), SayError> {
        let Some((reply, _)) = self.receipt.reply.clone() else { return Ok(()) };
        let gone = DeleteMessage { chat_id: self.spot.chat, message_id: reply };
        match self.bridge.api.call(&gone).await {
            Ok(_) | Err(CallError::Refused { .. } | CallError::InDoubt { .. }) => {}
            Err(error @ (CallError::TooMany { .. } | CallError::NotSent { .. })) => {
                return Err(outcome::unsaid(self.bridge, error));
            }
        }
        self.receipt.reply = None;
        self.keep().await
    }

    async fn keep(&self) -> Result<(), SayError> {
        let receipt = self.receipt.clone();
        let now = self.bridge.now();
        let kept = self.bridge.store.keep_receipt(self.spot.chat, self.message, receipt, now).await;
        kept.map_err(outcome::unwritten)
    }
}

/// Whether reactions alone are refused, and not the message, the chat or us.
fn is_about_reactions(error: &CallError) -> bool {
    let Some(refusal) = error.refusal() else { return false };
    match refusal {
        Refusal::ReactionInvalid
        | Refusal::NotModified
        | Refusal::NoRights
        | Refusal::NotFound
        | Refusal::Other => true,
        Refusal::EditNotFound
        | Refusal::CannotEdit
        | Refusal::MessageGone
        | Refusal::CannotDelete
        | Refusal::ThreadNotFound
        | Refusal::TopicIdInvalid
        | Refusal::TopicNotModified
        | Refusal::TopicClosed
        | Refusal::NotAForum
        | Refusal::ForumForbidden
        | Refusal::Blocked
        | Refusal::ChatNotFound
        | Refusal::Migrated { .. }
        | Refusal::Unauthorized
        | Refusal::Conflict
        | Refusal::WebhookActive
        | Refusal::QueryTooOld
        | Refusal::TooLong
        | Refusal::Empty
        | Refusal::EntitiesInvalid
        | Refusal::FileTooBig
        | Refusal::PhotoInvalid
        | Refusal::NoDrafts => false,
    }
}
