//! What sessions are told, and what is told again when their holder comes back.

use serde_json::json;

use super::{About, Effect, Work};
use crate::{
    agent::{AgentEvent, ExitStatus, Order, OrderKind, PromptForm},
    bridge::Level,
    delivery::Rank,
    gate::{Asker, Gate, GateState},
    id::SessionId,
    prompt::{Prompt, PromptState},
    ringing::Kind,
    session::{Launch, Life, Session, Worktree},
    state::{Row, State},
    text::Rich,
};

/// What goes into a session next.
pub(super) enum Next {
    /// The turn that was cut off.
    GoesOn,
    Prompt(Box<Prompt>),
}

impl State {
    /// Whether a prompt that is handed over now goes in at once.
    pub(super) fn takes_a_prompt(&self, session: &Session) -> bool {
        matches!(session.life, Life::Idle { .. })
            && session.ending.is_none()
            && !self.open_gates_of(session.id).any(|gate| gate.is_by(Asker::Request))
    }

    /// What goes in next where nothing is on its way: a turn that was cut off, else the first of the
    /// line. `None`: nothing may.
    pub(super) fn next_for(&self, session: &Session) -> Option<Next> {
        let mut line = self.line_of(session.id);
        let first = line.next();
        if first.is_some_and(|prompt| prompt.state != PromptState::Queued)
            || line.any(|prompt| prompt.goes_on.is_some())
        {
            return None;
        }
        let mut line = self.line_of(session.id);
        let is_spent = session.spawn.as_ref().is_some_and(|spawn| spawn.over_budget);
        if is_spent && line.all(|prompt| prompt.by.is_none()) {
            return None;
        }
        match &session.cut {
            Some(_) => Some(Next::GoesOn),
            None => first.cloned().map(|prompt| Next::Prompt(Box::new(prompt))),
        }
    }
}

