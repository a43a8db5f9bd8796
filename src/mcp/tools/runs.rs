//! Workflows: there are none yet, and each tool says so in words an agent can act on.

use super::{
    answer::{Found, Refused, answer},
    args::{OneRun, RunWorkflow},
    shapes::WorkflowsShape,
};

const NONE: &str =
    "This Vigie has no workflows. Do the steps yourself, with start_session and wait_for_sessions.";

pub(super) fn list() -> Found {
    answer(&WorkflowsShape { workflows: Vec::new() }, NONE)
}

pub(super) fn run(args: &RunWorkflow) -> Refused {
    Refused::new(format!("There is no workflow `{}`. {NONE}", args.workflow))
}

pub(super) fn about_one(args: &OneRun) -> Refused {
    Refused::new(format!("There is no run `{}`. {NONE}", args.run))
}
