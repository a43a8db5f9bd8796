//! What an agent asked and nobody answered yet. Each request holds its hook call open; whoever
//! answers first, here or at the desk, closes it, and a late answer finds nothing to reach.

use futures_util::FutureExt;
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};
use vigie_core::{
    agent::{AgentEvent, AtDesk, Decision, Settled},
    id::RequestId,
};

use super::{
    HookReply,
    hooks::{self, HookEvent, ToolCall},
};

/// After the agent stopped waiting, how long we listen for a closed connection (a "no") before we
/// believe in a "yes". A "no" closes it at once; the registry is read every 100 ms.
const SAYS_NO_WITHIN: Duration = Duration::from_millis(900);
/// The hook's own time limit, see `claude::command`; a call that closes at this age was given up.
pub(crate) const HOOK_LIMIT: Duration = Duration::from_hours(24);
/// Ids of closed requests, kept to tell a late answer from one to an unknown request.
const REMEMBERED: usize = 256;

/// All open requests of one session.
#[derive(Default)]
pub(crate) struct Requests {
    open: Vec<Open>,
    opened: u64,
    closed: VecDeque<RequestId>,
}

struct Open {
    id: RequestId,
    agent: Option<String>,
    call: ToolCall,
    suggestions: Vec<serde_json::Value>,
    reply: HookReply,
    since: Instant,
    /// The agent's own status said that it waits while this was open.
    seen_waiting: bool,
    left_waiting: Option<Instant>,
}

/// What the agent's own status says, as far as requests care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// In a dialog.
    Yes,
    /// At work.
    Working,
    /// At its prompt.
    Idle,
    /// It does not say.
    Unknown,
}

impl Requests {
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The oldest request that the agent's status never confirmed.
    pub(crate) fn oldest_unconfirmed(&self) -> Option<Instant> {
        self.open.iter().filter(|one| !one.seen_waiting).map(|one| one.since).min()
    }

    /// Takes a request in; what the same agent asked before is over by now.
    /// Parallel calls of one agent are asked one after the other, seen with both versions.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        event: &HookEvent,
        call: ToolCall,
        suggestions: Vec<serde_json::Value>,
        reply: HookReply,
    ) -> (RequestId, Vec<AgentEvent>) {
        let over = self.close(|one| (one.agent == event.agent).then_some(AtDesk::Allowed));
        self.opened += 1;
        let agent = event.agent.as_deref().unwrap_or("main");
        let id = RequestId::new(format!("{agent}-{}-{}-{}", call.tool, call.digest(), self.opened));
        self.open.push(Open {
            id: id.clone(),
            agent: event.agent.clone(),
            call,
            suggestions,
            reply,
            since: now,
            seen_waiting: false,
            left_waiting: None,
        });
        (id, over)
    }

    /// Carries out a person's decision, if the agent still waits for it.
    pub(crate) fn answer(&mut self, id: &RequestId, decision: &Decision) -> Vec<AgentEvent> {
        let Some(at) = self.open.iter().position(|one| one.id == *id) else {
            // Told once already, or asked of a holder that is gone with its requests.
            let told = self.closed.contains(id);
            return if told { vec![] } else { vec![settled(id.clone(), Settled::Gone)] };
        };
        if self.open[at].left_waiting.is_some() {
            return vec![]; // Answered at the desk; `status` says so in a moment.
        }
        let one = self.open.remove(at);
        let json = hooks::decision(&one.call, &one.suggestions, decision);
        let how = if one.reply.answer(json) {
            Settled::Ours
        } else {
            Settled::AtDesk { allowed: AtDesk::Denied }
        };
        vec![self.ended(one.id, how)]
    }

    /// Refuses everything and ends the turn.
    pub(crate) fn interrupt(&mut self) -> Vec<AgentEvent> {
        let open = std::mem::take(&mut self.open);
        open.into_iter()
            .map(|one| {
                one.reply.answer(hooks::interrupt());
                self.ended(one.id, Settled::Gone)
            })
            .collect()
    }

    /// Notices calls that the agent closed: somebody said no at the desk.
    pub(crate) fn hung_up(&mut self, now: Instant) -> Vec<AgentEvent> {
        let (gone, open) = std::mem::take(&mut self.open)
            .into_iter()
            .map(|mut one| (one.reply.gone().now_or_never().is_some(), one))
            .partition::<Vec<_>, _>(|(gone, _)| *gone);
        self.open = open.into_iter().map(|(_, one)| one).collect();
        gone.into_iter()
            .map(|(_, one)| {
                let timed_out = now.duration_since(one.since) + Duration::from_mins(1) > HOOK_LIMIT;
                let how = if timed_out {
                    Settled::Gone
                } else {
                    Settled::AtDesk { allowed: AtDesk::Denied }
                };
                self.ended(one.id, how)
            })
            .collect()
    }

    /// The tool ran, so somebody said yes.
    pub(crate) fn tool_ended(&mut self, agent: Option<&str>, call: &ToolCall) -> Vec<AgentEvent> {
        self.close(|one| {
            (one.agent.as_deref() == agent && one.call.is(call)).then_some(AtDesk::Allowed)
        })
    }

    /// The main agent's turn is over, so nothing of it waits any more.
    pub(crate) fn turn_ended(&mut self) -> Vec<AgentEvent> {
        self.close(|one| one.agent.is_none().then_some(AtDesk::Unknown))
    }

    /// Follows the agent's own status: it leaves its dialog when the desk answers.
    pub(crate) fn status(&mut self, now: Instant, waits: Waits) -> Vec<AgentEvent> {
        for one in &mut self.open {
            match waits {
                Waits::Yes => {
                    one.seen_waiting = true;
                    one.left_waiting = None;
                }
                Waits::Working | Waits::Idle if one.seen_waiting => {
                    one.left_waiting.get_or_insert(now);
                }
                Waits::Working | Waits::Idle | Waits::Unknown => {}
            }
        }
        let allowed = if waits == Waits::Idle { AtDesk::Unknown } else { AtDesk::Allowed };
        self.close(|one| {
            let left = one.left_waiting?;
            (now.duration_since(left) >= SAYS_NO_WITHIN).then_some(allowed)
        })
    }

    /// The program is gone.
    pub(crate) fn gone(&mut self) -> Vec<AgentEvent> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|one| self.ended(one.id, Settled::Gone)).collect()
    }

    /// Closes what was answered at the desk. Dropping the call answers it with nothing.
    fn close(&mut self, how: impl Fn(&Open) -> Option<AtDesk>) -> Vec<AgentEvent> {
        let mut told = Vec::new();
        for one in std::mem::take(&mut self.open) {
            match how(&one) {
                Some(allowed) => told.push(self.ended(one.id, Settled::AtDesk { allowed })),
                None => self.open.push(one),
            }
        }
        told
    }

    fn ended(&mut self, id: RequestId, how: Settled) -> AgentEvent {
        self.closed.push_back(id.clone());
        if self.closed.len() > REMEMBERED {
            self.closed.pop_front();
        }
        settled(id, how)
    }
}

