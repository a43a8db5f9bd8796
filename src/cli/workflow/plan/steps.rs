//! The graph of a workflow, and what of it would run.

use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use vigie_workflow::{
    language::{Kind, Step},
    template::{Expr, context},
};

use crate::cli::{
    out::{Cell, Ink, Out, table},
    plain,
};

#[derive(Serialize)]
pub(super) struct StepPlan {
    id: String,
    title: String,
    kind: &'static str,
    needs: Vec<String>,
    /// Its condition, as it is written.
    #[serde(rename = "if")]
    only_if: Option<String>,
    runs: Runs,
    /// How deep it stands in `foreach`.
    depth: usize,
}

/// Whether it runs, as far as the params alone say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Runs {
    Yes,
    No,
    /// On what other steps give.
    Depends,
}

/// Each step after those it needs, in the order of the file where that leaves a choice.
pub(super) fn plan(steps: &[Step], params: Option<&BTreeMap<String, Value>>) -> Vec<StepPlan> {
    let mut planned = Vec::new();
    below(steps, params, 0, &mut planned);
    planned
}

fn below(
    steps: &[Step],
    params: Option<&BTreeMap<String, Value>>,
    depth: usize,
    planned: &mut Vec<StepPlan>,
) {
    let mut left: Vec<&Step> = steps.iter().collect();
    let mut done: Vec<&str> = Vec::new();
    while !left.is_empty() {
        let ready = |step: &&Step| step.needs.iter().all(|need| done.contains(&need.as_str()));
        // A circle is a mistake of the file, so there is one; whatever comes, this ends.
        let at = left.iter().position(ready).unwrap_or(0);
        let step = left.remove(at);
        done.push(step.id.as_str());
        planned.push(StepPlan {
            id: step.id.to_string(),
            title: step.title.clone(),
            kind: kind(&step.kind),
            needs: step.needs.iter().map(ToString::to_string).collect(),
            only_if: step.only_if.as_ref().map(|expr| expr.source.clone()),
            runs: runs(step.only_if.as_ref(), params),
            depth,
        });
        if let Kind::Foreach(foreach) = &step.kind {
            below(&foreach.steps, params, depth + 1, planned);
        }
    }
}

/// A condition that reads anything but params fails here, and so depends on that.
fn runs(only_if: Option<&Expr>, params: Option<&BTreeMap<String, Value>>) -> Runs {
    let Some(expr) = only_if else { return Runs::Yes };
    let Some(params) = params else { return Runs::Depends };
    match expr.is_true(&context(&json!({ "params": params }))) {
        Ok(true) => Runs::Yes,
        Ok(false) => Runs::No,
        Err(_) => Runs::Depends,
    }
}

fn kind(kind: &Kind) -> &'static str {
    match kind {
        Kind::Shell(_) => "shell",
        Kind::Claude(_) => "claude",
        Kind::Http(_) => "http",
        Kind::Javascript(_) => "javascript",
        Kind::Sleep(_) => "sleep",
        Kind::Condition(_) => "condition",
        Kind::Approval(_) => "approval",
        Kind::Call(_) => "workflow",
        Kind::Foreach(_) => "foreach",
    }
}

pub(super) fn words(out: &Out, steps: &[StepPlan]) -> String {
    format!("Steps:\n{}", table(&steps.iter().map(|step| row(out, step)).collect::<Vec<_>>()))
}

fn row(out: &Out, step: &StepPlan) -> Vec<Cell> {
    let StepPlan { id, title, kind, needs, only_if, runs, depth } = step;
    let mark = if *runs == Runs::No { "–" } else { "◌" };
    let id = format!("{}{mark} {id}", "  ".repeat(depth + 1));
    let after = (!needs.is_empty()).then(|| format!("after {}", needs.join(", ")));
    let condition = only_if.as_ref().map(|expr| match runs {
        Runs::No => format!("not run, since not {expr}"),
        Runs::Yes => format!("since {expr}"),
        Runs::Depends => format!("if {expr}"),
    });
    let when: Vec<String> = [after, condition].into_iter().flatten().collect();
    let cell = |text: String| match runs {
        Runs::No => Cell::inked(out, Ink::Dim, text),
        Runs::Yes | Runs::Depends => Cell::plain(text),
    };
    vec![
        cell(id),
        cell((*kind).into()),
        cell(plain::line(&when.join(", "))),
        cell(plain::line(title)),
    ]
}
