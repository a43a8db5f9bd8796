//! What a run may take: time, places, money.

use chrono::TimeDelta;

use super::{
    RunState, Spent, Stop,
    state::{Stand, State},
};
use crate::{Timestamp, language::Kind};

/// How long the run was at it, waiting for people left out.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// Nodes that run, sleep, or wait for room or their next try.
    pub(super) busy: usize,
    pub(super) since: Timestamp,
    pub(super) before: TimeDelta,
}

impl Clock {
    pub(super) fn at(&self, now: Timestamp) -> TimeDelta {
        if self.busy == 0 {
            return self.before;
        }
        self.before + (now - self.since).max(TimeDelta::zero())
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Money {
    pub(super) spent: Spent,
    /// What agents that run may still take.
    pub(super) reserved: u64,
    /// What was spent before the last retry: the limit counts from there.
    pub(super) before: u64,
}

impl State {
    /// A limit of the run that is reached.
    pub(super) fn limit(&self, now: Timestamp) -> Option<Stop> {
        if self.run != RunState::Running || self.blocks[0].open == 0 {
            return None;
        }
        if self.out_of_time().is_some_and(|at| at <= now) {
            return Some(Stop::TimedOut);
        }
        let limit = self.frozen.source.workflow.limits.micro_usd?;
        let spent = self.money.spent.micro_usd.saturating_sub(self.money.before);
        let tries = || {
            let due = self.timers.range(..=(now, usize::MAX));
            due.into_iter().any(|(_, node)| matches!(self.step(*node).kind, Kind::Claude(_)))
        };
        let waits = self.money.reserved == 0 && (!self.ready_agents.is_empty() || tries());
        (spent > limit || (spent == limit && waits)).then_some(Stop::OverBudget)
    }

    /// When the run is stopped if nothing happens before.
    pub(super) fn out_of_time(&self) -> Option<Timestamp> {
        let timeout = self.frozen.source.workflow.limits.timeout?;
        if self.run != RunState::Running || self.clock.busy == 0 {
            return None;
        }
        let whole = TimeDelta::from_std(timeout).ok()?;
        self.clock.since.checked_add_signed((whole - self.clock.before).max(TimeDelta::zero()))
    }

    /// What is left of the run's money, beyond what those that run may still take; `None`: no limit.
    pub(super) fn unreserved(&self) -> Option<u64> {
        let limit = self.frozen.source.workflow.limits.micro_usd?;
        let spent = self.money.spent.micro_usd.saturating_sub(self.money.before);
        Some(limit.saturating_sub(spent).saturating_sub(self.money.reserved))
    }

    pub(super) fn allowance(&self, node: usize) -> u64 {
        let (Kind::Claude(claude), Some(left)) = (&self.step(node).kind, self.unreserved()) else {
            return 0;
        };
        let so_far = self.nodes[node].so_far.micro_usd;
        let parallel = self.frozen.source.workflow.limits.parallel as usize;
        share(
            left,
            claude.micro_usd.map(|own| own.saturating_sub(so_far)),
            self.ready_agents.len(),
            parallel,
        )
    }

    /// Counts what the attempt came to by now, once.
    pub(super) fn charge(&mut self, node: usize, by_now: Spent) {
        let before = self.nodes[node].so_far;
        self.nodes[node].so_far = by_now;
        self.spend(
            node,
            Spent {
                micro_usd: by_now.micro_usd.saturating_sub(before.micro_usd),
                input_tokens: by_now.input_tokens.saturating_sub(before.input_tokens),
                output_tokens: by_now.output_tokens.saturating_sub(before.output_tokens),
            },
        );
    }

    pub(super) fn spend(&mut self, node: usize, more: Spent) {
        for spent in [&mut self.nodes[node].spent, &mut self.money.spent] {
            spent.micro_usd = spent.micro_usd.saturating_add(more.micro_usd);
            spent.input_tokens = spent.input_tokens.saturating_add(more.input_tokens);
            spent.output_tokens = spent.output_tokens.saturating_add(more.output_tokens);
        }
    }

    /// Counts the time that the attempt ran since it last began or went on.
    pub(super) fn clock_off(&mut self, node: usize, at: Timestamp) {
        if let Stand::Running { since, .. } = self.nodes[node].stand {
            self.nodes[node].wall += (at - since).max(TimeDelta::zero());
        }
    }
}

/// What one agent may take of what is left: its own bound, or an even part where others wait as well,
/// so that readers side by side need not go one after the other.
pub(super) fn share(left: u64, own: Option<u64>, wait: usize, parallel: usize) -> u64 {
    let parts = wait.min(parallel).max(1) as u64;
    own.unwrap_or((left / parts).max(1)).min(left)
}
