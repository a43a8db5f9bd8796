//! Making steps run again that were over.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use super::{
    LeftOut, Outcome, RunState,
    state::{Block, Nature, Node, SentBack, Stand, State},
};
use crate::value::StepPath;

impl State {
    pub(super) fn reset(
        &mut self,
        steps: &[StepPath],
        by: &str,
        why: &str,
        from: Option<&StepPath>,
    ) {
        match self.run {
            RunState::Stopping(_) => return,
            RunState::Over(_) => {
                // Whoever tries again knows what it came to, so time and money count from here.
                self.run = RunState::Running;
                self.at_once = false;
                self.why.clear();
                self.clock.before = chrono::TimeDelta::zero();
                self.money.before = self.money.spent.micro_usd;
            }
            RunState::Running => {}
        }
        let these: BTreeSet<_> = steps.iter().filter_map(|step| self.find(step)).collect();
        let from = from.and_then(|from| self.find(from));
        if let Some(from) = from {
            // Whoever sent it back answered this question, so nobody has to be told to close it.
            self.nodes[from].so_far = super::Spent::default();
            if self.running(from).is_some() {
                self.put(from, Stand::Waiting);
            }
        }
        for node in &these {
            self.again(*node, *node);
        }
        if let Some(from) = from {
            self.note(from, &these, by, why);
        }
        let mut touched = these.clone();
        for node in &these {
            self.reopen(*node, &mut touched);
        }
        self.failed.retain(|node| !touched.contains(node));
        let plan = Arc::clone(&self.plan);
        let mut wake = touched.clone();
        for node in touched {
            let Node { block, place, .. } = self.nodes[node];
            let Block { base, scope, .. } = self.blocks[block];
            wake.extend(plan.scopes[scope].steps[place].needed_by.iter().map(|by| base + by));
        }
        for node in &wake {
            self.count_needs(*node);
        }
        for node in wake {
            self.wake(node);
        }
    }

    /// What a person sent this step back with, or one around it.
    pub(super) fn sent_back(&self, mut node: usize) -> Option<&SentBack> {
        loop {
            if let Some(back) = &self.nodes[node].back {
                return Some(back);
            }
            node = self.blocks[self.nodes[node].block].above?.0;
        }
    }

    fn note(&mut self, from: usize, these: &BTreeSet<usize>, by: &str, why: &str) {
        let back = Arc::new(SentBack {
            step: self.step(from).id.to_string(),
            by: by.to_owned(),
            words: why.to_owned(),
            round: self.nodes[from].again + 1,
        });
        for node in these {
            self.nodes[*node].back = Some(Arc::clone(&back));
        }
    }

    /// Makes one step as if it had never run, but for the numbers of its attempts. `holder` waits for
    /// attempts that still run.
    pub(super) fn again(&mut self, node: usize, holder: usize) {
        if self.is_over(node) {
            self.blocks[self.nodes[node].block].open += 1;
        }
        if let Some(attempt) = self.running(node)
            && Nature::of(&self.step(node).kind) != Nature::Inside
        {
            self.dropped.insert((node, attempt), holder);
        }
        self.put(node, Stand::Waiting);
        let it = &mut self.nodes[node];
        it.kept = false;
        it.tries = 0;
        it.first = None;
        it.crashes = 0;
        it.last_why = None;
        it.began = None;
        it.again += 1;
        let Some(rounds) = &mut it.rounds else { return };
        rounds.queue.clear();
        rounds.active = 0;
        let blocks = rounds.blocks.clone();
        for block in blocks {
            self.blocks[block].live = false;
            let Block { base, scope, .. } = self.blocks[block];
            let steps = self.plan.scopes[scope].steps.len();
            for inner in base..base + steps {
                self.again(inner, holder);
            }
            for inner in base..base + steps {
                self.count_needs(inner);
            }
        }
    }

    /// Lets the `foreach` around a step go on with the step's round.
    fn reopen(&mut self, node: usize, touched: &mut BTreeSet<usize>) {
        let block = self.nodes[node].block;
        let Some((above, round)) = self.blocks[block].above else { return };
        let is_new = matches!(self.nodes[above].stand, Stand::Waiting);
        if is_new && !self.nodes[above].kept {
            return; // it runs again as a whole
        }
        if !self.blocks[block].live
            && let Some(rounds) = &mut self.nodes[above].rounds
        {
            rounds.queue.insert(round);
        }
        if self.is_over(above) {
            self.blocks[self.nodes[above].block].open += 1;
            self.put(above, Stand::Waiting);
            self.nodes[above].kept = true;
            touched.insert(above);
        }
        self.look_again(above);
        self.reopen(above, touched);
    }

