//! Sessions that are stopped: by people, and by agents that stand above them. A whole tree is marked
//! in one decision, and whoever is marked speaks with no token any more, so nothing slips in.

use serde_json::json;

use super::{About, Work};
use crate::{
    agent::{Order, OrderKind},
    bridge::Level,
    caller::{AgentRefusal, AgentReply, Principal, StopHow, WholeTree},
    command::{Refusal, Reply},
    id::{HumanId, SessionId},
    session::{EndedBy, Ending},
};

impl Work<'_> {
    /// For an agent: what it started, and what that started. The Lord may stop any but itself.
    pub(super) fn stop_for(
        &mut self,
        caller: &Principal,
        name: &str,
        how: StopHow,
        tree: WholeTree,
    ) -> Result<AgentReply, AgentRefusal> {
        let id = self.peer_named(caller, name)?;
        let own = *caller == Principal::Session { session: id };
        if own || !(self.is_below(id, caller) || self.is_lord(caller)) {
            let name = self.state.sessions[&id].name.clone();
            return Err(AgentRefusal::NotYours { name, verb: "stop" });
        }
        let mut all = vec![id];
        if tree == WholeTree::Yes {
            all.extend(self.live_below(id));
        }
        all.retain(|id| self.is_live(*id));
        if all.is_empty() {
            let name = self.state.sessions[&id].name.clone();
            return Err(Refusal::NotLive { name }.into());
        }
        // Only a turn can be interrupted.
        all.retain(|id| how != StopHow::Interrupt || self.state.sessions[id].is_in_a_turn());
        let by = EndedBy::Agent(caller.clone());
        for id in &all {
            match how {
                StopHow::Interrupt => self.interrupt(*id),
                StopHow::End => self.end_one(*id, &by, OrderKind::End),
                StopHow::Kill => self.end_one(*id, &by, OrderKind::Kill),
            }
        }
        let name = |id: &SessionId| self.state.sessions[id].name.clone();
        Ok(AgentReply::Stopped { sessions: all.iter().map(name).collect() })
    }

    pub(super) fn end(
        &mut self,
        name: &str,
        by: &HumanId,
        how: OrderKind,
    ) -> Result<Reply, Refusal> {
        let id = self.live_named(name)?;
        let name = self.session_name(id);
        let mut words = if how == OrderKind::Kill {
            format!("Killing {name} with all its processes.")
        } else {
            format!("Ending {name}.")
        };
        if let Some(others) = self.who_goes_on(id) {
            let ends = self.ends_below(id, "vigie end ");
            words = format!("{words} {others}. To end that too: {ends}");
        }
        self.end_one(id, &EndedBy::Human(by.clone()), how);
        Ok(Reply::Done { words })
    }

    /// Ends a session and whatever it and those below it started; the session itself may have ended
    /// before.
    pub(super) fn end_tree(&mut self, id: SessionId, by: &HumanId) -> Result<Reply, Refusal> {
        let mut all = self.live_below(id);
        if self.is_live(id) {
            all.insert(0, id);
        }
        if all.is_empty() {
            return Err(Refusal::NotLive { name: self.state.sessions[&id].name.clone() });
        }
        for id in &all {
            self.end_one(*id, &EndedBy::Human(by.clone()), OrderKind::End);
        }
        let names: Vec<_> = all.iter().map(|id| self.session_name(*id)).collect();
        Ok(Reply::Done { words: format!("Ending {}.", names.join(", ")) })
    }

    /// Orders the end and remembers it until the program is gone; its holder is told again whenever
    /// it answers anew.
    pub(super) fn end_one(&mut self, id: SessionId, by: &EndedBy, how: OrderKind) {
        let killed = how == OrderKind::Kill;
        let order = self.order(id, how.clone());
        let ending = Ending { by: by.clone(), order: Order { id: order, what: how } };
        self.change(id, |s| s.ending = Some(Box::new(ending)));
        let (human, agent) = match by {
            EndedBy::Human(human) => (Some(human.clone()), None),
            EndedBy::Agent(agent) => (None, Some(agent)),
        };
        let about = About { session: Some(id), gate: None, human };
        self.journal("end_ordered", about, json!({ "kill": killed, "agent": agent }));
    }

    /// Whoever stood below a session that is over goes on; the people are told which, and how those
    /// end too.
    pub(super) fn say_who_goes_on(&mut self, id: SessionId) {
        if let Some(others) = self.who_goes_on(id) {
            let words = format!("{others}. To end that too: {}", self.ends_below(id, "/end "));
            self.tell(id, Level::Note, &words, vec![]);
        }
    }

    /// What ends those below, each by its own name: that of `id` may be another's by the time it is
    /// typed.
    fn ends_below(&self, id: SessionId, command: &str) -> String {
        let below = self.live_below(id).into_iter().map(|id| self.session_name(id));
        below.map(|name| format!("{command}{name}")).collect::<Vec<_>>().join(", ")
    }

    fn who_goes_on(&self, id: SessionId) -> Option<String> {
        let stays = |id: &SessionId| self.state.sessions[id].ending.is_none();
        let below: Vec<_> = self.live_below(id).into_iter().filter(stays).collect();
        let names: Vec<_> = below.iter().map(|id| self.session_name(*id)).collect();
        let verb = match names.as_slice() {
            [] => return None,
            [_] => "goes",
            [_, _, ..] => "go",
        };
        let name = self.session_name(id);
        Some(format!("{}, started below {name}, {verb} on", names.join(", ")))
    }
}
