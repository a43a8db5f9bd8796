//! The numbered log of a run. A run is its log and nothing else: what stands here is on disk before
//! anything is done about it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::{Timestamp, value::StepPath};

/// Longest text of an output that a log keeps, in bytes; longer ones are kept as files, and marked.
pub const KEPT_TEXT: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub at: Timestamp,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// From here on somebody may carry this attempt out. Attempts of a step count from 1 and are never
    /// used again, whatever it is run again for.
    Began {
        step: StepPath,
        attempt: u32,
    },
    /// It waits for a person and holds no process meanwhile.
    Paused {
        step: StepPath,
        attempt: u32,
        asks: Box<Asks>,
    },
    /// A person answered what it waits for; it goes on with that.
    Answered {
        step: StepPath,
        attempt: u32,
        answer: AskAnswer,
    },
    /// It had begun, and nobody knows how it ended.
    InDoubt {
        step: StepPath,
        attempt: u32,
    },
    /// What becomes of a step in doubt. `by`: as people are called; `None`: its `on_crash` says so.
    Settled {
        step: StepPath,
        attempt: u32,
        how: Doubt,
        by: Option<String>,
    },
    Ended {
        step: StepPath,
        attempt: u32,
        ended: Box<Ended>,
    },
    /// What an agent came to is told after its turn: so much more than was known when the step ended.
    Spent {
        step: StepPath,
        spent: Spent,
    },
    /// It does not run.
    LeftOut {
        step: StepPath,
        why: LeftOut,
    },
    /// These run again, with everything inside of them, though they were over; a `foreach` around one
    /// goes on with its round alone. An attempt of one that still runs is to be stopped; its end is
    /// waited for, and changes nothing else.
    Reset {
        steps: Vec<StepPath>,
        by: String,
        why: String,
        /// The approval that sent them back; `None`: a retry.
        #[serde(default)]
        from: Option<StepPath>,
    },
    /// No step begins any more but those marked `always`, and those that run are stopped.
    Stopping {
        why: Stop,
        by: Option<String>,
    },
    /// The run is over; a [`What::Reset`] opens it again.
    Finished {
        status: Finish,
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub outcome: Outcome,
    #[serde(default)]
    pub output: Output,
    #[serde(default)]
    pub spent: Spent,
    /// Paths that it changed in its folder, where that was measured.
    #[serde(default)]
    pub changed: Option<Vec<String>>,
}

impl Ended {
    pub fn of(outcome: Outcome) -> Self {
        Self { outcome, output: Output::default(), spent: Spent::default(), changed: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// `why` is a sentence without its full stop.
    Failed {
        why: String,
    },
    /// A person said no.
    Denied {
        why: String,
    },
    TimedOut,
    /// It was stopped because the run was.
    Cancelled,
}

/// What other steps read of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// What it printed or said; the beginning of it where `cut` says so.
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub cut: Option<Cut>,
    #[serde(default)]
    pub json: Option<serde_json::Value>,
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// What it gives by name: `extract` of http, the form of an approval, results of a `foreach`.
    #[serde(default)]
    pub values: BTreeMap<String, serde_json::Value>,
    /// Files kept with the run, by the names the step gives them.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The agent's conversation, with which a later step goes on.
    #[serde(default)]
    pub conversation: Option<String>,
}

/// That a text is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Of the whole.
    pub bytes: u64,
    /// Where the whole is.
    pub file: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// In millionths of a dollar at list price.
    pub micro_usd: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// What an agent in a step wants to do and may not without a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    pub tool: String,
    pub input: serde_json::Value,
    /// The folder it would do it in.
    pub cwd: String,
    pub conversation: String,
    /// The agent's own id of the call.
    pub call: String,
    /// So far.
    pub spent: Spent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskAnswer {
    pub allow: bool,
    /// The person's words, for the agent.
    pub words: Option<String>,
    pub by: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// It was done: its output is empty.
    Done,
    Again,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum LeftOut {
    /// Its own `if` is false. It counts as having ended well; what it gives is null.
    If,
    /// A `condition` above it is false: it does not run, and the run does not fail because of that.
    Condition { of: StepPath },
    /// A step above it failed, or was itself left out because of that.
    Failed { of: StepPath },
    /// The run was stopped before.
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    Cancelled,
    TimedOut,
    /// What its agents may cost is spent.
    OverBudget,
    /// It was replaced by a newer run.
    Replaced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Succeeded,
    Failed,
    Denied,
    Cancelled,
    TimedOut,
}
