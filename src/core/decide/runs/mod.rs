//! Runs of workflows: begun, carried on, stopped, shown. A run's log says what comes next; in here
//! that is done, or handed to whoever does it, and what became of it is told to the run.

mod agents;
mod ask;
mod call;
mod carry;
mod chat;
mod end;
mod fields;
mod form;
mod named;
mod progress;
mod start;
mod triggers;
mod turn;
mod view;

use chrono::TimeDelta;

pub(super) use agents::RunCall;
pub use named::LookUp;
pub(super) use turn::TurnEnd;

/// Entries that one decision writes for runs; what is left goes on with the next, so that a large run
/// never holds up what people say.
pub(super) const ENTRIES_AT_ONCE: usize = 2_000;

/// How deep workflows call each other.
const DEEPEST_CALL: usize = 4;

/// How long a step waits for a person where its workflow does not say.
const PATIENCE: TimeDelta = TimeDelta::days(30);

/// Longest key of a start, in bytes.
const KEY: usize = 200;
