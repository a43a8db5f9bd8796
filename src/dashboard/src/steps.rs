//! Steps of runs in words and shapes, as every page has them.

use vigie_core::{
    Timestamp,
    run::{RunLife, RunView, StepView},
};
use vigie_workflow::run::Finish;

/// What the style sheet calls a step that stands so, and its word.
pub fn look(step: &StepView) -> (&'static str, &'static str) {
    match (step.state.as_str(), step.kind.as_str()) {
        ("paused", _) | ("running", "approval") => ("waiting", "waits for you"),
        ("running", _) => ("running", "running"),
        ("in_doubt", _) => ("doubt", "in doubt"),
        ("backoff", _) => ("queued", "tries again"),
        ("done", _) => ("done", "done"),
        ("failed", _) => ("failed", "failed"),
        ("denied", _) => ("failed", "denied"),
        ("timed_out", _) => ("failed", "out of time"),
        ("cancelled", _) => ("skipped", "stopped"),
        ("left_out", _) => ("skipped", "skipped"),
        _ => ("queued", "queued"),
    }
}

/// The same of a whole run.
pub fn run_look(view: &RunView) -> (&'static str, &'static str) {
    let waits = !view.open_gates.is_empty();
    match &view.row.life {
        RunLife::Queued | RunLife::Running if waits => ("waiting", "waits for you"),
        RunLife::Queued => ("queued", "queued"),
        RunLife::Running => ("running", "running"),
        RunLife::NotRun { .. } => ("skipped", "not run"),
        RunLife::Over { status, .. } => match status {
            Finish::Succeeded => ("done", "done"),
            Finish::Failed => ("failed", "failed"),
            Finish::Denied => ("failed", "denied"),
            Finish::TimedOut => ("failed", "out of time"),
            Finish::Cancelled => ("skipped", "stopped"),
        },
    }
}

/// Why a run did not end well, or never ran.
pub fn run_why(view: &RunView) -> Option<&str> {
    match &view.row.life {
        RunLife::Over { why, .. } | RunLife::NotRun { why, .. } => {
            Some(why.as_str()).filter(|why| !why.is_empty())
        }
        RunLife::Queued | RunLife::Running => None,
    }
}

pub fn run_ended(view: &RunView) -> Option<Timestamp> {
    match &view.row.life {
        RunLife::Over { at, .. } | RunLife::NotRun { at, .. } => Some(*at),
        RunLife::Queued | RunLife::Running => None,
    }
}

/// Whether somebody carries it out, or waits in it.
pub fn goes_on(step: &StepView) -> bool {
    matches!(step.state.as_str(), "running" | "paused" | "in_doubt" | "backoff")
}

/// Whether there is a log to read: what it printed, or what it gave.
pub fn has_log(step: &StepView) -> bool {
    let prints = matches!(step.kind.as_str(), "shell" | "claude" | "http" | "javascript");
    step.attempt > 0 && (prints || !step.text.is_empty())
}

/// How long a step took, or has taken by now; `None`: it never began.
pub fn step_took(step: &StepView, now: Timestamp) -> Option<String> {
    let began = step.began?;
    let end = if goes_on(step) { now } else { step.since? };
    Some(took((end - began).num_milliseconds()))
}

/// "0.1 s", "42 s", "4 min 12 s", "2 h 05".
pub fn took(millis: i64) -> String {
    let millis = millis.max(0);
    let seconds = millis / 1000;
    match (seconds, seconds / 60, seconds / 3600) {
        (0..10, ..) => format!("{}.{} s", seconds, millis % 1000 / 100),
        (_, 0, _) => format!("{seconds} s"),
        (_, minutes, 0) => format!("{minutes} min {:02} s", seconds % 60),
        (_, minutes, hours) => format!("{hours} h {:02}", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_took_is_read_at_a_glance() {
        for (millis, words) in [
            (-5, "0.0 s"),
            (140, "0.1 s"),
            (9_990, "9.9 s"),
            (42_000, "42 s"),
            (252_000, "4 min 12 s"),
            (7_500_000, "2 h 05"),
        ] {
            assert_eq!(took(millis), words);
        }
    }
}
