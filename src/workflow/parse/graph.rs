//! What needs what: names that do not exist, circles, and who comes before whom. Linear in steps and
//! what they need, but for the last, which is only worked out where somebody asks.

use std::{cell::OnceCell, collections::VecDeque};

use super::{
    reader::Reader,
    scope::{Scope, Scopes},
};
use crate::{
    nearest::nearest,
    value::StepId,
    yaml::{Span, shortened},
};

/// Of every list of steps, who comes before whom.
pub(super) struct Graph {
    before: Vec<OnceCell<Before>>,
    has_circle: Vec<bool>,
}

/// A row of bits for each step: those that it needs, directly or not.
struct Before {
    words: usize,
    bits: Vec<u64>,
}

pub(super) fn check<'a>(reader: &Reader<'a>, scopes: &mut Scopes<'a>) -> Graph {
    let mut has_circle = Vec::new();
    for number in 0..scopes.all.len() {
        resolve(reader, scopes, number);
        let scope = &scopes.all[number];
        let circles = circles(scope);
        for circle in &circles {
            tell(reader, scope, circle);
        }
        has_circle.push(!circles.is_empty());
    }
    let graph = Graph { before: scopes.all.iter().map(|_| OnceCell::new()).collect(), has_circle };
    for number in 0..scopes.all.len() {
        conversations(reader, scopes, &graph, number);
    }
    graph
}

/// Names to numbers.
fn resolve<'a>(reader: &Reader<'a>, scopes: &mut Scopes<'a>, number: usize) {
    let mut all = Vec::new();
    let scope = &scopes.all[number];
    for step in &scope.steps {
        let mut before = Vec::new();
        for (need, span) in &step.needs {
            if let Some(found) = scope.ids.get(need) {
                before.push(*found);
            } else {
                let what = format!("there is no step `{}` here", shortened(need));
                let hint = if reader.is_full() { None } else { elsewhere(scopes, number, need) };
                let severity = crate::problem::Severity::Error;
                reader.problem(severity, *span, what, hint);
            }
        }
        all.push(before);
    }
    for (step, before) in scopes.all[number].steps.iter_mut().zip(all) {
        step.before = before;
    }
}

/// What may have been meant by an id that is none of this list.
pub(super) fn elsewhere(scopes: &Scopes<'_>, number: usize, id: &str) -> Option<String> {
    let scope = scopes.all.get(number)?;
    if scopes.around(number).skip(1).any(|around| around.ids.contains_key(id)) {
        return Some(format!(
            "`{id}` stands outside of this `foreach`, which can need it as a whole"
        ));
    }
    if let Some(near) = nearest(id, scope.ids.keys().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let holder = scopes.all.iter().find(|other| other.ids.contains_key(id))?;
    let at = holder.parent?;
    let holder = scopes.all[at.scope].steps.get(at.step?)?;
    Some(format!("it stands inside of `{}`, which can only be needed as a whole", holder.id))
}

/// One circle out of each knot of steps that need one another, in the order of the file.
fn circles(scope: &Scope<'_>) -> Vec<Vec<usize>> {
    let knots = knots(scope);
    let mut of = vec![usize::MAX; scope.steps.len()];
    for (number, knot) in knots.iter().enumerate() {
        for step in knot {
            of[*step] = number;
        }
    }
    let mut circles: Vec<Vec<usize>> =
        knots.iter().filter_map(|knot| shortest(scope, *knot.iter().min()?, &of)).collect();
    circles.sort_unstable();
    circles
}

/// Strongly connected components (Tarjan's), without recursion: chains of needs may be long.
fn knots(scope: &Scope<'_>) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = scope.steps.len();
    let (mut index, mut low, mut on_stack) =
        (vec![UNSEEN; count], vec![UNSEEN; count], vec![false; count]);
    let (mut next, mut stack, mut knots) = (0, Vec::new(), Vec::new());
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        // A step and how many of its needs were followed.
        let mut path = vec![(root, 0)];
        while let Some((step, followed)) = path.last_mut() {
            let step = *step;
            if *followed == 0 {
                (index[step], low[step]) = (next, next);
                next += 1;
                stack.push(step);
                on_stack[step] = true;
            }
            if let Some(need) = scope.steps[step].before.get(*followed).copied() {
                *followed += 1;
                if index[need] == UNSEEN {
                    path.push((need, 0));
                } else if on_stack[need] {
                    low[step] = low[step].min(index[need]);
                }
                continue;
            }
            path.pop();
            if let Some((above, _)) = path.last() {
                low[*above] = low[*above].min(low[step]);
            }
            if low[step] == index[step] {
                let start = stack.iter().rposition(|it| *it == step).unwrap_or(0);
                let knot = stack.split_off(start);
                for it in &knot {
                    on_stack[*it] = false;
                }
                if knot.len() > 1 || scope.steps[step].before.contains(&step) {
                    knots.push(knot);
                }
            }
        }
    }
    knots
}

/// The shortest way from a step along its needs back to itself, inside its knot.
fn shortest(scope: &Scope<'_>, start: usize, of: &[usize]) -> Option<Vec<usize>> {
    let mut came_from = std::collections::HashMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(step) = queue.pop_front() {
        for need in scope.steps[step].before.iter().copied() {
            if need == start {
                let mut circle = vec![step];
                while let Some(above) = circle.last().and_then(|last| came_from.get(last)) {
                    circle.push(*above);
                }
                circle.reverse();
                return Some(circle);
            }
            if of[need] == of[start] && !came_from.contains_key(&need) {
                came_from.insert(need, step);
                queue.push_back(need);
            }
        }
    }
    None
}

