//! Rounds of a `foreach`, and the steps in each.

use chrono::TimeDelta;
use std::sync::Arc;

use super::{
    Ended, LeftOut, Outcome, Output, Spent, fill,
    state::{Block, Fate, Node, Stand, State},
};
use crate::language::Kind;

impl State {
    pub(super) fn wake_block(&mut self, block: usize) {
        self.blocks[block].live = true;
        let Block { base, scope, .. } = self.blocks[block];
        for node in base..base + self.plan.scopes[scope].steps.len() {
            self.wake(node);
        }
    }

    pub(super) fn add_block(&mut self, scope: usize, above: Option<(usize, usize)>) -> usize {
        let block = self.blocks.len();
        let base = self.nodes.len();
        let plan = Arc::clone(&self.plan);
        let steps = &plan.scopes[scope].steps;
        self.blocks.push(Block { scope, base, above, open: steps.len(), live: false });
        self.nodes.extend(steps.iter().enumerate().map(|(place, step)| Node {
            block,
            place,
            stand: Stand::Waiting,
            attempts: 0,
            tries: 0,
            first: None,
            crashes: 0,
            last_why: None,
            open_needs: step.needs.len(),
            again: 0,
            began: None,
            rounds: None,
            kept: false,
            back: None,
            wait: None,
            so_far: Spent::default(),
            spent: Spent::default(),
            wall: TimeDelta::zero(),
        }));
        block
    }

    /// Begins as many rounds as may run at the same time.
    pub(super) fn start_rounds(&mut self, node: usize) {
        let Kind::Foreach(foreach) = &self.step(node).kind else { return };
        let parallel = foreach.parallel.max(1) as usize;
        if self.running(node).is_none() || self.is_stopped(node) {
            return;
        }
        let Some(scope) = self.planned(node).inner else { return };
        while let Some(rounds) = &mut self.nodes[node].rounds
            && rounds.active < parallel
            && let Some(round) = rounds.queue.pop_first()
        {
            let block = if let Some(block) = rounds.blocks.get(round) {
                *block
            } else {
                // Rounds begin in order, so the next one that was never made has the next number.
                let block = self.add_block(scope, Some((node, round)));
                if let Some(rounds) = &mut self.nodes[node].rounds {
                    rounds.blocks.push(block);
                }
                block
            };
            if self.blocks[block].open == 0 {
                continue;
            }
            if let Some(rounds) = &mut self.nodes[node].rounds {
                rounds.active += 1;
            }
            self.wake_block(block);
        }
        self.look_again(node);
    }

    /// No further round of it begins; one that was to run again ends with what is in it.
    pub(super) fn drop_queue(&mut self, node: usize) {
        let Some(rounds) = &mut self.nodes[node].rounds else { return };
        let mut open = Vec::new();
        for round in std::mem::take(&mut rounds.queue) {
            if let Some(block) = rounds.blocks.get(round)
                && self.blocks[*block].open > 0
            {
                rounds.active += 1;
                open.push(*block);
            }
        }
        for block in open {
            self.wake_block(block);
        }
    }

    /// All rounds of a `foreach` that is tried again.
    pub(super) fn rounds_again(&mut self, node: usize) {
        let Some(rounds) = &self.nodes[node].rounds else { return };
        let count = rounds.items.len();
        for block in rounds.blocks.clone() {
            let Block { base, scope, .. } = self.blocks[block];
            let steps = self.plan.scopes[scope].steps.len();
            for inner in base..base + steps {
                self.again(inner, node);
            }
            for inner in base..base + steps {
                self.count_needs(inner);
            }
        }
        if let Some(rounds) = &mut self.nodes[node].rounds {
            rounds.active = 0;
            rounds.queue = (0..count).collect();
        }
    }

    /// How a `foreach` ends whose rounds are over.
    pub(super) fn rounds_came_to(&self, node: usize) -> Ended {
        let Some(rounds) = &self.nodes[node].rounds else { return Ended::of(Outcome::Done) };
        let count = rounds.items.len();
        let made = &rounds.blocks[..rounds.blocks.len().min(count)];
        let (mut failed, mut denied, mut first) = (0, 0, None);
        let mut stopped = made.len() < count;
        for block in made {
            let mut bad = Vec::new();
            for inner in self.block_nodes(*block) {
                match self.fate(inner) {
                    Some(Fate::Bad(LeftOut::Stopped)) => stopped = true,
                    Some(Fate::Bad(LeftOut::Failed { .. })) => bad.push(inner),
                    Some(Fate::Bad(LeftOut::If | LeftOut::Condition { .. }) | Fate::Well)
                    | None => {}
                }
            }
            let outcomes: Vec<_> =
                bad.iter().filter_map(|inner| Some((*inner, self.outcome(*inner)?))).collect();
            stopped |= outcomes.iter().any(|(_, outcome)| **outcome == Outcome::Cancelled);
            let Some(worst) = outcomes.first() else { continue };
            failed += 1;
            let only_no =
                |(_, outcome): &(usize, &Outcome)| matches!(outcome, Outcome::Denied { .. });
            denied += usize::from(outcomes.iter().all(only_no));
            first.get_or_insert_with(|| {
                format!("`{}`: {}", self.path(worst.0), fill::reason(worst.1))
            });
        }
        let outcome = match first {
            _ if stopped && self.is_stopped(node) => Outcome::Cancelled,
            None => Outcome::Done,
            Some(why) if denied == failed => Outcome::Denied { why },
            Some(why) => Outcome::Failed {
                why: format!("{failed} of {count} rounds failed, the first with {why}"),
            },
        };
        let output = Output {
            values: std::iter::once(("failed".to_owned(), failed.into())).collect(),
            ..Output::default()
        };
        Ended { output, ..Ended::of(outcome) }
    }
}
