use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

use crate::id::{GateId, HeardId, ParseIdError, RunId, SessionId};

/// What a tap means. Carries ids, so that a stale button can only mean what it meant. Reads as a
/// text of at most 64 bytes (Telegram's `callback_data`): a letter, the ids, positions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Allow a permission, or approve a plan.
    Allow {
        gate: GateId,
    },
    AllowForSession {
        gate: GateId,
    },
    /// Allow a permission, and what is like it for some hours.
    AllowForHours {
        gate: GateId,
    },
    /// Approve a plan and let its edits through.
    AllowWithEdits {
        gate: GateId,
    },
    Deny {
        gate: GateId,
    },
    /// Whoever tapped says with their next words to the card what should change.
    SendBack {
        gate: GateId,
    },
    /// The option at this position (from 0) of the question at that position.
    Choose {
        gate: GateId,
        question: usize,
        option: usize,
    },
    /// What is ticked at this question is the answer; for questions that take several.
    Submit {
        gate: GateId,
        question: usize,
    },
    /// Send the kept message to this session.
    SendTo {
        heard: HeardId,
        session: SessionId,
    },
    /// Start the session the kept message names and send it there.
    StartAndSend {
        heard: HeardId,
    },
    /// Forget the kept message.
    Drop {
        heard: HeardId,
    },
    /// Send an edit that came too late as a message of its own.
    SendEdit {
        heard: HeardId,
    },
    Resume {
        session: SessionId,
    },
    Interrupt {
        session: SessionId,
    },
    /// Interrupt the turn of every session that works.
    InterruptAll,
    CancelRun {
        run: RunId,
    },
    RetryRun {
        run: RunId,
    },
    /// That option (from 0) of what a start of a run asks for at that place.
    FillIn {
        form: HeardId,
        at: usize,
        option: usize,
    },
    /// Start the run that was asked for.
    StartRun {
        form: HeardId,
    },
    /// Forget it.
    DropRun {
        form: HeardId,
    },
    /// Whatever keeps that session for want of money may cost as much again.
    AsMuchAgain {
        session: SessionId,
    },
    /// The same for the steps of that run.
    RunGoesOn {
        run: RunId,
    },
}

impl Action {
    /// The gate it answers.
    pub fn gate(&self) -> Option<GateId> {
        match self {
            Self::Allow { gate }
            | Self::AllowForSession { gate }
            | Self::AllowForHours { gate }
            | Self::AllowWithEdits { gate }
            | Self::Deny { gate }
            | Self::SendBack { gate }
            | Self::Choose { gate, .. }
            | Self::Submit { gate, .. } => Some(*gate),
            Self::SendTo { .. }
            | Self::StartAndSend { .. }
            | Self::Drop { .. }
            | Self::SendEdit { .. }
            | Self::Resume { .. }
            | Self::Interrupt { .. }
            | Self::InterruptAll
            | Self::CancelRun { .. }
            | Self::RetryRun { .. }
            | Self::FillIn { .. }
            | Self::StartRun { .. }
            | Self::DropRun { .. }
            | Self::AsMuchAgain { .. }
            | Self::RunGoesOn { .. } => None,
        }
    }
}

/// A text that is no action: not ours, or of another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no button of ours")]
pub struct BadAction(pub String);

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow { gate } => write!(f, "a:{gate}"),
            Self::AllowForSession { gate } => write!(f, "s:{gate}"),
            Self::AllowForHours { gate } => write!(f, "h:{gate}"),
            Self::AllowWithEdits { gate } => write!(f, "e:{gate}"),
            Self::Deny { gate } => write!(f, "d:{gate}"),
            Self::Choose { gate, question, option } => write!(f, "c:{gate}:{question}:{option}"),
            Self::Submit { gate, question } => write!(f, "o:{gate}:{question}"),
            Self::SendTo { heard, session } => write!(f, "t:{heard}:{session}"),
            Self::StartAndSend { heard } => write!(f, "n:{heard}"),
            Self::Drop { heard } => write!(f, "x:{heard}"),
            Self::SendEdit { heard } => write!(f, "u:{heard}"),
            Self::Resume { session } => write!(f, "r:{session}"),
            Self::Interrupt { session } => write!(f, "i:{session}"),
            Self::InterruptAll => f.write_str("i:all"),
            Self::SendBack { gate } => write!(f, "b:{gate}"),
            Self::CancelRun { run } => write!(f, "k:{run}"),
            Self::RetryRun { run } => write!(f, "y:{run}"),
            Self::FillIn { form, at, option } => write!(f, "f:{form}:{at}:{option}"),
            Self::StartRun { form } => write!(f, "g:{form}"),
            Self::DropRun { form } => write!(f, "q:{form}"),
            Self::AsMuchAgain { session } => write!(f, "m:{session}"),
            Self::RunGoesOn { run } => write!(f, "v:{run}"),
        }
    }
}

