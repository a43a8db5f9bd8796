//! What is to be done for one attempt of a step, filled in from the log. The same log gives the same
//! work, so it is not kept.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

use crate::{
    language::{Field, OnTimeout, OutputForm},
    value::{ParamName, Sealed, StepId},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub what: WorkKind,
    /// The project it runs in, by name; `None`: the run's.
    pub project: Option<String>,
    /// Relative to the project's folder; empty: that folder.
    pub cwd: String,
    /// The session in whose folder it runs instead.
    pub in_session: Option<String>,
    /// Only these are filled in; the machine's own come from whoever carries it out.
    pub env: Vec<(String, Sealed)>,
    pub timeout: Option<Duration>,
    pub output: OutputForm,
    /// Paths of files to keep, by name.
    pub files: Vec<(String, String)>,
    /// Whether what changes in the folder is measured.
    pub measure: bool,
    /// A command that must exit with 0 afterwards, in the same folder with the same environment.
    pub check: Option<String>,
    /// The attempt from whose beginning on changes are measured.
    pub since: u32,
    /// The same for every try of this attempt, for services that can tell a repeat.
    pub key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// These four go to the runner.
    Shell(ShellWork),
    Claude(ClaudeWork),
    Http(HttpWork),
    Javascript(JavascriptWork),
    /// A turn in a session people see.
    Turn(TurnWork),
    Approval(ApprovalWork),
    Call(CallWork),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellWork {
    pub script: String,
    pub shell: Vec<String>,
    pub read_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaudeWork {
    pub prompt: String,
    /// The conversation it goes on with.
    pub conversation: Option<String>,
    pub model: Option<String>,
    pub tools: Vec<String>,
    pub read_only: bool,
    pub schema: Option<serde_json::Value>,
    /// What it may cost at most: of the step, or what is left of the run's.
    pub micro_usd: Option<u64>,
    pub max_turns: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpWork {
    pub method: String,
    pub url: Sealed,
    pub headers: Vec<(String, Sealed)>,
    pub body: Option<Sealed>,
    /// Whether the body is JSON, so that its type is said.
    pub json: bool,
    pub expect: Vec<u16>,
    pub allow_private: bool,
    pub redirects: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JavascriptWork {
    pub code: String,
    pub input: BTreeMap<String, serde_json::Value>,
    /// In bytes.
    pub memory: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnWork {
    pub session: String,
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalWork {
    /// Not `ask` in rows: there that says what kind of thing is asked.
    #[serde(rename = "question")]
    pub ask: String,
    pub show: Option<String>,
    pub form: Vec<Field>,
    pub by: Vec<String>,
    pub count: u32,
    pub not_starter: bool,
    pub timeout: Option<Duration>,
    pub on_timeout: OnTimeout,
    pub send_back: Option<StepId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallWork {
    pub workflow: String,
    pub params: BTreeMap<ParamName, serde_json::Value>,
}
