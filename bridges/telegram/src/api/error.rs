use std::{error::Error, time::Duration};

use super::{Refusal, Token};

/// Why a call did not end well, as the decision it calls for. No variant ever holds an address, so
/// none holds the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing was done; Telegram wants quiet for so long in this chat.
    #[error("Telegram asks to wait {} s", after.as_secs())]
    TooMany { after: Duration },
    /// No connection came about: surely not done, so it may simply be tried again.
    #[error("Telegram was not reached: {why}")]
    NotSent { why: String },
    /// It may have been done or not.
    #[error("Telegram gave no clear answer: {why}")]
    InDoubt { why: String },
    /// Not done, and not going to be.
    #[error("Telegram refuses: {description}")]
    Refused { code: u16, description: String, refusal: Refusal },
}

impl CallError {
    /// Only a connection that never came about is surely harmless to repeat: everything later may
    /// have reached Telegram.
    pub(super) fn of_transport(error: reqwest::Error, token: &Token) -> Self {
        let unsent = error.is_connect() || error.is_builder();
        let late = error.is_timeout();
        let why = token.hidden_in(&chain(&error.without_url()));
        let why = if late { format!("no answer in time ({why})") } else { why };
        if unsent { Self::NotSent { why } } else { Self::InDoubt { why } }
    }

    pub(super) fn in_doubt(why: impl Into<String>) -> Self {
        Self::InDoubt { why: why.into() }
    }

    /// What the refusal means; `None` when it is none.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Refused { refusal, .. } => Some(*refusal),
            Self::TooMany { .. } | Self::NotSent { .. } | Self::InDoubt { .. } => None,
        }
    }
}

/// The error and what lies under it, each once, in one line.
fn chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        let words = inner.to_string();
        if !said.contains(&words) {
            said.push_str(": ");
            said.push_str(&words);
        }
        next = inner.source();
    }
    said
}
