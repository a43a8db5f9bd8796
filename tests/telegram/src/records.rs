//! What is written down for tests to look at afterwards.

use serde_json::Value;

use crate::{Moment, refusal::Refusal, world::ChatId};

/// A call of a method, as it came in.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method in its canonical spelling, or as it was called if there is none.
    pub method: String,
    /// The parameters; an uploaded file reads `<file "name" N bytes>`.
    pub params: Value,
    /// When.
    pub at: Moment,
    /// The fault that struck it.
    pub fault: Option<&'static str>,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Not yet, or the caller went away before.
    Open,
    /// Carried out, with this result. The answer may still have been lost to a fault.
    Done(Value),
    /// Refused.
    Refused(Refusal),
    /// A fault kept it from being carried out.
    NotCarriedOut,
}

/// Something a correct bot never does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// A short name, such as `unknown parameter`.
    pub kind: &'static str,
    /// What happened.
    pub text: String,
}

/// A 429 of flood control (not of a fault).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flood {
    /// The charged chat.
    pub chat: ChatId,
    /// The refused method.
    pub method: String,
    /// When.
    pub at: Moment,
    /// Seconds to wait.
    pub retry_after: u64,
    /// Which limit.
    pub why: String,
    /// Whether the call came while an earlier `retry_after` had not passed.
    pub inside_wait: bool,
}

/// The life of one update.
#[derive(Clone, Debug)]
pub struct UpdateLife {
    /// Its number; none if it was never queued.
    pub id: Option<i64>,
    /// Its type, such as `message`.
    pub kind: String,
    /// Its content.
    pub payload: Value,
    /// When it happened.
    pub created: Moment,
    /// Each time it was handed out.
    pub delivered: Vec<Moment>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It waits.
    Waiting,
    /// A later offset confirmed it.
    Confirmed(Moment),
    /// Nobody fetched it in time.
    Expired(Moment),
    /// Its type was not among the allowed ones when it happened.
    Unwanted,
    /// The bot asked to forget what waits.
    Forgotten(Moment),
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) calls: Vec<Call>,
    pub(crate) refused: Vec<(String, Refusal)>,
    pub(crate) defects: Vec<Defect>,
    pub(crate) floods: Vec<Flood>,
    pub(crate) updates: Vec<UpdateLife>,
}

impl Records {
    pub(crate) fn defect(&mut self, kind: &'static str, text: impl Into<String>) {
        self.defects.push(Defect { kind, text: text.into() });
    }
}
