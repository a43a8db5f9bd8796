//! One call of a tool: who makes it, and which tool it is for.

use rmcp::{RoleServer, service::RequestContext};
use serde_json::{Map, Value};
use vigie_core::caller::{AgentCommand, AgentRefusal, AgentReply};

use super::answer::{Answer, read};
use crate::mcp::{Caller, shared::Shared};

/// What every tool works with.
pub(in crate::mcp) struct Call<'a> {
    pub(in crate::mcp) shared: &'a Shared,
    pub(in crate::mcp) caller: &'a Caller,
    pub(in crate::mcp) context: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    /// Calls the tool of that name; `None`: there is none.
    pub(in crate::mcp) async fn make(
        &self,
        name: &str,
        args: Map<String, Value>,
    ) -> Option<Answer> {
        // What a tool takes is read first, so that each arm is one line.
        macro_rules! with {
            (|$args:ident| $call:expr) => {
                match read(args) {
                    Ok($args) => $call,
                    Err(refused) => Err(refused),
                }
            };
        }
        Some(match name {
            "whoami" => self.whoami().await,
            "list_projects" => self.list_projects().await,
            "list_sessions" => with!(|args| self.list_sessions(args).await),
            "start_session" => with!(|args| self.start_session(args).await),
            "get_session" => with!(|args| self.get_session(args).await),
            "wait_for_sessions" => with!(|args| self.wait_for_sessions(args).await),
            "stop_session" => with!(|args| self.stop_session(args).await),
            "send_message" => with!(|args| self.send_message(args).await),
            "read_messages" => with!(|args| self.read_messages(args).await),
            "set_summary" => with!(|args| self.set_summary(args).await),
            "ask_human" => with!(|args| self.ask_human(args).await),
            "notify_human" => with!(|args| self.notify_human(args).await),
            "send_file" => with!(|args| self.send_file(args).await),
            "list_workflows" => self.list_workflows().await,
            "run_workflow" => with!(|args| self.run_workflow(args).await),
            "get_run" => with!(|args| self.get_run(args).await),
            "wait_for_run" => with!(|args| self.wait_for_run(args).await),
            "cancel_run" => with!(|args| self.cancel_run(args).await),
            "read_transcript" => with!(|args| self.read_transcript(args).await),
            "usage" => self.usage().await,
            _ => return None,
        })
    }

    /// Carries out what the caller asks for, under its own token.
    pub(in crate::mcp) async fn ask(&self, what: AgentCommand) -> Result<AgentReply, AgentRefusal> {
        self.shared.ask(self.caller, what).await
    }
}
