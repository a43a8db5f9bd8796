//! What templates and expressions read of a run. Everything is looked up when it is read, so that a
//! step costs what it reads, however many others there are.
//!
//! `params`, `env` (the workflow's), `run`, `steps.ID` for steps that are over, and inside of a
//! `foreach` the item by its name and `index`. `steps.ID` has `text`, `json`, `exit_code`, `status`
//! (`done`, `failed`, `denied`, `timed_out`, `cancelled`, `left_out`), `ok`, `why`, `cut`, `files`,
//! `changed`, `spent`, and what the step gives by name: `approved`, `by`, `words`, `answers` and
//! `round` of an approval, `value` of a condition, `results` and `failed` of a `foreach`, whatever a
//! request extracts and a called workflow gives. All of it is none for a step that was left out.
//! `run.sent_back` is none, or `step`, `by`, `words` and `round` where an approval sent a step back.

use minijinja::{
    Error, ErrorKind, Value,
    value::{Enumerator, Object, ObjectRepr, Serde},
};
use std::sync::Arc;

use super::{
    Ended, Outcome, Spent,
    state::{Stand, State},
};
use crate::{language::Kind, template};

/// What may be read where a step stands; `None`: after the last one, for what the run gives.
pub(super) fn context(state: &Arc<State>, node: Option<usize>) -> Value {
    root(state, node, false, None)
}

/// The same where secrets may be used.
pub(super) fn with_secrets(state: &Arc<State>, node: usize) -> Value {
    root(state, Some(node), true, None)
}

/// The same, with what the step gives as `output`, and its response where it is a request.
pub(super) fn with_output(state: &Arc<State>, node: usize, ended: &Arc<Ended>) -> Value {
    root(state, Some(node), false, Some(Arc::clone(ended)))
}

fn root(
    state: &Arc<State>,
    node: Option<usize>,
    secrets: bool,
    output: Option<Arc<Ended>>,
) -> Value {
    Value::from_object(Root { state: Arc::clone(state), node, secrets, output })
}

#[derive(Debug)]
struct Root {
    state: Arc<State>,
    node: Option<usize>,
    secrets: bool,
    output: Option<Arc<Ended>>,
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let state = &self.state;
        match key.as_str()? {
            "params" => Some(Value::from_object(Params(Arc::clone(state)))),
            "env" => Some(Value::from_object(Env(Arc::clone(state)))),
            "run" => Some(self.run()),
            "steps" => Some(Value::from_object(Steps(Arc::clone(state), self.node))),
            "secrets" => self.secrets.then(template::secrets),
            "output" if self.output.is_some() => Some(self.output()?),
            "response" if self.output.is_some() => Some(response(self.output.as_ref()?)),
            name => self.item(name),
        }
    }
}

impl Root {
    fn run(&self) -> Value {
        let facts = &self.state.frozen.facts;
        let back = self.node.and_then(|node| self.state.sent_back(node)).map(|back| {
            minijinja::context! {
                step => &back.step, by => &back.by, words => &back.words, round => back.round,
            }
        });
        minijinja::context! {
            id => &facts.id,
            number => facts.number,
            started => facts.started.to_rfc3339(),
            trigger => &facts.trigger,
            by => &facts.by,
            name => &self.state.frozen.source.name,
            spent => spent(self.state.money.spent),
            sent_back => back.unwrap_or(Value::from(())),
        }
    }

    fn output(&self) -> Option<Value> {
        let (node, ended) = (self.node?, self.output.clone()?);
        Some(Value::from_object(Shown { state: Arc::clone(&self.state), node, ended: Some(ended) }))
    }

    fn item(&self, name: &str) -> Option<Value> {
        let mut node = self.node?;
        loop {
            let (above, round) = self.state.blocks[self.state.nodes[node].block].above?;
            if name == "index" {
                return Some(Value::from(round));
            }
            if let Kind::Foreach(foreach) = &self.state.step(above).kind
                && foreach.name == name
            {
                let rounds = self.state.nodes[above].rounds.as_ref()?;
                return Some(data(rounds.items.get(round)?));
            }
            node = above;
        }
    }
}

