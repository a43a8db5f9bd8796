//! Where a run stands, as its log says, and what of that `next` looks at.

use chrono::TimeDelta;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    AskAnswer, Asks, Doubt, Ended, Frozen, LeftOut, Outcome, RunState, Spent, Stop,
    limits::{Clock, Money},
    plan::{Plan, Planned, Scope},
    sleep::Wait,
};
use crate::{
    Timestamp,
    language::{Kind, OnCrash, Step},
    value::{Segment, StepPath},
};

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) frozen: Arc<Frozen>,
    pub(super) plan: Arc<Plan>,
    pub(super) nodes: Vec<Node>,
    pub(super) blocks: Vec<Block>,
    pub(super) run: RunState,
    /// A person stopped it a second time: what always runs is stopped as well.
    pub(super) at_once: bool,
    /// The sentence it ended with.
    pub(super) why: String,
    /// Nodes of which something is to be written whatever room there is.
    pub(super) attention: BTreeSet<usize>,
    /// Nodes that only room keeps from beginning …
    pub(super) ready: BTreeSet<usize>,
    /// … those that need money as well …
    pub(super) ready_agents: BTreeSet<usize>,
    /// … and those that need a place in the run alone.
    pub(super) ready_calls: BTreeSet<usize>,
    /// Ends of sleeps and of waits before a next try.
    pub(super) timers: BTreeSet<(Timestamp, usize)>,
    /// Nodes that somebody outside carries out.
    pub(super) outside: BTreeSet<usize>,
    /// Approvals that are over, whose words are a person's.
    pub(super) answered: BTreeSet<usize>,
    /// Attempts that a reset left behind, each with the node that waits for its end.
    pub(super) dropped: BTreeMap<(usize, u32), usize>,
    /// Nodes at the top whose failure is one of the run, in their order of time.
    pub(super) failed: Vec<usize>,
    /// Nodes whose needs are over, to be decided about before `apply` returns.
    pub(super) fresh: Vec<usize>,
    /// How many run that count against what may run at the same time.
    pub(super) holding: usize,
    pub(super) clock: Clock,
    /// Nodes there are or will be.
    pub(super) planned: usize,
    pub(super) money: Money,
}

/// Steps of one scope, in one round.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) scope: usize,
    pub(super) base: usize,
    pub(super) above: Option<(usize, usize)>,
    /// Nodes that are not over.
    pub(super) open: usize,
    /// Whether its round is one of those that may go on.
    pub(super) live: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) block: usize,
    pub(super) place: usize,
    pub(super) stand: Stand,
    /// The last number used.
    pub(super) attempts: u32,
    /// Tries that failed since it was last made to run.
    pub(super) tries: u32,
    /// The attempt it was first begun with since it was last made to run: what had changed by then is
    /// none of its doing, and what changed since is.
    pub(super) first: Option<u32>,
    /// Attempts in a row of which nobody knows how they ended, since it was last made to run.
    pub(super) crashes: u32,
    pub(super) last_why: Option<String>,
    /// Needs that are not over, and attempts that a reset left behind.
    pub(super) open_needs: usize,
    /// How often it was made to run again.
    pub(super) again: u32,
    /// When its attempt began.
    pub(super) began: Option<Timestamp>,
    pub(super) rounds: Option<Box<Rounds>>,
    /// It goes on with the rounds it has, as soon as it may.
    pub(super) kept: bool,
    pub(super) back: Option<Arc<SentBack>>,
    /// Of a sleep.
    pub(super) wait: Option<Wait>,
    /// Of this attempt, as far as it is known before its end.
    pub(super) so_far: Spent,
    /// Of all attempts.
    pub(super) spent: Spent,
    pub(super) wall: TimeDelta,
}

#[derive(Clone, Debug)]
pub(super) struct Rounds {
    pub(super) items: Arc<Vec<serde_json::Value>>,
    /// Blocks that were made, by round; there may be more from an earlier, longer list.
    pub(super) blocks: Vec<usize>,
    /// Rounds that are to run and do not yet.
    pub(super) queue: BTreeSet<usize>,
    pub(super) active: usize,
    /// Rounds counted in [`State::planned`].
    pub(super) planned: usize,
}

impl Rounds {
    pub(super) fn is_over(&self) -> bool {
        self.active == 0 && self.queue.is_empty()
    }
}

