//! What a session's holder reports.

use chrono::TimeDelta;
use serde_json::json;
use std::fmt::Write as _;

use super::{About, Effect, Work, outbox::Draft, runs::TurnEnd, show};
use crate::{
    Timestamp,
    agent::{AgentEvent, Doing, ExitStatus, FailureKind, Held, RefusedPrompt, Report},
    bridge::{Action, Body, Button, Level, Mark, Post, Progress, Weight},
    delivery::{DeliveryState, Outgoing, Rank, Shown},
    gate::Asker,
    id::{HumanId, PromptId, SessionId, TurnId},
    outage::Why,
    prompt::{Prompt, PromptState},
    ringing::Kind,
    session::{Begun, Ended, EndedBy, Life, Session, Silent, Turn, exit_words},
    state::{AnswerRow, Row, State},
    text::{self, Rich, Style},
};

/// Lines of progress shown at a time.
const PROGRESS_LINES: usize = 4;

/// Longest progress line; a longer one is one argument's text.
const PROGRESS_WIDTH: usize = 140;

/// Longest last answer that is kept whole for who waits for it, in bytes: a model reads no longer one.
const LONGEST_ANSWER: usize = 64 * 1024;

/// A turn that lasts longer is shown though nothing is told of it, so that it can be stopped.
const QUIET_TURN: TimeDelta = TimeDelta::seconds(3);

/// When the next turn has to be shown though nothing is told of it.
pub(super) fn next_late_progress(state: &State) -> Option<Timestamp> {
    unshown(state).map(|(_, since)| since + QUIET_TURN).min()
}

fn unshown(state: &State) -> impl Iterator<Item = (SessionId, Timestamp)> {
    let turns = state.live().filter_map(|session| Some((session.id, session.turn.as_ref()?)));
    // A card says already what a turn does that waits for an answer.
    let waits = |id| state.open_gates_of(id).any(|gate| gate.is_by(Asker::Request));
    turns
        .filter(move |(id, turn)| turn.shown.is_empty() && !waits(*id))
        .map(|(id, turn)| (id, turn.since))
}

/// Prompts whose late receipt is still understood.
const UNSURE: usize = 100;

