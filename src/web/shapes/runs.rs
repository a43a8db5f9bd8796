//! Workflows and their runs, as they cross the API.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;
use vigie_core::{
    Timestamp,
    run::{RunLife, RunView, StepView, WorkflowView},
};
use vigie_workflow::{
    Problem,
    language::{Param, ParamKind},
    problem::Severity,
    run::Finish,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowShape {
    pub name: String,
    pub title: String,
    pub description: String,
    /// Its path, or `built in`.
    pub file: String,
    pub params: Vec<ParamShape>,
    /// When its schedule comes up next.
    #[schema(value_type = Vec<String>)]
    pub next: Vec<Timestamp>,
    pub timezone: String,
    /// With any it does not run.
    pub mistakes: usize,
    /// What its last runs cost, in millionths of a dollar: least, median, most.
    pub cost: Option<[u64; 3]>,
    /// Whether its webhook and schedule count, where it has any.
    pub triggers: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParamShape {
    pub name: String,
    pub title: String,
    /// `string`, `integer`, `number`, `boolean` or `json`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The only values it may have; none: any of its kind.
    pub choices: Vec<Value>,
    /// `null`: whoever starts it must say.
    pub default: Option<Value>,
    /// Of a whole number.
    #[serde(default)]
    pub minimum: Option<i64>,
    #[serde(default)]
    pub maximum: Option<i64>,
}

/// A start of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    pub workflow: String,
    #[serde(default)]
    pub params: BTreeMap<String, Value>,
    /// Params as a person typed them; each is read as its kind says.
    #[serde(default)]
    pub typed: BTreeMap<String, String>,
    #[serde(default)]
    pub project: Option<String>,
    /// The same key again starts nothing and answers with the first run.
    #[serde(default)]
    pub key: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRun {
    /// This step and all that needs it; without it, what failed.
    #[serde(default)]
    pub from: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckText {
    pub text: String,
}

/// A workflow that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWorkflow {
    pub name: String,
}

/// A text to be kept in place of the one that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveText {
    pub text: String,
    /// SHA-256 of what was read, in hex.
    pub digest: String,
}

/// What became of a text that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Saved {
    /// The workflow's, which the text may have changed.
    pub name: String,
    pub words: String,
    /// Of what is there now.
    pub digest: String,
    /// Whether it runs.
    pub runs: bool,
    pub problems: Vec<ProblemShape>,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checked {
    /// Whether it runs; there may be warnings all the same.
    pub runs: bool,
    pub problems: Vec<ProblemShape>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemShape {
    /// `error` or `warning`.
    pub severity: String,
    /// From 1; 0: about the file as a whole.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub width: usize,
    pub what: String,
    pub hint: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunShape {
    pub id: String,
    /// As people write it: `release-12`.
    pub name: String,
    pub workflow: String,
    pub number: u64,
    /// `queued`, `running`, `succeeded`, `failed`, `denied`, `cancelled`, `timed_out` or `not_run`.
    pub state: String,
    /// Why it did not end well, or never ran.
    pub why: Option<String>,
    pub started_by: String,
    pub project: Option<String>,
    pub key: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub made: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended: Option<Timestamp>,
    pub params: BTreeMap<String, Value>,
    pub steps: Vec<StepShape>,
    /// The graph as text, a line each.
    pub progress: Vec<String>,
    pub micro_usd: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub outputs: Value,
    /// Codes of what it waits for.
    pub waiting: Vec<String>,
    /// Cost and time of its agents; empty: none worked in it.
    pub report: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepShape {
    pub step: String,
    pub kind: String,
    /// One word.
    pub state: String,
    pub words: String,
    pub attempt: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// What it gave, as far as the log has it.
    pub text: String,
    /// Where the rest is.
    pub file: Option<String>,
}

/// Some of what a step printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutputShape {
    pub step: String,
    pub attempt: u32,
    /// Where the text begins, in bytes.
    pub offset: u64,
    /// Where it goes on.
    pub next: u64,
    /// Of everything there is so far.
    pub size: u64,
    pub text: String,
    /// Nothing more will come of this attempt.
    pub over: bool,
}

/// What a webhook began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BegunShape {
    pub run: String,
    pub name: String,
    pub url: String,
}

/// Why a webhook began nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotBegunShape {
    pub error: String,
    pub hint: Option<String>,
    /// Stable, for programs.
    pub code: String,
    /// One sentence for each thing that is wrong with what was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<String>,
}

impl WorkflowShape {
    pub fn new(view: &WorkflowView) -> Self {
        Self {
            name: view.name.clone(),
            title: view.title.clone(),
            description: view.description.clone(),
            file: view.file.clone(),
            params: view.params.iter().map(ParamShape::new).collect(),
            next: view.next.clone(),
            timezone: view.timezone.clone(),
            mistakes: view.errors,
            cost: view.cost,
            triggers: view.triggers,
        }
    }
}

impl ParamShape {
    pub fn new(param: &Param) -> Self {
        let (minimum, maximum) = match param.kind {
            ParamKind::Integer { minimum, maximum } => (minimum, maximum),
            ParamKind::String { .. } | ParamKind::Number | ParamKind::Boolean | ParamKind::Json => {
                (None, None)
            }
        };
        Self {
            name: param.name.to_string(),
            title: param.title.clone(),
            kind: kind(param.kind).into(),
            choices: param.choices.clone(),
            default: param.default.clone(),
            minimum,
            maximum,
        }
    }
}

fn kind(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::String { .. } => "string",
        ParamKind::Integer { .. } => "integer",
        ParamKind::Number => "number",
        ParamKind::Boolean => "boolean",
        ParamKind::Json => "json",
    }
}