/// That an approval sent a step back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentBack {
    pub(super) step: String,
    pub(super) by: String,
    pub(super) words: String,
    /// The first is the second one.
    pub(super) round: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Stand {
    Waiting,
    /// Decided, and not yet written down.
    Pending(Pending),
    Ready,
    Running {
        attempt: u32,
        since: Timestamp,
        /// Of a sleep.
        until: Option<Timestamp>,
        /// What an agent may take of the run's money.
        allowance: u64,
        /// What it asked and was answered, after which it goes on.
        answer: Option<Box<(Asks, AskAnswer)>>,
    },
    Paused {
        attempt: u32,
        since: Timestamp,
        asks: Box<Asks>,
    },
    InDoubt {
        attempt: u32,
    },
    Settled {
        attempt: u32,
        how: Doubt,
        by: Option<String>,
    },
    Backoff {
        attempt: u32,
        until: Timestamp,
    },
    Over {
        attempt: u32,
        at: Timestamp,
        ended: Arc<Ended>,
    },
    LeftOut(LeftOut),
}

#[derive(Clone, Debug)]
pub(super) enum Pending {
    LeaveOut(LeftOut),
    /// It ends without having begun.
    End(Box<Ended>),
    /// It begins and needs no room for that.
    Begin,
}

/// What the end of a step is to those that need it.
pub(super) enum Fate {
    Well,
    Bad(LeftOut),
}

/// What `next` and the limits look at, of one node.
#[derive(Default, PartialEq, Eq)]
struct Facets {
    ready: Option<Nature>,
    timer: Option<Timestamp>,
    outside: bool,
    holding: bool,
    busy: bool,
    reserved: u64,
}

impl State {
    pub(super) fn steps_of(&self, scope: usize) -> &[Step] {
        let Some((above, place)) = self.plan.scopes[scope].above else {
            return &self.frozen.source.workflow.steps;
        };
        match &self.steps_of(above)[place].kind {
            Kind::Foreach(foreach) => &foreach.steps,
            Kind::Shell(_)
            | Kind::Claude(_)
            | Kind::Http(_)
            | Kind::Javascript(_)
            | Kind::Sleep(_)
            | Kind::Condition(_)
            | Kind::Approval(_)
            | Kind::Call(_) => &[],
        }
    }

    pub(super) fn step(&self, node: usize) -> &Step {
        let Node { block, place, .. } = self.nodes[node];
        &self.steps_of(self.blocks[block].scope)[place]
    }

    pub(super) fn scope(&self, block: usize) -> &Scope {
        &self.plan.scopes[self.blocks[block].scope]
    }

    pub(super) fn planned(&self, node: usize) -> &Planned {
        let Node { block, place, .. } = self.nodes[node];
        &self.scope(block).steps[place]
    }

    pub(super) fn path(&self, node: usize) -> StepPath {
        let id = self.step(node).id.clone();
        match self.blocks[self.nodes[node].block].above {
            None => StepPath::top(id),
            Some((above, round)) => self.path(above).inner(round, id),
        }
    }

    pub(super) fn find(&self, path: &StepPath) -> Option<usize> {
        let mut block = 0;
        let mut found = None;
        for Segment { step, round } in path.segments() {
            let node = self.blocks[block].base + self.scope(block).place(step.as_str())?;
            found = Some(node);
            if let Some(round) = round {
                let rounds = self.nodes[node].rounds.as_ref()?;
                if *round >= rounds.items.len() {
                    return None;
                }
                block = *rounds.blocks.get(*round)?;
            }
        }
        found
    }

    /// The step of that id beside this one, or around it.
    pub(super) fn named(&self, node: Option<usize>, id: &str) -> Option<usize> {
        let mut block = node.map_or(0, |node| self.nodes[node].block);
        loop {
            let it = &self.blocks[block];
            if let Some(place) = self.scope(block).place(id) {
                return Some(it.base + place);
            }
            block = self.nodes[it.above?.0].block;
        }
    }

    pub(super) fn is_over(&self, node: usize) -> bool {
        matches!(self.nodes[node].stand, Stand::Over { .. } | Stand::LeftOut(_))
    }

    pub(super) fn stopping(&self) -> Option<Stop> {
        match self.run {
            RunState::Stopping(why) => Some(why),
            RunState::Running | RunState::Over(_) => None,
        }
    }

    /// Whether it runs in a run that is being stopped.
    pub(super) fn goes_on(&self, node: usize) -> bool {
        self.planned(node).goes_on && !self.at_once
    }

    /// Whether a stop of the run is one of this step.
    pub(super) fn is_stopped(&self, node: usize) -> bool {
        self.stopping().is_some() && !self.goes_on(node)
    }

    pub(super) fn fate(&self, node: usize) -> Option<Fate> {
        match &self.nodes[node].stand {
            Stand::Over { ended, .. } => Some(self.fate_of(node, ended)),
            Stand::LeftOut(LeftOut::If) => Some(Fate::Well),
            Stand::LeftOut(why) => Some(Fate::Bad(why.clone())),
            Stand::Waiting
            | Stand::Pending(_)
            | Stand::Ready
            | Stand::Running { .. }
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Backoff { .. } => None,
        }
    }

