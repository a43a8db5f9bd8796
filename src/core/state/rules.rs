//! What the configuration says, as the core sees it.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

use super::Chat;
use crate::{
    Timestamp,
    account::Budgets,
    answer::Words,
    bridge::{Limits, Room},
    caller::Bounds,
    id::{AccountName, AgentName, BridgeName, HumanId, ProjectName, SessionName},
    ledger::Prices,
    policy::Policy,
    ringing::Ringing,
    route::StoryPattern,
};

/// What the configuration says, checked.
#[derive(Clone, Debug)]
pub struct Rules {
    pub people: HashMap<HumanId, Person>,
    /// Who a service's own id of a person is; anybody else is a stranger.
    pub identities: HashMap<(BridgeName, String), HumanId>,
    pub projects: Vec<Project>,
    pub agents: Vec<AgentName>,
    /// Agents that run whatever is typed there, so that no message of others ever is.
    pub without_mail: HashSet<AgentName>,
    pub pattern: StoryPattern,
    pub words: Words,
    /// An open gate is denied by itself after this.
    pub gate_deadline: chrono::TimeDelta,
    /// Chats that hear of every session whatever else is paired.
    pub chats: Vec<Chat>,
    /// What each sort of chat of a bridge takes; a bridge that is not here is not switched on.
    pub limits: HashMap<(BridgeName, Room), Limits>,
    pub bounds: Bounds,
    pub workflows: WorkflowRules,
    pub lord: Option<Lord>,
    /// What is decided before anybody is asked, in the order of the configuration.
    pub policies: Vec<Policy>,
    pub prices: Prices,
    pub budgets: Budgets,
    /// Whether people nobody knows hear that this is private.
    pub strangers: Strangers,
    pub accounts: Accounts,
    pub ringing: Ringing,
}

/// On which account agents work, and in which time zone its limits are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// An agent that is not in here has one of its own.
    pub of: HashMap<AgentName, AccountName>,
    /// IANA name of the zone people read times in; `None`: UTC.
    pub zone: Option<String>,
}

impl Accounts {
    pub fn of(&self, agent: &AgentName) -> AccountName {
        self.of.get(agent).cloned().unwrap_or_else(|| AccountName::new(agent.as_str()))
    }
}

/// How much of this machine runs of workflows may take up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRules {
    /// Steps at the same time that have a process, altogether …
    pub host_steps: usize,
    /// … and in one project.
    pub project_steps: usize,
    /// Runs that are open.
    pub runs: usize,
    /// Agents at the same time that steps have for themselves.
    pub agents: usize,
    /// Which agent a step of that project has for itself.
    pub agent_of: HashMap<ProjectName, AgentName>,
}

impl Default for WorkflowRules {
    fn default() -> Self {
        let agent_of = HashMap::new();
        Self { host_steps: 16, project_steps: 8, runs: 1000, agents: 4, agent_of }
    }
}

/// What a stranger is told, at most once a day each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strangers {
    Answered,
    Ignored,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// As cards show it.
    pub name: String,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Viewer,
    Talker,
    Approver,
    Owner,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub name: ProjectName,
    pub path: String,
    pub agent: AgentName,
    pub worktree: WorktreeRule,
}

/// The session that is the person's one counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lord {
    pub name: SessionName,
    pub project: ProjectName,
    pub agent: AgentName,
}

/// How the Lord is kept alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LordWatch {
    /// It is started again when it is gone; `tries`: when that was done lately.
    On { tries: Vec<Timestamp> },
    /// Another session has its name, which the people know.
    NameTaken,
    /// It failed too often, which the people know.
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorktreeRule {
    None,
    PerStory,
}
