//! Sessions that should work and give no sign: noticed by code, told once, and again when they go on.

use chrono::TimeDelta;

use super::{Work, show};
use crate::{
    Timestamp,
    agent::AgentEvent,
    bridge::{Action, Button, Level, Weight},
    caller::Principal,
    delivery::Rank,
    gate::Gate,
    id::SessionId,
    ringing::Kind,
    session::{Life, Session},
    state::{Row, State},
    text::{self, Rich},
};

/// Whoever looks so much later than was meant slept in between, and so did the session: it has its time
/// anew.
const LATE: TimeDelta = TimeDelta::minutes(1);

/// When to look whether a session is stuck.
pub(super) fn next_look(state: &State) -> Option<Timestamp> {
    state.live().filter_map(|session| state.stuck_at(session)).min()
}

impl State {
    /// When it counts as stuck, if it gives no sign until then. Only a session that works can be: one
    /// that waits for a person, or for others, has its reason.
    fn stuck_at(&self, session: &Session) -> Option<Timestamp> {
        let after = self.rules.ringing.stuck_after?;
        let silent = session.silent.as_ref().filter(|_| session.stuck.is_none())?;
        let Life::Working { since } = session.life else { return None };
        let begun = session.turn.as_ref().map_or(since, |turn| turn.since);
        if self.open_gates_of(session.id).next().is_some() || self.waits_for_others(session, begun)
        {
            return None;
        }
        // Until then it was a person who gave no sign.
        let of_it = self.gates.values().filter(|gate| gate.session() == Some(session.id));
        let decided = of_it.filter_map(Gate::decided_at).max().unwrap_or(begun);
        let heard = session.heard.unwrap_or(begun);
        Some(silent.since.max(begun).max(heard).max(decided) + after)
    }

    /// Whether it asked for something in this turn that it has not fetched.
    fn waits_for_others(&self, session: &Session, begun: Timestamp) -> bool {
        let own = Principal::Session { session: session.id };
        self.tickets.values().any(|t| t.by == own && t.over.is_none() && t.made >= begun)
    }
}

impl Work<'_> {
    pub(super) fn notice_stuck(&mut self) {
        let due = |session: &Session| {
            let at = self.state.stuck_at(session).filter(|at| *at <= self.now)?;
            Some((session.id, at))
        };
        for (id, at) in self.state.live().filter_map(due).collect::<Vec<_>>() {
            if at + LATE < self.now {
                let now = self.now;
                self.change(id, |s| {
                    if let Some(silent) = &mut s.silent {
                        silent.since = now;
                    }
                });
            } else {
                self.say_stuck(id);
            }
        }
    }

    fn say_stuck(&mut self, id: SessionId) {
        let Some(mut session) = self.state.sessions.get(&id).cloned() else { return };
        session.stuck = Some(self.now);
        let why = self.why_still(&session);
        let name = session.name.clone();
        self.put(Row::Session(session));
        self.journal_session("session_stuck", id);
        self.happened(&self.state.cause_in(Kind::Stuck, id), &why);
        let stop = Button {
            label: format!("Stop {name}"),
            detail: None,
            weight: Weight::Plain,
            action: Action::Interrupt { session: id },
        };
        let words = format!("{name} gives no sign: {why}. /screen {name} shows its terminal.");
        let post = show::note(Level::Ring, Rich::plain(words), vec![stop]);
        self.post_news(Kind::Stuck, id, &post, Rank::Gate);
    }

    /// As far as it can be seen from outside.
    fn why_still(&self, session: &Session) -> String {
        let shown = |words: &str| text::reveal(&text::mask(words).text).text.text;
        let begun = session.turn.as_ref().map(|turn| turn.since);
        let silent = session.silent.as_ref();
        let since = silent.map(|silent| silent.since).max(session.heard).max(begun);
        let span = show::span(since.unwrap_or(self.now), self.now);
        let line = session.turn.as_ref().and_then(|turn| turn.lines.last());
        let line = line.map(|line| shown(line));
        let running = silent.and_then(|silent| silent.running.as_ref());
        // What is older than the turn is a server of the agent's own and no work.
        match running.filter(|running| begun.is_none_or(|begun| running.since >= begun)) {
            Some(running) => {
                let runs = show::span(running.since, self.now);
                let name = shown(&running.name);
                let line = line.map(|line| format!(" ({line})")).unwrap_or_default();
                format!("{name}{line} runs for {runs} and has done nothing for {span}")
            }
            None => match silent.and_then(|silent| silent.call) {
                Some(call) => {
                    let runs = show::span(call, self.now);
                    let line = line.unwrap_or_else(|| "a tool".into());
                    format!("{line} runs for {runs} and shows nothing of it")
                }
                None => format!("nothing runs, and it has waited for its model for {span}"),
            },
        }
    }

    /// Whatever a session reports, it goes on; whoever heard that it was stuck hears that as well.
    pub(super) fn sign_of_life(&mut self, id: SessionId, what: &AgentEvent) {
        let Some(session) = self.state.sessions.get(&id) else { return };
        let (Some(told), name) = (session.stuck, session.name.clone()) else { return };
        let goes_on = match what {
            AgentEvent::Silent { .. } | AgentEvent::Cost { .. } | AgentEvent::Usage { .. } => {
                return;
            }
            AgentEvent::Stirs
            | AgentEvent::Progress { .. }
            | AgentEvent::Denied { .. }
            | AgentEvent::Compacted
            | AgentEvent::MailTaken { .. } => true,
            // It says itself what came of it.
            AgentEvent::Started { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Now { .. }
            | AgentEvent::PromptTaken { .. }
            | AgentEvent::PromptHeld { .. }
            | AgentEvent::PromptRefused { .. }
            | AgentEvent::MailReturned { .. }
            | AgentEvent::Token { .. }
            | AgentEvent::ForeignTurn { .. }
            | AgentEvent::Asked { .. }
            | AgentEvent::Settled { .. }
            | AgentEvent::Finished { .. }
            | AgentEvent::TurnFailed { .. }
            | AgentEvent::Interrupted { .. }
            | AgentEvent::Degraded { .. }
            | AgentEvent::Exited { .. } => false,
        };
        self.change(id, |s| s.stuck = None);
        if goes_on {
            let words = format!("{name} goes on, after {}.", show::span(told, self.now));
            let post = show::note(Level::Note, Rich::plain(words), vec![]);
            self.post_news(Kind::Stuck, id, &post, Rank::Note);
        }
    }
}
