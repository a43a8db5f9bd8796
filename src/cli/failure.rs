//! How a command fails: what happened, what to do next, and the exit code.

use std::{fmt::Display, process::ExitCode};

use crate::{hold::ancestry, web::client::ClientError};

/// Stable, and listed in `docs/command-line.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// A fault of Vigie's own.
    Ours = 1,
    /// Command line or configuration.
    Usage = 2,
    /// Vigie or the session says no.
    Refused = 3,
    NotRunning = 4,
    /// Disk, port, another program.
    Outside = 5,
    /// What was to be looked at is not right: mistakes in a file, a run that failed.
    NotRight,
    /// A run was denied, cancelled or not run.
    Stopped,
}

impl Exit {
    /// The last two are told by `workflow check` and `run --follow` alone.
    fn code(self) -> u8 {
        match self {
            Self::NotRight => Self::Ours as u8,
            Self::Stopped => Self::Usage as u8,
            other => other as u8,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub words: String,
    pub hint: Option<String>,
    /// Stable, for programs.
    pub code: String,
    exit: Exit,
}

impl Failure {
    fn new(exit: Exit, code: &str, words: impl Display) -> Self {
        Self { words: words.to_string(), hint: None, code: code.into(), exit }
    }

    pub(super) fn ours(words: impl Display) -> Self {
        Self::new(Exit::Ours, "internal", words)
    }

    pub(super) fn usage(words: impl Display) -> Self {
        Self::new(Exit::Usage, "usage", words)
    }

    pub(super) fn outside(words: impl Display) -> Self {
        Self::new(Exit::Outside, "outside", words)
    }

    pub(super) fn refused(code: &str, words: impl Display) -> Self {
        Self::new(Exit::Refused, code, words)
    }

    pub(super) fn not_right(code: &str, words: impl Display) -> Self {
        Self::new(Exit::NotRight, code, words)
    }

    pub(super) fn stopped(code: &str, words: impl Display) -> Self {
        Self::new(Exit::Stopped, code, words)
    }

    fn inside_a_session() -> Self {
        let words = "this is inside a session, and agents do not command Vigie";
        Self::refused("inside_a_session", words)
            .hint("Run it in a terminal outside of Vigie, or ask the person.")
    }

    /// Nothing to an agent, also where no daemon would refuse it.
    pub(super) fn if_inside_a_session() -> Result<(), Self> {
        if ancestry::inside_a_session() { Err(Self::inside_a_session()) } else { Ok(()) }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn exit(&self) -> Exit {
        self.exit
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        // A session does not see Vigie's folder, whether Vigie runs or not.
        if matches!(error, ClientError::NotRunning) && ancestry::inside_a_session() {
            return Self::inside_a_session();
        }
        let (exit, code) = match &error {
            ClientError::NotRunning => (Exit::NotRunning, "not_running"),
            ClientError::Refused(shape) => match shape.code.as_str() {
                "internal" => (Exit::Ours, "internal"),
                "not_written" | "not_read" | "outside" => (Exit::Outside, shape.code.as_str()),
                other => (Exit::Refused, other),
            },
            ClientError::Unknown(_) => (Exit::Ours, "unknown_answer"),
            ClientError::Socket(_) => (Exit::Outside, "socket"),
            ClientError::Silent => (Exit::Outside, "silent"),
            ClientError::Broken(_) => (Exit::Outside, "broken"),
        };
        Self { hint: error.hint(), ..Self::new(exit, code, &error) }
    }
}
