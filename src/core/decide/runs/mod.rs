//! Runs of workflows: begun, carried on, stopped, shown.

use super::Work;
use crate::{
    caller::{AgentCommand, AgentRefusal, AgentReply, Principal},
    command::{Command, Refusal, Reply},
    id::HumanId,
    run::{Catalog, Hook, StepTold},
};

impl Work<'_> {
    pub(super) fn catalog(&mut self, catalog: Catalog) {
        todo!("{catalog:?}")
    }

    pub(super) fn hook(&mut self, hook: Hook) -> Result<Reply, Refusal> {
        todo!("{hook:?}")
    }

    pub(super) fn step_told(&mut self, told: StepTold) {
        todo!("{told:?}")
    }

    /// What a person asks for about runs.
    pub(super) fn run_request(
        &mut self,
        by: &HumanId,
        via: &str,
        what: Command,
    ) -> Result<Reply, Refusal> {
        todo!("{by} {via} {what:?}")
    }

    /// What an agent asks for about runs.
    pub(super) fn run_call(
        &mut self,
        caller: &Principal,
        what: AgentCommand,
    ) -> Result<AgentReply, AgentRefusal> {
        todo!("{caller:?} {what:?}")
    }
}
