//! Runs of workflows as the daemon keeps them, what can be asked for, and what is told of their steps.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use vigie_workflow::{
    Problems,
    run::{self, AskAnswer, Asks, Entry, Finish, Frozen, Source, Spent, Told, Work},
    value::StepPath,
};

use crate::{
    Timestamp,
    agent::DeniedCall,
    agent::FailureKind,
    bridge::Place,
    caller::Principal,
    delivery::Shown,
    id::{GateCode, HumanId, ProjectName, RunId, SessionId},
};

/// A run as it is kept. What it was made of and its log stand beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRow {
    pub id: RunId,
    /// `release`, or `api/release` for a workflow of a project's own.
    pub workflow: String,
    /// Counts the runs of workflows of that last name, from 1: people write `release-12`.
    pub number: u64,
    pub starter: Starter,
    /// What whoever started it called this start, so that a repeat finds it.
    pub key: Option<RunKey>,
    /// Where its progress is shown; `None`: in every chat that hears of sessions.
    pub place: Option<Place>,
    /// The step of another run that waits for it.
    pub parent: Option<RunParent>,
    pub project: Option<ProjectName>,
    pub made: Timestamp,
    /// When it last began to work: not while it waited for its turn, and anew at each retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    pub life: RunLife,
    /// The messages that show its progress.
    pub shown: Vec<Shown>,
    /// People who made it go on after it was over, each once: whoever did started it as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried_by: Vec<HumanId>,
}

impl RunRow {
    /// As people write it.
    pub fn name(&self) -> String {
        let short = self.workflow.rsplit('/').next().unwrap_or(&self.workflow);
        format!("{short}-{}", self.number)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "starter", rename_all = "snake_case")]
pub enum Starter {
    Human {
        human: HumanId,
        via: String,
    },
    Agent {
        principal: Principal,
        /// Of the deepest session behind it.
        depth: u32,
    },
    /// One a slot, ever.
    Cron {
        slot: Timestamp,
    },
    Webhook,
    Run,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    pub key: String,
    /// Of the params, in hex: the same key with others is refused.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunParent {
    pub run: RunId,
    pub step: StepPath,
    pub attempt: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "life", rename_all = "snake_case")]
pub enum RunLife {
    /// It waits for a run of the same workflow, or for room.
    Queued,
    Running,
    Over {
        status: Finish,
        /// A sentence without its full stop; empty when all went well.
        why: String,
        at: Timestamp,
    },
    /// It never ran, and why.
    NotRun {
        why: String,
        at: Timestamp,
    },
}

impl RunRow {
    /// Since when it works, or waits where it never did.
    pub fn since(&self) -> Timestamp {
        self.began.unwrap_or(self.made)
    }
}

impl RunLife {
    pub fn is_open(&self) -> bool {
        match self {
            Self::Queued | Self::Running => true,
            Self::Over { .. } | Self::NotRun { .. } => false,
        }
    }
}

/// One line of a run's log, numbered from 1 without gaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLogRow {
    pub run: RunId,
    pub seq: u64,
    pub entry: Entry,
}

/// A run in memory.
#[derive(Clone, Debug)]
pub struct KnownRun {
    pub row: RunRow,
    pub run: run::Run,
    /// Lines of its log.
    pub seq: u64,
    /// Attempts that somebody carries out right now. It follows from the rest.
    pub at_work: BTreeMap<StepPath, AtWork>,
}

impl KnownRun {
    pub fn new(row: RunRow, frozen: Arc<Frozen>) -> Self {
        Self { row, run: run::Run::new(frozen), seq: 0, at_work: BTreeMap::new() }
    }

    /// Takes over one line of its log.
    pub fn take(&mut self, line: &RunLogRow) {
        self.run.apply(&line.entry);
        self.seq = self.seq.max(line.seq);
    }
}

/// Who carries an attempt out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtWork {
    pub attempt: u32,
    pub with: With,
    /// When its time is over, where nobody else looks at that.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum With {
    Runner {
        project: ProjectName,
        needs: Needs,
        /// When it was ordered; `None`: by a daemon before us, or only to be stopped.
        since: Option<Timestamp>,
        /// What it cost since, in millionths of a dollar.
        spent: u64,
    },
    /// It waits for room on this machine; then the runner is told this.
    Held {
        project: ProjectName,
        needs: Needs,
        how: Box<StepHow>,
    },
    Session {
        session: SessionId,
    },
    People,
    Run {
        child: RunId,
    },
}

/// What a step with the runner takes up besides a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Process,
    /// An agent of its own.
    Agent,
}

/// The last slot of a workflow's schedule that was dealt with, whatever became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRow {
    pub workflow: String,
    pub slot: Timestamp,
    /// The times and the zone it was one of: with others it begins anew.
    #[serde(default)]
    pub schedule: String,
}

/// Every workflow there is, as its files say right now. It is read at the edge and handed in whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    pub all: BTreeMap<String, Arc<Known>>,
}

