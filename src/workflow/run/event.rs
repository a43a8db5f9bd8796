//! What happened outside, as entries. What is late or told twice gives nothing.

use super::{
    AskAnswer, Doubt, Ended, Entry, Outcome, RetryError, Run, RunState, StepState, Stop, Told,
    What,
    judge::judge,
    state::{Pending, Stand, State},
};
use crate::{
    Timestamp,
    language::{Approval, Kind, OnTimeout},
    nearest::nearest,
    params::{DEEPEST_VALUE, is_deeper_than, too_deep},
    value::{StepId, StepPath},
};

/// What could not be read back is not written down: the step failed, and that part of it is gone.
fn not_deep(mut ended: Ended) -> Ended {
    let output = &mut ended.output;
    let deep = |value: &serde_json::Value| is_deeper_than(DEEPEST_VALUE, value);
    let values = output.values.len();
    output.values.retain(|_, value| !deep(value));
    let json = output.json.take_if(|json| deep(json));
    if (json.is_some() || output.values.len() < values) && ended.outcome == Outcome::Done {
        ended.outcome = Outcome::Failed { why: too_deep("what it gave") };
    }
    ended
}

impl Run {
    /// Takes in what became of a step. What is late or told twice gives nothing.
    pub fn told(&self, step: &StepPath, attempt: u32, told: Told, now: Timestamp) -> Vec<Entry> {
        let Some(node) = self.state.find(step) else { return Vec::new() };
        if matches!(self.state.run, RunState::Over(_)) {
            return Vec::new();
        }
        let (step, left_behind) = (step.clone(), self.state.dropped.contains_key(&(node, attempt)));
        let runs = self.state.running(node) == Some(attempt) && self.state.outside.contains(&node);
        let asks = matches!(&self.state.nodes[node].stand, Stand::Paused { attempt: it, .. } if *it == attempt);
        let what = match told {
            Told::Ended(ended) if left_behind => {
                What::Ended { step, attempt, ended: Box::new(not_deep(ended)) }
            }
            Told::Asks(_) | Told::Gone if left_behind => {
                What::Ended { step, attempt, ended: Box::new(Ended::of(Outcome::Cancelled)) }
            }
            Told::Ended(ended) if runs || asks => {
                What::Ended { step, attempt, ended: Box::new(self.judged(node, ended)) }
            }
            Told::Asks(asks) if runs && is_deeper_than(DEEPEST_VALUE, &asks.input) => {
                let why = too_deep("what its agent wants to do");
                let ended = Ended { spent: asks.spent, ..Ended::of(Outcome::Failed { why }) };
                What::Ended { step, attempt, ended: Box::new(ended) }
            }
            Told::Asks(asks) if runs => What::Paused { step, attempt, asks: Box::new(asks) },
            Told::Gone if runs => What::InDoubt { step, attempt },
            Told::Ended(_) | Told::Asks(_) | Told::Gone => return Vec::new(),
        };
        vec![Entry { at: now, what }]
    }

    fn judged(&self, node: usize, ended: Ended) -> Ended {
        let ended = not_deep(ended);
        let judged = match &self.state.step(node).kind {
            Kind::Approval(approval) => answered(approval, ended),
            Kind::Shell(_)
            | Kind::Claude(_)
            | Kind::Http(_)
            | Kind::Javascript(_)
            | Kind::Sleep(_)
            | Kind::Condition(_)
            | Kind::Call(_)
            | Kind::Foreach(_) => judge(&self.state, node, ended),
        };
        not_deep(judged)
    }

    /// A person answered what a paused step waits for.
    pub fn answered(
        &self,
        step: &StepPath,
        attempt: u32,
        answer: AskAnswer,
        now: Timestamp,
    ) -> Vec<Entry> {
        if self.step(step).is_none_or(
            |state| !matches!(state, StepState::Paused { attempt: it, .. } if it == attempt),
        ) {
            return Vec::new();
        }
        vec![Entry { at: now, what: What::Answered { step: step.clone(), attempt, answer } }]
    }

    /// A person says what became of a step in doubt.
    pub fn settled(
        &self,
        step: &StepPath,
        attempt: u32,
        how: Doubt,
        by: &str,
        now: Timestamp,
    ) -> Vec<Entry> {
        let Some(node) = self.state.find(step) else { return Vec::new() };
        if !matches!(&self.state.nodes[node].stand, Stand::InDoubt { attempt: it } if *it == attempt)
        {
            return Vec::new();
        }
        let what = What::Settled { step: step.clone(), attempt, how, by: Some(by.to_owned()) };
        vec![Entry { at: now, what }]
    }