fn settled(request: RequestId, how: Settled) -> AgentEvent {
    AgentEvent::Settled { request, how }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tokio::sync::oneshot;
    use vigie_core::agent::Scope;

    const ALLOW: Decision = Decision::Allow { scope: Scope::Once };

    fn ask(
        requests: &mut Requests,
        now: Instant,
        agent: Option<&str>,
    ) -> (RequestId, oneshot::Receiver<Value>) {
        let mut json = json!({
            "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "ls" },
        });
        if let Some(agent) = agent {
            json["agent_id"] = json!(agent);
        }
        let event = HookEvent::read(&json).unwrap();
        let call = ToolCall { tool: "Bash".into(), input: json!({ "command": "ls" }), id: None };
        let (reply, answer) = oneshot::channel();
        (requests.open(now, &event, call, vec![], HookReply::new(reply)).0, answer)
    }

    fn at_desk(id: &RequestId, allowed: AtDesk) -> Vec<AgentEvent> {
        vec![settled(id.clone(), Settled::AtDesk { allowed })]
    }

    #[test]
    fn a_yes_at_the_desk_is_seen_by_the_status_alone() {
        let (mut requests, start) = (Requests::default(), Instant::now());
        let (id, mut answer) = ask(&mut requests, start, None);
        assert_eq!(requests.status(start, Waits::Yes), []);
        assert_eq!(requests.status(start, Waits::Working), []);
        assert_eq!(requests.answer(&id, &ALLOW), [], "too late, and not yet known which way");
        let later = start + SAYS_NO_WITHIN;
        assert_eq!(requests.status(later, Waits::Working), at_desk(&id, AtDesk::Allowed));
        assert!(answer.try_recv().is_err(), "answered with nothing");
        assert_eq!(requests.answer(&id, &ALLOW), [], "said once");
    }

    #[test]
    fn a_closed_connection_is_a_no() {
        let (mut requests, start) = (Requests::default(), Instant::now());
        let (id, answer) = ask(&mut requests, start, None);
        drop(answer);
        assert_eq!(requests.hung_up(start), at_desk(&id, AtDesk::Denied));
        assert!(requests.is_empty());
    }

    #[test]
    fn the_same_call_asked_again_is_another_request() {
        let (mut requests, start) = (Requests::default(), Instant::now());
        let (first, _one) = ask(&mut requests, start, None);
        let (second, mut two) = ask(&mut requests, start, None);
        assert_ne!(first, second);
        assert_eq!(requests.answer(&first, &ALLOW), [], "closed by the second");
        assert!(two.try_recv().is_err(), "an answer to the first never reaches the second");
        assert_eq!(requests.answer(&second, &ALLOW), [settled(second, Settled::Ours)]);
        assert!(two.try_recv().is_ok());
    }

    #[test]
    fn subagents_wait_beside_each_other() {
        let (mut requests, start) = (Requests::default(), Instant::now());
        let (first, _one) = ask(&mut requests, start, Some("a"));
        let (_, _two) = ask(&mut requests, start, Some("b"));
        let call = ToolCall {
            tool: "Bash".into(),
            input: json!({ "command": "ls" }),
            id: Some("x".into()),
        };
        assert_eq!(requests.tool_ended(Some("a"), &call), at_desk(&first, AtDesk::Allowed));
        assert!(!requests.is_empty());
    }

    #[test]
    fn an_answer_to_a_request_nobody_knows_says_so() {
        let id = RequestId::new("main-Bash-0-1");
        let gone = [settled(id.clone(), Settled::Gone)];
        assert_eq!(Requests::default().answer(&id, &ALLOW), gone);
    }
}
