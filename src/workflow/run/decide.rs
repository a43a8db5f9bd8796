//! What becomes of a step whose needs are over: decided once, from what its log says by then.

use std::sync::Arc;

use super::{Ended, LeftOut, Outcome, Output, context::context, fill, sleep::Wait, state::State};
use crate::{
    language::{Foreach, Kind, MOST_ROUNDS, MOST_STEPS, Sleep},
    params::{DEEPEST_VALUE, is_deeper_than, too_deep},
};

pub(super) enum Decision {
    LeaveOut(LeftOut),
    /// It ends without having begun.
    End(Box<Ended>),
    Begin,
    Sleep(Wait),
    /// It begins, with these items.
    Rounds(Vec<serde_json::Value>),
    /// It begins as soon as there is room.
    Ready,
}

pub(super) fn decide(state: &Arc<State>, node: usize) -> Decision {
    try_decide(state, node)
        .unwrap_or_else(|why| Decision::End(Box::new(Ended::of(Outcome::Failed { why }))))
}

fn try_decide(state: &Arc<State>, node: usize) -> Result<Decision, String> {
    let step = state.step(node);
    let values = context(state, Some(node));
    if let Some(only_if) = &step.only_if
        && !only_if.is_true(&values).map_err(|error| format!("its `if` cannot be told: {error}"))?
    {
        return Ok(Decision::LeaveOut(LeftOut::If));
    }
    Ok(match &step.kind {
        Kind::Condition(condition) => {
            let is_true = condition
                .test
                .is_true(&values)
                .map_err(|error| format!("its condition cannot be told: {error}"))?;
            Decision::End(told(is_true))
        }
        Kind::Foreach(foreach) => Decision::Rounds(items(state, node, foreach)?),
        Kind::Sleep(Sleep::For(wait)) => Decision::Sleep(Wait::For(*wait)),
        Kind::Sleep(Sleep::Until(until)) => {
            let text = until.render(&values).map_err(|error| error.to_string())?;
            let zone = state.frozen.source.workflow.on.timezone.as_deref();
            Decision::Sleep(Wait::parse(&text, zone)?)
        }
        // Asking takes no room, so nothing would look at its words before it is asked.
        Kind::Approval(_) => fill::work(state, node).map(|_| Decision::Begin)?,
        Kind::Shell(_) | Kind::Claude(_) | Kind::Http(_) | Kind::Javascript(_) | Kind::Call(_) => {
            Decision::Ready
        }
    })
}

fn told(is_true: bool) -> Box<Ended> {
    let value = serde_json::Value::Bool(is_true);
    let output = Output {
        json: Some(value.clone()),
        values: std::iter::once(("value".to_owned(), value)).collect(),
        ..Output::default()
    };
    Box::new(Ended { output, ..Ended::of(Outcome::Done) })
}

fn items(
    state: &Arc<State>,
    node: usize,
    foreach: &Foreach,
) -> Result<Vec<serde_json::Value>, String> {
    let values = context(state, Some(node));
    let items = foreach
        .items
        .value(&values)
        .map_err(|error| format!("its items cannot be told: {error}"))?;
    let kind = match items {
        serde_json::Value::Array(items) => return bounded(state, node, items),
        serde_json::Value::Null => "nothing",
        serde_json::Value::Bool(_) => "a yes or no",
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a text",
        serde_json::Value::Object(_) => "a map",
    };
    Err(format!("`{}` gives {kind}, and its items must be a list", foreach.items.source))
}

fn bounded(
    state: &State,
    node: usize,
    items: Vec<serde_json::Value>,
) -> Result<Vec<serde_json::Value>, String> {
    if items.iter().any(|item| is_deeper_than(DEEPEST_VALUE, item)) {
        return Err(too_deep("one of its items"));
    }
    let rounds = items.len();
    if rounds > MOST_ROUNDS {
        return Err(format!("it has {rounds} items, and {MOST_ROUNDS} are the most"));
    }
    let before = state.nodes[node].rounds.as_ref().map_or(0, |rounds| rounds.planned);
    let more = rounds.saturating_sub(before) * state.inner_steps(node);
    if state.planned + more > MOST_STEPS {
        return Err(format!(
            "with its {rounds} rounds the run comes to {} steps, and {MOST_STEPS} are the most",
            state.planned + more
        ));
    }
    Ok(items)
}