/// Steps of a circle that a message names.
const NAMED: usize = 12;

fn tell(reader: &Reader<'_>, scope: &Scope<'_>, circle: &[usize]) {
    let shown = circle.iter().take(NAMED).map(|step| &scope.steps[*step]);
    let mut names: Vec<&str> = shown.clone().map(|step| step.id).collect();
    let lines: Vec<String> = shown.map(|step| step.span.line.to_string()).collect();
    if circle.len() > NAMED {
        names.push("…");
    }
    let first = &scope.steps[circle[0]];
    names.push(first.id);
    let lines = if lines.len() == 1 {
        format!("line {}", lines[0])
    } else {
        format!("lines {}", lines.join(", "))
    };
    let what = format!("steps need one another in a circle: {} ({lines})", names.join(" -> "));
    let need = circle.get(1).unwrap_or(&circle[0]);
    let need = scope.steps[*need].id;
    let span = first.needs.iter().find(|(id, _)| *id == need).map_or(first.span, |(_, span)| *span);
    reader.hinted(span, what, "take one of these out of `needs`");
}

impl Graph {
    /// Whether `step` needs `other`, directly or not; in a list with a circle nothing is said.
    pub(super) fn is_before(
        &self,
        scopes: &Scopes<'_>,
        scope: usize,
        other: usize,
        step: usize,
    ) -> bool {
        if self.has_circle[scope] || scopes.all[scope].steps[step].before.contains(&other) {
            return true;
        }
        let before = self.before[scope].get_or_init(|| Before::of(&scopes.all[scope]));
        before.bits[step * before.words + other / 64] & (1 << (other % 64)) != 0
    }
}

impl Before {
    fn of(scope: &Scope<'_>) -> Self {
        let count = scope.steps.len();
        let words = count.div_ceil(64);
        let mut bits = vec![0_u64; count * words];
        for step in in_order(scope) {
            for need in &scope.steps[step].before {
                for word in 0..words {
                    bits[step * words + word] |= bits[need * words + word];
                }
                bits[step * words + need / 64] |= 1 << (need % 64);
            }
        }
        Self { words, bits }
    }
}

/// Steps behind all they need; only of a list without a circle.
fn in_order(scope: &Scope<'_>) -> Vec<usize> {
    let mut waits: Vec<usize> = scope.steps.iter().map(|step| step.before.len()).collect();
    let mut after = vec![Vec::new(); scope.steps.len()];
    for (number, step) in scope.steps.iter().enumerate() {
        step.before.iter().for_each(|need| after[*need].push(number));
    }
    let mut order: Vec<usize> = (0..waits.len()).filter(|step| waits[*step] == 0).collect();
    let mut at = 0;
    while let Some(step) = order.get(at).copied() {
        at += 1;
        for next in &after[step] {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                order.push(*next);
            }
        }
    }
    order
}

/// `continue` and `send_back` name steps that come before.
fn conversations<'a>(reader: &Reader<'a>, scopes: &Scopes<'a>, graph: &Graph, number: usize) {
    let scope = &scopes.all[number];
    for (step, seen) in scope.steps.iter().enumerate() {
        if let Some((to, span)) = &seen.goes_on {
            goes_on(reader, scopes, graph, (number, step), (to, *span));
        }
        let Some((to, span)) = &seen.send_back else { continue };
        let found = scope.ids.get(to.as_str());
        let Some(found) = found else {
            let hint = elsewhere(scopes, number, to.as_str());
            let severity = crate::problem::Severity::Error;
            reader.problem(severity, *span, format!("there is no step `{to}` here"), hint);
            continue;
        };
        if !graph.is_before(scopes, number, *found, step) {
            let what =
                format!("`{to}` does not come before this step, so nothing can go back to it");
            reader.hinted(*span, what, format!("it has to be among what `{}` needs", seen.id));
        }
    }
}

fn goes_on<'a>(
    reader: &Reader<'a>,
    scopes: &Scopes<'a>,
    graph: &Graph,
    (mut scope, mut step): (usize, usize),
    (to, span): (&StepId, Span),
) {
    let first = scope;
    loop {
        let here = &scopes.all[scope];
        if let Some(found) = here.ids.get(to.as_str()) {
            let seen = &here.steps[*found];
            if !seen.converses {
                let what = format!("`{to}` has no conversation to go on with");
                reader.hinted(
                    span,
                    what,
                    "`continue` names a step with `claude` and without `session`",
                );
            } else if !graph.is_before(scopes, scope, *found, step) {
                let what = format!("`{to}` does not come before this step");
                reader.hinted(span, what, format!("add `needs: [{to}]`"));
            }
            return;
        }
        let Some(above) = here.parent else { break };
        (scope, step) = (above.scope, above.step.unwrap_or_default());
    }
    let hint = elsewhere(scopes, first, to.as_str());
    let severity = crate::problem::Severity::Error;
    reader.problem(severity, span, format!("there is no step `{to}` here"), hint);
}
