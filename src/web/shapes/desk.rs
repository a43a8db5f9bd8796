//! What is on its way, as it crosses the API: words that wait, and what did not arrive.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vigie_core::{
    Timestamp,
    delivery::Undelivered,
    prompt::{Prompt, PromptState},
};

/// Words on their way into a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromptShape {
    pub id: String,
    pub text: String,
    /// Whose words they are, by id; `null`: of other sessions, or of a workflow.
    pub by: Option<String>,
    /// `queued`, or `handed` once they are on their way and final.
    pub state: String,
}

impl PromptShape {
    pub fn new(prompt: &Prompt) -> Self {
        let state = match prompt.state {
            PromptState::Queued => "queued",
            PromptState::Handed { .. } => "handed",
            PromptState::Taken { .. } => "taken",
            PromptState::Refused { .. } => "refused",
        };
        Self {
            id: prompt.id.to_string(),
            text: prompt.text.clone(),
            by: prompt.by.as_ref().map(ToString::to_string),
            state: state.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditPrompt {
    pub text: String,
}

/// Something that did not reach its chat, and will not by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UndeliveredShape {
    pub id: String,
    /// What did not arrive where, and why.
    pub words: String,
    pub bridge: String,
    /// The session it is about, by id.
    pub session: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl UndeliveredShape {
    pub fn new(failed: &Undelivered) -> Self {
        let Undelivered { delivery, words, at } = failed;
        Self {
            id: delivery.id.to_string(),
            words: words.clone(),
            bridge: delivery.to.bridge.to_string(),
            session: delivery.session.map(|session| session.to_string()),
            at: *at,
        }
    }
}
