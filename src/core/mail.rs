//! Messages from session to session. One is kept until its recipient surely has it: *waiting*,
//! then *offered* (it is on its way into the agent), then *read* once the agent shows that it went
//! on with it. Whoever dies in between, it is offered again, marked as a repeat.

mod envelope;

pub use envelope::envelope;

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet, VecDeque};

use crate::{
    Timestamp,
    id::{GateId, HumanId, MailId, OrderId, PromptId, SessionId, SessionName, TokenId},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    pub id: MailId,
    /// Arrival order over all mail; nothing overtakes on its way to one recipient.
    pub number: u64,
    pub from: Sender,
    pub to: Recipient,
    /// The first message of the exchange; its own id where it is that.
    pub thread: MailId,
    pub reply_to: Option<MailId>,
    /// The first of those that went out together.
    pub batch: MailId,
    /// Exactly as it was sent; cleaned where it is shown.
    pub text: String,
    /// The sender's own key.
    pub key: Option<String>,
    pub sent: Timestamp,
    /// How many messages led to this one without a person in between …
    pub hops: u32,
    /// … and from how deep in a tree of sessions that began.
    pub depth: u32,
    /// It is the answer to a question the recipient asked.
    pub answers: Option<GateId>,
    /// How often it was offered and not surely read.
    pub tries: u32,
    pub state: MailState,
}

/// Who wrote it, from the token alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Sender {
    Session {
        session: SessionId,
        name: SessionName,
    },
    Client {
        token: TokenId,
        name: String,
    },
    Human {
        human: HumanId,
    },
    /// What the code has to say: that a message was never read, say.
    Vigie,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum Recipient {
    Session {
        session: SessionId,
        name: SessionName,
    },
    Client {
        token: TokenId,
        name: String,
    },
    /// The people, in the sender's thread.
    Humans,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MailState {
    Waiting {
        /// Not offered by itself until then: whoever waits for it may fetch it first, or the last
        /// offer failed a moment ago.
        not_before: Option<Timestamp>,
    },
    Offered {
        how: Offer,
        at: Timestamp,
    },
    Read {
        at: Timestamp,
    },
    /// It was never read and will not be.
    Dead {
        why: String,
        at: Timestamp,
    },
}

/// On which way a message goes into an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Offer {
    /// As a prompt: the agent is idle.
    Prompt { prompt: PromptId },
    /// Beside the result of its next tool call: it is in the middle of a turn.
    Beside { order: OrderId, taken: Taken },
    /// It fetched it itself.
    Tool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    NotYet,
    /// The agent got it; the end of its turn shows that it had it.
    Yes,
}

impl Mail {
    /// It was offered before, and may have been read.
    pub fn is_repeat(&self) -> bool {
        self.tries > 0
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.state, MailState::Waiting { .. })
    }

    /// It was handed to whoever carries it into the agent, and nobody knows yet whether it did.
    pub fn is_on_its_way(&self) -> bool {
        match &self.state {
            MailState::Offered { how, .. } => match how {
                Offer::Prompt { .. } | Offer::Beside { taken: Taken::NotYet, .. } => true,
                Offer::Beside { taken: Taken::Yes, .. } | Offer::Tool => false,
            },
            MailState::Waiting { .. } | MailState::Read { .. } | MailState::Dead { .. } => false,
        }
    }
}

impl Sender {
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::Session { session, .. } => Some(*session),
            Self::Client { .. } | Self::Human { .. } | Self::Vigie => None,
        }
    }

    /// The one spelling under which it is found again.
    pub fn address(&self) -> String {
        match self {
            Self::Session { session, .. } => session.to_string(),
            Self::Client { token, .. } => token.to_string(),
            Self::Human { human } => format!("human:{human}"),
            Self::Vigie => "vigie".into(),
        }
    }

    /// As people and agents read it; what can be written to stands there as it is addressed.
    pub fn spoken(&self) -> String {
        match self {
            Self::Session { name, .. } => name.to_string(),
            Self::Client { name, .. } => format!("client:{name}"),
            Self::Human { human } => format!("human:{human}"),
            Self::Vigie => "Vigie".into(),
        }
    }
}

