//! Taking one entry of the log over. An entry that does not fit changes nothing.

use chrono::TimeDelta;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{
    Doubt, Ended, Entry, LeftOut, Outcome, RunState, Spent, Stop, What,
    decide::{Decision, decide},
    limits::{Clock, Money},
    state::{Fate, Nature, Node, Pending, Rounds, Stand, State},
};
use crate::{Timestamp, language::Retry, value::StepPath};

pub(super) fn begin(frozen: Arc<super::Frozen>) -> Arc<State> {
    let plan = Arc::new(super::plan::Plan::new(&frozen.source.workflow.steps));
    let clock = Clock { busy: 0, since: frozen.facts.started, before: TimeDelta::zero() };
    let mut state = State {
        frozen,
        plan,
        nodes: Vec::new(),
        blocks: Vec::new(),
        run: RunState::Running,
        at_once: false,
        why: String::new(),
        attention: BTreeSet::new(),
        ready: BTreeSet::new(),
        ready_agents: BTreeSet::new(),
        ready_calls: BTreeSet::new(),
        timers: BTreeSet::new(),
        outside: BTreeSet::new(),
        answered: BTreeSet::new(),
        dropped: std::collections::BTreeMap::new(),
        failed: Vec::new(),
        fresh: Vec::new(),
        holding: 0,
        clock,
        planned: 0,
        money: Money::default(),
    };
    let top = state.add_block(0, None);
    state.planned = state.nodes.len();
    state.wake_block(top);
    let mut state = Arc::new(state);
    settle(&mut state);
    state
}

pub(super) fn apply(state: &mut Arc<State>, entry: &Entry) {
    let it = Arc::make_mut(state);
    it.clock.before = it.clock.at(entry.at);
    it.clock.since = it.clock.since.max(entry.at);
    it.take(entry);
    settle(state);
}

/// Decides about steps whose needs are over: what they read is fixed from here on.
fn settle(state: &mut Arc<State>) {
    while !state.fresh.is_empty() {
        let fresh = std::mem::take(&mut Arc::make_mut(state).fresh);
        for node in fresh {
            if matches!(state.nodes[node].stand, Stand::Waiting) {
                let decision = decide(state, node);
                Arc::make_mut(state).decided(node, decision);
            }
        }
    }
}

impl State {
    fn decided(&mut self, node: usize, decision: Decision) {
        let stand = match decision {
            Decision::LeaveOut(why) => Stand::Pending(Pending::LeaveOut(why)),
            Decision::End(ended) => Stand::Pending(Pending::End(ended)),
            Decision::Begin => Stand::Pending(Pending::Begin),
            Decision::Rounds(items) => {
                let rounds = self.nodes[node].rounds.get_or_insert_with(|| {
                    Box::new(Rounds {
                        items: Arc::default(),
                        blocks: Vec::new(),
                        queue: BTreeSet::new(),
                        active: 0,
                        planned: 0,
                    })
                });
                let more = items.len().saturating_sub(rounds.planned);
                rounds.planned += more;
                rounds.queue = (0..items.len()).collect();
                rounds.items = Arc::new(items);
                self.planned += more * self.inner_steps(node);
                Stand::Pending(Pending::Begin)
            }
            Decision::Sleep(wait) => {
                self.nodes[node].wait = Some(wait);
                Stand::Pending(Pending::Begin)
            }
            Decision::Ready => Stand::Ready,
        };
        self.put(node, stand);
    }

    /// Steps in one round of this `foreach`, those of a `foreach` inside of it left out.
    pub(super) fn inner_steps(&self, node: usize) -> usize {
        self.planned(node).inner.map_or(0, |inner| self.plan.scopes[inner].steps.len())
    }

    fn take(&mut self, entry: &Entry) {
        let at = entry.at;
        match &entry.what {
            What::Reset { steps, by, why, from } => self.reset(steps, by, why, from.as_ref()),
            // Of the last turn it is told when the run may be over.
            What::Spent { step, spent } => self.with(step, |it, node| it.spend(node, *spent)),
            _ if matches!(self.run, RunState::Over(_)) => {}
            What::Began { step, attempt } => {
                self.with(step, |it, node| it.began(node, *attempt, at));
            }
            What::Paused { step, attempt, asks } => self.with(step, |it, node| {
                if it.running(node) == Some(*attempt) {
                    it.charge(node, asks.spent);
                    it.clock_off(node, at);
                    let asks = asks.clone();
                    it.put(node, Stand::Paused { attempt: *attempt, since: at, asks });
                }
            }),
            What::Answered { step, attempt, answer } => self.with(step, |it, node| {
                if let Stand::Paused { attempt: paused, asks, .. } = &it.nodes[node].stand
                    && paused == attempt
                {
                    let answer = Some(Box::new(((**asks).clone(), answer.clone())));
                    it.run_on(node, *attempt, at, answer);
                }
            }),
            What::InDoubt { step, attempt } => self.with(step, |it, node| {
                if it.running(node) == Some(*attempt) && it.outside.contains(&node) {
                    it.clock_off(node, at);
                    it.nodes[node].crashes += 1;
                    it.put(node, Stand::InDoubt { attempt: *attempt });
                }
            }),
            What::Settled { step, attempt, how, by } => self.with(step, |it, node| {
                it.settled(node, *attempt, *how, by.as_deref());
            }),
            What::Ended { step, attempt, ended } => {
                self.with(step, |it, node| it.ended(node, *attempt, ended, at));
            }
            What::LeftOut { step, why } => self.with(step, |it, node| it.left_out(node, why)),
            What::Stopping { why, by } => {
                self.why = by.as_ref().map(|by| format!("by {by}")).unwrap_or_default();
                self.stop(*why);
            }
            What::Finished { status, why } => {
                self.run = RunState::Over(*status);
                self.why.clone_from(why);
            }
        }
    }

