use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::{Place, Room};
use crate::{
    Timestamp,
    id::{ChatId, MessageId, ThreadId},
};

/// Something a service says about itself or about a chat, rather than what a person did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "noted", rename_all = "snake_case")]
pub enum Noted {
    /// It hears again after having heard nothing for so long; taps of that time may be lost. Only a
    /// service whose cards perish ([`super::Cards`]) has a reason to say so.
    Back { after: Duration },
    /// The chat goes by another id from now on.
    Moved { from: ChatId, to: ChatId },
    /// We may write there, and what sort of chat it is.
    Open { chat: ChatId, room: Room },
    /// We may not write there any more, and why, for a person.
    Shut { chat: ChatId, reason: String },
    /// Somebody deleted the thread.
    ThreadGone { chat: ChatId, thread: ThreadId },
    /// Who is in a chat besides us or is asked to be, all of them: after each start, and each time that
    /// it changes. Nothing is said there before it was handed in ([`super::Inbox::is_still`]).
    Readers { chat: ChatId, readers: Vec<Reader> },
    /// Somebody is in a chat with us that they did not have before, and has said nothing yet.
    Met { chat: ChatId, room: Room, from: String },
    /// Somebody who is not admitted wants to have us in a chat; we did not go.
    Knocked { from: String },
    /// Something a person wrote there cannot be read, or may not be; `why` says it with what to do.
    NotRead { place: Place, message: MessageId, from: String, why: String },
    /// A person is needed at the desk; `words` say for what, and how.
    NeedsDesk { words: String },
    /// What came from a person could not be read, even at the last try; it is kept under that number.
    Unread { number: String, reason: String },
}

/// Somebody in a chat besides us. All of it is what the service says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reader {
    /// The service's own id of the person.
    pub who: String,
    /// Who brought them, if it was not they themselves.
    pub by: Option<String>,
    pub entry: Entry,
    /// They are in the room of that thread alone.
    pub thread: Option<ThreadId>,
    /// They are not whom we knew by that id.
    pub changed: Option<Changed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    Joined,
    Invited,
}

/// What stands under a person's id is not what stood there before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Changed {
    /// What tells it from any other such change.
    pub to: String,
    /// What happened and what to do, as sentences.
    pub words: String,
}

/// How hearing goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// When the service last answered that it had told everything.
    pub heard: Option<Timestamp>,
    /// What is wrong now and what to do about it, for a person.
    pub trouble: Option<String>,
}
