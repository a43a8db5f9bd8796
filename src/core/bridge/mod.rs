//! The port of a chat service: say something, hear something. A bridge translates; it decides
//! nothing and keeps nothing but the service's own matters.

mod action;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod noted;
mod post;
mod reactions;

pub use action::{Action, BadAction};
pub use noted::{Changed, Entry, Health, Noted, Reader};
pub use post::{
    Body, Button, Card, CardKind, CardState, Decided, Document, Fact, FilePost, Lapse, Level,
    Media, Part, Post, Progress, Risk, Weight,
};

pub use reactions::{ByReaction, Counts, Reactions, in_words};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::{
    Timestamp,
    id::{BridgeName, ChatId, DeliveryId, MessageId, SessionName, ThreadId},
};

/// Where people write: a chat of a service, or one thread of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub bridge: BridgeName,
    pub chat: ChatId,
    /// `None`: the chat itself (Telegram: private chat or General; phone page: the main chat).
    pub thread: Option<ThreadId>,
}

/// What sort of chat it is, as the service tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// One person and us.
    Direct,
    /// One person and us, with threads.
    DirectThreads,
    /// Several people.
    Group,
    /// Several people, with threads.
    Forum,
}

impl Room {
    pub const ALL: [Self; 4] = [Self::Direct, Self::DirectThreads, Self::Group, Self::Forum];

    pub fn has_threads(self) -> bool {
        match self {
            Self::DirectThreads | Self::Forum => true,
            Self::Direct | Self::Group => false,
        }
    }

    pub fn is_direct(self) -> bool {
        match self {
            Self::Direct | Self::DirectThreads => true,
            Self::Group | Self::Forum => false,
        }
    }

    /// The same chat, with threads if `other` has them. Whether others read along is not theirs to say.
    #[must_use]
    pub fn with_threads_of(self, other: Self) -> Self {
        match (self.is_direct(), other.has_threads()) {
            (true, true) => Self::DirectThreads,
            (true, false) => Self::Direct,
            (false, true) => Self::Forum,
            (false, false) => Self::Group,
        }
    }

    /// The same chat, when threads turn out not to be had.
    #[must_use]
    pub fn without_threads(self) -> Self {
        if self.is_direct() { Self::Direct } else { Self::Group }
    }
}

/// One thing a bridge is asked to do in a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum Say {
    /// A new message.
    Post { post: Post, reply_to: Option<MessageId> },
    /// Replace what a message of ours shows.
    Edit { message: MessageId, post: Post },
    /// Mark a person's message. A later mark replaces the earlier one.
    Mark { message: MessageId, mark: Mark },
    /// Make the session's thread, or bring its title and state up to date. With `thread: None` in
    /// the place it is made, and [`Said::thread`] is its id.
    Thread { thread: ThreadState },
}

/// What a receipt shows on the person's own message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "snake_case")]
pub enum Mark {
    /// 👀 It is written down. `words` says more when there is more to say
    /// ("PD-285 takes it after this turn").
    Stored { targets: Vec<SessionName>, words: Option<String> },
    /// 👌 The agents have it.
    Taken { targets: Vec<SessionName>, at: Timestamp },
    /// Kept, and not sent to anybody yet.
    Kept { why: String },
    /// It will not be sent.
    NotTaken { why: String },
}

/// A session's thread as a list of threads shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadState {
    pub session: SessionName,
    pub title: String,
    pub state: SessionLook,
    /// A few words after the state: "permission", "until 14:10", "exit status 137".
    pub detail: Option<String>,
    /// Since when the state holds.
    pub since: Timestamp,
}

/// A session's state as a person sees it; the words are the look's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionLook {
    Starting,
    Idle,
    Working,
    Waiting,
    NeedsDesk,
    Limited,
    Ended,
    Lost,
}

/// A chat service as the core sees it.
#[async_trait]
pub trait Bridge: Send + Sync {
    fn name(&self) -> BridgeName;

    /// What a chat of that sort takes.
    fn limits(&self, room: Room) -> Limits;

