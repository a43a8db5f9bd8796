//! What policies say before a tool runs, whether its agent would ask or not. Whoever runs an agent has
//! them at hand, so they hold while nobody else answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Asking, Effect, Links, Policy, judge};
use crate::{Timestamp, bridge::Risk, risk};

/// Tools that ask a person something, whatever is allowed.
const ASKS_A_PERSON: [&str; 2] = ["AskUserQuestion", "ExitPlanMode"];

/// The policies of a configuration, and for whom they are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    pub policies: Vec<Policy>,
    /// The project it works in, by name.
    pub project: Option<String>,
    /// What people call the session or the run.
    pub asker: String,
    /// The folders that relative paths are below: the one it works in, and its project's.
    pub folders: Vec<String>,
}

/// What becomes of a tool before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// It goes the agent's own way.
    Passes,
    /// Whatever the agent would do by itself, it has to ask.
    Asks {
        rule: String,
    },
    Denied(Denied),
}

/// A no that no person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Which policy, as people and the journal name it.
    pub rule: String,
    /// Goes on after "because".
    pub why: String,
    /// What the agent reads.
    pub words: String,
}

impl Guard {
    /// Whether any of them says something before a tool runs.
    pub fn holds(&self) -> bool {
        self.policies.iter().any(Policy::holds_before)
    }

    /// The first policy that fits decides. An `ask` that is about nothing in particular is about what the
    /// agent asks by itself.
    pub fn before(
        &self,
        tool: &str,
        input: &Value,
        cwd: &str,
        links: Option<&Links>,
        now: Timestamp,
    ) -> Before {
        if self.policies.is_empty() || ASKS_A_PERSON.contains(&tool) {
            return Before::Passes;
        }
        let asking = Asking {
            tool,
            input,
            cwd,
            folders: &self.folders,
            links,
            project: self.project.as_deref(),
            asker: Some(&self.asker),
            risk: self.risk(tool, input, cwd),
            now,
        };
        let Some(fitting) = judge(&self.policies, &asking).decided else { return Before::Passes };
        let policy = fitting.policy;
        if !policy.holds_before() {
            return Before::Passes;
        }
        match policy.effect {
            Effect::Allow => Before::Passes,
            Effect::Ask | Effect::AskTwo => Before::Asks { rule: policy.to_string() },
            Effect::Deny => {
                let words = fitting.denied();
                Before::Denied(Denied { rule: policy.to_string(), why: fitting.why, words })
            }
        }
    }

    /// Only an allow minds how risky something is.
    fn risk(&self, tool: &str, input: &Value, cwd: &str) -> Risk {
        if self.policies.iter().any(|policy| policy.effect == Effect::Allow) {
            risk::risk_of(tool, input, cwd)
        } else {
            Risk::Plain
        }
    }
}

impl Policy {
    /// Whether it holds before a tool runs: an allow is about what the agent asks, and so is an ask that
    /// names no tool, no command and no file.
    pub fn holds_before(&self) -> bool {
        let names = !(self.tools.is_empty() && self.commands.is_empty() && self.paths.is_empty());
        match self.effect {
            Effect::Allow => false,
            Effect::Deny => true,
            Effect::Ask | Effect::AskTwo => names,
        }
    }
}