impl ProblemShape {
    pub fn new(problem: &Problem) -> Self {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        Self {
            severity: severity.into(),
            line: problem.line,
            column: problem.column,
            width: problem.width,
            what: problem.what.clone(),
            hint: problem.hint.clone(),
        }
    }
}

impl RunShape {
    pub fn new(view: &RunView) -> Self {
        let row = &view.row;
        let (state, why, ended) = match &row.life {
            RunLife::Queued => ("queued", None, None),
            RunLife::Running => ("running", None, None),
            RunLife::Over { status, why, at } => (finish(*status), Some(why), Some(*at)),
            RunLife::NotRun { why, at } => ("not_run", Some(why), Some(*at)),
        };
        Self {
            id: row.id.to_string(),
            name: view.name.clone(),
            workflow: row.workflow.clone(),
            number: row.number,
            state: state.into(),
            why: why.filter(|why| !why.is_empty()).cloned(),
            started_by: view.started_by.clone(),
            project: row.project.as_ref().map(ToString::to_string),
            key: row.key.as_ref().map(|key| key.key.clone()),
            made: row.made,
            ended,
            params: view.params.clone(),
            steps: view.steps.iter().map(StepShape::new).collect(),
            progress: view.progress.clone(),
            micro_usd: view.spent.micro_usd,
            input_tokens: view.spent.input_tokens,
            output_tokens: view.spent.output_tokens,
            outputs: view.outputs.clone(),
            waiting: view.open_gates.iter().map(ToString::to_string).collect(),
            report: view.report.clone(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.ended.is_none()
    }
}

fn finish(status: Finish) -> &'static str {
    match status {
        Finish::Succeeded => "succeeded",
        Finish::Failed => "failed",
        Finish::Denied => "denied",
        Finish::Cancelled => "cancelled",
        Finish::TimedOut => "timed_out",
    }
}

impl StepShape {
    pub fn new(view: &StepView) -> Self {
        let StepView { step, kind, state, words, attempt, since, text, file, .. } = view.clone();
        Self { step, kind, state, words, attempt, since, text, file }
    }
}
