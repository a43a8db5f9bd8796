//! A run: a log, what it says so far, and what comes next. `(log, event) → entries` is pure; whoever
//! owns the run writes the entries down, applies them, and then does what they say.
//!
//! The owner's part: write and apply what [`Run::next`] and the events give until `next` gives nothing;
//! then carry out what began and still runs ([`Run::running`], [`Run::work`]), stop what is to be
//! stopped ([`Run::to_stop`]), and come back at [`Run::deadline`]. After a restart it applies the log,
//! and for each of [`Run::running`] finds the process, the gate or the run again, or tells
//! [`Told::Gone`].

mod again;
mod apply;
mod context;
mod decide;
mod entry;
mod event;
pub(crate) mod fence;
mod fill;
mod frozen;
mod judge;
mod limits;
mod next;
mod plan;
mod progress;

mod report;
mod rounds;
mod sleep;
mod state;

#[cfg(test)]
mod tests;
mod work;

pub use entry::{
    AskAnswer, Asks, Cut, Doubt, Ended, Entry, Finish, KEPT_TEXT, LeftOut, Outcome, Output, Spent,
    Stop, What,
};
pub use fence::for_people;
pub use frozen::{Facts, Frozen, Source};
pub use progress::{Line, Mark};

pub use report::{Part, Report, Sum};
pub use work::{
    ApprovalWork, CallWork, ClaudeWork, HttpWork, JavascriptWork, ShellWork, TurnWork, Work,
    WorkKind,
};

use std::{ops::Bound, sync::Arc};

use crate::{Timestamp, language::Step, value::StepPath};
use state::{Stand, State};

/// One run in memory. A copy costs nothing until one of the two changes.
#[derive(Clone, Debug)]
pub struct Run {
    state: Arc<State>,
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
        Self { state: apply::begin(frozen) }
    }

    pub fn frozen(&self) -> &Frozen {
        &self.state.frozen
    }

    /// Takes an entry over: the only way anything in here changes. An entry that does not fit (a log
    /// of an older Vigie) changes nothing.
    pub fn apply(&mut self, entry: &Entry) {
        apply::apply(&mut self.state, entry);
    }

    /// What is to be written next. `room`: steps that may begin now, over all that run already; how
    /// many of one run may, is looked after in here. To be called again after the entries are applied,
    /// until nothing comes.
    pub fn next(&self, room: usize, now: Timestamp) -> Vec<Entry> {
        next::next(&self.state, room, now)
    }

    /// When `next` should be called at the latest, though nothing is told and no room comes free.
    pub fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        // What is due already waits for something else than time.
        let after = (Bound::Excluded((now, usize::MAX)), Bound::Unbounded);
        let timer = self.state.timers.range(after).next().map(|(at, _)| *at);
        timer.into_iter().chain(self.state.out_of_time()).min()
    }

    /// What is to be done for the attempt that runs, or would begin; `Err`: why it cannot be filled
    /// in, for which `next` has ended it already.
    pub fn work(&self, step: &StepPath) -> Result<Work, String> {
        let node = self.state.find(step).ok_or_else(|| format!("there is no step `{step}`"))?;
        fill::work(&self.state, node)
    }

    /// What an agent's step asked and was answered, where it runs on after that.
    pub fn answer(&self, step: &StepPath) -> Option<(&Asks, &AskAnswer)> {
        match &self.state.nodes[self.state.find(step)?].stand {
            Stand::Running { answer: Some(answer), .. } => Some((&answer.0, &answer.1)),
            Stand::Running { answer: None, .. }
            | Stand::Waiting
            | Stand::Pending(_)
            | Stand::Ready
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Backoff { .. }
            | Stand::Over { .. }
            | Stand::LeftOut(_) => None,
        }
    }

    /// What a step waits for a person for.
    pub fn asks(&self, step: &StepPath) -> Option<&Asks> {
        match &self.state.nodes[self.state.find(step)?].stand {
            Stand::Paused { asks, .. } => Some(asks),
            Stand::Waiting
            | Stand::Pending(_)
            | Stand::Ready
            | Stand::Running { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Backoff { .. }
            | Stand::Over { .. }
            | Stand::LeftOut(_) => None,
        }
    }

    pub fn state(&self) -> RunState {
        self.state.run
    }

    /// Why it ended as it did; empty where it ended well or is not over.
    pub fn why(&self) -> &str {
        &self.state.why
    }

    pub fn step(&self, step: &StepPath) -> Option<StepState> {
        Some(self.state.shown(self.state.find(step)?))
    }

    /// Every step there is by now, as the workflow has them; those of a round below its `foreach`, as
    /// soon as it began.
    pub fn steps(&self) -> impl Iterator<Item = (StepPath, StepState)> {
        let state = &self.state;
        let nodes = state.as_written().into_iter().filter(|node| state.is_there(*node));
        nodes.map(|node| (state.path(node), state.shown(node)))
    }

    /// How the last attempt of a step that is over ended.
    pub fn ended(&self, step: &StepPath) -> Option<&Ended> {
        match &self.state.nodes[self.state.find(step)?].stand {
            Stand::Over { ended, .. } => Some(ended),
            Stand::Waiting
            | Stand::Pending(_)
            | Stand::Ready
            | Stand::Running { .. }
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Backoff { .. }
            | Stand::LeftOut(_) => None,
        }
    }

    /// The step as its workflow has it.
    pub fn definition(&self, step: &StepPath) -> Option<&Step> {
        Some(self.state.step(self.state.find(step)?))
    }

    /// When the latest attempt of a step began, and what all of them spent so far.
    pub fn effort(&self, step: &StepPath) -> (Option<Timestamp>, Spent) {
        let node = self.state.find(step).map(|node| &self.state.nodes[node]);
        node.map_or((None, Spent::default()), |node| (node.began, node.spent))
    }

    /// The steps somebody has to carry out, or does: begun and not ended, and neither a sleep, a
    /// condition nor a `foreach`. Attempts that a reset left behind are among them.
    pub fn running(&self) -> Vec<(StepPath, u32)> {
        let state = &self.state;
        let now = state.outside.iter().filter_map(|node| Some((*node, state.running(*node)?)));
        let all = now.chain(state.dropped.keys().copied());
        all.map(|(node, attempt)| (state.path(node), attempt)).collect()
    }

    /// Those of [`Run::running`] that are to be stopped, and told of as cancelled when they are.
    pub fn to_stop(&self) -> Vec<(StepPath, u32)> {
        let state = &self.state;
        let stopped = state.outside.iter().filter(|node| state.is_stopped(**node));
        let stopped = stopped.filter_map(|node| Some((*node, state.running(*node)?)));
        let all = stopped.chain(state.dropped.keys().copied());
        all.map(|(node, attempt)| (state.path(node), attempt)).collect()
    }

    /// What its agents spent, all attempts.
    pub fn spent(&self) -> Spent {
        self.state.money.spent
    }

    /// What it gives to whoever called it; null where it cannot be told, for which it failed.
    pub fn outputs(&self) -> serde_json::Value {
        fill::outputs(&self.state).unwrap_or_default()
    }
}