    /// How hearing goes, for `status` and for noticing that it does not. A bridge that cannot go
    /// deaf says nothing.
    fn health(&self) -> Health {
        Health::default()
    }

    /// Does `say` in `place`. After a crash the same `key` may come again: the service drops the
    /// double if it can, and answers with the same [`Said`].
    async fn say(&self, place: &Place, say: &Say, key: DeliveryId) -> Result<Said, SayError>;

    /// Hands in what people write and tap, until `stop`. Acknowledges to the service only when
    /// [`Inbox::accept`] has returned: from then on a crash loses nothing.
    async fn hear(&self, inbox: &dyn Inbox, stop: CancellationToken) -> Result<(), Lost>;
}

/// What one chat of the service takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub unit: TextUnit,
    /// Longest text of one message, in `unit`.
    pub text: usize,
    /// Most styled parts of one message.
    pub spans: usize,
    /// More parts than this become the first part and a document.
    pub parts: usize,
    /// The bridge drops a repeated key itself, so an interrupted send is simply sent again.
    pub repeats: Repeats,
    /// Whether it takes files, or is told their text.
    pub files: Files,
    /// Whether what rings reaches a person who is not looking.
    pub attention: Attention,
    /// Whether whoever tapped is answered on the spot.
    pub taps: Taps,
    /// What a reaction may decide.
    pub reactions: Reactions,
    /// Whether cards outlast a silence.
    pub cards: Cards,
    /// Most that may be sent to one chat; `None`: as much as there is.
    pub budget: Option<Budget>,
    /// Least time between two versions of one progress message.
    pub progress_every: Duration,
    /// How long a session's state must hold before its thread shows it.
    pub thread_after: Duration,
}

impl Limits {
    /// Those of a text and its parts, and of a chat that takes as much as there is.
    pub const fn of_text(unit: TextUnit, text: usize, spans: usize, parts: usize) -> Self {
        Self {
            unit,
            text,
            spans,
            parts,
            repeats: Repeats::Shown,
            files: Files::TextOnly,
            attention: Attention::Pushed,
            taps: Taps::Answered,
            reactions: Reactions::Proved,
            cards: Cards::Perish,
            budget: None,
            progress_every: Duration::ZERO,
            thread_after: Duration::ZERO,
        }
    }
}

/// What a chat bears before the service refuses: sends, edits and thread changes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub calls: usize,
    pub window: Duration,
    pub refill: Refill,
    pub over: Over,
    pub signs: Signs,
}

/// What it takes to show on a person's message that the agent has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// Nothing: the service does not count reactions.
    Free,
    /// A call like any other.
    Counted,
}

impl Budget {
    /// Until one more call is free again, where that goes steadily.
    pub fn each(self) -> Duration {
        self.window / u32::try_from(self.calls.max(1)).unwrap_or(u32::MAX)
    }
}

/// How calls come free again once they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// Each a window after it was made: there are never more than `calls` in a window.
    AfterWindow,
    /// One after the other, each a `calls`th of a window after the one before, however quickly they were
    /// made.
    Steadily,
}

/// What shares one budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Each chat has its own, as on Telegram.
    Chat,
    /// All chats of the service have one together: Matrix counts what an account sends.
    Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    Taken,
    TextOnly,
}

/// How a service gets a person's attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// It wakes their phone.
    Pushed,
    /// It is heard only where its page is open.
    WhileOpen,
}

/// What becomes of [`Accepted::notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taps {
    /// The service shows it to whoever tapped.
    Answered,
    /// The service has no place for it: what must be known is said in a message.
    Unanswered,
}

/// Whether a card that was sent, and a tap on it while nobody heard, are still there afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cards {
    /// Taps are forgotten and people delete chats, as on Telegram: open cards are said anew.
    Perish,
    /// All of it stays and is told later, as on Matrix: what is there is never said twice.
    Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUnit {
    Utf16,
    Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    DroppedByService,
    Shown,
}

/// What the service made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub message: Option<MessageId>,
    pub thread: Option<ThreadId>,
    /// What it took of the chat's [`Budget`].
    pub calls: usize,
}

