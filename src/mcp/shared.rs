//! What all calls share.

use std::{future::Future, path::PathBuf, pin::Pin, sync::Arc};
use tokio::sync::watch;
use vigie_core::caller::{AgentCommand, AgentRefusal, AgentReply, Host};

use super::{Caller, RunFolder, host};
use crate::{
    hub::{AgentCall, Hub},
    tasks::Tasks,
};

/// Reads the conversation of the run in that folder, as Markdown; else why there is none.
pub type ReadTranscript = Arc<
    dyn Fn(PathBuf) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>> + Send + Sync,
>;

/// What the tools are made of.
#[derive(Clone)]
pub struct Shared {
    pub hub: Hub,
    /// The newest event's sequence number: whoever waits looks again when it moves.
    pub newest: watch::Receiver<u64>,
    pub folder: RunFolder,
    pub transcript: ReadTranscript,
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
