//! What all calls share.

use std::{future::Future, path::PathBuf, pin::Pin, sync::Arc};
use tokio::sync::watch;
use vigie_core::{
    caller::{AgentCommand, AgentRefusal, AgentReply, Host, MailQuery},
    id::SessionId,
    mail::Mail,
    state::AnswerRow,
};

use super::{Caller, RunFolder, host};
use crate::{
    hub::{AgentCall, Hub},
    tasks::Tasks,
};

/// A future that one of these look-ups returns; what went wrong is a sentence.
pub type LookUp<T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send>>;

/// What is read past the hub, since nothing is decided by it.
#[derive(Clone)]
pub struct LookUps {
    /// The conversation of the run in that folder, as Markdown.
    pub transcript: Arc<dyn Fn(PathBuf) -> LookUp<String> + Send + Sync>,
    /// Somebody's own messages, the newest first.
    pub mailbox: Arc<dyn Fn(MailQuery) -> LookUp<Vec<Mail>> + Send + Sync>,
    /// What a session said last, whole.
    pub last_answer: Arc<dyn Fn(SessionId) -> LookUp<Option<AnswerRow>> + Send + Sync>,
}

/// What the tools are made of.
#[derive(Clone)]
pub struct Shared {
    pub hub: Hub,
    /// The newest event's sequence number: whoever waits looks again when it moves.
    pub newest: watch::Receiver<u64>,
    pub folder: RunFolder,
    pub look_ups: LookUps,
    pub tasks: Tasks,
}

impl Shared {
    pub(super) async fn ask(
        &self,
        caller: &Caller,
        what: AgentCommand,
    ) -> Result<AgentReply, AgentRefusal> {
        // Only a start asks how the machine does.
        let host = match &what {
            AgentCommand::Start(_) => host::now(),
            _ => Host::default(),
        };
        self.hub.agent(AgentCall { token: caller.token.clone(), host, what }).await
    }
}