impl FromStr for Action {
    type Err = BadAction;

    fn from_str(text: &str) -> Result<Self, BadAction> {
        let bad = || BadAction(text.chars().take(64).collect());
        let gate = |id: &str| id.parse::<GateId>().map_err(|_: ParseIdError| bad());
        let heard = |id: &str| id.parse::<HeardId>().map_err(|_| bad());
        let session = |id: &str| id.parse::<SessionId>().map_err(|_| bad());
        let run = |id: &str| id.parse::<RunId>().map_err(|_| bad());
        let number = |digits: &str| digits.parse::<usize>().map_err(|_| bad());
        let parts: Vec<_> = text.split(':').collect();
        Ok(match parts.as_slice() {
            ["a", id] => Self::Allow { gate: gate(id)? },
            ["s", id] => Self::AllowForSession { gate: gate(id)? },
            ["h", id] => Self::AllowForHours { gate: gate(id)? },
            ["e", id] => Self::AllowWithEdits { gate: gate(id)? },
            ["d", id] => Self::Deny { gate: gate(id)? },
            ["c", id, question, option] => Self::Choose {
                gate: gate(id)?,
                question: number(question)?,
                option: number(option)?,
            },
            ["o", id, question] => Self::Submit { gate: gate(id)?, question: number(question)? },
            ["t", id, to] => Self::SendTo { heard: heard(id)?, session: session(to)? },
            ["n", id] => Self::StartAndSend { heard: heard(id)? },
            ["x", id] => Self::Drop { heard: heard(id)? },
            ["u", id] => Self::SendEdit { heard: heard(id)? },
            ["r", id] => Self::Resume { session: session(id)? },
            ["i", "all"] => Self::InterruptAll,
            ["i", id] => Self::Interrupt { session: session(id)? },
            ["b", id] => Self::SendBack { gate: gate(id)? },
            ["k", id] => Self::CancelRun { run: run(id)? },
            ["y", id] => Self::RetryRun { run: run(id)? },
            ["f", id, at, option] => {
                Self::FillIn { form: heard(id)?, at: number(at)?, option: number(option)? }
            }
            ["g", id] => Self::StartRun { form: heard(id)? },
            ["q", id] => Self::DropRun { form: heard(id)? },
            ["m", id] => Self::AsMuchAgain { session: session(id)? },
            ["v", id] => Self::RunGoesOn { run: run(id)? },
            _ => return Err(bad()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    fn every_kind() -> Vec<Action> {
        let at = DateTime::from_timestamp_millis(1_796_000_000_000).unwrap();
        let gate = GateId::from_parts(at, u128::MAX);
        let heard = HeardId::from_parts(at, 7);
        let session = SessionId::from_parts(at, 9);
        let run = RunId::from_parts(at, 11);
        vec![
            Action::Allow { gate },
            Action::AllowForSession { gate },
            Action::AllowForHours { gate },
            Action::AllowWithEdits { gate },
            Action::Deny { gate },
            Action::Choose { gate, question: 12, option: 345 },
            Action::Submit { gate, question: 3 },
            Action::SendTo { heard, session },
            Action::StartAndSend { heard },
            Action::Drop { heard },
            Action::SendEdit { heard },
            Action::Resume { session },
            Action::Interrupt { session },
            Action::InterruptAll,
            Action::SendBack { gate },
            Action::CancelRun { run },
            Action::RetryRun { run },
            Action::FillIn { form: heard, at: 12, option: 345 },
            Action::StartRun { form: heard },
            Action::DropRun { form: heard },
            Action::AsMuchAgain { session },
            Action::RunGoesOn { run },
        ]
    }

    #[test]
    fn every_action_fits_a_button_and_reads_back() {
        for action in every_kind() {
            let text = action.to_string();
            assert!(text.len() <= 64, "{text} has {} bytes", text.len());
            assert_eq!(text.parse(), Ok(action));
        }
    }

    #[test]
    fn anything_else_is_no_action() {
        for text in ["", "a", "a:", "a:K7Q2", "z:gat_00000000000000000000000000", "c:1:2"] {
            assert!(text.parse::<Action>().is_err(), "{text}");
        }
    }
}
