//! What is to be written next.

use std::sync::Arc;

use super::{
    Doubt, Ended, Entry, Finish, Outcome, RunState, Stop, What, fill,
    limits::share,
    state::{Nature, Pending, Stand, State},
};
use crate::{
    Timestamp,
    language::{Kind, OnCrash},
};

/// Attempts in a row that may break off and are begun again by themselves: machines go down, but what
/// always takes its process down with it would never end.
const MOST_CRASHES: u32 = 5;

pub(super) fn next(state: &Arc<State>, room: usize, now: Timestamp) -> Vec<Entry> {
    let whats = match state.run {
        RunState::Over(_) => Vec::new(),
        RunState::Running | RunState::Stopping(_) => match state.limit(now) {
            Some(why) => vec![What::Stopping { why, by: None }],
            None => steps(state, room, now),
        },
    };
    whats.into_iter().map(|what| Entry { at: now, what }).collect()
}

fn steps(state: &Arc<State>, room: usize, now: Timestamp) -> Vec<What> {
    if state.is_done() {
        return vec![finish(state)];
    }
    let mut whats: Vec<_> = state.attention.iter().filter_map(|node| state.due(*node)).collect();
    let (tries, wakes): (Vec<_>, Vec<_>) = state
        .timers
        .range(..=(now, usize::MAX))
        .map(|(_, node)| *node)
        .filter(|node| !state.attention.contains(node))
        .partition(|node| matches!(state.nodes[*node].stand, Stand::Backoff { .. }));
    whats.extend(wakes.into_iter().filter_map(|node| {
        let ended = Box::new(Ended::of(Outcome::Done));
        Some(What::Ended { step: state.path(node), attempt: state.running(node)?, ended })
    }));
    Beginning::new(state, room).all(tries, &mut whats);
    whats
}

impl State {
    fn is_done(&self) -> bool {
        self.blocks[0].open == 0
    }

    /// What is to be written of a node whatever room there is.
    fn due(&self, node: usize) -> Option<What> {
        let step = self.path(node);
        let it = &self.nodes[node];
        let ended = |attempt, ended| What::Ended { step: step.clone(), attempt, ended };
        match &it.stand {
            Stand::Pending(Pending::LeaveOut(why)) => {
                Some(What::LeftOut { step, why: why.clone() })
            }
            Stand::Pending(Pending::End(end)) => Some(ended(it.attempts + 1, end.clone())),
            Stand::Pending(Pending::Begin) => Some(What::Began { step, attempt: it.attempts + 1 }),
            Stand::InDoubt { attempt } => {
                let how = match self.step(node).on_crash {
                    OnCrash::Retry if it.crashes <= MOST_CRASHES && !self.is_stopped(node) => {
                        Doubt::Again
                    }
                    OnCrash::Retry | OnCrash::Fail | OnCrash::Ask => Doubt::Failed,
                };
                Some(What::Settled { step, attempt: *attempt, how, by: None })
            }
            Stand::Settled { attempt, how, by } => {
                let end = Ended::of(self.settled_as(node, *how, by.as_deref()));
                Some(ended(*attempt, Box::new(end)))
            }
            Stand::Paused { attempt, .. } => Some(ended(
                *attempt,
                Box::new(Ended { spent: it.so_far, ..Ended::of(Outcome::Cancelled) }),
            )),
            Stand::Running { attempt, .. } => {
                let end = match self.step(node).kind {
                    Kind::Foreach(_) => self.rounds_came_to(node),
                    Kind::Shell(_)
                    | Kind::Claude(_)
                    | Kind::Http(_)
                    | Kind::Javascript(_)
                    | Kind::Sleep(_)
                    | Kind::Condition(_)
                    | Kind::Approval(_)
                    | Kind::Call(_) => Ended::of(Outcome::Cancelled),
                };
                Some(ended(*attempt, Box::new(end)))
            }
            Stand::Waiting
            | Stand::Ready
            | Stand::Backoff { .. }
            | Stand::Over { .. }
            | Stand::LeftOut(_) => None,
        }
    }

    fn settled_as(&self, node: usize, how: Doubt, by: Option<&str>) -> Outcome {
        let why = match (how, by) {
            (Doubt::Done, _) => return Outcome::Done,
            (Doubt::Again | Doubt::Failed, None) if self.is_stopped(node) => {
                return Outcome::Cancelled;
            }
            (Doubt::Again | Doubt::Failed, Some(by)) => {
                format!("nobody knows how it ended, and {by} says that it failed")
            }
            (Doubt::Again | Doubt::Failed, None) if self.nodes[node].crashes > MOST_CRASHES => {
                format!(
                    "it broke off {} times in a row, and nobody knows why",
                    self.nodes[node].crashes
                )
            }
            (Doubt::Again | Doubt::Failed, None) => {
                "nobody knows how it ended, and its `on_crash` makes that a failure".to_owned()
            }
        };
        Outcome::Failed { why }
    }

