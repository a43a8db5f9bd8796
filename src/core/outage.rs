//! The account that agents work on: several may share one, and what is wrong with it stops all of them.

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    agent::FailureKind,
    delivery::Shown,
    id::{AccountName, HumanId},
    session::TurnOfStep,
};

/// What an agent is told when it may go on.
pub const GO_ON: &str = "Go on where you were cut off.";

/// An account as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutageRow {
    pub account: AccountName,
    /// `None`: it works.
    pub trouble: Option<Trouble>,
}

/// What is wrong with an account, from the first turn that ended so until one works again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub why: Why,
    pub since: Timestamp,
    /// The agent's own words about it, masked.
    pub words: String,
    /// In which the agent names times.
    pub zone: Option<String>,
    pub stand: Stand,
    /// Turns in a row that ended so after it was tried again.
    pub tries: u32,
    /// The time that the agent named, where a person had it tried before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<Timestamp>,
    /// Where it was said to the people.
    pub said: Vec<Shown>,
    /// With which words; empty: nothing was said yet.
    pub said_words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It has used up what it may for now.
    Limit,
    /// The service behind it is down or has too much to do.
    Overload,
    /// It is not logged in any more.
    Login,
    /// There is no money left on it.
    Billing,
}

impl Why {
    /// What stops all that an account does; `None`: that turn alone failed.
    pub fn of(kind: FailureKind) -> Option<Self> {
        match kind {
            FailureKind::Limit => Some(Self::Limit),
            FailureKind::Service => Some(Self::Overload),
            FailureKind::Account => Some(Self::Login),
            FailureKind::Billing => Some(Self::Billing),
            FailureKind::Request | FailureKind::Other => None,
        }
    }

    /// Whether it ends without anybody doing something.
    pub fn passes(self) -> bool {
        match self {
            Self::Limit | Self::Overload => true,
            Self::Login | Self::Billing => false,
        }
    }
}

/// How far it is with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stand", rename_all = "snake_case")]
pub enum Stand {
    /// Nothing goes in until then.
    Until { at: Timestamp, named: Named },
    /// Nothing goes in until a turn works or a person says so.
    UntilSaid,
    /// What waits goes in, one after the other: the next from then on.
    GoesOn {
        next: Timestamp,
        /// A turn that began since did work.
        works: Works,
    },
}

/// Who set the time at which it is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    ByAgent,
    ByUs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Works {
    NotYet,
    Yes,
}

impl Trouble {
    /// Whether nothing goes in now.
    pub fn holds(&self) -> bool {
        match self.stand {
            Stand::Until { .. } | Stand::UntilSaid => true,
            Stand::GoesOn { .. } => false,
        }
    }

    pub fn is_said(&self) -> bool {
        !self.said_words.is_empty()
    }

    /// When it is tried again; `None`: when somebody says so, or already.
    pub fn until(&self) -> Option<Timestamp> {
        match self.stand {
            Stand::Until { at, .. } => Some(at),
            Stand::UntilSaid | Stand::GoesOn { .. } => None,
        }
    }
}

/// A turn that was cut off by what is wrong with its account, and goes on once that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub at: Timestamp,
    /// Whose words it answers.
    pub by: Option<HumanId>,
    /// Those words, shortened and masked; `None`: nobody knows them.
    pub asked: Option<String>,
    /// The step of a run it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_step: Option<Box<TurnOfStep>>,
}

/// Why a session does not work right now, for lists and pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitedView {
    /// What stands still: an account's name, "the story PD-285", "the day 2026-11-30", a session.
    pub whose: String,
    /// "is at its usage limit until 04:11", to stand behind that.
    pub words: String,
    /// What stands behind "at its limit" in lists: "until 04:11", "not logged in".
    pub detail: String,
    pub ends: Ends,
}

impl LimitedView {
    /// All of it: "claude is at its usage limit until 04:11".
    pub fn sentence(&self) -> String {
        format!("{} {}", self.whose, self.words)
    }
}

/// What ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    ByItself,
    /// Somebody has to do something.
    BySomebody,
}
