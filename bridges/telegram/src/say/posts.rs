//! New messages, and messages that change.

use std::path::Path;
use vigie_bridge_kit::layout::{Contents, Enclosed, Laid, Written};
use vigie_core::{
    bridge::{Media, Post, Said, SayError},
    id::{DeliveryId, MessageId},
};

use super::{
    Spot, doubt,
    keys::keyboard,
    layout, outcome,
    parcel::{self, Parcel},
};
use crate::{
    TelegramBridge,
    api::{
        Attachment, EditMessageText, Keyboard, LARGEST_PHOTO, LARGEST_UPLOAD, NoPreview, Refusal,
        ReplyTo, SendDocument, SendPhoto, TgMessage,
    },
    markup::Text,
};

pub(super) async fn post(
    bridge: &TelegramBridge,
    spot: Spot,
    post: &Post,
    reply_to: Option<&MessageId>,
    key: DeliveryId,
) -> Result<Said, SayError> {
    // A number that is none is no reason to keep back the words.
    let reply = reply_to.and_then(|message| message.as_str().parse().ok()).map(ReplyTo);
    let parcel = match layout::lay_out(post, spot, bridge.now()) {
        Laid::Written(Written { sheet, buttons, silent }) => {
            Parcel::words(spot, layout::message(&sheet), keyboard(&buttons), silent, reply)
        }
        Laid::Enclosed(enclosed) => parcel_of(spot, enclosed, reply).await?,
    };
    let arrived = doubt::once(bridge, key, &parcel).await?;
    Ok(Said { message: Some(arrived.message.into()), thread: None, calls: arrived.calls })
}

async fn parcel_of(
    spot: Spot,
    enclosed: Enclosed,
    reply: Option<ReplyTo>,
) -> Result<Parcel, SayError> {
    let Enclosed { name, contents, media, caption, silent } = enclosed;
    let caption = caption.map(|sheet| layout::caption(&sheet));
    let (caption, entities) = caption.map(|text| (text.text, text.entities)).unwrap_or_default();
    let bytes = match contents {
        Contents::Text(text) => text.into_bytes(),
        Contents::At(path) => read(Path::new(&path)).await?,
    };
    let size = bytes.len() as u64;
    if size > LARGEST_UPLOAD {
        return Err(too_large(size));
    }
    if size == 0 {
        return Err(SayError::Never {
            reason: format!("{name} is empty, and Telegram takes no empty file"),
        });
    }
    let file = Attachment::new(&name, bytes);
    Ok(match media {
        Media::Picture if size <= LARGEST_PHOTO => Parcel::Photo(
            SendPhoto {
                chat_id: spot.chat,
                message_thread_id: spot.thread,
                caption,
                caption_entities: entities,
                disable_notification: silent,
                reply_parameters: reply,
                reply_markup: None,
            },
            file,
        ),
        Media::Picture | Media::File => Parcel::Document(
            SendDocument {
                chat_id: spot.chat,
                message_thread_id: spot.thread,
                caption,
                caption_entities: entities,
                disable_notification: silent,
                reply_parameters: reply,
                reply_markup: None,
            },
            file,
        ),
    })
}

async fn read(path: &Path) -> Result<Vec<u8>, SayError> {
    let unreadable = |error: std::io::Error| SayError::Never {
        reason: format!("{} could not be read: {error}", path.display()),
    };
    let size = tokio::fs::metadata(path).await.map_err(unreadable)?.len();
    if size > LARGEST_UPLOAD {
        return Err(too_large(size));
    }
    tokio::fs::read(path).await.map_err(unreadable)
}

fn too_large(bytes: u64) -> SayError {
    // Rounded up, so that it is never said to be just as large as it may be.
    let megabytes = bytes.div_ceil(1_000_000);
    let most = outcome::megabytes();
    SayError::Never {
        reason: format!(
            "the file has {megabytes} MB and a bot may send {most} MB; it stays on the machine"
        ),
    }
}

pub(super) async fn edit(
    bridge: &TelegramBridge,
    spot: Spot,
    message: TgMessage,
    post: &Post,
) -> Result<Said, SayError> {
    match layout::lay_out(post, spot, bridge.now()) {
        Laid::Written(Written { sheet, buttons, .. }) => {
            let text = layout::message(&sheet);
            edit_text(bridge, spot, message, text, keyboard(&buttons)).await
        }
        Laid::Enclosed(Enclosed { name, .. }) => Err(SayError::Never {
            reason: format!("{name} is a file, and a file is not changed once it is sent"),
        }),
    }
}

/// Makes a message of ours show this from now on.
pub(super) async fn edit_text(
    bridge: &TelegramBridge,
    spot: Spot,
    message: TgMessage,
    text: Text,
    keyboard: Option<Keyboard>,
) -> Result<Said, SayError> {
    let edit = EditMessageText {
        chat_id: spot.chat,
        message_id: message,
        text: text.text,
        entities: text.entities,
        link_preview_options: NoPreview,
        reply_markup: keyboard,
    };
    let first = bridge.api.call(&edit).await;
    let again = parcel::plainer(&first, &edit.text).map(|text| {
        let plain = EditMessageText { text, entities: Vec::new(), ..edit.clone() };
        async move { bridge.api.call(&plain).await }
    });
    let tried = parcel::or(first, again).await;
    match tried.outcome {
        Ok(_) => {}
        Err(error) if error.refusal() == Some(Refusal::NotModified) => {}
        Err(error) => return Err(outcome::unsaid(bridge, error)),
    }
    Ok(Said { message: Some(message.into()), thread: None, calls: tried.calls })
}