#[derive(Debug)]
struct Params(Arc<State>);

impl Object for Params {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?.parse().ok()?;
        self.0.frozen.params.get(&name).map(data)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.frozen.params.keys().map(|name| name.as_str().into()).collect())
    }
}

#[derive(Debug)]
struct Env(Arc<State>);

impl Object for Env {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let (_, template) =
            self.0.frozen.source.workflow.env.iter().rev().find(|(it, _)| it == name)?;
        let text = template.render(&root(&self.0, None, true, None));
        Some(text.map_or_else(|error| wrong(format!("`env.{name}`: {error}")), Value::from))
    }
}

/// Steps as one step sees them: those beside it first, then those around it.
#[derive(Debug)]
struct Steps(Arc<State>, Option<usize>);

impl Object for Steps {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let Self(state, from) = &**self;
        let id = key.as_str()?;
        let Some(node) = state.named(*from, id) else {
            return Some(wrong(format!("there is no step `{id}` here")));
        };
        if !state.is_over(node) {
            return Some(wrong(format!(
                "the step `{id}` is not over, so nothing can be read of it"
            )));
        }
        Some(shown(state, node))
    }
}

fn shown(state: &Arc<State>, node: usize) -> Value {
    let ended = match &state.nodes[node].stand {
        Stand::Over { ended, .. } => Some(Arc::clone(ended)),
        Stand::LeftOut(_)
        | Stand::Waiting
        | Stand::Pending(_)
        | Stand::Ready
        | Stand::Running { .. }
        | Stand::Paused { .. }
        | Stand::InDoubt { .. }
        | Stand::Settled { .. }
        | Stand::Backoff { .. } => None,
    };
    Value::from_object(Shown { state: Arc::clone(state), node, ended })
}

/// What is read of one step; `ended`: none where it was left out.
#[derive(Debug)]
struct Shown {
    state: Arc<State>,
    node: usize,
    ended: Option<Arc<Ended>>,
}

/// What every step has, in the order in which a step as a whole reads.
const NAMES: [&str; 10] =
    ["text", "json", "exit_code", "status", "ok", "why", "cut", "files", "changed", "spent"];

impl Object for Shown {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let Some(ended) = &self.ended else {
            return Some(match key {
                "status" => Value::from(if self.is_left_out() { "left_out" } else { "waiting" }),
                "ok" => Value::from(false),
                _ => Value::from(()),
            });
        };
        let output = &ended.output;
        Some(match key {
            "text" => self.whole(ended).unwrap_or_else(|| Value::from(output.text.as_str())),
            // What was read as JSON was read whole, however much of its text is kept.
            "json" if output.json.is_some() => data(&output.json),
            "json" => self.whole(ended).unwrap_or_else(|| data(&output.json)),
            "exit_code" => data(output.exit_code),
            "status" => Value::from(status(&ended.outcome)),
            "ok" => Value::from(ended.outcome == Outcome::Done),
            "why" => data(why(&ended.outcome)),
            "cut" => Value::from(output.cut.is_some()),
            "files" => data(&output.files),
            "changed" => data(&ended.changed),
            "spent" => spent(ended.spent),
            "results" if self.is_foreach() => {
                Value::from_object(Results(Arc::clone(&self.state), self.node))
            }
            "round" if self.is_approval() => {
                Value::from(u64::from(self.state.nodes[self.node].again) + 1)
            }
            _ => match output.values.get(key) {
                Some(value) => data(value),
                None if self.is_approval() => approval_lacks(key)?,
                None => return None,
            },
        })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let mut names: Vec<_> = NAMES.iter().map(|name| Value::from(*name)).collect();
        if let Some(ended) = &self.ended {
            let more = ended.output.values.keys().filter(|key| !NAMES.contains(&key.as_str()));
            names.extend(more.filter(|key| *key != "results").map(|key| Value::from(key.as_str())));
            if self.is_foreach() {
                names.push(Value::from("results"));
            }
        }
        Enumerator::Values(names)
    }
}

