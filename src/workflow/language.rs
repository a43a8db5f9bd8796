//! A workflow, checked. Whatever is in here can be run: bad text never becomes one of these.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

use crate::{
    template::{Expr, Template},
    value::{ParamName, SecretName, StepId, WorkflowName},
};

/// Runs of one workflow at the same time when it does not say.
pub const DEFAULT_CONCURRENCY: u32 = 1;
/// Steps of one run at the same time when it does not say.
pub const DEFAULT_PARALLEL: u32 = 8;
/// Steps that one run may come to, all rounds of its `foreach` included.
pub const MOST_STEPS: usize = 20_000;
/// Rounds of one `foreach`.
pub const MOST_ROUNDS: usize = 1_000;
/// How deep `foreach` may stand in `foreach`.
pub const DEEPEST_FOREACH: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    pub name: WorkflowName,
    /// For people; empty: its name.
    pub title: String,
    pub description: String,
    /// Where it runs; `None`: in the project its file lies in, or the one a start names.
    pub project: Option<Template>,
    pub params: Vec<Param>,
    pub on: Triggers,
    pub limits: Limits,
    pub env: Vec<(String, Template)>,
    /// The secrets it may use at all.
    pub secrets: Vec<SecretName>,
    pub steps: Vec<Step>,
    /// What a run gives to whoever called it.
    pub outputs: Vec<(String, Expr)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    pub name: ParamName,
    pub title: String,
    pub kind: ParamKind,
    pub choices: Vec<serde_json::Value>,
    /// `None`: whoever starts it must say.
    pub default: Option<serde_json::Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamKind {
    /// `longest`: in characters.
    String {
        longest: Option<usize>,
    },
    Integer {
        minimum: Option<i64>,
        maximum: Option<i64>,
    },
    Number,
    Boolean,
    /// Any JSON.
    Json,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triggers {
    /// Five fields each; see `cron`.
    pub cron: Vec<String>,
    /// IANA name; UTC when it does not say.
    pub timezone: Option<String>,
    pub catch_up: CatchUp,
    pub webhook: Option<Webhook>,
}

/// What becomes of times that passed while Vigie was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// Nothing.
    Skip,
    /// The last of them runs.
    #[default]
    Latest,
    /// Each runs, oldest first, up to a bound.
    All,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// What a caller must know.
    pub secret: SecretName,
    pub proof: Proof,
    /// Largest body, in bytes.
    pub max_body: u64,
    /// Values of params out of `body` (JSON) and `headers`.
    pub params: Vec<(ParamName, Expr)>,
}

/// How a caller shows that they know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// `Authorization: Bearer …`.
    #[default]
    Token,
    /// HMAC-SHA-256 over the body as it came.
    Hmac,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// What the agents of one run may cost, in millionths of a dollar at list price.
    pub micro_usd: Option<u64>,
    /// Of a run, waiting for people left out.
    pub timeout: Option<Duration>,
    /// Runs of it at the same time …
    pub concurrency: u32,
    /// … and what becomes of one more.
    pub overlap: Overlap,
    /// Steps of one run at the same time.
    pub parallel: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is not run, which the history says.
    Skip,
    /// It waits for its turn, in order.
    #[default]
    Queue,
    /// It runs, and the oldest that runs is cancelled.
    Replace,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub id: StepId,
    pub title: String,
    pub needs: Vec<StepId>,
    pub only_if: Option<Expr>,
    /// Runs whatever became of what it needs, also in a run that is cancelled.
    pub always: bool,
    /// Its failure is no failure of the run, and what needs it runs.
    pub continue_on_error: bool,
    pub env: Vec<(String, Template)>,
    pub project: Option<Template>,
    /// Relative to the project's folder.
    pub cwd: Option<Template>,
    /// The session in whose folder it runs, such as its worktree.
    pub in_session: Option<Template>,
    pub timeout: Option<Duration>,
    pub retry: Option<Retry>,
    pub on_crash: OnCrash,
    pub output: OutputForm,
    /// Files it leaves, by a name of their own: paths relative to its folder, kept with the run.
    pub files: Vec<(String, Template)>,
    /// Steps may read its text though it was cut.
    pub cut_is_fine: bool,
    pub expect: Expect,
    pub kind: Kind,
    /// Where it stands in its file, from 1.
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Tries beyond the first.
    pub times: u32,
    /// Before the second try; doubled before each further one …
    pub backoff: Duration,
    /// … up to this.
    pub longest: Duration,
    /// Whether it goes on after the same error twice.
    pub same_error: bool,
}

