//! What goes to the process that carries an attempt out, by its standard input and nowhere else:
//! secrets stand in it.

use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};
use vigie_core::{policy::Guard, run::PutOff};
use vigie_workflow::{
    language::OutputForm,
    run::{Asks, Ended, Spent},
};

use crate::confine::Confinement;

/// One attempt, ready to be carried out: nothing in it has to be looked up any more.
#[derive(Serialize, Deserialize)]
pub(super) struct Task {
    pub what: Kind,
    /// The project's folder: nothing that is kept lies outside of it.
    pub project: PathBuf,
    pub cwd: PathBuf,
    /// The whole environment of what runs.
    pub env: Vec<(String, String)>,
    pub confinement: Option<Confinement>,
    pub timeout: Duration,
    pub output: OutputForm,
    pub files: Vec<(String, String)>,
    pub measure: bool,
    /// Where the attempt began, before all answers of people: what it changed is told from there.
    pub first: PathBuf,
    /// What is measured may not have changed, and nothing else sees to that.
    pub unchanged: bool,
    pub check: Option<String>,
    pub key: String,
    /// Values that stand in nothing that is kept.
    pub secrets: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a process has one of these")]
pub(super) enum Kind {
    Shell { shell: Vec<String>, script: String },
    Claude(Claude),
    Http(Http),
    Javascript { code: String, input: serde_json::Value, memory: u64 },
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Claude {
    pub program: PathBuf,
    pub prompt: String,
    pub conversation: Talk,
    pub model: Option<String>,
    pub tools: Vec<String>,
    pub read_only: bool,
    pub schema: Option<serde_json::Value>,
    pub micro_usd: Option<u64>,
    pub max_turns: Option<u32>,
    /// What is looked at before each of its tools.
    pub guard: Guard,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Talk {
    New {
        id: String,
    },
    /// Another step's.
    GoOn {
        id: String,
    },
    /// Its own, which stopped in the middle.
    Again {
        id: String,
        spent: Spent,
    },
    /// Its own, with what a person said to what it asked.
    Answered {
        asks: Asks,
        allow: bool,
        words: Option<String>,
    },
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Http {
    pub method: String,
    pub url: String,
    /// The address as people may see it, where secrets stand in it.
    pub sealed_url: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    pub json: bool,
    pub expect: Vec<u16>,
    pub allow_private: bool,
    pub redirects: u32,
}

/// What an attempt leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Left {
    Ended(Ended),
    Asks(Asks),
    PutOff(PutOff),
}
