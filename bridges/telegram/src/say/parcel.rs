//! A message as it goes to Telegram.

use std::future::Future;
use tracing::error;
use vigie_bridge_kit::measure::beginning;
use vigie_core::bridge::TextUnit;

use super::Spot;
use crate::{
    TelegramBridge,
    api::{
        Attachment, CallError, Keyboard, NoPreview, Refusal, ReplyTo, SendDocument, SendMessage,
        SendPhoto, SentMessage, TgChat, TgThread,
    },
    markup::{Text, utf16_len},
};

/// What stays of a text that Telegram finds too long though it is not, in UTF-16 units: half of what
/// it takes by every way of counting.
const SURELY_SHORT: usize = 2_000;

const CUT: &str = "\n… (cut: Telegram found it too long)";

/// What is sent as one message.
#[derive(Debug)]
pub(super) enum Parcel {
    Words(SendMessage),
    Document(SendDocument, Attachment),
    Photo(SendPhoto, Attachment),
}

/// What a call came to, and how many it took.
pub(super) struct Tried<T> {
    pub outcome: Result<T, CallError>,
    pub calls: usize,
}

impl Parcel {
    pub(super) fn words(
        spot: Spot,
        text: Text,
        keyboard: Option<Keyboard>,
        silent: bool,
        reply: Option<ReplyTo>,
    ) -> Self {
        Self::Words(SendMessage {
            chat_id: spot.chat,
            message_thread_id: spot.thread,
            text: text.text,
            entities: text.entities,
            link_preview_options: NoPreview,
            disable_notification: silent,
            reply_parameters: reply,
            reply_markup: keyboard,
        })
    }

    pub(super) fn chat(&self) -> TgChat {
        match self {
            Self::Words(message) => message.chat_id,
            Self::Document(message, _) => message.chat_id,
            Self::Photo(message, _) => message.chat_id,
        }
    }

    pub(super) fn thread(&self) -> Option<TgThread> {
        match self {
            Self::Words(message) => message.message_thread_id,
            Self::Document(message, _) => message.message_thread_id,
            Self::Photo(message, _) => message.message_thread_id,
        }
    }

    pub(super) fn keyboard(&self) -> Option<&Keyboard> {
        match self {
            Self::Words(message) => message.reply_markup.as_ref(),
            Self::Document(message, _) => message.reply_markup.as_ref(),
            Self::Photo(message, _) => message.reply_markup.as_ref(),
        }
    }

    /// Sends it; what Telegram will not take as it is, once more in a plainer form.
    pub(super) async fn send(&self, bridge: &TelegramBridge) -> Tried<SentMessage> {
        match self {
            Self::Words(message) => {
                let first = bridge.api.call(message).await;
                let again = plainer(&first, &message.text).map(|text| async move {
                    let plain = SendMessage { text, entities: Vec::new(), ..message.clone() };
                    bridge.api.call(&plain).await
                });
                or(first, again).await
            }
            Self::Document(message, file) => {
                Tried { outcome: bridge.api.upload(message, file).await, calls: 1 }
            }
            Self::Photo(message, file) => {
                let first = bridge.api.upload(message, file).await;
                let refusal = first.as_ref().err().and_then(CallError::refusal);
                let again = refusal.filter(|refusal| *refusal == Refusal::PhotoInvalid);
                let again =
                    again.map(|_| async { bridge.api.upload(&as_document(message), file).await });
                or(first, again).await
            }
        }
    }
}

/// The first outcome, or that of another try where there is one.
pub(super) async fn or<T>(
    first: Result<T, CallError>,
    again: Option<impl Future<Output = Result<T, CallError>>>,
) -> Tried<T> {
    match again {
        None => Tried { outcome: first, calls: 1 },
        Some(again) => Tried { outcome: again.await, calls: 2 },
    }
}

/// The text without any style, where Telegram refused it for its length or its styles. That must not
/// happen, and an answer without its looks is better than none.
pub(super) fn plainer<T>(first: &Result<T, CallError>, text: &str) -> Option<String> {
    let error = first.as_ref().err()?;
    let refusal = error.refusal()?;
    let text = if refusal == Refusal::EntitiesInvalid {
        text.to_owned()
    } else if refusal == Refusal::TooLong {
        format!("{}{CUT}", beginning(text, SURELY_SHORT, TextUnit::Utf16))
    } else {
        return None;
    };
    error!(%error, units = utf16_len(text.as_str()), "Telegram refuses a text that should fit");
    Some(text)
}

fn as_document(photo: &SendPhoto) -> SendDocument {
    SendDocument {
        chat_id: photo.chat_id,
        message_thread_id: photo.message_thread_id,
        caption: photo.caption.clone(),
        caption_entities: photo.caption_entities.clone(),
        disable_notification: photo.disable_notification,
        reply_parameters: photo.reply_parameters,
        reply_markup: photo.reply_markup.clone(),
    }
}