impl Work<'_> {
    pub(super) fn report(&mut self, id: SessionId, run: u32, report: Report) {
        let Some(mut session) = self.state.sessions.get(&id).cloned() else { return };
        if session.run != run || report.seq <= session.last_seq {
            self.effect(Effect::Acknowledge { session: id, run, seq: report.seq });
            return;
        }
        session.last_seq = report.seq;
        if !matches!(report.what, AgentEvent::Silent { .. }) {
            session.heard = Some(self.now);
        }
        self.put(Row::Session(session));
        self.sign_of_life(id, &report.what);
        self.apply(id, run, report.at, report.what);
        self.effect(Effect::Acknowledge { session: id, run, seq: report.seq });
    }

    fn apply(&mut self, id: SessionId, run: u32, at: Timestamp, what: AgentEvent) {
        match what {
            AgentEvent::Started { pid, version, conversation } => {
                let detail = json!({ "pid": pid, "version": version });
                self.change(id, |s| {
                    s.conversation = conversation.or(s.conversation.take());
                    s.launching = None;
                });
                self.journal(
                    "session_started",
                    About { session: Some(id), ..About::default() },
                    detail,
                );
            }
            AgentEvent::Conversation { id: conversation, .. } => {
                self.change(id, |s| s.conversation = Some(conversation));
            }
            AgentEvent::Now { doing } => self.now_doing(id, doing),
            AgentEvent::PromptTaken { prompt, turn } => self.prompt_taken(id, prompt, turn),
            AgentEvent::PromptHeld { prompt, why } => self.prompt_held(prompt, why),
            AgentEvent::PromptRefused { prompt, why } => self.prompt_refused(id, prompt, why),
            AgentEvent::MailTaken { mail } => self.mail_taken(id, mail),
            AgentEvent::MailReturned { mail } => self.mail_returned(id, mail),
            AgentEvent::Token { hash } => self.change(id, |s| s.token = Some(hash)),
            AgentEvent::ForeignTurn { turn, text } => self.foreign_turn(id, turn, &text),
            AgentEvent::Asked { request, ask } => self.asked(id, run, request, ask),
            AgentEvent::Denied { call } => self.tool_denied(id, &call),
            AgentEvent::Settled { request, how } => self.settled(id, run, &request, &how),
            AgentEvent::Progress { turn, line } => self.progress(id, turn, &line),
            AgentEvent::Finished { turn, text, provisional } => {
                self.finished(id, turn, &text, provisional);
            }
            AgentEvent::TurnFailed { kind, text, .. } => self.turn_failed(id, at, kind, &text),
            AgentEvent::Interrupted { .. } => self.interrupted(id),
            AgentEvent::Compacted => {
                let words = "The context was compacted; the turn goes on.";
                self.post_notice(id, Rich::plain(words));
            }
            AgentEvent::Cost { micro_usd, input_tokens, output_tokens } => {
                self.told_cost(id, |spent| spent.update(micro_usd, input_tokens, output_tokens));
            }
            AgentEvent::Usage { entries } => self.session_used(id, entries),
            AgentEvent::Degraded { what } => {
                let name = self.session_name(id);
                self.tell(id, Level::Ring, &format!("{name}: {what}"), vec![]);
            }
            AgentEvent::Silent { since, running, call } => {
                self.change(id, |s| s.silent = Some(Silent { since, running, call }));
            }
            AgentEvent::Stirs => self.change(id, |s| s.silent = None),
            AgentEvent::Exited { how, last } => self.exited(id, how, &last),
        }
    }

    pub(super) fn change(&mut self, id: SessionId, change: impl FnOnce(&mut Session)) {
        if let Some(mut session) = self.state.sessions.get(&id).cloned() {
            change(&mut session);
            self.put(Row::Session(session));
        }
    }

    pub(super) fn session_name(&self, id: SessionId) -> String {
        self.state.sessions.get(&id).map(|s| s.name.to_string()).unwrap_or_default()
    }

    fn now_doing(&mut self, id: SessionId, doing: Doing) {
        let Some(session) = self.state.sessions.get(&id) else { return };
        let since = self.now;
        let life = match doing {
            Doing::Starting => Life::Starting { since },
            Doing::Idle => Life::Idle { since },
            // A session that waits for a gate works; the gate says the rest.
            Doing::Working | Doing::Waiting => Life::Working { since },
            Doing::NeedsDesk { why, screen } => return self.needs_desk(id, &why, &screen),
        };
        if session.life.look() == life.look() || !session.life.is_live() {
            return;
        }
        let idle = matches!(life, Life::Idle { .. });
        self.change(id, |s| s.life = life);
        if idle {
            self.mail_read_in_turn(id);
        }
        self.journal_session("session_state", id);
        self.show_thread(id);
    }

    fn needs_desk(&mut self, id: SessionId, why: &str, screen: &[String]) {
        let name = self.session_name(id);
        self.change(id, |s| s.life = Life::NeedsDesk { since: s.life.since(), why: why.into() });
        let now = self.now;
        self.change(id, |s| {
            if let Life::NeedsDesk { since, .. } = &mut s.life {
                *since = now;
            }
        });
        let mut text = Rich::plain(format!("{name} needs you at the desk: {why}.\n"));
        text.push(&screen_text(screen), Some(Style::Pre { language: None }));
        text.push(&format!("\nvigie attach {name}"), Some(Style::Code));
        self.happened(&self.state.cause_in(Kind::Stuck, id), &format!("needs the desk: {why}"));
        self.post_news(Kind::Stuck, id, &show::note(Level::Ring, text, vec![]), Rank::Gate);
        self.show_thread(id);
    }

    fn prompt(&self, id: PromptId) -> Option<Prompt> {
        self.state.prompts.values().find(|p| p.id == id).cloned()
    }

    fn prompt_taken(&mut self, id: SessionId, prompt: PromptId, turn: Option<TurnId>) {
        self.mail_read_in_turn(id);
        let unsure = self.state.unsure.iter().position(|p| p.id == prompt);
        let late = unsure.and_then(|at| self.state.unsure.remove(at));
        let known = self.prompt(prompt).or(late);
        let by = known.as_ref().and_then(|prompt| prompt.by.clone());
        if let Some(mut prompt) = known {
            prompt.state = PromptState::Taken { at: self.now };
            self.put(Row::Prompt(prompt.clone()));
            let about = About { session: Some(id), gate: None, human: prompt.by.clone() };
            self.journal("prompt_taken", about, json!({ "prompt": prompt.id }));
            self.mark_taken(&prompt);
            self.stirred_by(&prompt);
            let asked = prompt.by.as_ref().map(|_| shortened(&prompt.text));
            self.begin_turn(id, turn, by);
            self.change(id, |s| {
                if let Some(turn) = &mut s.turn {
                    turn.asked = asked;
                }
            });
            if let Some(cut) = prompt.goes_on {
                return self.cut_turn_begins(id, *cut);
            }
            if let Some(of_step) = prompt.of_step {
                self.step_turn_begins(id, of_step);
            }
            return;
        }
        self.begin_turn(id, turn, by);
    }

    /// The receipt counts everybody a message went to.
    fn mark_taken(&mut self, prompt: &Prompt) {
        let Some(message) = prompt.message.clone() else { return };
        let waits = |p: &&Prompt| p.message.as_ref().is_some_and(|m| m.heard == message.heard);
        let left: Vec<_> = self
            .state
            .prompts
            .values()
            .filter(waits)
            .map(|p| self.session_name(p.session))
            .collect();
        let targets = message.targets.clone();
        if left.is_empty() {
            return self.mark(&message, Mark::Taken { targets, at: self.now });
        }
        let words = format!(
            "taken by {} of {}; {} next",
            targets.len() - left.len(),
            targets.len(),
            left.join(", ")
        );
        self.mark_stored_as(&message, Some(words));
    }

    fn begin_turn(&mut self, id: SessionId, turn: Option<TurnId>, by: Option<HumanId>) {
        let since = self.now;
        self.change(id, |s| {
            s.life = Life::Working { since };
            s.denied.clear();
            s.counted = None;
            s.spent.before_turn = s.spent.micro_usd;
            s.turn = Some(Turn {
                out_of_money: false,
                id: turn,
                by,
                begun: Begun::Elsewhere,
                since,
                lines: Vec::new(),
                shown: Vec::new(),
                finals: 0,
                of_step: None,
                asked: None,
            });
        });
        self.show_thread(id);
    }

    fn prompt_held(&mut self, prompt: PromptId, why: Held) {
        let Some(prompt) = self.prompt(prompt) else { return };
        let Some(message) = prompt.message.clone() else { return };
        let name = self.session_name(prompt.session);
        let words = match why {
            Held::Starting => format!("{name} takes it when it has started"),
            Held::Busy => format!("{name} takes it after this turn"),
            Held::Dialog => format!("{name} takes it when its dialog is answered"),
            Held::DeskTyping => {
                format!("somebody types at the desk of {name}; it goes in after that")
            }
        };
        self.mark_stored_as(&message, Some(words));
    }

    fn prompt_refused(&mut self, id: SessionId, prompt: PromptId, why: RefusedPrompt) {
        let Some(mut prompt) = self.prompt(prompt) else { return };
        if prompt.goes_on.is_some() {
            return self.going_on_refused(id, prompt, &why);
        }
        if !prompt.mails.is_empty() {
            return self.mail_prompt_refused(prompt, &why);
        }
        if prompt.of_step.is_some() {
            return self.step_prompt_refused(id, prompt, why);
        }
        let name = self.session_name(id);
        let words = match why {
            // The daemon keeps it: it goes in first when the session is resumed.
            RefusedPrompt::Gone => {
                prompt.state = PromptState::Queued;
                self.put(Row::Prompt(prompt.clone()));
                return self.mark_stored(&prompt);
            }
            RefusedPrompt::Withdrawn => "taken back before it went in".to_owned(),
            RefusedPrompt::NoSignal => {
                self.doubt_prompt(prompt.clone());
                format!(
                    "typed into {name}, but it never said it took it. Look at the desk: vigie attach {name}"
                )
            }
            RefusedPrompt::Empty => {
                "nothing is left of it once invisible characters are gone".to_owned()
            }
            RefusedPrompt::ByAgent { reason } => format!("{name} refused it: {reason}"),
        };
        prompt.state = PromptState::Refused { why: words.clone(), at: self.now };
        self.put(Row::Prompt(prompt.clone()));
        self.journal(
            "prompt_refused",
            About { session: Some(id), ..About::default() },
            json!({ "why": words }),
        );
        match &prompt.message {
            Some(message) => self.mark(message, Mark::NotTaken { why: words }),
            None => {
                self.tell(id, Level::Ring, &format!("A message was not taken: {words}"), vec![]);
            }
        }
    }

    /// It was typed, and the agent's own word that it has it may still come.
    pub(super) fn doubt_prompt(&mut self, prompt: Prompt) {
        self.state.unsure.push_front(prompt);
        self.state.unsure.truncate(UNSURE);
    }

    fn foreign_turn(&mut self, id: SessionId, turn: Option<TurnId>, text: &str) {
        self.mail_read_in_turn(id);
        self.begin_turn(id, turn, None);
        // Without any it goes on by itself.
        if !text.trim().is_empty() {
            self.change(id, |s| {
                if let Some(turn) = &mut s.turn {
                    turn.begun = Begun::Desk;
                }
            });
            // Whoever writes at the desk goes on with it themselves.
            self.taken_up(id);
        } else if self.may_go_on_by_itself(id) {
            self.taken_up(id);
        }
        let name = self.session_name(id);
        self.show_foreign_words(id, &format!("At the desk of {name}: "), text);
    }

    /// The thread shows what the session was told, wherever that was said.
    pub(super) fn show_foreign_words(&mut self, id: SessionId, whose: &str, text: &str) {
        let words = show::last_words(&text::mask(text).text);
        if !words.is_empty() {
            let mut rich = Rich::plain(whose);
            rich.push(&text::reveal(&words).text.text, Some(Style::Italic));
            self.post_notice(id, rich);
        }
    }

    fn progress(&mut self, id: SessionId, turn: Option<TurnId>, line: &str) {
        let line: String =
            text::mask(line).text.replace('\n', " ").chars().take(PROGRESS_WIDTH).collect();
        if self.state.sessions.get(&id).is_some_and(|s| s.turn.is_none()) {
            self.begin_turn(id, turn, None);
        }
        self.account_answers(id);
        self.change(id, |s| {
            if let Some(turn) = &mut s.turn {
                turn.lines.push(line);
                let extra = turn.lines.len().saturating_sub(PROGRESS_LINES);
                turn.lines.drain(..extra);
            }
        });
        self.show_progress(id, None);
        self.show_thread(id);
    }

    pub(super) fn show_late_progress(&mut self) {
        let late = unshown(self.state).filter(|(_, since)| *since + QUIET_TURN <= self.now);
        for (id, _) in late.collect::<Vec<_>>() {
            self.show_progress(id, None);
        }
    }

    /// One message a turn, edited in place; at its end it becomes one line.
    fn show_progress(&mut self, id: SessionId, ended: Option<String>) {
        let Some(session) = self.state.sessions.get(&id).cloned() else { return };
        let Some(turn) = session.turn else { return };
        if ended.is_some() && turn.shown.is_empty() {
            return;
        }
        let stop = Button {
            label: "Stop".into(),
            detail: None,
            weight: Weight::Plain,
            action: Action::Interrupt { session: id },
        };
        let buttons = if ended.is_some() { vec![] } else { vec![stop] };
        let lines = if turn.lines.is_empty() { vec!["working".into()] } else { turn.lines };
        let body = Body::Progress(Progress { lines, since: turn.since, ended, buttons });
        let post = Post { from: Some(session.name), level: Level::Log, body };
        if turn.shown.is_empty() {
            let shown = self.post_progress(id, &post, turn.since);
            self.change(id, |s| {
                if let Some(turn) = &mut s.turn {
                    turn.shown = shown;
                }
            });
        } else {
            self.change_progress(&turn.shown, &post);
        }
    }

    /// Where calls are counted, a turn that is over in a moment needs no progress at all.
    fn post_progress(&mut self, id: SessionId, post: &Post, since: Timestamp) -> Vec<Shown> {
        let session = Some(id);
        let chats = self.state.hearing();
        let posts = chats.iter().map(|chat| {
            let counted = self.state.limits_of(&chat.bridge, &chat.chat).budget.is_some();
            let to = self.session_target(chat, id);
            let what = Outgoing::Post { post: post.clone(), reply_to: None };
            let not_before = counted.then_some(since + QUIET_TURN);
            let (rank, newest) = (Rank::Progress, None);
            let draft = Draft { to: to.clone(), what, rank, session, newest, not_before };
            Shown { delivery: self.deliver(draft), to }
        });
        posts.collect()
    }

    /// What was not sent yet is changed where it waits, or not sent at all once the turn is over.
    pub(super) fn change_progress(&mut self, shown: &[Shown], post: &Post) {
        let ended = matches!(&post.body, Body::Progress(Progress { ended: Some(_), .. }));
        let mut sent = Vec::new();
        for one in shown {
            let waits = self
                .state
                .deliveries
                .values()
                .find(|d| d.id == one.delivery && matches!(d.state, DeliveryState::Due { .. }));
            match waits.cloned() {
                None => sent.push(one.clone()),
                Some(mut waiting) => {
                    if ended {
                        waiting.state = DeliveryState::Replaced;
                    } else {
                        waiting.what = Outgoing::Post { post: post.clone(), reply_to: None };
                    }
                    self.put(Row::Delivery(waiting));
                }
            }
        }
        self.edit_all(&sent, post, Rank::Progress);
    }

    pub(super) fn end_turn(&mut self, id: SessionId, verb: &str) {
        let since =
            self.state.sessions.get(&id).and_then(|s| s.turn.as_ref()).map(|turn| turn.since);
        if let Some(since) = since {
            self.show_progress(id, Some(format!("{verb} {}", show::span(since, self.now))));
        }
        self.change(id, |s| {
            s.turn = None;
            s.interrupting = None;
        });
    }

    fn finished(&mut self, id: SessionId, _turn: Option<TurnId>, text: &str, provisional: bool) {
        self.account_answers(id);
        let level = self.level_of_answer(id);
        let of_step = self.turn_of_step(id).filter(|_| !provisional);
        if provisional {
            self.progress(id, None, "background work goes on");
        } else {
            self.end_turn(id, "worked");
        }
        self.step_turn_ends(id, of_step, &TurnEnd::Said(text));
        self.change(id, |s| s.last_words = Some(show::last_words(&text::mask(text).text)));
        self.keep_answer(id, text);
        self.mail_read_in_turn(id);
        self.journal_session("turn_finished", id);
        if !provisional {
            self.happened(&self.state.cause_in(Kind::Done, id), text);
        }
        if let Some(level) = level {
            self.post_answer(id, text, level);
        }
        self.show_thread(id);
    }

    /// The whole of it, for whoever waits for it.
    pub(super) fn keep_answer(&mut self, session: SessionId, text: &str) {
        let masked = text::mask(text).text;
        let mut text = masked.clone();
        if masked.len() > LONGEST_ANSWER {
            let end = (0..=LONGEST_ANSWER).rev().find(|at| masked.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
            let left = masked.len() - text.len();
            let _ = write!(text, "\n\n(cut here: {left} more bytes stand in its transcript)");
        }
        self.put(Row::Answer(AnswerRow { session, at: self.now, text }));
    }

    /// A turn came to no answer: whoever waits must not take the one before for it.
    fn keep_no_answer(&mut self, id: SessionId, why: &str) {
        if self.state.sessions.get(&id).is_some_and(|s| s.turn.is_some()) {
            self.keep_answer(id, &format!("(no answer: {why})"));
        }
    }

    fn turn_failed(&mut self, id: SessionId, at: Timestamp, kind: FailureKind, text: &str) {
        if let Some(why) = Why::of(kind) {
            return self.cut_off(id, why, at, text);
        }
        self.account_answers(id);
        let name = self.session_name(id);
        let what =
            if kind == FailureKind::Request { "was refused by its service" } else { "failed" };
        let said = text::mask(text).text;
        self.keep_answer(id, &format!("(no answer: {name} {what}: {})", said.trim()));
        let of_step = self.turn_of_step(id);
        self.end_turn(id, "failed after");
        let why = format!("{name} {what}: {}", said.trim());
        self.step_turn_ends(id, of_step, &TurnEnd::Failed(why));
        self.mail_read_in_turn(id);
        self.change(id, |s| s.last_words = Some(show::last_words(&format!("{what}: {said}"))));
        self.journal(
            "turn_failed",
            About { session: Some(id), ..About::default() },
            json!({ "kind": kind }),
        );
        let mut rich =
            Rich::plain(format!("{name} {what}. The session goes on; write to it to try again.\n"));
        rich.push(said.trim(), Some(Style::Quote));
        let cause = self.state.cause_in(Kind::Failure, id);
        self.happened(&cause, &format!("{what}: {}", said.trim()));
        self.post_news(Kind::Failure, id, &show::note(Level::Ring, rich, vec![]), Rank::Final);
        self.show_thread(id);
    }

    fn interrupted(&mut self, id: SessionId) {
        self.keep_no_answer(id, "the turn was interrupted");
        let out_of_money = self.state.sessions.get(&id).and_then(|s| s.turn.as_ref());
        if out_of_money.is_some_and(|turn| turn.out_of_money) {
            return self.cut_off_for_money(id);
        }
        let of_step = self.turn_of_step(id);
        self.end_turn(id, "stopped after");
        let why = format!("the turn of {} was interrupted", self.session_name(id));
        self.step_turn_ends(id, of_step, &TurnEnd::Failed(why));
        self.mail_read_in_turn(id);
        let name = self.session_name(id);
        self.journal_session("turn_interrupted", id);
        let next = match self.kept_words(id, "/") {
            _ if self.state.line_of(id).next().is_none() => String::new(),
            None => " What waits goes in now.".into(),
            Some(words) => format!(" What waits is kept: {words}."),
        };
        self.tell(id, Level::Note, &format!("{name} stopped; its context is kept.{next}"), vec![]);
    }

    fn exited(&mut self, id: SessionId, how: ExitStatus, last: &[String]) {
        let Some(session) = self.state.sessions.get(&id).cloned() else { return };
        let at = self.now;
        let words = exit_words(how);
        self.keep_no_answer(id, &format!("its program ended in the middle of the turn ({words})"));
        let of_step = self.turn_of_step(id);
        self.end_turn(id, "cut off after");
        let end = match how {
            ExitStatus::Unknown => TurnEnd::Unseen,
            ExitStatus::Code { .. } | ExitStatus::Signal { .. } => TurnEnd::Failed(format!(
                "{} ended in the middle of the turn ({words})",
                session.name
            )),
        };
        self.step_turn_ends(id, of_step, &end);
        self.cut_of_gone(id, session.ending.is_some());
        let life = match (&session.ending, how) {
            (Some(ending), _) => Life::Ended { at, how: self.ended_by(&ending.by) },
            (None, ExitStatus::Code { code: 0 }) => Life::Ended { at, how: Ended::Itself },
            (None, ExitStatus::Code { .. } | ExitStatus::Signal { .. } | ExitStatus::Unknown) => {
                Life::Lost { at, why: words.clone() }
            }
        };
        self.change(id, |s| {
            s.life = life.clone();
            s.ending = None;
            s.token = None;
        });
        self.journal(
            "session_exited",
            About { session: Some(id), ..About::default() },
            json!({ "how": how }),
        );
        self.close_gates_of(id, &life, &format!("{} ended ({words})", session.name));
        self.mail_of_gone(id);
        self.step_prompts_of_gone(id, how != ExitStatus::Unknown);
        if how == ExitStatus::Unknown {
            self.doubt_handed(id);
        }
        self.keep_line(id);
        self.say_exit(&session, &life, &words, last);
        self.say_who_goes_on(id);
        self.show_thread(id);
        self.hand_over_gone(id);
    }

    pub(super) fn ended_by(&self, by: &EndedBy) -> Ended {
        match by {
            EndedBy::Human(human) => Ended::By { human: human.clone() },
            EndedBy::Agent(agent) => Ended::ByAgent { name: self.principal_name(agent) },
        }
    }

    /// The holder died with the program: whether the agent read what was handed is not known, so
    /// it is not handed a second time by itself.
    fn doubt_handed(&mut self, id: SessionId) {
        let handed = |p: &&Prompt| p.session == id && matches!(p.state, PromptState::Handed { .. });
        let name = self.session_name(id);
        for mut prompt in self.state.prompts.values().filter(handed).cloned().collect::<Vec<_>>() {
            let why = format!(
                "{name} died while it was handed over; send it again if {name} does not know it"
            );
            prompt.state = PromptState::Refused { why: why.clone(), at: self.now };
            self.put(Row::Prompt(prompt.clone()));
            match &prompt.message {
                Some(message) => self.mark(message, Mark::NotTaken { why }),
                None => self.tell(
                    id,
                    Level::Ring,
                    &format!("“{}”: {why}", show::last_words(&prompt.text)),
                    vec![],
                ),
            }
        }
    }

    /// What was handed and not taken goes back into the line, for a resume.
    pub(super) fn keep_line(&mut self, id: SessionId) {
        let handed = |p: &&Prompt| p.session == id && matches!(p.state, PromptState::Handed { .. });
        for mut prompt in self.state.prompts.values().filter(handed).cloned().collect::<Vec<_>>() {
            prompt.state = PromptState::Queued;
            self.put(Row::Prompt(prompt));
        }
        for prompt in self.state.line_of(id).cloned().collect::<Vec<_>>() {
            self.mark_stored(&prompt);
        }
    }

    fn say_exit(&mut self, session: &Session, life: &Life, words: &str, last: &[String]) {
        let name = &session.name;
        let unwanted = matches!(life, Life::Lost { .. });
        let mut text = Rich::plain(match life {
            Life::Lost { .. } => format!("{name} stopped with {words}."),
            Life::Ended { how: Ended::ByAgent { name: agent }, .. } => {
                format!("{name} ended: {agent} ended it.")
            }
            Life::Starting { .. }
            | Life::Idle { .. }
            | Life::Working { .. }
            | Life::NeedsDesk { .. }
            | Life::Ended { .. } => format!("{name} ended."),
        });
        if unwanted && last.iter().any(|line| !line.trim().is_empty()) {
            // A rule across the screen is three lines on a phone and says nothing.
            let told =
                |line: &&String| line.trim().is_empty() || line.chars().any(char::is_alphanumeric);
            let last: Vec<String> = last.iter().filter(told).cloned().collect();
            text.push(" Its last lines:\n", None);
            text.push(&screen_text(&last), Some(Style::Pre { language: None }));
        }
        let resumes = session.conversation.is_some() && session.handing_over.is_none();
        let buttons = if resumes { vec![resume_button(session)] } else { vec![] };
        if unwanted {
            let cause = self.state.cause_in(Kind::Failure, session.id);
            self.happened(&cause, &format!("stopped with {words}"));
            let post = show::note(Level::Ring, text, buttons);
            return self.post_news(Kind::Failure, session.id, &post, Rank::Final);
        }
        let post = show::note(Level::Note, text, buttons);
        self.post_to_session(session.id, &post, Rank::Final);
    }
}

/// A person's words as they are quoted to whoever goes on with them.
fn shortened(words: &str) -> String {
    const MOST: usize = 4_000;
    let masked = text::mask(words).text;
    if masked.chars().count() <= MOST {
        return masked;
    }
    let mut short: String = masked.chars().take(MOST).collect();
    short.push('…');
    short
}

pub(super) fn resume_button(session: &Session) -> Button {
    Button {
        label: format!("Resume {}", session.name),
        detail: None,
        weight: Weight::Plain,
        action: Action::Resume { session: session.id },
    }
}

/// The screen without its empty edges, masked, hidden characters made visible.
pub(super) fn screen_text(lines: &[String]) -> String {
    let first = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(first, |at| at + 1);
    let joined = lines[first..last].join("\n");
    let masked = text::mask(&joined).text;
    if masked.is_empty() { "(an empty screen)".into() } else { masked }
}