impl Recipient {
    /// Whatever either is called.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session { session: a, .. }, Self::Session { session: b, .. }) => a == b,
            (Self::Client { token: a, .. }, Self::Client { token: b, .. }) => a == b,
            (Self::Humans, Self::Humans) => true,
            (Self::Session { .. } | Self::Client { .. } | Self::Humans, _) => false,
        }
    }

    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::Session { session, .. } => Some(*session),
            Self::Client { .. } | Self::Humans => None,
        }
    }

    /// The one spelling under which it is found again.
    pub fn address(&self) -> String {
        match self {
            Self::Session { session, .. } => session.to_string(),
            Self::Client { token, .. } => token.to_string(),
            Self::Humans => "human".into(),
        }
    }

    /// As people and agents read it, and as it is addressed.
    pub fn spoken(&self) -> String {
        match self {
            Self::Session { name, .. } => name.to_string(),
            Self::Client { name, .. } => format!("client:{name}"),
            Self::Humans => "human".into(),
        }
    }
}

impl MailState {
    pub fn is_open(&self) -> bool {
        match self {
            Self::Waiting { .. } | Self::Offered { .. } => true,
            Self::Read { .. } | Self::Dead { .. } => false,
        }
    }
}

/// What of messages is remembered beside the rows. A crash may lose it: then a bound counts anew.
#[derive(Debug, Default)]
pub struct Lately {
    /// When each wrote to whom, by address.
    pub wrote: HashMap<(String, String), VecDeque<Timestamp>>,
    /// When the people heard that two were stopped, by their addresses in order.
    pub told: HashMap<(String, String), Timestamp>,
    /// What was sent under a key a moment ago, the newest last: it may not be in the database yet.
    pub keyed: VecDeque<Keyed>,
    /// Sessions that gave back what should have gone beside their work: it waits for the end of
    /// their turn.
    pub takes_nothing: HashSet<SessionId>,
}

/// A message that was sent under a key, whoever it went to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    pub sender: String,
    pub key: String,
    pub sent: Vec<(MailId, Recipient)>,
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    #[error("nobody here is `{address}`")]
    Nobody { address: String, near: Vec<String> },
    #[error("the message says nobody it is for")]
    NoAddress,
    #[error("`{0}` is you")]
    Yourself(String),
    #[error("the message is empty")]
    Empty,
    #[error("the message has {length} bytes, and {most} are the most")]
    TooLong { length: usize, most: usize },
    #[error("a key has at most {most} bytes")]
    LongKey { most: usize },
    #[error("{name} gets no mail: {why}")]
    NoMailbox { name: SessionName, why: &'static str },
    #[error("this session is isolated: it neither sends nor gets mail")]
    Isolated,
    #[error("{name} has {waiting} messages waiting")]
    Full { name: String, waiting: usize },
    #[error("that is another run of {name}, and {name} is {successor} now")]
    Successor { name: SessionName, successor: SessionId },
    #[error("there is no message {0} of yours to answer")]
    NoSuchMail(MailId),
    #[error("{hops} messages led to this one and no person in between")]
    TooManyHops { hops: u32 },
    #[error("{count} messages from you to {name} within a minute")]
    TooOften { name: String, count: usize },
    #[error("this would reach {count} agents, and each takes a turn for it: {names}")]
    Unconfirmed { count: usize, names: String },
}

impl NotSent {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Nobody { near, .. } if near.is_empty() => {
                Some("list_sessions shows who can be written to; the people are `human`.".into())
            }
            Self::Nobody { near, .. } => Some(format!("Did you mean {}?", near.join(", "))),
            Self::NoAddress => Some(
                "Give `to`: a session's name, `parent`, `children`, `human`; or `reply_to`.".into(),
            ),
            Self::Yourself(_) => Some("list_sessions shows the others.".into()),
            Self::TooLong { .. } => Some(
                "Write it to a file both can read and send where it is; send_file gives one to the people."
                    .into(),
            ),
            Self::Full { .. } => Some("Wait until it has read some.".into()),
            Self::Successor { name, .. } => {
                Some(format!("Write to {name} anew if it is meant for the new one."))
            }
            Self::TooManyHops { .. } | Self::TooOften { .. } => {
                Some("Stop here: finish your turn. The person has been told.".into())
            }
            Self::Unconfirmed { .. } => {
                Some("If all of them must read it, send it again with confirmed: true.".into())
            }
            Self::Empty
            | Self::LongKey { .. }
            | Self::NoMailbox { .. }
            | Self::Isolated
            | Self::NoSuchMail(_) => None,
        }
    }
}