    fn fate_of(&self, node: usize, ended: &Ended) -> Fate {
        let step = self.step(node);
        if ended.outcome == Outcome::Done {
            let is_false = matches!(step.kind, Kind::Condition(_))
                && ended.output.json == Some(serde_json::Value::Bool(false));
            if is_false {
                Fate::Bad(LeftOut::Condition { of: self.path(node) })
            } else {
                Fate::Well
            }
        } else if step.continue_on_error {
            Fate::Well
        } else {
            Fate::Bad(LeftOut::Failed { of: self.path(node) })
        }
    }

    /// The one place where a node's stand changes, so that what hangs on it cannot be forgotten.
    pub(super) fn put(&mut self, node: usize, stand: Stand) {
        let before = self.facets(node);
        self.nodes[node].stand = stand;
        let after = self.facets(node);
        if before != after {
            set(&mut self.ready, node, after.ready == Some(Nature::Work));
            set(&mut self.ready_agents, node, after.ready == Some(Nature::Agent));
            set(&mut self.ready_calls, node, after.ready == Some(Nature::Call));
            set(&mut self.outside, node, after.outside);
            if let Some(at) = before.timer {
                self.timers.remove(&(at, node));
            }
            if let Some(at) = after.timer {
                self.timers.insert((at, node));
            }
            self.holding = self.holding + usize::from(after.holding) - usize::from(before.holding);
            self.clock.busy = self.clock.busy + usize::from(after.busy) - usize::from(before.busy);
            self.money.reserved = self.money.reserved + after.reserved - before.reserved;
        }
        if matches!(self.step(node).kind, Kind::Approval(_)) {
            let is_over = matches!(self.nodes[node].stand, Stand::Over { .. });
            set(&mut self.answered, node, is_over);
        }
        self.look_again(node);
    }

    /// To be called where what [`Self::wants_attention`] reads changed around the node.
    pub(super) fn look_again(&mut self, node: usize) {
        let wants = self.wants_attention(node);
        set(&mut self.attention, node, wants);
    }

    fn wants_attention(&self, node: usize) -> bool {
        let it = &self.nodes[node];
        match &it.stand {
            Stand::Pending(_) | Stand::Settled { .. } => true,
            Stand::InDoubt { .. } => {
                self.stopping().is_some() || self.step(node).on_crash != OnCrash::Ask
            }
            Stand::Paused { .. } => self.is_stopped(node),
            Stand::Running { .. } => match &self.step(node).kind {
                Kind::Foreach(_) => it.rounds.as_ref().is_none_or(|rounds| rounds.is_over()),
                Kind::Sleep(_) => self.is_stopped(node),
                Kind::Shell(_)
                | Kind::Claude(_)
                | Kind::Http(_)
                | Kind::Javascript(_)
                | Kind::Condition(_)
                | Kind::Approval(_)
                | Kind::Call(_) => false,
            },
            Stand::Waiting
            | Stand::Ready
            | Stand::Backoff { .. }
            | Stand::Over { .. }
            | Stand::LeftOut(_) => false,
        }
    }

    fn facets(&self, node: usize) -> Facets {
        let nature = Nature::of(&self.step(node).kind);
        match &self.nodes[node].stand {
            Stand::Ready => Facets { ready: Some(nature), busy: true, ..Facets::default() },
            Stand::Backoff { until, .. } => {
                Facets { timer: Some(*until), busy: true, ..Facets::default() }
            }
            Stand::Running { until, allowance, .. } => Facets {
                timer: *until,
                outside: nature != Nature::Inside && until.is_none(),
                holding: nature.counts(),
                busy: nature.counts() || until.is_some(),
                reserved: *allowance,
                ..Facets::default()
            },
            Stand::Waiting
            | Stand::Pending(_)
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Over { .. }
            | Stand::LeftOut(_) => Facets::default(),
        }
    }
}

fn set(these: &mut BTreeSet<usize>, node: usize, is_in: bool) {
    if is_in {
        these.insert(node);
    } else {
        these.remove(&node);
    }
}

/// What a kind of step takes while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// Nothing: it is the engine's own.
    Inside,
    /// Nothing, but somebody outside has it.
    Person,
    /// A place in its run; the run that it starts takes its own room.
    Call,
    /// A place in its run, and room.
    Work,
    /// That and money.
    Agent,
}

impl Nature {
    pub(super) fn of(kind: &Kind) -> Self {
        match kind {
            Kind::Sleep(_) | Kind::Condition(_) | Kind::Foreach(_) => Self::Inside,
            Kind::Approval(_) => Self::Person,
            Kind::Call(_) => Self::Call,
            Kind::Shell(_) | Kind::Http(_) | Kind::Javascript(_) => Self::Work,
            Kind::Claude(_) => Self::Agent,
        }
    }

    /// Whether it counts against what may run at the same time.
    pub(super) fn counts(self) -> bool {
        match self {
            Self::Inside | Self::Person => false,
            Self::Call | Self::Work | Self::Agent => true,
        }
    }
}
