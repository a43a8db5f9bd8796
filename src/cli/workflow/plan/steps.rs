//! The graph of a workflow, and what of it would run.

use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use vigie_workflow::{
    language::{Kind, Step},
    template::{Expr, context},
};

use crate::cli::{
    out::{Ink, Out},
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

/// In the order of the file.
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
    for step in steps {
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

/// The graph, and what of it these params leave out.
pub(super) fn words(out: &Out, graph: &[String], steps: &[StepPlan]) -> String {
    let graph = graph.iter().map(|line| format!("  {}", plain::line(line)));
    let left_out = steps.iter().filter(|step| step.runs == Runs::No).map(|step| {
        let why = step.only_if.as_deref().unwrap_or_default();
        let words = format!("  not {}, since its `if` is false: {why}", step.id);
        out.ink(Ink::Dim, &plain::line(&words))
    });
    graph.chain(left_out).collect::<Vec<_>>().join("\n")
}