impl Work<'_> {
    /// Gives each idle session the first prompt of its line; one at a time, so that what waits can
    /// still be edited. Nothing goes to an account that something is wrong with, and to one that goes
    /// on again one session after the other.
    pub(super) fn hand_prompts(&mut self) {
        let works = |s: &&Session| self.state.trouble_of(&s.agent).is_none();
        let idle =
            self.state.sessions.values().filter(|s| self.state.takes_a_prompt(s) && works(s));
        for session in idle.map(|s| s.id).collect::<Vec<_>>() {
            self.hand_next(session);
        }
        self.hand_one_by_one();
    }

    /// `false`: nothing goes in now.
    pub(super) fn hand_next(&mut self, id: SessionId) -> bool {
        let Some(next) = self.state.sessions.get(&id).and_then(|s| self.state.next_for(s)) else {
            return false;
        };
        if !self.may_begin_turn(id) {
            return false;
        }
        if self.is_spent(id) {
            self.renew_reserve(id);
        }
        match next {
            Next::GoesOn => self.go_on_where_cut(id),
            Next::Prompt(prompt) => self.hand(*prompt),
        }
        true
    }

    pub(super) fn hand(&mut self, mut prompt: Prompt) {
        let what = self.prompt_order(&prompt);
        let session = prompt.session;
        let order = self.order(session, what);
        prompt.state = PromptState::Handed { order, at: self.now };
        self.put(Row::Prompt(prompt));
    }

    /// A prompt as its session gets it: a brief says whose words it is, and the Lord gets with a
    /// person's words where everything stands at that moment.
    fn prompt_order(&self, prompt: &Prompt) -> OrderKind {
        let (text, form) = match &prompt.by {
            Some(_) if prompt.form == PromptForm::Text => {
                (self.with_digest(prompt), PromptForm::Text)
            }
            Some(_) => (prompt.text.clone(), prompt.form),
            None if prompt.goes_on.is_some() => (prompt.text.clone(), PromptForm::Own),
            None if prompt.form == PromptForm::Own => (prompt.text.clone(), PromptForm::Own),
            None if prompt.of_step.is_some() => (prompt.text.clone(), PromptForm::Others),
            None if prompt.mails.is_empty() => {
                (self.brief(prompt.session, &prompt.text), PromptForm::Others)
            }
            None => (prompt.text.clone(), PromptForm::Others),
        };
        OrderKind::Prompt { prompt: prompt.id, text, form }
    }

    /// The holder answers: whatever it was told and has not settled is told again under the same ids.
    pub(super) fn linked(&mut self, id: SessionId, run: u32) {
        if self.state.sessions.get(&id).is_none_or(|s| s.run != run) {
            return;
        }
        let handed = self.state.line_of(id).filter_map(|prompt| match &prompt.state {
            PromptState::Handed { order, .. } => {
                Some(Order { id: *order, what: self.prompt_order(prompt) })
            }
            PromptState::Queued | PromptState::Taken { .. } | PromptState::Refused { .. } => None,
        });
        let asked = |gate: &Gate| {
            gate.request().filter(|waits| waits.session == id && waits.run == run).cloned()
        };
        let answers = self.state.gates.values().filter_map(|gate| Some((gate, asked(gate)?)));
        let answers = answers.filter_map(|(gate, waits)| match &gate.state {
            GateState::Answered { answer, order } => Some(Order {
                id: *order,
                what: OrderKind::Answer {
                    request: waits.request,
                    decision: answer.decision.clone(),
                },
            }),
            GateState::Open | GateState::Taken { .. } | GateState::Closed { .. } => None,
        });
        let session = self.state.sessions.get(&id);
        let interrupt = session.and_then(|s| s.interrupting.clone());
        let ending = session.and_then(|s| s.ending.as_ref()).map(|ending| ending.order.clone());
        let beside = self.mail_orders_of(id);
        let told = interrupt.into_iter().chain(handed).chain(beside).chain(answers).chain(ending);
        let orders: Vec<_> = told.collect();
        for order in orders {
            self.effect(Effect::Order { session: id, run, order });
        }
    }

    /// Without a last report nobody saw how the program ended.
    pub(super) fn holder_gone(&mut self, id: SessionId, run: u32) {
        let live = self.state.sessions.get(&id).is_some_and(|s| s.run == run && s.life.is_live());
        if live {
            self.exited_unseen(id);
        }
    }

    fn exited_unseen(&mut self, id: SessionId) {
        let last_seq = self.state.sessions.get(&id).map_or(0, |s| s.last_seq);
        let run = self.state.sessions.get(&id).map_or(0, |s| s.run);
        let what = AgentEvent::Exited { how: ExitStatus::Unknown, last: vec![] };
        let report = crate::agent::Report { seq: last_seq + 1, at: self.now, what };
        self.report(id, run, report);
    }

    pub(super) fn launch_failed(&mut self, id: SessionId, run: u32, why: &str) {
        let Some(session) = self.state.sessions.get(&id).cloned() else { return };
        if session.run != run || !session.life.is_live() {
            return;
        }
        let at = self.now;
        let life = match &session.ending {
            Some(ending) => Life::Ended { at, how: self.ended_by(&ending.by) },
            None => Life::Lost { at, why: "could not be started".into() },
        };
        self.change(id, |s| {
            s.life = life.clone();
            s.launching = None;
            s.ending = None;
            s.token = None;
        });
        let about = About { session: Some(id), ..About::default() };
        self.journal("launch_failed", about, json!({ "why": why }));
        self.close_gates_of(id, &life, &format!("{} could not be started", session.name));
        self.cut_of_gone(id, session.ending.is_some());
        self.step_prompts_of_gone(id, true);
        self.keep_line(id);
        let (level, kept) = match life {
            // It should not run, and it does not.
            Life::Ended { .. } => (Level::Note, ""),
            Life::Starting { .. }
            | Life::Idle { .. }
            | Life::Working { .. }
            | Life::NeedsDesk { .. }
            | Life::Lost { .. } => (Level::Ring, " What you wrote is kept."),
        };
        let words = format!("{} could not be started: {why}.{kept}", session.name);
        let buttons = vec![super::reports::resume_button(&session)];
        let note = super::show::note(level, Rich::plain(words), buttons);
        if level == Level::Ring {
            let words = format!("could not be started: {why}");
            self.happened(&self.state.cause_in(Kind::Failure, id), &words);
            self.post_news(Kind::Failure, id, &note, Rank::Gate);
        } else {
            self.post_to_session(id, &note, Rank::Gate);
        }
        self.say_who_goes_on(id);
        self.show_thread(id);
        self.hand_over_gone(id);
    }

    pub(super) fn prepared(&mut self, id: SessionId, run: u32, cwd: String, branch: String) {
        if self.state.sessions.get(&id).is_some_and(|s| s.run == run) {
            self.change(id, |s| {
                s.worktree = Some(Worktree { path: cwd.clone(), branch });
                s.cwd = cwd;
            });
        }
    }

    /// Starts the program of a session that has none.
    pub(super) fn launch(&mut self, id: SessionId, how: Launch) {
        let since = self.now;
        self.change(id, |s| {
            s.run += 1;
            // The program to come has one of its own; whatever is left of the last speaks no more.
            s.token = None;
            s.life = Life::Starting { since };
            s.turn = None;
            (s.silent, s.stuck) = (None, None);
            s.ending = None;
            s.interrupting = None;
            s.spent.new_run();
            s.launching = Some(how.clone());
        });
        match how {
            Launch::New { .. } => self.bury_mail_of_predecessors(id),
            Launch::Resume { .. } => {}
        }
        if let Some(session) = self.state.sessions.get(&id).cloned() {
            self.effect(Effect::Launch { session: Box::new(session), how });
        }
        self.show_thread(id);
    }

    /// Interrupts the turn; what waits in the line goes in afterwards.
    pub(super) fn interrupt(&mut self, id: SessionId) {
        self.journal_session("interrupt_ordered", id);
        if self.drop_cut(id) {
            return;
        }
        let what = OrderKind::Interrupt;
        let order = Order { id: self.order(id, what.clone()), what };
        self.change(id, |s| {
            s.interrupting = Some(order);
            // Whoever stops it does not want it to go on by itself.
            if let Some(turn) = &mut s.turn {
                turn.out_of_money = false;
            }
        });
    }

    pub(super) fn put_session(&mut self, session: crate::session::Session) {
        self.put(Row::Session(session));
    }
}
