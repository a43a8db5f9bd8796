//! From the port to Telegram.

mod doubt;
mod keys;
mod layout;
mod marks;
mod outcome;
mod parcel;
mod posts;
mod topics;

use vigie_core::{
    bridge::{Place, Said, Say, SayError},
    id::{DeliveryId, MessageId},
};

use crate::{
    TelegramBridge,
    api::{TgChat, TgMessage, TgThread},
};

pub(crate) async fn say(
    bridge: &TelegramBridge,
    place: &Place,
    say: &Say,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let spot = Spot::of(place)?;
    let before = bridge.unreached();
    let said = match say {
        Say::Post { post, reply_to } => {
            posts::post(bridge, spot, post, reply_to.as_ref(), key).await
        }
        Say::Edit { message, post } => posts::edit(bridge, spot, number(message)?, post).await,
        Say::Mark { message, mark } => marks::mark(bridge, spot, number(message)?, mark, key).await,
        Say::Thread { thread } => topics::show(bridge, spot, thread, key).await,
    };
    if bridge.unreached() <= before {
        bridge.reached();
    }
    said
}

/// A chat, or a topic of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    chat: TgChat,
    thread: Option<TgThread>,
}

impl Spot {
    fn of(place: &Place) -> Result<Self, SayError> {
        let never = |reason: String| SayError::Never { reason };
        let chat = place
            .chat
            .as_str()
            .parse()
            .map_err(|no: crate::api::NoNumber| never(no.to_string()))?;
        let thread = place.thread.as_ref().map(|thread| thread.as_str().parse());
        // What is no number was never a topic here, so another is needed.
        let thread = thread.transpose().map_err(|_| SayError::NoThread)?;
        Ok(Self { chat, thread })
    }
}

fn number(message: &MessageId) -> Result<TgMessage, SayError> {
    message.as_str().parse().map_err(|_| SayError::NoMessage)
}