impl Shown {
    fn is_left_out(&self) -> bool {
        matches!(self.state.nodes[self.node].stand, Stand::LeftOut(_))
    }

    fn is_foreach(&self) -> bool {
        matches!(self.state.step(self.node).kind, Kind::Foreach(_))
    }

    fn is_approval(&self) -> bool {
        matches!(self.state.step(self.node).kind, Kind::Approval(_))
    }

    /// Why an output is not to be read, if it is not whole.
    fn whole(&self, ended: &Ended) -> Option<Value> {
        let cut = ended.output.cut.as_ref()?;
        if self.state.step(self.node).cut_is_fine {
            return None;
        }
        let path = self.state.path(self.node);
        Some(wrong(format!(
            "the output of `{path}` has {} and only the first {} of it are here; `{path}` can say `output_cut: ok` if that is enough",
            size(cut.bytes),
            size(ended.output.text.len() as u64)
        )))
    }
}

/// What an approval has though nobody said anything.
fn approval_lacks(key: &str) -> Option<Value> {
    match key {
        "approved" => Some(Value::from(false)),
        "by" | "words" | "answers" => Some(Value::from(())),
        _ => None,
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        ..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

pub(super) fn status(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed { .. } => "failed",
        Outcome::Denied { .. } => "denied",
        Outcome::TimedOut => "timed_out",
        Outcome::Cancelled => "cancelled",
    }
}

fn why(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { why } | Outcome::Denied { why } => Some(why),
        Outcome::TimedOut => Some("it took too long"),
        Outcome::Cancelled => Some("it was stopped"),
        Outcome::Done => None,
    }
}

fn spent(spent: Spent) -> Value {
    minijinja::context! {
        micro_usd => spent.micro_usd,
        input_tokens => spent.input_tokens,
        output_tokens => spent.output_tokens,
    }
}

/// What came back for a request, as `extract` reads it.
fn response(ended: &Ended) -> Value {
    let output = &ended.output;
    let json = output.json.clone().or_else(|| serde_json::from_str(&output.text).ok());
    minijinja::context! {
        status => data(output.values.get("status")),
        headers => data(output.values.get("headers")),
        text => &output.text,
        json => data(json),
    }
}

/// Of a `foreach`: a list with what each round came to, by the ids of its steps.
#[derive(Debug)]
struct Results(Arc<State>, usize);

impl Object for Results {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let rounds = self.0.nodes[self.1].rounds.as_ref()?;
        let round = key.as_usize().filter(|round| *round < rounds.items.len())?;
        // A stop kept it from beginning.
        let Some(block) = rounds.blocks.get(round) else { return Some(Value::from(())) };
        Some(Value::from_object(Round(Arc::clone(&self.0), *block)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.nodes[self.1].rounds.as_ref().map_or(0, |it| it.items.len()))
    }
}

#[derive(Debug)]
struct Round(Arc<State>, usize);

impl Object for Round {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let Self(state, block) = &**self;
        let place = state.scope(*block).place(key.as_str()?)?;
        Some(shown(state, state.blocks[*block].base + place))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let steps = self.0.steps_of(self.0.blocks[self.1].scope);
        Enumerator::Values(steps.iter().map(|step| Value::from(step.id.as_str())).collect())
    }
}

fn data(value: impl serde::Serialize) -> Value {
    Value::from(Serde(value))
}

/// A value that fails whoever reads it, with this sentence.
fn wrong(why: String) -> Value {
    Value::from(Error::new(ErrorKind::InvalidOperation, why))
}
