//! Carries out steps of runs, one keeper process an attempt, and tells what became of each. Decides
//! nothing.

use vigie_core::{id::RunId, run::StepOrder};
use vigie_workflow::value::StepPath;

use crate::{hub::Hub, sessions::Ground, tasks::Tasks};

/// The effects' way to steps.
pub struct Runner;

impl Runner {
    pub fn start(_ground: &Ground, _tasks: &Tasks, _hub: &Hub) -> Self {
        todo!()
    }

    pub fn carry_out(&self, order: StepOrder) {
        todo!("{order:?}")
    }

    pub fn stop(&self, run: RunId, step: StepPath, attempt: u32) {
        todo!("{run} {step} {attempt}")
    }
}
