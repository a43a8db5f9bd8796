//! What agents ask for. Who asks is known from their token alone, looked up in the same decision
//! that carries the call out.

use super::{Work, runs::RunCall};
use crate::{
    caller::{
        AgentCommand, AgentRefusal, AgentReply, AgentRequest, Principal, TokenHash, TokenScope,
    },
    id::SessionId,
};

impl Work<'_> {
    pub(super) fn agent_call(&mut self, request: AgentRequest) -> Result<AgentReply, AgentRefusal> {
        let AgentRequest { token, host, what, facts } = request;
        let caller = self.caller(&token, what.scope())?;
        match what {
            AgentCommand::Whoami => Ok(self.whoami(&caller)),
            AgentCommand::Projects => Ok(self.projects()),
            AgentCommand::Sessions(listing) => self.peers(&caller, &listing),
            AgentCommand::Session { name } => {
                let id = self.peer_named(&caller, &name)?;
                Ok(AgentReply::Session { session: Box::new(self.peer(id)) })
            }
            AgentCommand::Start(start) => self.spawn(&caller, &start, host),
            AgentCommand::Stop { name, how, tree } => self.stop_for(&caller, &name, how, tree),
            AgentCommand::Wait { names, until } => self.wait_for(&caller, &names, until),
            AgentCommand::AskHuman(asking) => self.ask_human(&caller, asking),
            AgentCommand::Look { ticket } => self.look_at_ticket(&caller, ticket),
            AgentCommand::Cancel { ticket } => self.cancel_ticket(&caller, ticket),
            AgentCommand::Send(letter) => self.send_mail(&caller, &letter, &facts),
            AgentCommand::Read { most } => Ok(self.read_mail(&caller, most)),
            AgentCommand::Acknowledge { mails } => Ok(self.acknowledge_mail(&caller, &mails)),
            AgentCommand::SetSummary { text } => self.set_summary(&caller, &text),
            AgentCommand::Notify { text } => self.notify_people(&caller, &text),
            AgentCommand::SendFile { path, about } => self.send_file(&caller, &path, &about),
            AgentCommand::Usage => Ok(self.usage_of(&caller)),
            AgentCommand::Workflows => self.run_call(&caller, RunCall::Workflows),
            AgentCommand::Runs => self.run_call(&caller, RunCall::Runs),
            AgentCommand::Run(start) => self.run_call(&caller, RunCall::Run(start)),
            AgentCommand::ShowRun { name } => self.run_call(&caller, RunCall::Show { name }),
            AgentCommand::WaitForRun { name } => self.run_call(&caller, RunCall::Wait { name }),
            AgentCommand::CancelRun { name } => self.run_call(&caller, RunCall::Cancel { name }),
        }
    }

    fn caller(
        &self,
        token: &TokenHash,
        scope: Option<TokenScope>,
    ) -> Result<Principal, AgentRefusal> {
        let Some(known) = self.state.known(token) else {
            return Err(AgentRefusal::TokenOver { why: "its session has ended".into() });
        };
        match scope {
            Some(scope) if !known.scopes.contains(&scope) => Err(AgentRefusal::NoScope(scope)),
            Some(_) | None => Ok(known.principal),
        }
    }

    /// The session that asks, for what only sessions can do.
    pub(super) fn caller_session(
        caller: &Principal,
        what: &'static str,
    ) -> Result<SessionId, AgentRefusal> {
        match caller {
            Principal::Session { session } => Ok(*session),
            Principal::Client { .. } => Err(AgentRefusal::OnlySessions(what)),
        }
    }
}
