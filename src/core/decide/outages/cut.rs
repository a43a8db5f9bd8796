//! Turns that their account's trouble cut off, and how they go on.

use serde_json::json;

use super::words;
use crate::{
    Timestamp,
    agent::{PromptForm, RefusedPrompt},
    bridge::Level,
    decide::{About, Work, runs::TurnEnd, show},
    id::{PromptId, SessionId},
    outage::{Cut, GO_ON, Why},
    prompt::{OfStep, Prompt, PromptState},
    session::{Session, TurnOfStep},
    state::Row,
    text,
};

impl Work<'_> {
    /// A turn ended since its account is stopped: it goes on when that is over.
    pub(in crate::decide) fn cut_off(
        &mut self,
        id: SessionId,
        why: Why,
        at: Timestamp,
        said: &str,
    ) {
        let Some(session) = self.state.sessions.get(&id).cloned() else { return };
        let account = self.state.rules.accounts.of(&session.agent);
        self.account_fails(&account, why, at, said);
        let said = text::mask(said.trim()).text;
        let trouble = self.state.troubles.get(&account);
        let what = trouble.map(|trouble| words::short(trouble, self.zone())).unwrap_or_default();
        let name = &session.name;
        self.keep_answer(id, &format!("(no answer: {name} {what}: {said})"));
        let cut = self.cut_of(&session);
        self.end_turn(id, "cut off after");
        self.mail_read_in_turn(id);
        let last = show::last_words(&format!("{what}: {said}"));
        if session.interrupting.is_some() {
            // It was to stop anyway.
            let end = TurnEnd::Failed(format!("the turn of {name} was interrupted"));
            self.step_turn_ends(id, cut.of_step.map(|of| *of), &end);
            self.change(id, |s| s.cut = None);
        } else {
            self.change(id, |s| s.cut = Some(Box::new(cut)));
        }
        self.change(id, |s| s.last_words = Some(last));
        let about = About { session: Some(id), ..About::default() };
        self.journal("turn_cut_off", about, json!({ "why": why, "account": account }));
        self.show_thread(id);
    }

    /// What of its turn goes on later.
    fn cut_of(&self, session: &Session) -> Cut {
        let (turn, before) = (session.turn.as_ref(), session.cut.as_deref());
        let of_step = turn.and_then(|turn| turn.of_step.clone());
        let by = turn.and_then(|turn| turn.by.clone());
        let asked = turn.and_then(|turn| turn.asked.clone());
        Cut {
            at: self.now,
            by: by.or_else(|| before.and_then(|cut| cut.by.clone())),
            asked: asked.or_else(|| before.and_then(|cut| cut.asked.clone())),
            of_step: of_step.or_else(|| before.and_then(|cut| cut.of_step.clone())),
        }
    }

    /// A turn was stopped since its money is used up: it goes on when there is more.
    pub(in crate::decide) fn cut_off_for_money(&mut self, id: SessionId) {
        let Some(session) = self.state.sessions.get(&id).cloned() else { return };
        let cut = Box::new(self.cut_of(&session));
        self.end_turn(id, "stopped after");
        self.mail_read_in_turn(id);
        self.change(id, |s| s.cut = Some(cut));
        self.journal_session("turn_out_of_money", id);
        self.show_thread(id);
    }

    /// Types the words with which a turn goes on.
    pub(in crate::decide) fn go_on_where_cut(&mut self, id: SessionId) {
        let Some(cut) = self.state.sessions.get(&id).and_then(|s| s.cut.clone()) else { return };
        self.change(id, |s| s.cut = None);
        let number = self.state.next_prompt;
        self.state.next_prompt += 1;
        let prompt = Prompt {
            id: self.ids.make(PromptId::from_parts),
            session: id,
            number,
            text: GO_ON.into(),
            form: PromptForm::Own,
            by: None,
            message: None,
            mails: Vec::new(),
            of_step: None,
            goes_on: Some(cut),
            state: PromptState::Queued,
        };
        self.show_foreign_words(id, &format!("Vigie to {}: ", self.session_name(id)), GO_ON);
        self.hand(prompt);
    }

    /// The agent goes on: the turn is whose it was.
    pub(in crate::decide) fn cut_turn_begins(&mut self, id: SessionId, cut: Cut) {
        if cut.of_step.as_ref().is_some_and(|of| !self.has_it(&of.step)) {
            // The run gave up waiting while these words were on their way.
            return self.interrupt(id);
        }
        self.change(id, |s| {
            if let Some(turn) = &mut s.turn {
                turn.by = cut.by;
                turn.asked = cut.asked;
                turn.of_step = cut.of_step;
            }
        });
    }

    /// Whether a turn that nobody began is the one that was cut off: Claude Code goes on by itself after a
    /// usage limit where nobody took that back (`autoContinueAtUsageLimit`, 2.1.332), and would be told twice.
    pub(in crate::decide) fn may_go_on_by_itself(&self, id: SessionId) -> bool {
        let session = self.state.sessions.get(&id).filter(|session| session.cut.is_some());
        let trouble = session.and_then(|session| self.state.trouble_of(&session.agent));
        trouble.is_some_and(|trouble| trouble.why == Why::Limit)
    }

    /// A turn that was cut off goes on without us: somebody writes at its desk, whose turn it is now, or
    /// its agent does so by itself.
    pub(in crate::decide) fn taken_up(&mut self, id: SessionId) {
        let Some(cut) = self.state.sessions.get(&id).and_then(|s| s.cut.clone()) else { return };
        self.change(id, |s| s.cut = None);
        self.cut_turn_begins(id, *cut);
    }

    pub(in crate::decide) fn going_on_refused(
        &mut self,
        id: SessionId,
        mut prompt: Prompt,
        why: &RefusedPrompt,
    ) {
        let Some(cut) = prompt.goes_on.clone() else { return };
        let name = self.session_name(id);
        prompt.state = PromptState::Refused { why: "it did not go in".into(), at: self.now };
        self.put(Row::Prompt(prompt.clone()));
        let (end, said) = match why {
            RefusedPrompt::Gone => return self.change(id, |s| s.cut = Some(cut)),
            RefusedPrompt::NoSignal => {
                self.doubt_prompt(prompt);
                (TurnEnd::Unseen, "it never said that it took these words")
            }
            RefusedPrompt::Withdrawn | RefusedPrompt::Empty | RefusedPrompt::ByAgent { .. } => {
                (TurnEnd::Failed(format!("{name} did not go on with it")), "it refused these words")
            }
        };
        self.step_turn_ends(id, cut.of_step.map(|of| *of), &end);
        let words = format!(
            "{name} did not go on where it was cut off: {said}. Write to it to go on, or look at the desk: vigie attach {name}"
        );
        self.tell(id, Level::Ring, &words, vec![]);
    }

    /// `/stop` where a turn was cut off and waits: it does not go on. `false`: there is none.
    pub(in crate::decide) fn drop_cut(&mut self, id: SessionId) -> bool {
        let session = self.state.sessions.get(&id);
        let cut = session.filter(|s| !s.is_in_a_turn()).and_then(|s| s.cut.clone());
        let Some(cut) = cut else { return false };
        self.change(id, |s| s.cut = None);
        let name = self.session_name(id);
        let end = TurnEnd::Failed(format!("the turn of {name} was interrupted"));
        self.step_turn_ends(id, cut.of_step.map(|of| *of), &end);
        let waits = match (self.state.line_of(id).count(), self.kept_words(id, "/")) {
            (0, _) | (_, None) => String::new(),
            (1, Some(words)) => format!(" 1 message is kept: {words}."),
            (queued, Some(words)) => format!(" {queued} messages are kept: {words}."),
        };
        let words =
            format!("{name} does not go on where it was cut off; its context is kept.{waits}");
        self.tell(id, Level::Note, &words, vec![]);
        self.show_thread(id);
        true
    }

    /// Its program is gone: what was to go on does when it is resumed, unless somebody ended it.
    pub(in crate::decide) fn cut_of_gone(&mut self, id: SessionId, wanted: bool) {
        let going = self.state.line_of(id).find(|prompt| prompt.goes_on.is_some()).cloned();
        if let Some(mut prompt) = going {
            let cut = prompt.goes_on.clone();
            prompt.state = PromptState::Refused { why: "its program is gone".into(), at: self.now };
            self.put(Row::Prompt(prompt));
            self.change(id, |s| s.cut = cut);
        }
        let Some(cut) = self.state.sessions.get(&id).and_then(|s| s.cut.clone()) else { return };
        let name = self.session_name(id);
        let end = TurnEnd::Failed(format!("{name} ended before it went on where it was cut off"));
        self.step_turn_ends(id, cut.of_step.clone().map(|of| *of), &end);
        self.change(id, |s| s.cut = (!wanted).then(|| Box::new(Cut { of_step: None, ..*cut })));
    }

    /// The run no longer wants what waits to go on for that step. `false`: nothing does.
    pub(in crate::decide) fn drop_cut_of_step(
        &mut self,
        id: SessionId,
        is_its: impl Fn(&OfStep) -> bool,
    ) -> bool {
        let of = |of: &TurnOfStep| is_its(&of.step);
        let cut = self.state.sessions.get(&id).and_then(|s| s.cut.as_deref());
        let its = cut.and_then(|cut| cut.of_step.as_deref()).is_some_and(of);
        if its {
            self.change(id, |s| s.cut = None);
            self.show_thread(id);
        }
        its
    }

    /// The session in which that step waits to go on.
    pub(in crate::decide) fn cut_with_step(&self, of_step: &OfStep) -> Option<SessionId> {
        let is_it = |cut: &Cut| cut.of_step.as_ref().is_some_and(|of| of.step == *of_step);
        let cut = self.state.live().find(|s| s.cut.as_deref().is_some_and(is_it)).map(|s| s.id);
        cut.or_else(|| {
            let mut prompts = self.state.prompts.values();
            prompts.find(|p| p.goes_on.as_deref().is_some_and(is_it)).map(|p| p.session)
        })
    }
}