    fn with(&mut self, step: &StepPath, take: impl FnOnce(&mut Self, usize)) {
        if let Some(node) = self.find(step) {
            take(self, node);
        }
    }

    /// The attempt that runs.
    pub(super) fn running(&self, node: usize) -> Option<u32> {
        match &self.nodes[node].stand {
            Stand::Running { attempt, .. } => Some(*attempt),
            Stand::Waiting
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

    fn began(&mut self, node: usize, attempt: u32, at: Timestamp) {
        if attempt <= self.nodes[node].attempts {
            return;
        }
        let again = match self.nodes[node].stand {
            Stand::Backoff { .. } => true,
            Stand::Ready | Stand::Pending(Pending::Begin) => false,
            Stand::Waiting
            | Stand::Pending(_)
            | Stand::Running { .. }
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Over { .. }
            | Stand::LeftOut(_) => return,
        };
        let it = &mut self.nodes[node];
        it.attempts = attempt;
        it.began = Some(at);
        it.so_far = Spent::default();
        if again {
            self.rounds_again(node);
        }
        self.run_on(node, attempt, at, None);
        self.start_rounds(node);
    }

    fn run_on(
        &mut self,
        node: usize,
        attempt: u32,
        at: Timestamp,
        answer: Option<Box<(super::Asks, super::AskAnswer)>>,
    ) {
        self.nodes[node].first.get_or_insert(attempt);
        let allowance = self.allowance(node);
        let until = self.nodes[node].wait.as_ref().map(|wait| wait.end(at));
        self.put(node, Stand::Running { attempt, since: at, until, allowance, answer });
    }

    fn settled(&mut self, node: usize, attempt: u32, how: Doubt, by: Option<&str>) {
        let in_doubt =
            matches!(&self.nodes[node].stand, Stand::InDoubt { attempt: it } if *it == attempt);
        if !in_doubt {
            return;
        }
        let stand = match how {
            Doubt::Again if self.is_stopped(node) => {
                Stand::Pending(Pending::LeaveOut(LeftOut::Stopped))
            }
            Doubt::Again if Nature::of(&self.step(node).kind) == Nature::Person => {
                Stand::Pending(Pending::Begin)
            }
            Doubt::Again => Stand::Ready,
            Doubt::Done | Doubt::Failed => {
                Stand::Settled { attempt, how, by: by.map(str::to_owned) }
            }
        };
        self.put(node, stand);
    }

    fn ended(&mut self, node: usize, attempt: u32, ended: &Ended, at: Timestamp) {
        if let Some(holder) = self.dropped.remove(&(node, attempt)) {
            self.spend(node, ended.spent);
            self.nodes[holder].open_needs = self.nodes[holder].open_needs.saturating_sub(1);
            return self.wake(holder);
        }
        let began = match &self.nodes[node].stand {
            Stand::Running { attempt: it, .. }
            | Stand::Paused { attempt: it, .. }
            | Stand::Settled { attempt: it, .. } => {
                if *it != attempt {
                    return;
                }
                true
            }
            Stand::Pending(_) | Stand::Ready | Stand::Backoff { .. } => {
                if attempt <= self.nodes[node].attempts {
                    return;
                }
                self.nodes[node].began = None;
                false
            }
            Stand::Waiting | Stand::InDoubt { .. } | Stand::Over { .. } | Stand::LeftOut(_) => {
                return;
            }
        };
        self.nodes[node].attempts = attempt;
        self.charge(node, ended.spent);
        self.clock_off(node, at);
        if began && let Some(until) = self.next_try(node, &ended.outcome, at) {
            self.put(node, Stand::Backoff { attempt, until });
        } else {
            self.put(node, Stand::Over { attempt, at, ended: Arc::new(ended.clone()) });
            self.over(node);
        }
    }

    /// When it is tried again, if it is.
    fn next_try(&mut self, node: usize, outcome: &Outcome, at: Timestamp) -> Option<Timestamp> {
        let why = match outcome {
            Outcome::Failed { why } => Some(why.clone()),
            Outcome::TimedOut => None,
            Outcome::Done | Outcome::Denied { .. } | Outcome::Cancelled => return None,
        };
        // Somebody said that it failed, or its `on_crash` did: that is an answer, and no error.
        if self.is_stopped(node) || matches!(self.nodes[node].stand, Stand::Settled { .. }) {
            return None;
        }
        let retry = self.step(node).retry.clone()?;
        let it = &mut self.nodes[node];
        let same = why.is_some() && it.last_why == why;
        it.last_why = why;
        if it.tries >= retry.times || (same && !retry.same_error) {
            return None;
        }
        it.tries += 1;
        Some(later(at, backoff(&retry, it.tries)))
    }

    fn left_out(&mut self, node: usize, why: &LeftOut) {
        match self.nodes[node].stand {
            Stand::Waiting | Stand::Pending(_) | Stand::Ready | Stand::Backoff { .. } => {
                self.put(node, Stand::LeftOut(why.clone()));
                self.over(node);
            }
            Stand::Running { .. }
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Over { .. }
            | Stand::LeftOut(_) => {}
        }
    }

    /// What follows from a step being over, for those that need it and for its round.
    fn over(&mut self, node: usize) {
        let Some(fate) = self.fate(node) else { return };
        let Node { block, place, .. } = self.nodes[node];
        if block == 0
            && matches!(self.nodes[node].stand, Stand::Over { .. })
            && matches!(&fate, Fate::Bad(LeftOut::Failed { .. }))
        {
            self.failed.push(node);
        }
        let base = self.blocks[block].base;
        let plan = Arc::clone(&self.plan);
        for by in &plan.scopes[self.blocks[block].scope].steps[place].needed_by {
            let by = base + by;
            self.nodes[by].open_needs = self.nodes[by].open_needs.saturating_sub(1);
            if !matches!(self.nodes[by].stand, Stand::Waiting) {
                continue;
            }
            match &fate {
                Fate::Bad(why) if !self.step(by).always => {
                    self.put(by, Stand::Pending(Pending::LeaveOut(why.clone())));
                }
                Fate::Bad(_) | Fate::Well => {
                    if self.nodes[by].open_needs == 0 && self.blocks[block].live {
                        self.fresh.push(by);
                    }
                }
            }
        }
        self.blocks[block].open -= 1;
        if self.blocks[block].open == 0
            && let Some((above, _)) = self.blocks[block].above
        {
            self.blocks[block].live = false;
            if let Some(rounds) = &mut self.nodes[above].rounds {
                rounds.active -= 1;
            }
            self.start_rounds(above);
            self.look_again(above);
        }
    }

    /// Looks at a step that may have become ready, or may never become so.
    pub(super) fn wake(&mut self, node: usize) {
        let Node { block, place, open_needs, .. } = self.nodes[node];
        if !matches!(self.nodes[node].stand, Stand::Waiting) || !self.blocks[block].live {
            return;
        }
        if self.is_stopped(node) {
            return self.put(node, Stand::Pending(Pending::LeaveOut(LeftOut::Stopped)));
        }
        if std::mem::take(&mut self.nodes[node].kept) {
            return self.put(node, Stand::Pending(Pending::Begin));
        }
        if !self.step(node).always {
            let base = self.blocks[block].base;
            let plan = Arc::clone(&self.plan);
            let needs = &plan.scopes[self.blocks[block].scope].steps[place].needs;
            let bad = needs.iter().find_map(|need| match self.fate(base + need) {
                Some(Fate::Bad(why)) => Some(why),
                Some(Fate::Well) | None => None,
            });
            if let Some(why) = bad {
                return self.put(node, Stand::Pending(Pending::LeaveOut(why)));
            }
        }
        if open_needs == 0 {
            self.fresh.push(node);
        }
    }

    fn stop(&mut self, why: Stop) {
        match self.run {
            RunState::Running => self.run = RunState::Stopping(why),
            RunState::Stopping(_) => self.at_once = true,
            RunState::Over(_) => return,
        }
        for node in 0..self.nodes.len() {
            if self.goes_on(node) {
                self.look_again(node);
                continue;
            }
            self.drop_queue(node);
            if !self.blocks[self.nodes[node].block].live {
                continue; // of a round that is over, or of a longer list before
            }
            match &self.nodes[node].stand {
                Stand::Waiting
                | Stand::Ready
                | Stand::Backoff { .. }
                | Stand::Pending(Pending::Begin | Pending::End(_)) => {
                    self.put(node, Stand::Pending(Pending::LeaveOut(LeftOut::Stopped)));
                }
                Stand::Pending(Pending::LeaveOut(_))
                | Stand::Running { .. }
                | Stand::Paused { .. }
                | Stand::InDoubt { .. }
                | Stand::Settled { .. }
                | Stand::Over { .. }
                | Stand::LeftOut(_) => self.look_again(node),
            }
        }
    }
}

fn backoff(retry: &Retry, tries: u32) -> Duration {
    // From the 32nd doubling on any wait is as long as it may be.
    let doubled = 1_u32.checked_shl(tries - 1).and_then(|times| retry.backoff.checked_mul(times));
    doubled.map_or(retry.longest, |wait| wait.min(retry.longest))
}

/// That much later, or the last instant that can be told.
pub(super) fn later(at: Timestamp, wait: Duration) -> Timestamp {
    TimeDelta::from_std(wait)
        .ok()
        .and_then(|wait| at.checked_add_signed(wait))
        .unwrap_or(Timestamp::MAX_UTC)
}
