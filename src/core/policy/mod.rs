//! Policies: what people decided beforehand. The first that fits a request decides about it, before
//! anybody is rung; where none does, a person is asked.
//!
//! An allow has to be sure of everything a request would run or write; a deny or an ask needs one part
//! that fits. What cannot be read for sure is therefore never allowed here.

mod before;
mod fit;
mod glob;
mod hours;
mod names;
mod pattern;
mod plain;
mod tree;

pub use before::{Before, Denied, Guard};
pub(crate) use fit::other_field;
pub use glob::Glob;
pub use hours::{Days, Hours};
pub(crate) use pattern::is_assignment;
pub use pattern::{CommandPattern, NoPattern, PathPattern};
pub use plain::NeverSure;
pub(crate) use plain::{Plain, plain};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

use crate::{Timestamp, bridge::Risk, id::ProjectName};

/// The tools that are given a shell command, in the field `command`.
pub const SHELL_TOOLS: [&str; 1] = ["Bash"];

/// One `[[policy]]` of the configuration, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What people call it; empty: it has its line alone.
    pub name: String,
    /// Where it stands in the configuration, from 1.
    pub line: usize,
    pub effect: Effect,
    /// Why, in the words of whoever wrote it; an agent that is denied reads them.
    pub reason: Option<String>,
    /// Empty lists fit everything.
    pub tools: Vec<Glob>,
    pub commands: Vec<CommandPattern>,
    pub paths: Vec<PathPattern>,
    pub projects: Vec<ProjectName>,
    pub sessions: Vec<Glob>,
    pub hours: Option<Hours>,
    pub catastrophic: Catastrophic,
}

/// What becomes of a request that a policy fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Allow,
    Deny,
    /// A person is asked, whatever stands further on.
    Ask,
    /// Two people have to say yes.
    AskTwo,
}

/// Whether an allow lets through what otherwise needs its code typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Catastrophic {
    #[default]
    Asked,
    Allowed,
}

/// Where a path from the root leads once links are followed; `None`: nobody knows.
pub type Links = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A request, as policies see it.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub tool: &'a str,
    pub input: &'a Value,
    /// The folder it would run in, which its own relative paths are below.
    pub cwd: &'a str,
    /// The folders that relative paths of policies are below: the one that is worked in first.
    pub folders: &'a [String],
    /// `None`: links are not followed.
    pub links: Option<&'a Links>,
    /// `None`: it belongs to none.
    pub project: Option<&'a str>,
    /// What people call whoever asks; `None`: nobody in particular.
    pub asker: Option<&'a str>,
    pub risk: Risk,
    pub now: Timestamp,
}

/// What the policies say, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// `None`: none of them fits.
    pub decided: Option<Fitting<'a>>,
    /// Those before it, in order.
    pub passed_over: Vec<Fitting<'a>>,
}

/// A policy, and why it fits or does not: goes on after "because".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitting<'a> {
    pub policy: &'a Policy,
    pub why: String,
}

impl Fitting<'_> {
    /// What an agent reads whom it denies something.
    pub fn denied(&self) -> String {
        let Self { policy, why } = self;
        let reason = policy.reason.as_deref().map(|reason| format!(" {reason}"));
        let reason = reason.unwrap_or_default();
        format!(
            "{policy} does not allow this, because {why}.{reason} Nobody was asked; do it another way, or ask your person in words."
        )
    }
}

/// The first of them that fits decides.
pub fn judge<'a>(policies: &'a [Policy], asking: &Asking<'_>) -> Judgement<'a> {
    let mut judgement = Judgement { decided: None, passed_over: Vec::new() };
    let request = fit::Read::new(asking, policies);
    for policy in policies {
        match fit::fits(policy, &request) {
            Ok(why) => {
                judgement.decided = Some(Fitting { policy, why });
                break;
            }
            Err(why) => judgement.passed_over.push(Fitting { policy, why }),
        }
    }
    judgement
}

impl fmt::Display for Policy {
    /// As people and the journal name it: ``policy `no-pushes` (line 40)``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "policy of line {}", self.line),
            name => write!(f, "policy `{name}` (line {})", self.line),
        }
    }
}

impl fmt::Display for Effect {
    /// As it is written in the configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::AskTwo => "ask_two",
        })
    }
}

#[cfg(test)]
mod tests;
