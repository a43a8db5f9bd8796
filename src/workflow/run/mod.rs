//! A run: a log, what it says so far, and what comes next. `(log, event) → entries` is pure; whoever
//! owns the run writes the entries down, applies them, and then does what they say.

mod entry;
mod frozen;
mod work;

pub use entry::{
    AskAnswer, Asks, Cut, Doubt, Ended, Entry, Finish, KEPT_TEXT, LeftOut, Outcome, Output, Spent,
    Stop, What,
};
pub use frozen::{Facts, Frozen, Source};
pub use work::{
    ApprovalWork, CallWork, ClaudeWork, HttpWork, JavascriptWork, ShellWork, TurnWork, Work,
    WorkKind,
};

use std::sync::Arc;

use crate::{
    Timestamp,
    value::{StepId, StepPath},
};

/// One run in memory.
#[derive(Clone, Debug)]
pub struct Run {
    frozen: Arc<Frozen>,
}

/// Where a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepState {
    /// For what it needs.
    Waiting,
    /// Nothing but room keeps it from running.
    Ready,
    /// Somebody carries this attempt out; a sleep and a `foreach` count as well.
    Running {
        attempt: u32,
        since: Timestamp,
    },
    /// For a person, holding nothing.
    Paused {
        attempt: u32,
        since: Timestamp,
    },
    InDoubt {
        attempt: u32,
    },
    /// For its next try.
    Backoff {
        attempt: u32,
        until: Timestamp,
    },
    Ended {
        attempt: u32,
        at: Timestamp,
        outcome: Outcome,
    },
    LeftOut {
        why: LeftOut,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    Running,
    /// It was told to stop, and steps are still being stopped.
    Stopping(Stop),
    Over(Finish),
}

/// Why a retry cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RetryError {
    #[error("it still runs")]
    Running,
    #[error("every step ended well, so there is nothing to try again")]
    NothingFailed,
    #[error("it has no step `{step}`")]
    NoStep { step: String, near: Vec<String> },
}

/// What is told of a step that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Ended(Ended),
    /// It waits for a person and holds nothing.
    Asks(Asks),
    /// It had begun, and nobody knows how it ended.
    Gone,
}

impl Run {
    pub fn new(frozen: Arc<Frozen>) -> Self {
        Self { frozen }
    }

    pub fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    /// Takes an entry over: the only way anything in here changes. An entry that does not fit (a log
    /// of an older Vigie) changes nothing.
    pub fn apply(&mut self, _entry: &Entry) {
        todo!()
    }

    /// What is to be written next. `room`: steps that may begin now, over all that run already. To be
    /// called again after the entries are applied, until nothing comes.
    pub fn next(&self, _room: usize, _now: Timestamp) -> Vec<Entry> {
        todo!()
    }

    /// When `next` should be called at the latest, though nothing is told.
    pub fn deadline(&self) -> Option<Timestamp> {
        todo!()
    }

    /// Takes in what became of a step. What is late or told twice gives nothing.
    pub fn told(
        &self,
        _step: &StepPath,
        _attempt: u32,
        _told: Told,
        _now: Timestamp,
    ) -> Vec<Entry> {
        todo!()
    }

    /// A person answered what a paused step waits for.
    pub fn answered(
        &self,
        _step: &StepPath,
        _attempt: u32,
        _answer: AskAnswer,
        _now: Timestamp,
    ) -> Vec<Entry> {
        todo!()
    }

    /// A person says what became of a step in doubt.
    pub fn settled(
        &self,
        _step: &StepPath,
        _attempt: u32,
        _how: Doubt,
        _by: &str,
        _now: Timestamp,
    ) -> Vec<Entry> {
        todo!()
    }

    /// A person sends an approval back: `to`, which stands beside it, and all that needs it run again.
    pub fn sent_back(
        &self,
        _step: &StepPath,
        _to: &StepId,
        _by: &str,
        _why: &str,
        _now: Timestamp,
    ) -> Vec<Entry> {
        todo!()
    }

    pub fn stop(&self, _why: Stop, _by: Option<&str>, _now: Timestamp) -> Vec<Entry> {
        todo!()
    }

    /// Runs what failed again, or that step and all that needs it, with the same params and outputs.
    pub fn retry(
        &self,
        _from: Option<&str>,
        _by: &str,
        _now: Timestamp,
    ) -> Result<Vec<Entry>, RetryError> {
        todo!()
    }

    /// What is to be done for the attempt that runs; `Err`: why it cannot be filled in, for which
    /// `next` has ended it already.
    pub fn work(&self, _step: &StepPath) -> Result<Work, String> {
        todo!()
    }

    pub fn state(&self) -> RunState {
        todo!()
    }

    pub fn step(&self, _step: &StepPath) -> Option<StepState> {
        todo!()
    }

    /// The steps somebody has to carry out, or does: begun and not ended, and neither a sleep, a
    /// condition nor a `foreach`.
    pub fn running(&self) -> Vec<(StepPath, u32)> {
        todo!()
    }

    /// What its agents spent, all attempts.
    pub fn spent(&self) -> Spent {
        todo!()
    }

    /// What it gives to whoever called it.
    pub fn outputs(&self) -> serde_json::Value {
        todo!()
    }
}
