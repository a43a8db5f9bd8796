//! What a person wants a session to read, from the moment it is written down until the agent
//! says it has it.

use serde::{Deserialize, Serialize};

use vigie_workflow::value::StepPath;

use crate::{
    Timestamp,
    agent::PromptForm,
    bridge::Place,
    id::{HeardId, HumanId, MailId, MessageId, OrderId, PromptId, RunId, SessionId, SessionName},
    outage::Cut,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    pub id: PromptId,
    pub session: SessionId,
    /// Arrival order over all sessions; a person's clock never sorts.
    pub number: u64,
    pub text: String,
    pub form: PromptForm,
    /// `None`: messages of others ([`Prompt::mails`]), a workflow's words ([`Prompt::of_step`]), or
    /// Vigie's own.
    pub by: Option<HumanId>,
    /// The message it came in; `None` when it came over the command line.
    pub message: Option<PromptMessage>,
    /// The messages it hands over; empty for a person's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mails: Vec<MailId>,
    /// The step of a run whose words it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_step: Option<OfStep>,
    /// Vigie's own words, with which a turn goes on that was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<Box<Cut>>,
    pub state: PromptState,
}

/// One attempt of a step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfStep {
    pub run: RunId,
    pub step: StepPath,
    pub attempt: u32,
}

/// A person's own message, for its receipts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptMessage {
    pub heard: HeardId,
    pub place: Place,
    pub id: MessageId,
    /// Everybody it goes to, this session among them.
    pub targets: Vec<SessionName>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PromptState {
    Queued,
    /// With the holder under this order; it may be typed at any moment, so its text is final.
    Handed {
        order: OrderId,
        at: Timestamp,
    },
    /// The agent's own signal says it has it.
    Taken {
        at: Timestamp,
    },
    /// It will not reach the agent.
    Refused {
        why: String,
        at: Timestamp,
    },
}

impl PromptState {
    pub fn is_open(&self) -> bool {
        match self {
            Self::Queued | Self::Handed { .. } => true,
            Self::Taken { .. } | Self::Refused { .. } => false,
        }
    }
}