    /// A person sends an approval back: `to`, which stands beside it, and all that needs it run again.
    pub fn sent_back(
        &self,
        step: &StepPath,
        to: &StepId,
        by: &str,
        why: &str,
        now: Timestamp,
    ) -> Vec<Entry> {
        let state = &self.state;
        let Some(node) = state.find(step) else { return Vec::new() };
        let block = &state.blocks[state.nodes[node].block];
        let place = state.scope(state.nodes[node].block).place(to.as_str());
        let asks =
            state.outside.contains(&node) && matches!(state.step(node).kind, Kind::Approval(_));
        let Some(place) = place.filter(|_| asks && state.run == RunState::Running) else {
            return Vec::new();
        };
        let mut these = state.closure([block.base + place]);
        these.insert(node);
        let what = What::Reset {
            steps: state.resets(these),
            by: by.to_owned(),
            why: why.to_owned(),
            from: Some(step.clone()),
        };
        vec![Entry { at: now, what }]
    }

    pub fn stop(&self, why: Stop, by: Option<&str>, now: Timestamp) -> Vec<Entry> {
        match self.state.run {
            RunState::Running => {
                vec![Entry { at: now, what: What::Stopping { why, by: by.map(str::to_owned) } }]
            }
            // A person who says it twice does not want to wait for what always runs either.
            RunState::Stopping(why) if by.is_some() && !self.state.at_once => {
                vec![Entry { at: now, what: What::Stopping { why, by: by.map(str::to_owned) } }]
            }
            RunState::Stopping(_) | RunState::Over(_) => Vec::new(),
        }
    }

    /// Runs what failed again, or that step and all that needs it, with the same params and outputs.
    /// Time and money of the run count from there.
    pub fn retry(
        &self,
        from: Option<&str>,
        by: &str,
        now: Timestamp,
    ) -> Result<Vec<Entry>, RetryError> {
        let state = &self.state;
        match state.run {
            RunState::Running | RunState::Stopping(_) => return Err(RetryError::Running),
            RunState::Over(_) => {}
        }
        let roots = match from {
            None => state.unfinished(),
            Some(step) => {
                let node = step.parse().ok().and_then(|path| state.find(&path));
                let no_step = || RetryError::NoStep { step: step.into(), near: state.near(step) };
                // What was stopped never came to an end, so nothing may count on it.
                let mut roots = state.stopped_short();
                roots.insert(node.ok_or_else(no_step)?);
                roots
            }
        };
        if roots.is_empty() {
            return Err(RetryError::NothingFailed);
        }
        let steps = state.resets(state.closure(roots));
        let why = from.map_or_else(|| "what failed".to_owned(), |step| format!("from `{step}`"));
        Ok(vec![Entry { at: now, what: What::Reset { steps, by: by.to_owned(), why, from: None } }])
    }
}

/// What a gate's end is for its step: silence and a no are what the step makes of them.
fn answered(approval: &Approval, mut ended: Ended) -> Ended {
    if ended.outcome == Outcome::TimedOut {
        ended.outcome = match approval.on_timeout {
            OnTimeout::Approve => Outcome::Done,
            OnTimeout::Deny => Outcome::Denied { why: "nobody answered in time".into() },
            OnTimeout::Fail => Outcome::Failed { why: "nobody answered in time".into() },
        };
    }
    let values = &mut ended.output.values;
    match &ended.outcome {
        Outcome::Done => {
            values.entry("approved".into()).or_insert(true.into());
        }
        Outcome::Denied { why } => {
            values.insert("approved".into(), false.into());
            values.entry("words".into()).or_insert(why.as_str().into());
            if approval.no_is_fine {
                ended.outcome = Outcome::Done;
            }
        }
        Outcome::Failed { .. } | Outcome::TimedOut | Outcome::Cancelled => {}
    }
    ended
}

impl State {
    fn near(&self, step: &str) -> Vec<String> {
        let nodes = (0..self.nodes.len()).filter(|node| self.is_there(*node));
        let paths: Vec<_> = nodes.map(|node| self.path(node).to_string()).collect();
        let near = nearest(step, paths.iter().map(String::as_str));
        near.map(str::to_owned).into_iter().collect()
    }

    /// Whether it belongs to a round of the list as it is now.
    pub(super) fn is_there(&self, node: usize) -> bool {
        let Some((above, round)) = self.blocks[self.nodes[node].block].above else { return true };
        let in_list =
            self.nodes[above].rounds.as_ref().is_some_and(|rounds| round < rounds.items.len());
        in_list && self.is_there(above)
    }

    pub(super) fn shown(&self, node: usize) -> StepState {
        match self.nodes[node].stand.clone() {
            Stand::Waiting => StepState::Waiting,
            Stand::Pending(Pending::LeaveOut(why)) | Stand::LeftOut(why) => {
                StepState::LeftOut { why }
            }
            Stand::Pending(Pending::End(_) | Pending::Begin) | Stand::Ready => StepState::Ready,
            Stand::Running { attempt, since, .. } => StepState::Running { attempt, since },
            Stand::Paused { attempt, since, .. } => StepState::Paused { attempt, since },
            Stand::InDoubt { attempt } | Stand::Settled { attempt, .. } => {
                StepState::InDoubt { attempt }
            }
            Stand::Backoff { attempt, until } => StepState::Backoff { attempt, until },
            Stand::Over { attempt, at, ended } => {
                StepState::Ended { attempt, at, outcome: ended.outcome.clone() }
            }
        }
    }
}