    pub(super) fn outcome(&self, node: usize) -> Option<&Outcome> {
        match &self.nodes[node].stand {
            Stand::Over { ended, .. } => Some(&ended.outcome),
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
}

/// Steps that begin now: with what each takes of room and money.
struct Beginning<'a> {
    state: &'a Arc<State>,
    room: usize,
    places: usize,
    money: Option<u64>,
    agents: usize,
}

impl<'a> Beginning<'a> {
    fn new(state: &'a Arc<State>, room: usize) -> Self {
        let parallel = state.frozen.source.workflow.limits.parallel.max(1) as usize;
        Self {
            state,
            room,
            places: parallel.saturating_sub(state.holding),
            money: state.unreserved(),
            agents: state.ready_agents.len(),
        }
    }

    /// Those that wait for their next try first, then in the order of the file.
    fn all(mut self, tries: Vec<usize>, whats: &mut Vec<What>) {
        if self.money == Some(0) && self.state.money.reserved == 0 {
            // Only steps that go on while the run is stopped come here: else it is stopped for that.
            whats.extend(self.state.ready_agents.iter().map(|node| self.penniless(*node)));
            let agents = tries.iter().filter(|node| self.nature(**node) == Nature::Agent);
            whats.extend(agents.map(|node| self.penniless(*node)));
        }
        for node in tries {
            whats.extend(self.one(node));
        }
        for node in &self.state.ready_calls {
            if self.places == 0 {
                break;
            }
            whats.extend(self.one(*node));
        }
        let mut others = self.state.ready.iter().peekable();
        let mut agents = self.state.ready_agents.iter().peekable();
        while self.places > 0 && self.room > 0 {
            let agent = match (others.peek(), agents.peek()) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(other), Some(agent)) => agent < other,
            };
            let agent = agent && self.money != Some(0);
            let Some(node) = (if agent { agents.next() } else { others.next() }) else { break };
            whats.extend(self.one(*node));
        }
    }

    fn nature(&self, node: usize) -> Nature {
        Nature::of(&self.state.step(node).kind)
    }

    fn penniless(&self, node: usize) -> What {
        self.fails(node, "nothing is left of what the agents of this run may cost".into())
    }

    fn fails(&self, node: usize, why: String) -> What {
        What::Ended {
            step: self.state.path(node),
            attempt: self.state.nodes[node].attempts + 1,
            ended: Box::new(Ended::of(Outcome::Failed { why })),
        }
    }

    fn one(&mut self, node: usize) -> Option<What> {
        let nature = self.nature(node);
        let (places, room) = match nature {
            Nature::Inside | Nature::Person => (0, 0),
            Nature::Call => (1, 0),
            Nature::Work | Nature::Agent => (1, 1),
        };
        let no_money = nature == Nature::Agent && self.money == Some(0);
        if places > self.places || room > self.room || no_money {
            return None;
        }
        if nature != Nature::Inside
            && let Err(why) = fill::work(self.state, node)
        {
            self.agents -= usize::from(self.state.ready_agents.contains(&node));
            return Some(self.fails(node, why));
        }
        self.places -= places;
        self.room -= room;
        if let (Kind::Claude(claude), Some(left)) = (&self.state.step(node).kind, self.money) {
            let parallel = self.state.frozen.source.workflow.limits.parallel as usize;
            self.money = Some(left - share(left, claude.micro_usd, self.agents, parallel));
            self.agents -= usize::from(self.state.ready_agents.contains(&node));
        }
        let attempt = self.state.nodes[node].attempts + 1;
        Some(What::Began { step: self.state.path(node), attempt })
    }
}

fn finish(state: &Arc<State>) -> What {
    let first = state.failed.first();
    let (status, why) = match (state.stopping(), first) {
        (Some(Stop::Cancelled), _) if state.why.is_empty() => {
            (Finish::Cancelled, "it was cancelled".into())
        }
        // Whoever cancelled it.
        (Some(Stop::Cancelled), _) => (Finish::Cancelled, state.why.clone()),
        (Some(Stop::Replaced), _) => (Finish::Cancelled, "a newer run took its place".into()),
        (Some(Stop::TimedOut), _) => (Finish::TimedOut, "it took longer than it may".into()),
        (Some(Stop::OverBudget), _) => {
            (Finish::Failed, "its agents cost what the run may cost, and steps are left".into())
        }
        (None, Some(first)) => {
            let is_no = |node: &usize| matches!(state.outcome(*node), Some(Outcome::Denied { .. }));
            let only_no = state.failed.iter().all(is_no);
            let status = if only_no { Finish::Denied } else { Finish::Failed };
            let first = state.failed.iter().find(|node| only_no || !is_no(node)).unwrap_or(first);
            let why = state.outcome(*first).map(fill::reason).unwrap_or_default();
            (status, format!("`{}`: {why}", state.path(*first)))
        }
        (None, None) => match fill::outputs(state) {
            Ok(_) => (Finish::Succeeded, String::new()),
            Err(why) => (Finish::Failed, why),
        },
    };
    What::Finished { status, why }
}