    pub(super) fn count_needs(&mut self, node: usize) {
        let Node { block, place, .. } = self.nodes[node];
        let Block { base, scope, .. } = self.blocks[block];
        let plan = Arc::clone(&self.plan);
        let needs = &plan.scopes[scope].steps[place].needs;
        let open = needs.iter().filter(|need| !self.is_over(base + **need)).count();
        let held = if self.dropped.is_empty() {
            0
        } else {
            self.dropped.values().filter(|holder| **holder == node).count()
        };
        self.nodes[node].open_needs = open + held;
    }

    /// These, and all that needs one of them, as far as it ever got anywhere.
    pub(super) fn closure(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut all: BTreeSet<usize> = from.into_iter().collect();
        let mut open: VecDeque<usize> = all.iter().copied().collect();
        let mut above: BTreeSet<usize> = BTreeSet::new();
        while let Some(node) = open.pop_front() {
            let Node { block, place, .. } = self.nodes[node];
            let Block { base, .. } = self.blocks[block];
            for by in &self.scope(block).steps[place].needed_by {
                let by = base + by;
                if !matches!(self.nodes[by].stand, Stand::Waiting) && all.insert(by) {
                    open.push_back(by);
                }
            }
            // What needs the `foreach` around it read the round as it was.
            if let Some((foreach, _)) = self.blocks[block].above
                && above.insert(foreach)
            {
                open.push_back(foreach);
            }
        }
        all
    }

    /// What a retry makes run again: what failed, was stopped, or was left out because of that.
    pub(super) fn unfinished(&self) -> BTreeSet<usize> {
        let mut roots = BTreeSet::new();
        for node in self.block_nodes(0) {
            self.roots(node, &mut roots);
        }
        roots
    }

    /// What a stop of the run kept from its end, or from its beginning.
    pub(super) fn stopped_short(&self) -> BTreeSet<usize> {
        let is_one = |node: &usize| match &self.nodes[*node].stand {
            Stand::Over { ended, .. } => ended.outcome == Outcome::Cancelled,
            Stand::LeftOut(why) => *why == LeftOut::Stopped,
            Stand::Waiting
            | Stand::Pending(_)
            | Stand::Ready
            | Stand::Running { .. }
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Backoff { .. } => false,
        };
        self.unfinished().into_iter().filter(is_one).collect()
    }

    fn roots(&self, node: usize, roots: &mut BTreeSet<usize>) {
        let is_one = match &self.nodes[node].stand {
            Stand::Over { ended, .. } => {
                ended.outcome != Outcome::Done && !self.step(node).continue_on_error
            }
            Stand::LeftOut(LeftOut::Failed { .. } | LeftOut::Stopped) => true,
            Stand::LeftOut(LeftOut::If | LeftOut::Condition { .. })
            | Stand::Waiting
            | Stand::Pending(_)
            | Stand::Ready
            | Stand::Running { .. }
            | Stand::Paused { .. }
            | Stand::InDoubt { .. }
            | Stand::Settled { .. }
            | Stand::Backoff { .. } => false,
        };
        if !is_one {
            return;
        }
        let before = roots.len();
        if let Some(rounds) = &self.nodes[node].rounds
            && rounds.blocks.len() >= rounds.items.len()
        {
            // Rounds that ended well stay as they are.
            for block in &rounds.blocks[..rounds.items.len()] {
                for inner in self.block_nodes(*block) {
                    self.roots(inner, roots);
                }
            }
        }
        if roots.len() == before {
            roots.insert(node);
        }
    }

    /// All steps, each round's below what it is a round of.
    pub(super) fn as_written(&self) -> Vec<usize> {
        let mut all = Vec::with_capacity(self.nodes.len());
        let mut ahead: Vec<usize> = self.block_nodes(0).rev().collect();
        while let Some(node) = ahead.pop() {
            all.push(node);
            if let Some(rounds) = &self.nodes[node].rounds {
                let inner = rounds.blocks.iter().rev();
                ahead.extend(inner.flat_map(|block| self.block_nodes(*block).rev()));
            }
        }
        all
    }

    pub(super) fn block_nodes(&self, block: usize) -> std::ops::Range<usize> {
        let Block { base, scope, .. } = self.blocks[block];
        base..base + self.plan.scopes[scope].steps.len()
    }

    /// What is to be written so that these run again.
    pub(super) fn resets(&self, these: BTreeSet<usize>) -> Vec<StepPath> {
        these.into_iter().map(|node| self.path(node)).collect()
    }
}
