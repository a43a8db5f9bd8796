//! What Vigie says, before any service's dialect: one Post, laid out by each bridge in its way;
//! a bridge adds, drops and rewords nothing.

use serde::{Deserialize, Serialize};

use super::{Action, ByReaction};
use crate::{
    Timestamp,
    id::{GateCode, GateId, HumanId, SessionName},
    text::Rich,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// Whose words these are; `None`: Vigie's own. Agents cannot pose as Vigie, since the bridge shows this.
    pub from: Option<SessionName>,
    pub level: Level,
    pub body: Body,
}

/// How much it may disturb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Only kept.
    Log,
    /// A silent message.
    Note,
    /// A person is needed now.
    Ring,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "body", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "the large one, a card, is the usual one")]
pub enum Body {
    Text {
        text: Rich,
        /// Set when one text became several messages.
        part: Option<Part>,
        /// What a person can do about it (near misses, resume); empty for plain words.
        buttons: Vec<Button>,
    },
    Card(Card),
    Progress(Progress),
    Document(Document),
    File(FilePost),
}

impl Body {
    /// The gate it is the card of.
    pub fn gate(&self) -> Option<GateId> {
        match self {
            Self::Card(card) => Some(card.gate),
            Self::Text { .. } | Self::Progress(_) | Self::Document(_) | Self::File(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// From 1.
    pub number: usize,
    pub of: usize,
}

/// Text too long for messages, as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// A safe file name of our choice.
    pub name: String,
    pub text: String,
    /// One line about it.
    pub about: String,
}

/// A file on this machine, for services that take files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePost {
    /// Absolute; made by the daemon for this post.
    pub path: String,
    /// As the person sees it.
    pub name: String,
    pub media: Media,
    /// One line about it.
    pub about: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Media {
    /// A PNG to look at.
    Picture,
    File,
}

/// What a session does right now; one message per turn, edited in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The last lines, oldest first; the last is the current one.
    pub lines: Vec<String>,
    pub since: Timestamp,
    /// `Some`: the turn is over and the message becomes this one line.
    pub ended: Option<String>,
    /// "Stop" and the like; empty once ended.
    pub buttons: Vec<Button>,
}

/// Something that waits for a person, or waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    pub gate: GateId,
    pub code: GateCode,
    pub kind: CardKind,
    /// "asks to run a command that deletes files"; the session's name stands before it.
    pub title: String,
    pub opened: Timestamp,
    /// Decided by itself from then on …
    pub until: Timestamp,
    /// … like this.
    #[serde(default)]
    pub lapse: Lapse,
    /// Exactly what will run, be changed, is asked or is planned, hidden characters made visible.
    pub content: Rich,
    /// A unified diff, for edits; shown beside or instead of `content`.
    pub diff: Option<String>,
    pub warnings: Vec<String>,
    pub facts: Vec<Fact>,
    pub risk: Risk,
    #[serde(default)]
    pub reactions: ByReaction,
    /// How to answer in words.
    pub answer: String,
    /// Empty once the card is no longer open.
    pub buttons: Vec<Button>,
    pub state: CardState,
}

/// What becomes of a card that nobody answers in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lapse {
    #[default]
    Denied,
    Approved,
    Failed,
}

impl Lapse {
    /// As it stands behind the time.
    pub fn words(self) -> &'static str {
        match self {
            Self::Denied => "then it is denied",
            Self::Approved => "then it is approved",
            Self::Failed => "then it has failed",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    Permission,
    Question,
    Plan,
    Approval,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Plain,
    /// It changes or reaches more than the project.
    Care,
    /// It destroys or hides something: a tap or a bare word is not enough, the code must be typed.
    Code,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CardState {
    Open,
    /// Answered; the agent does not have it yet.
    Answered(Decided),
    /// Answered, and the agent has it since `taken`.
    Taken {
        decided: Decided,
        taken: Timestamp,
    },
    /// Nobody here decided: answered at the desk, the asker is gone, time over.
    Closed {
        why: String,
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// "Approved", "Denied", "Answered: SQLite, encrypted".
    pub verdict: String,
    pub by: HumanId,
    pub at: Timestamp,
    /// "the phone page", "the command line".
    pub via: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub label: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    pub label: String,
    /// A second, smaller line.
    pub detail: Option<String>,
    pub weight: Weight,
    pub action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    Go,
    Plain,
    Risk,
}
