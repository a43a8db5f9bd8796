//! What of a workflow never changes during a run, looked up by number instead of by name.

use std::collections::HashMap;

use crate::{
    language::{Kind, Step},
    value::StepId,
};

/// All scopes of a workflow; the first is its top.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) scopes: Vec<Scope>,
}

/// Steps beside each other: those of the workflow, or those inside of one `foreach`.
#[derive(Debug)]
pub(super) struct Scope {
    /// The `foreach` they stand in, as scope and place.
    pub(super) above: Option<(usize, usize)>,
    pub(super) steps: Vec<Planned>,
    /// Places, each behind all that it needs.
    pub(super) order: Vec<usize>,
    by_id: HashMap<StepId, usize>,
}

#[derive(Debug)]
pub(super) struct Planned {
    pub(super) needs: Vec<usize>,
    pub(super) needed_by: Vec<usize>,
    /// The scope inside of it.
    pub(super) inner: Option<usize>,
    /// It or a `foreach` around it is marked `always`, so that a stop does not reach it.
    pub(super) goes_on: bool,
}

impl Plan {
    pub(super) fn new(steps: &[Step]) -> Self {
        let mut plan = Self { scopes: Vec::new() };
        plan.add(steps, None, false);
        plan
    }

    fn add(&mut self, steps: &[Step], above: Option<(usize, usize)>, goes_on: bool) -> usize {
        let scope = self.scopes.len();
        let by_id: HashMap<_, _> =
            steps.iter().enumerate().map(|(place, step)| (step.id.clone(), place)).collect();
        let mut planned: Vec<_> = steps
            .iter()
            .map(|step| {
                let mut needs: Vec<_> =
                    step.needs.iter().filter_map(|id| by_id.get(id).copied()).collect();
                needs.sort_unstable();
                needs.dedup();
                let goes_on = goes_on || step.always;
                Planned { needs, needed_by: Vec::new(), inner: None, goes_on }
            })
            .collect();
        for place in 0..planned.len() {
            for need in planned[place].needs.clone() {
                planned[need].needed_by.push(place);
            }
        }
        let order = order(&planned);
        self.scopes.push(Scope { above, steps: planned, order, by_id });
        for (place, step) in steps.iter().enumerate() {
            if let Kind::Foreach(foreach) = &step.kind {
                let goes_on = self.scopes[scope].steps[place].goes_on;
                let inner = self.add(&foreach.steps, Some((scope, place)), goes_on);
                self.scopes[scope].steps[place].inner = Some(inner);
            }
        }
        scope
    }
}

impl Scope {
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        // A text that is no id names no step.
        self.by_id.get(&id.parse::<StepId>().ok()?).copied()
    }
}

fn order(steps: &[Planned]) -> Vec<usize> {
    let mut open: Vec<_> = steps.iter().map(|step| step.needs.len()).collect();
    let mut order: Vec<_> = (0..steps.len()).filter(|place| open[*place] == 0).collect();
    let mut next = 0;
    while let Some(place) = order.get(next).copied() {
        next += 1;
        for by in &steps[place].needed_by {
            open[*by] -= 1;
            if open[*by] == 0 {
                order.push(*by);
            }
        }
    }
    order
}
