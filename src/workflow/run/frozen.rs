//! What a run is made of, fixed when it is begun: nothing that changes afterwards reaches it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::{Timestamp, language::Workflow, value::ParamName};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    pub source: Source,
    /// The workflows it calls, by the names its steps use, with those they call in turn.
    pub called: BTreeMap<String, Source>,
    pub params: BTreeMap<ParamName, serde_json::Value>,
    /// Where it runs if neither workflow nor step says.
    pub project: Option<String>,
    pub facts: Facts,
}

/// A workflow and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `release`, or `api/release` for one of a project's own.
    pub name: String,
    /// For people: the path, or `built in`.
    pub file: String,
    pub text: String,
    pub workflow: Workflow,
}

/// What templates read as `run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub id: String,
    /// Counts the runs of this workflow from 1.
    pub number: u64,
    pub started: Timestamp,
    /// `a person`, `an agent`, `cron`, `webhook`, `a run`.
    pub trigger: String,
    /// As people are called; empty where nobody is.
    pub by: String,
}
