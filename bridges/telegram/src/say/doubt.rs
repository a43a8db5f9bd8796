//! One message for one key, even where nobody knows what became of a first try.

use std::time::Duration;
use tracing::{error, info};
use vigie_core::{bridge::SayError, id::DeliveryId};

use super::{
    outcome,
    parcel::{Parcel, Tried},
};
use crate::{
    TelegramBridge,
    api::{CallError, DeleteMessage, EditMessageReplyMarkup, Refusal, SentMessage, TgMessage},
    store::Begun,
};

/// Messages that are looked at. People write few within the seconds before a repeat, and each look
/// counts as a message to the chat.
const LOOKS: usize = 8;

/// Numbers without a message, after which no more are looked at: a chat's numbers have no gaps but
/// those that deletions leave, and in private chats those of other chats.
const GAPS: usize = 4;

/// Before looking again where a look got no answer.
const AFTER_A_BLIND_LOOK: Duration = Duration::from_secs(2);

/// A message of ours that is there, and the calls it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub message: TgMessage,
    pub calls: usize,
}

/// Sends `parcel` unless the key's message is there already.
pub(super) async fn once(
    bridge: &TelegramBridge,
    key: DeliveryId,
    parcel: &Parcel,
) -> Result<Arrived, SayError> {
    let chat = parcel.chat();
    let begun = bridge.store.begin(key, chat, bridge.now()).await.map_err(outcome::unwritten)?;
    let (before, mut calls) = match begun {
        Begun::Said(message) => return Ok(Arrived { message, calls: 0 }),
        Begun::First | Begun::Made(_) => (None, 0),
        Begun::InDoubt { before, .. } => {
            let looked = look(bridge, parcel, before).await?;
            if let Some(message) = looked.found {
                info!(%key, %chat, %message, "a message that was in doubt is there");
                bridge.store.said(key, chat, message).await.map_err(outcome::unwritten)?;
                return Ok(Arrived { message, calls: looked.calls });
            }
            (Some(before), looked.calls)
        }
    };
    let tried = parcel.send(bridge).await;
    calls += tried.calls;
    match arrived(bridge, parcel, tried).await {
        Ok(message) => {
            if let Err(error) = bridge.store.said(key, chat, message).await {
                // It is said all the same, and the daemon writes down that it is.
                error!(%error, %key, "could not keep which message it became");
            }
            Ok(Arrived { message, calls })
        }
        Err(error) => {
            // What was in doubt before stays so: that this try failed says nothing of the first.
            if error != SayError::InDoubt && before.is_none() {
                bridge.store.not_said(key).await.map_err(outcome::unwritten)?;
            }
            Err(error)
        }
    }
}

async fn arrived(
    bridge: &TelegramBridge,
    parcel: &Parcel,
    tried: Tried<SentMessage>,
) -> Result<TgMessage, SayError> {
    let sent = tried.outcome.map_err(|error| match parcel {
        Parcel::Words(_) => outcome::unsaid(bridge, error),
        Parcel::Document(..) | Parcel::Photo(..) => outcome::unsent_file(bridge, error),
    })?;
    let chat_id = parcel.chat();
    // Telegram has put what was for a deleted topic of a private chat into the chat itself, unsaid
    // (tdlib/telegram-bot-api, issue 854); own servers may be of that age.
    if chat_id.is_private() && sent.topic() != parcel.thread() && parcel.thread().is_some() {
        let wrong = DeleteMessage { chat_id, message_id: sent.message_id };
        if let Err(error) = bridge.api.call(&wrong).await {
            error!(%error, %chat_id, "a message that Telegram misplaced stays in the main chat");
        }
        return Err(SayError::NoThread);
    }
    Ok(sent.message_id)
}

struct Looked {
    found: Option<TgMessage>,
    calls: usize,
}

/// Looks among the messages after `before` for one of ours that no key accounts for. One thing at a
/// time is said in a chat, so there can be but one.
async fn look(
    bridge: &TelegramBridge,
    parcel: &Parcel,
    before: TgMessage,
) -> Result<Looked, SayError> {
    let mut looked = Looked { found: None, calls: 0 };
    if before.0 == 0 {
        return Ok(looked); // no message was known there, so there is nowhere to begin
    }
    let chat = parcel.chat();
    let known = bridge.store.known_after(chat, before).await.map_err(outcome::unwritten)?;
    let mut gaps = 0;
    for number in before.0 + 1.. {
        let message = TgMessage(number);
        if known.contains(&message) {
            gaps = 0;
            continue;
        }
        if looked.calls == LOOKS || gaps == GAPS {
            break;
        }
        looked.calls += 1;
        match glance(bridge, parcel, message).await? {
            Glance::Ours => {
                looked.found = Some(message);
                break;
            }
            Glance::Anothers => gaps = 0,
            Glance::Nothing => gaps += 1,
        }
    }
    Ok(looked)
}

enum Glance {
    Ours,
    Anothers,
    Nothing,
}

/// Gives a message the buttons it would have, which changes nothing where it is the one, and fails
/// where it is not ours.
async fn glance(
    bridge: &TelegramBridge,
    parcel: &Parcel,
    message_id: TgMessage,
) -> Result<Glance, SayError> {
    let reply_markup = parcel.keyboard().cloned();
    let same = EditMessageReplyMarkup { chat_id: parcel.chat(), message_id, reply_markup };
    let error = match bridge.api.call(&same).await {
        Ok(_) => return Ok(Glance::Ours),
        Err(error) => error,
    };
    match error.refusal() {
        Some(Refusal::NotModified) => Ok(Glance::Ours),
        Some(Refusal::CannotEdit) => Ok(Glance::Anothers),
        Some(Refusal::EditNotFound | Refusal::MessageGone) => Ok(Glance::Nothing),
        Some(_) => Err(outcome::unsaid(bridge, error)),
        None => Err(match error {
            // A look changes nothing, so there is no new doubt in it.
            CallError::InDoubt { .. } => SayError::Later { after: AFTER_A_BLIND_LOOK },
            CallError::TooMany { .. } | CallError::NotSent { .. } | CallError::Refused { .. } => {
                outcome::unsaid(bridge, error)
            }
        }),
    }
}
