//! What workflows call: found by name, all the way down, and checked across files.

use std::collections::{BTreeMap, BTreeSet};
use vigie_core::nearest::nearest;
use vigie_workflow::{
    Problem, Workflow,
    language::{Call, Kind, Step},
    run::Source,
};

use super::file::problem;

/// Workflows that one comes to, those they call included.
const MOST_CALLED: usize = 32;
/// Names offered for one that does not exist.
const MOST_NEAR: usize = 3;

/// One that can be called, by its whole name.
pub(super) struct Callable<'a> {
    pub(super) source: &'a Source,
    /// Its own calls by the names they use, each with where it stands.
    calls: Vec<(&'a Step, &'a Call)>,
}

impl<'a> Callable<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        let mut calls = Vec::new();
        collect(&source.workflow.steps, &mut calls);
        Self { source, calls }
    }
}

fn collect<'a>(steps: &'a [Step], calls: &mut Vec<(&'a Step, &'a Call)>) {
    for step in steps {
        match &step.kind {
            Kind::Call(call) => calls.push((step, call)),
            Kind::Foreach(foreach) => collect(&foreach.steps, calls),
            Kind::Shell(_)
            | Kind::Claude(_)
            | Kind::Http(_)
            | Kind::Javascript(_)
            | Kind::Sleep(_)
            | Kind::Condition(_)
            | Kind::Approval(_) => {}
        }
    }
}

/// All that can be called, by whole name; those whose own text is broken are `None`.
pub(super) type All<'a> = BTreeMap<&'a str, Option<Callable<'a>>>;

/// The whole name of what `caller` means: one of its own project first.
fn meant<'n>(all: &All<'n>, caller: &str, used: &str) -> Option<&'n str> {
    let beside = caller.rsplit_once('/').map(|(project, _)| format!("{project}/{used}"));
    let names = beside.into_iter().chain([used.to_owned()]);
    names.filter_map(|name| all.get_key_value(name.as_str())).map(|(name, _)| *name).next()
}

/// What one calls by the names that are used, all the way down.
pub(super) fn called(all: &All<'_>, name: &str) -> BTreeMap<String, Source> {
    let mut found = BTreeMap::new();
    for (used, whole) in walk(all, name).names {
        if let Some(Some(callable)) = all.get(whole) {
            found.insert(used, callable.source.clone());
        }
    }
    found
}

/// What is wrong with what it calls, with the places of its own calls. `broken`: what does not run for
/// reasons already known.
pub(super) fn problems(all: &All<'_>, name: &str, broken: &BTreeSet<String>) -> Vec<Problem> {
    let Some(Some(callable)) = all.get(name) else { return Vec::new() };
    let walked = walk(all, name);
    let round = walked.round.as_deref().unwrap_or_default();
    let mut found: Vec<Problem> = Vec::new();
    for (step, call) in &callable.calls {
        let at = Spot::of(&callable.source.text, step, &call.workflow);
        let Some(whole) = meant(all, name, &call.workflow) else {
            found.push(at.problem(missing(&call.workflow), near(all, &call.workflow)));
            continue;
        };
        if whole == name {
            found.push(at.problem("it calls itself".into(), None));
            continue;
        }
        if round.iter().any(|other| other == whole) {
            continue; // all of them are said at once, below
        }
        match all.get(whole) {
            Some(Some(other)) if !broken.contains(whole) => {
                let mistakes = params(call, &other.source.workflow);
                found.extend(mistakes.into_iter().map(|(what, hint)| at.problem(what, hint)));
            }
            Some(_) | None => {
                let what = format!("`{whole}` does not run");
                let hint = format!("`vigie workflow check {whole}` says why");
                found.push(at.problem(what, Some(hint)));
            }
        }
    }
    let first = callable.calls.first();
    let at = first.map(|(step, call)| Spot::of(&callable.source.text, step, &call.workflow));
    if let Some(at) = at {
        if !round.is_empty() {
            let what = format!("it comes back to itself: {}", round.join(" → "));
            found.push(at.problem(what, None));
        }
        if walked.too_many {
            let what = format!("it comes to more than {MOST_CALLED} workflows that are called");
            found.push(at.problem(what, None));
        }
        for (used, one, other) in walked.unclear {
            let what = format!("`{used}` is `{one}` here and `{other}` further down");
            let hint = format!("write `{one}` and `{other}` in full");
            found.push(at.problem(what, Some(hint)));
        }
    }
    found
}