/// Carries the decision, so that no caller guesses it from a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SayError {
    #[error("the service asks to wait {} s", after.as_secs())]
    Later { after: Duration },
    #[error("it is not known whether the service took it")]
    InDoubt,
    #[error("the service refuses it: {reason}")]
    Never { reason: String },
    /// The thread it should go to is gone.
    #[error("its thread is gone")]
    NoThread,
    /// No thread can be made in this chat; without a reason: none is wanted there, and nobody needs to
    /// hear of it.
    #[error("no thread can be made there: {}", reason.as_deref().unwrap_or("it is set up so"))]
    NoThreads { reason: Option<String> },
    /// What should be edited or marked is gone.
    #[error("the message it is about is gone")]
    NoMessage,
    /// The chat goes by another id from now on.
    #[error("the chat has moved")]
    Moved { to: ChatId },
    /// The service lets nothing into this chat until a person changes that.
    #[error("the chat takes nothing: {reason}")]
    Shut { reason: String },
}

/// Why hearing ended though nobody asked it to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Lost {
    pub reason: String,
}

/// Where a bridge hands in what it heard.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Returns once it is on disk. The same [`Heard::key`] again is accepted and changes nothing.
    async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted>;

    /// Hands in what the service says about itself; returns once it is on disk.
    async fn note(&self, bridge: &BridgeName, noted: Noted) -> Result<(), NotAccepted>;

    /// Whether this person may be heard at all: asked before anything of theirs is fetched.
    async fn admits(&self, bridge: &BridgeName, from: &str) -> Result<bool, NotAccepted>;

    /// Whether nothing is on its way to that chat: what is said there from now on was decided with all
    /// in mind that was handed in before. Only services whose chats others can come into ask.
    async fn is_still(&self, _bridge: &BridgeName, _chat: &ChatId) -> Result<bool, NotAccepted> {
        Ok(true)
    }

    /// Whether nothing about that session, or about Vigie itself, may make a sound for this person now:
    /// their quiet hours, and what they muted. Only services that have one chat for several people ask.
    async fn is_hushed(
        &self,
        _bridge: &BridgeName,
        _from: &str,
        _session: Option<&SessionName>,
    ) -> Result<bool, NotAccepted> {
        Ok(false)
    }
}

/// What to tell the person at once where the service has a place for it (a tap's answer).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub notice: Option<String>,
}

/// It is not on disk: keep it and hand it in again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not written down: {reason}")]
pub struct NotAccepted {
    pub reason: String,
}

/// One thing a person did in a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Unique within the bridge and the same whenever the service tells it again.
    pub key: String,
    /// The service's own id of the person; names are never trusted.
    pub from: String,
    pub place: Place,
    pub room: Room,
    /// When the service says it was sent.
    pub at: Timestamp,
    pub what: HeardKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "heard", rename_all = "snake_case")]
pub enum HeardKind {
    Text {
        message: MessageId,
        text: String,
        /// The message it answers, when the person said so.
        reply_to: Option<MessageId>,
        origin: TextOrigin,
        files: Vec<Attached>,
    },
    Edited {
        message: MessageId,
        text: String,
    },
    /// A button of one of our messages.
    Tap {
        message: MessageId,
        action: Action,
    },
    /// An emoji put on a message.
    Reaction {
        message: MessageId,
        emoji: String,
        /// The button of that message that it stood for when it was put there.
        means: Option<Action>,
    },
    /// A message of theirs that they deleted.
    Withdrawn {
        message: MessageId,
    },
    /// An emoji taken off a message again.
    TakenBack {
        message: MessageId,
        emoji: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextOrigin {
    Typed,
    /// Somebody else's words, passed on: never a decision.
    Forwarded,
}

/// A file a person sent with their words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Safe to show to an agent: no line break, no bracket.
    pub name: String,
    pub got: Got,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "got", rename_all = "snake_case")]
pub enum Got {
    /// It lies there, readable by the agents.
    File { path: String, bytes: u64 },
    /// It could not be fetched, and why, for the person.
    Missed { why: String },
}