/// One file with a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// `release`, or `api/release`.
    pub name: String,
    pub origin: Origin,
    /// For people: the path, or `built in`.
    pub file: String,
    /// `None`: it does not run, for `problems`.
    pub source: Option<Source>,
    /// What it calls, by the names it uses, all the way down; what is missing stands in `problems`.
    pub called: BTreeMap<String, Source>,
    pub problems: Problems,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum Origin {
    /// Ships with Vigie.
    BuiltIn,
    /// From the person's own folder.
    Own,
    /// From a project's folder, which agents may write to.
    Project {
        project: ProjectName,
        /// Whether its cron and webhooks count: the configuration says so.
        triggers: bool,
    },
}

/// A start of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartRun {
    pub workflow: String,
    pub params: BTreeMap<String, Given>,
    pub project: Option<String>,
    pub key: Option<String>,
}

pub use vigie_workflow::params::Given;

/// Something other than a person or an agent that starts a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The workflow's whole name; its proof was checked at the door.
    pub workflow: String,
    pub params: BTreeMap<String, Given>,
    pub key: Option<String>,
}

/// Which runs a list shows, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunListing {
    pub workflow: Option<String>,
    pub open_only: bool,
}

/// A run as lists and pages show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    pub row: RunRow,
    pub name: String,
    pub started_by: String,
    pub params: BTreeMap<String, serde_json::Value>,
    pub steps: Vec<StepView>,
    /// The graph as text, a line each.
    pub progress: Vec<String>,
    pub spent: run::Spent,
    pub outputs: serde_json::Value,
    pub open_gates: Vec<GateCode>,
    /// Cost and time of its agents, delegated and inline; a line each. Empty: no agent worked in it.
    pub report: Vec<String>,
    /// What it was made of when it began; lists leave it out.
    #[serde(default)]
    pub made_of: Option<MadeOf>,
}

/// The workflow of a run, as it was frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeOf {
    /// For people: the path, or `built in`.
    pub file: String,
    pub text: String,
    pub limits: vigie_workflow::language::Limits,
    /// Its steps at the top, in their order there.
    pub graph: Vec<GraphStep>,
}

/// A step at the top of a workflow, and what it comes after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphStep {
    pub step: String,
    /// For people; empty: its id.
    pub title: String,
    pub needs: Vec<String>,
    /// It runs whatever became of what it needs.
    pub always: bool,
    /// Whether it runs is decided in the run.
    pub conditional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepView {
    pub step: String,
    pub kind: String,
    /// One word: `running`.
    pub state: String,
    /// More of it, for people.
    pub words: String,
    pub attempt: u32,
    pub since: Option<Timestamp>,
    /// When this attempt began.
    #[serde(default)]
    pub began: Option<Timestamp>,
    /// Of all its attempts.
    #[serde(default)]
    pub micro_usd: u64,
    /// What it gave, as far as the log has it.
    pub text: String,
    /// Where the rest is.
    pub file: Option<String>,
}

/// A workflow as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowView {
    pub name: String,
    pub title: String,
    pub description: String,
    pub file: String,
    pub params: Vec<vigie_workflow::language::Param>,
    /// When its schedule comes up next, five times.
    pub next: Vec<Timestamp>,
    pub timezone: String,
    /// It does not run, for this many mistakes.
    pub errors: usize,
    /// What its last runs cost, in millionths of a dollar: least, median, most. `None`: no run yet that cost
    /// anything.
    pub cost: Option<[u64; 3]>,
    /// Whether its webhook and schedule count, where it has any.
    pub triggers: bool,
}

/// What the runner is to do about one attempt of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOrder {
    pub run: RunId,
    /// For people: `release-12`.
    pub name: String,
    pub step: StepPath,
    pub attempt: u32,
    pub how: StepHow,
    pub work: Work,
    /// The project's folder.
    pub folder: String,
    pub project: ProjectName,
    /// The workflow's whole name: a secret says which may have it.
    pub workflow: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepHow {
    /// Nobody ever began it.
    Begin,
    /// It may have been begun by a daemon before us: tell how it ended, or watch it go on. If it
    /// surely never began, begin it.
    Adopt,
    /// A person answered what it waits for.
    GoOn { asks: Asks, answer: AskAnswer },
    /// What put it off is over.
    Again { conversation: String, spent: Spent },
}

/// An attempt's own agent that stopped and goes on later, in the same conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutOff {
    pub why: PutOffBy,
    pub at: Timestamp,
    pub conversation: String,
    /// So far.
    pub spent: Spent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum PutOffBy {
    /// The service refused, in the agent's own words.
    Account { kind: FailureKind, said: String },
    /// We told it to.
    Us,
}

/// What the runner tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTold {
    pub run: RunId,
    pub step: StepPath,
    pub attempt: u32,
    pub told: Told,
    /// What policies denied its agent meanwhile.
    pub denied: Vec<DeniedCall>,
}

/// Everything of a run, frozen, written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenRow {
    pub run: RunId,
    pub frozen: Arc<Frozen>,
}
