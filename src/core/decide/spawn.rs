//! Sessions that agents start, and how far they may go.

use super::Work;
use crate::{
    agent::OrderKind,
    caller::{
        AgentRefusal, AgentReply, AgentStart, BoundsLeft, Host, Principal, StopHow, WholeTree,
    },
    command::{Refusal, Reply},
    id::{HumanId, SessionId},
};

impl Work<'_> {
    pub(super) fn spawn(
        &mut self,
        _caller: &Principal,
        _start: &AgentStart,
        _host: Host,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::OnlySessions("start sessions"))
    }

    pub(super) fn stop_for(
        &mut self,
        _caller: &Principal,
        _name: &str,
        _how: StopHow,
        _tree: WholeTree,
    ) -> Result<AgentReply, AgentRefusal> {
        Err(AgentRefusal::OnlySessions("stop sessions"))
    }

    /// Ends a session and whatever it and those below it started.
    pub(super) fn end_tree(&mut self, id: SessionId, by: &HumanId) -> Result<Reply, Refusal> {
        let name = self.session_name(id);
        self.end(&name, by, OrderKind::End)
    }

    pub(super) fn left_of(&self, _caller: &Principal) -> BoundsLeft {
        let bounds = &self.state.rules.bounds;
        BoundsLeft {
            depth: bounds.depth,
            children: bounds.children,
            live: bounds.live,
            micro_usd: bounds.tree_micro_usd,
            tokens: bounds.tree_tokens,
        }
    }
}