/// What becomes of a step that had begun and of which nobody knows how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCrash {
    /// A person says: it was done, run it again, or it failed.
    Ask,
    /// It is run again.
    Retry,
    Fail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputForm {
    #[default]
    Text,
    /// It must be JSON, or the step failed.
    Json,
}

/// What must be true of a step that says it is done, or it failed. Judged by code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Patterns of paths (`src/**`) outside of which nothing may have changed.
    pub changed_only: Option<Vec<String>>,
    /// Patterns of paths that may not have changed.
    pub unchanged: Vec<String>,
    /// A list of paths that must be just what changed.
    pub claimed: Option<Expr>,
    /// Over its own output as `output`, and over other steps.
    pub that: Vec<Expr>,
    /// A command that must exit with 0 afterwards.
    pub run: Option<String>,
}

impl Expect {
    /// Whether what changed in the folder has to be measured.
    pub fn looks_at_changes(&self) -> bool {
        self.changed_only.is_some() || !self.unchanged.is_empty() || self.claimed.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Shell(Shell),
    Claude(Claude),
    Http(Http),
    Javascript(Javascript),
    Sleep(Sleep),
    Condition(Condition),
    Approval(Approval),
    Call(Call),
    Foreach(Foreach),
}

/// A script. Nothing is ever filled into it: values come by `env`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shell {
    pub script: String,
    /// `sh -e -c`, or this program with the script as its last argument.
    pub shell: Vec<String>,
    pub read_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claude {
    pub prompt: Template,
    /// A session people see, by its name: the prompt goes into its line, and the step ends with that
    /// turn. It is started if it does not run.
    pub session: Option<Template>,
    /// Goes on with the conversation of this step.
    pub goes_on: Option<StepId>,
    pub model: Option<String>,
    /// Rules of tools that may be used without asking.
    pub tools: Vec<String>,
    pub read_only: bool,
    /// JSON schema of its result.
    pub schema: Option<serde_json::Value>,
    /// In millionths of a dollar at list price.
    pub micro_usd: Option<u64>,
    pub max_turns: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http {
    pub method: String,
    pub url: Template,
    pub headers: Vec<(String, Template)>,
    pub body: Option<Body>,
    /// Statuses that are fine; any of 200 to 299 when it does not say.
    pub expect: Vec<u16>,
    /// Values out of `response` (`status`, `headers`, `text`, `json`).
    pub extract: Vec<(String, Expr)>,
    /// Addresses of this machine and of private networks may be called.
    pub allow_private: bool,
    /// Redirections followed.
    pub redirects: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Text(Template),
    /// JSON whose strings are templates.
    Json(serde_json::Value),
}

/// A body of a function: reads `input`, returns its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Javascript {
    pub code: String,
    pub input: BTreeMap<String, Expr>,
    /// In bytes.
    pub memory: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sleep {
    For(Duration),
    /// An instant in RFC 3339, or `HH:MM` in the workflow's time zone, the next there is.
    Until(Template),
}

/// When it is false, what needs it does not run, and the run does not fail because of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    pub test: Expr,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub ask: Template,
    /// Shown under it as data.
    pub show: Option<Template>,
    /// What is asked for besides a yes.
    pub form: Vec<Field>,
    /// Roles or people; whoever may approve anything when it does not say.
    pub by: Vec<String>,
    /// How many different people must say yes.
    pub count: u32,
    /// Whoever started the run may not.
    pub not_starter: bool,
    pub timeout: Option<Duration>,
    pub on_timeout: OnTimeout,
    /// Where the run goes back to when somebody sends it back with words.
    pub send_back: Option<StepId>,
    /// A no ends the step well, with `approved` false, instead of failing it.
    pub no_is_fine: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub id: ParamName,
    pub title: String,
    /// None: any words.
    pub choices: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    #[default]
    Deny,
    Approve,
    Fail,
}

/// Another workflow, run for its outputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub workflow: String,
    pub params: Vec<(ParamName, Expr)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreach {
    /// Gives a list.
    pub items: Expr,
    /// What each item is called in the steps inside; its number from 0 is `index`.
    pub name: String,
    /// Rounds at the same time.
    pub parallel: u32,
    pub steps: Vec<Step>,
}
