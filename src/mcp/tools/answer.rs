//! What goes back to a model: the same twice, structured and as text, and refusals that say what to
//! do next.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::str::FromStr;
use vigie_core::{
    caller::{AgentRefusal, AgentReply, TicketView},
    command::Refusal,
};

/// Longest refusal, in characters: it names what was asked for, however long that is.
const LONGEST_REFUSAL: usize = 2000;

/// What a tool found, or why it did nothing.
pub(in crate::mcp) type Answer = Result<Found, Refused>;

/// What a tool found.
pub(in crate::mcp) enum Found {
    Result(CallToolResult),
    /// Nothing yet: the client comes back for it by itself.
    Later(TicketView),
}

/// Why a tool did nothing: words for a model.
#[derive(Debug)]
pub(in crate::mcp) struct Refused(String);

impl Refused {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// In the band where the model reads it: an error of the protocol is for programs.
    pub(in crate::mcp) fn result(self) -> CallToolResult {
        let mut words = self.0;
        if let Some((end, _)) = words.char_indices().nth(LONGEST_REFUSAL) {
            words.truncate(end);
            words.push('…');
        }
        CallToolResult::error(vec![ContentBlock::text(words)])
    }

    /// The hub answered something else than was asked: a fault of ours.
    pub(super) fn unexpected(reply: &AgentReply) -> Self {
        tracing::error!(?reply, "the hub gave an agent an answer of another kind");
        Self::new(
            "Vigie answered itself nonsense, which is a fault of Vigie. Tell the person; its log has the details.",
        )
    }
}

impl From<AgentRefusal> for Refused {
    fn from(refusal: AgentRefusal) -> Self {
        match refusal {
            AgentRefusal::Same(Refusal::Stopping) => Self::new(
                "Vigie is about to restart. Call again in some seconds; what was started goes on.",
            ),
            other => Self(other.sentence()),
        }
    }
}

/// A result, and its twin for models and people who read text.
pub(super) fn answer(shape: &impl Serialize, text: impl Into<String>) -> Found {
    Found::Result(result(shape, text))
}

pub(super) fn result(shape: &impl Serialize, text: impl Into<String>) -> CallToolResult {
    let shape = serde_json::to_value(shape).expect("our shapes are texts, numbers and lists");
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(shape);
    result
}

/// Reads what a tool takes. What is wrong with it is for the model to mend.
pub(super) fn read<T: DeserializeOwned>(args: Map<String, Value>) -> Result<T, Refused> {
    serde_json::from_value(Value::Object(args)).map_err(|error| {
        Refused(format!(
            "These arguments do not fit: {error}. The tool's schema says what it takes."
        ))
    })
}

/// An id as the model gave it.
pub(super) fn id<T: FromStr>(text: &str, what: &str) -> Result<T, Refused> {
    let wrong = |_| Refused(format!("`{text}` is no id of a {what}. Give it back as you got it."));
    text.trim().parse().map_err(wrong)
}
