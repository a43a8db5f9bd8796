//! What people ask for about runs, by their names.

use crate::{
    caller::{AgentCommand, Wanted},
    command::{Command, Refusal, Reply},
    decide::{About, Work, requests::NEAR},
    id::{HumanId, RunId},
    nearest::nearest,
    run::{Hook, StartRun, Starter},
    state::State,
};

/// A run that is not in memory any more, or never was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookUp {
    Named(String),
    /// By the key of a start.
    Started(StartRun),
}

impl State {
    /// The run that must be looked up before this is decided about, if it is there.
    pub fn looks_up(&self, what: &Command) -> Option<LookUp> {
        match what {
            Command::Run(start) => self.looks_up_start(start),
            Command::CancelRun { name }
            | Command::RetryRun { name, .. }
            | Command::ShowRun { name } => self.looks_up_name(name),
            Command::Start(_)
            | Command::Budget { .. }
            | Command::Send { .. }
            | Command::Stop { .. }
            | Command::End { .. }
            | Command::Kill { .. }
            | Command::Resume { .. }
            | Command::Answer { .. }
            | Command::Tap { .. }
            | Command::Cards { .. }
            | Command::Prompts { .. }
            | Command::Undelivered
            | Command::EditPrompt { .. }
            | Command::WithdrawPrompt { .. }
            | Command::RetryDelivery { .. }
            | Command::NoteTyped { .. }
            | Command::Pair { .. }
            | Command::Unpair { .. }
            | Command::AddToken { .. }
            | Command::RevokeToken { .. }
            | Command::RevokeGrant { .. }
            | Command::Grants
            | Command::EndTree { .. }
            | Command::RetryAccount { .. }
            | Command::HandOver { .. }
            | Command::Workflows
            | Command::Runs(_)
            | Command::Tokens
            | Command::People
            | Command::Sessions
            | Command::Waiting
            | Command::Mute { .. }
            | Command::Unmute { .. }
            | Command::Digest
            | Command::Status => None,
        }
    }

    /// The same for what an agent asks.
    pub fn looks_up_for_agent(&self, what: &AgentCommand) -> Option<LookUp> {
        match what {
            AgentCommand::Look { ticket } => match self.tickets.get(ticket)?.what {
                Wanted::Run { run } => self.looks_up_name(&run.to_string()),
                Wanted::Answer { .. } | Wanted::Sessions { .. } => None,
            },
            AgentCommand::Run(start) => self.looks_up_start(start),
            AgentCommand::ShowRun { name }
            | AgentCommand::WaitForRun { name }
            | AgentCommand::CancelRun { name } => self.looks_up_name(name),
            AgentCommand::Whoami
            | AgentCommand::Projects
            | AgentCommand::Sessions(_)
            | AgentCommand::Start(_)
            | AgentCommand::Session { .. }
            | AgentCommand::Wait { .. }
            | AgentCommand::Stop { .. }
            | AgentCommand::Send(_)
            | AgentCommand::Read { .. }
            | AgentCommand::Acknowledge { .. }
            | AgentCommand::SetSummary { .. }
            | AgentCommand::AskHuman(_)
            | AgentCommand::Cancel { .. }
            | AgentCommand::Notify { .. }
            | AgentCommand::SendFile { .. }
            | AgentCommand::Usage
            | AgentCommand::Workflows
            | AgentCommand::Runs => None,
        }
    }

    /// The same for a webhook.
    pub fn looks_up_for_hook(&self, hook: &Hook) -> Option<LookUp> {
        let Hook { workflow, key, .. } = hook.clone();
        let params = std::collections::BTreeMap::new();
        self.looks_up_start(&StartRun { workflow, params, project: None, key })
    }

    fn looks_up_name(&self, name: &str) -> Option<LookUp> {
        self.runs.named(name).is_none().then(|| LookUp::Named(name.trim().into()))
    }

    fn looks_up_start(&self, start: &StartRun) -> Option<LookUp> {
        let key = start.key.as_ref()?;
        let workflow = self.runs.workflow_named(&start.workflow)?.name.clone();
        let known = self.runs.by_key(&workflow, key).is_some();
        (!known).then(|| LookUp::Started(StartRun { workflow, ..start.clone() }))
    }
}

impl Work<'_> {
    pub(in crate::decide) fn run_for(
        &mut self,
        by: HumanId,
        via: String,
        start: &StartRun,
    ) -> Result<Reply, Refusal> {
        let id = self.start_run(start, Starter::Human { human: by, via }, None)?;
        self.carry_runs();
        self.run_reply(id)
    }

    fn run_reply(&self, id: RunId) -> Result<Reply, Refusal> {
        let view = self.state.run_view(id, self.now);
        let gone = || Refusal::NotRun("that run is not known any more".into());
        view.map(|view| Reply::Run(Box::new(view))).ok_or_else(gone)
    }

    /// The run of that name, or the near misses.
    pub(super) fn run_named(&self, name: &str) -> Result<RunId, Refusal> {
        if let Some(known) = self.state.runs.named(name) {
            return Ok(known.row.id);
        }
        let names: Vec<_> = self.state.runs.names().collect();
        let near = nearest(name.trim(), names.iter().map(String::as_str), NEAR);
        let near = near.into_iter().map(str::to_owned).collect();
        Err(Refusal::NoRun { name: name.trim().into(), near })
    }

    pub(in crate::decide) fn cancel_for(
        &mut self,
        by: &HumanId,
        name: &str,
    ) -> Result<Reply, Refusal> {
        let id = self.run_named(name)?;
        let words = self.cancel_run_by(id, by)?;
        self.carry_runs();
        Ok(Reply::Done { words })
    }

    pub(super) fn cancel_run_by(&mut self, id: RunId, by: &HumanId) -> Result<String, Refusal> {
        let about = About { human: Some(by.clone()), ..About::default() };
        let name = self.state.name_of(by);
        self.cancel_run(id, about, &name)
    }

    pub(in crate::decide) fn retry_for(
        &mut self,
        by: &HumanId,
        name: &str,
        from: Option<&str>,
    ) -> Result<Reply, Refusal> {
        let id = self.run_named(name)?;
        self.retry_run_by(id, from, by)?;
        self.carry_runs();
        self.run_reply(id)
    }

    pub(super) fn retry_run_by(
        &mut self,
        id: RunId,
        from: Option<&str>,
        by: &HumanId,
    ) -> Result<String, Refusal> {
        let about = About { human: Some(by.clone()), ..About::default() };
        let name = self.state.name_of(by);
        self.retry_run(id, from, about, &name)
    }

    pub(in crate::decide) fn show_run(&self, name: &str) -> Result<Reply, Refusal> {
        self.run_reply(self.run_named(name)?)
    }
}