/// All that is reached from one.
#[derive(Default)]
struct Walked<'n> {
    names: BTreeMap<String, &'n str>,
    /// The way on which it comes back to where it began.
    round: Option<Vec<String>>,
    too_many: bool,
    /// A name that means two workflows, depending on who uses it.
    unclear: Vec<(String, String, String)>,
}

fn walk<'n>(all: &All<'n>, name: &str) -> Walked<'n> {
    let mut walked = Walked::default();
    let mut seen = BTreeSet::from([name]);
    let mut ahead = vec![vec![name]];
    while let Some(way) = ahead.pop() {
        let here = way[way.len() - 1];
        let Some(Some(callable)) = all.get(here) else { continue };
        for (_, call) in &callable.calls {
            let Some(whole) = meant(all, here, &call.workflow) else { continue };
            if whole == name && way.len() > 1 {
                let round = way.iter().chain([&whole]).map(|name| (*name).to_owned());
                walked.round.get_or_insert_with(|| round.collect());
            }
            match walked.names.get(&call.workflow) {
                Some(other) if *other != whole => {
                    walked.unclear.push((call.workflow.clone(), (*other).into(), whole.into()));
                }
                Some(_) => {}
                None => {
                    walked.names.insert(call.workflow.clone(), whole);
                }
            }
            if seen.len() > MOST_CALLED {
                walked.too_many = true;
                return walked;
            }
            if seen.insert(whole) {
                ahead.push(way.iter().copied().chain([whole]).collect());
            }
        }
    }
    walked
}

fn missing(name: &str) -> String {
    format!("no workflow is called `{name}`")
}

fn near(all: &All<'_>, name: &str) -> Option<String> {
    let near = nearest(name, all.keys().copied(), MOST_NEAR);
    (!near.is_empty()).then(|| format!("did you mean `{}`?", near.join("`, `")))
}

/// Params that the other one does not have, or that it needs and does not get.
fn params(call: &Call, other: &Workflow) -> Vec<(String, Option<String>)> {
    let name = &call.workflow;
    let known = || other.params.iter().map(|param| param.name.as_str());
    let mut found = Vec::new();
    for (param, _) in &call.params {
        if !known().any(|name| name == param.as_str()) {
            let near = nearest(param.as_str(), known(), MOST_NEAR);
            let all: Vec<&str> = known().collect();
            let hint = match (near.as_slice(), all.as_slice()) {
                ([], []) => "it takes none".into(),
                ([], all) => format!("its params: {}", all.join(", ")),
                (near, _) => format!("did you mean `{}`?", near.join("`, `")),
            };
            found.push((format!("`{name}` has no param `{param}`"), Some(hint)));
        }
    }
    for param in other.params.iter().filter(|param| param.default.is_none()) {
        if !call.params.iter().any(|(given, _)| *given == param.name) {
            let hint = "give it under `params`".to_owned();
            found.push((format!("`{name}` needs the param `{}`", param.name), Some(hint)));
        }
    }
    found
}

/// Where a call stands.
struct Spot {
    line: usize,
    column: usize,
    width: usize,
}

impl Spot {
    /// Its name in the text of its step; the step where that is not found.
    fn of(text: &str, step: &Step, used: &str) -> Self {
        let whole = Self { line: step.line, column: 1, width: 1 };
        let begin: usize =
            text.split_inclusive('\n').take(step.line.saturating_sub(1)).map(str::len).sum();
        let found = text.get(begin..).and_then(|rest| {
            let key = rest.find("workflow:")? + "workflow:".len();
            Some(begin + key + rest[key..].find(used)?)
        });
        let Some(at) = found else { return whole };
        let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        Self {
            line: text[..at].matches('\n').count() + 1,
            column: text[line_start..at].chars().count() + 1,
            width: used.chars().count().max(1),
        }
    }

    fn problem(&self, what: String, hint: Option<String>) -> Problem {
        problem(self.line, self.column, self.width, what, hint)
    }
}
