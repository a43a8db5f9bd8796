//! Something that waits for a human, and its one answer.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::{
    Timestamp,
    agent::{Asked, Decision},
    bridge::{CardKind, Fact, Risk},
    id::{GateCode, GateId, HumanId, OrderId, RequestId, SessionId},
    text::Rich,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub id: GateId,
    pub code: GateCode,
    pub session: SessionId,
    /// The start of the session's program that asks: an answer never reaches another.
    pub run: u32,
    pub request: RequestId,
    pub ask: Asked,
    pub shown: Shown,
    pub opened: Timestamp,
    /// Denied by itself from then on.
    pub until: Timestamp,
    /// Answers given so far to the questions, in their order; complete means decided.
    pub picked: Vec<Option<String>>,
    /// Options ticked so far, by question and position, at questions that take several.
    pub ticked: BTreeSet<(usize, usize)>,
    pub state: GateState,
    #[serde(default)]
    pub asker: Asker,
    /// The card's messages, one a chat, and again where it was said anew.
    pub cards: Vec<crate::delivery::Shown>,
}

/// How the agent asked, and so how it gets the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// By its own request, which its holder keeps open: it waits and does nothing else.
    #[default]
    Request,
    /// By a tool of ours: it may go on meanwhile, and outlives its program.
    Tool,
}

/// What the card says, worked out once when the gate opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub kind: CardKind,
    pub title: String,
    pub content: Rich,
    pub diff: Option<String>,
    pub warnings: Vec<String>,
    pub facts: Vec<Fact>,
    pub risk: Risk,
    /// SHA-256 of tool, input and folder, in hex: what was approved is what was shown.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum GateState {
    Open,
    /// Stored; the agent does not have it yet.
    Answered {
        answer: Answer,
        order: OrderId,
    },
    /// The agent has it.
    Taken {
        answer: Answer,
        at: Timestamp,
    },
    /// Over without an answer of ours.
    Closed {
        why: String,
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// `None`: the deadline decided.
    pub by: Option<HumanId>,
    pub decision: Decision,
    /// "Approved", "Denied", "Answered: SQLite".
    pub verdict: String,
    pub at: Timestamp,
    /// Where it came from: "the phone page", "the command line".
    pub via: String,
}

/// Why an answer changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TooLate {
    Decided(Answer),
    Closed { why: String, at: Timestamp },
}

impl Gate {
    pub fn is_open(&self) -> bool {
        match self.state {
            GateState::Open => true,
            GateState::Answered { .. } | GateState::Taken { .. } | GateState::Closed { .. } => {
                false
            }
        }
    }

    /// The first answer counts; every later one learns why it did not.
    pub fn decide(&mut self, answer: Answer, order: OrderId) -> Result<(), TooLate> {
        match &self.state {
            GateState::Open => {
                self.state = GateState::Answered { answer, order };
                Ok(())
            }
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => {
                Err(TooLate::Decided(answer.clone()))
            }
            GateState::Closed { why, at } => Err(TooLate::Closed { why: why.clone(), at: *at }),
        }
    }
}
