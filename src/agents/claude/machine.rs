//! What a Claude Code session is doing, from its hooks and its registry, and what follows from
//! it. No clock, no file, no terminal in here: `now` and a [`View`] go in, [`Act`]s come out.

mod ends;
mod mail;

use serde_json::Value;
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};
use vigie_core::{
    agent::{AgentEvent, Doing, FailureKind, Held, Order, OrderKind, PromptForm, RefusedPrompt},
    id::TurnId,
};

use self::{ends::Stop, mail::Mailbag};
use super::{
    input_box::{self, InputBox},
    registry::Status,
    text::{MAIL, PHONE, VIGIE, command_text, typed_text},
    typist::{Act, Gate, Prompt, Sight, Typist},
    usage::Cost,
};
use crate::agents::{
    HookCall,
    hooks::{self, BATCH_EVENT, Hook, HookEvent, ToolCall, shortened},
    requests::{Requests, Waits},
};

/// Its first keys can be lost right after it reached its prompt (seen: 0.6 s are enough).
const FIRST_KEYS_AFTER: Duration = Duration::from_millis(700);
/// Without a registry file this long after the start, a start-up question is on the screen.
const STARTS_WITHIN: Duration = Duration::from_secs(10);
/// A dialog this old without a request of ours needs the desk.
const NEEDS_DESK_AFTER: Duration = Duration::from_secs(3);
/// A request that the registry does not confirm within this is an alarm.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);
/// Whoever typed at the desk is still at it this long after the last key.
const DESK_TYPES_FOR: Duration = Duration::from_secs(4);
/// Tools that run at the same time and are remembered, its subagents' among them.
const MOST_CALLS: usize = 100;
/// Longest text of a turn we did not ask for, in characters.
const FOREIGN_CHARS: usize = 2000;

/// What one look shows.
pub(in crate::agents) struct View<'a> {
    /// `None` while there is no registry file.
    pub(in crate::agents) status: Option<Status>,
    pub(in crate::agents) version: Option<String>,
    pub(in crate::agents) screen: &'a [String],
    /// Somebody typed at the desk since the last look.
    pub(in crate::agents) desk_typed: bool,
}

pub(in crate::agents) struct Machine {
    started: Instant,
    conversation: Option<String>,
    transcript: Option<String>,
    typist: Typist,
    requests: Requests,
    mailbag: Mailbag,
    /// Tools that began and did not end, the oldest first.
    calls: Vec<(ToolCall, Instant)>,
    stop: Stop,
    /// A limit cut a turn off, and the program goes on with it by itself when that is over, unless it gets
    /// an Esc before (`autoContinueAtUsageLimit`, 2.1.332; switched off, a dialog would open instead).
    goes_on_alone: bool,
    turns: Vec<Turn>,
    /// Our last prompt that was taken: it may come back into the box after an Esc.
    last_taken: Option<String>,
    status: Option<Status>,
    status_since: Instant,
    /// When a request of the agent was last open with us; its status says so a little longer.
    asked_us: Option<Instant>,
    first_idle: Option<Instant>,
    desk_typed: Option<Instant>,
    doing: Doing,
    alarms: HashSet<&'static str>,
    cost: Cost,
    acts: Vec<Act>,
}

struct Turn {
    id: Option<TurnId>,
    opened: Instant,
    seen_busy: bool,
}

impl Machine {
    pub(in crate::agents) fn new(now: Instant, conversation: Option<String>) -> Self {
        Self {
            started: now,
            conversation,
            transcript: None,
            typist: Typist::default(),
            requests: Requests::default(),
            mailbag: Mailbag::default(),
            calls: vec![],
            stop: Stop::No,
            goes_on_alone: false,
            turns: vec![],
            last_taken: None,
            status: None,
            status_since: now,
            asked_us: None,
            first_idle: None,
            desk_typed: None,
            doing: Doing::Starting,
            alarms: HashSet::new(),
            cost: Cost::default(),
            acts: vec![],
        }
    }

    /// What is to be done, in this order.
    pub(in crate::agents) fn acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    /// Something is on its way, so it is worth looking often.
    pub(in crate::agents) fn is_pending(&self) -> bool {
        !self.typist.is_resting()
            || !self.requests.is_empty()
            || !matches!(self.stop, Stop::No)
            || !self.turns.is_empty()
            || self.goes_on_alone
            || self.first_idle.is_none()
    }

    /// A change on the screen is worth a look at once.
    pub(in crate::agents) fn awaits_screen(&self) -> bool {
        self.typist.awaits_screen()
    }

    /// Since when a tool runs; `None`: none does.
    pub(in crate::agents) fn calling_since(&self) -> Option<Instant> {
        self.calls.first().map(|(_, since)| *since)
    }

    fn call_begins(&mut self, now: Instant, call: &ToolCall) {
        if self.calls.len() == MOST_CALLS {
            self.calls.remove(0);
        }
        self.calls.push((call.clone(), now));
    }

    fn call_ends(&mut self, call: &ToolCall) {
        if let Some(at) = self.calls.iter().position(|(known, _)| known.is(call)) {
            self.calls.remove(at);
        }
    }

    /// The conversation, and where its hooks say that it is written down.
    pub(in crate::agents) fn transcript(&self) -> Option<(&str, &str)> {
        self.conversation.as_deref().zip(self.transcript.as_deref())
    }

    pub(in crate::agents) fn order(&mut self, now: Instant, order: Order) {
        match order.what {
            OrderKind::Prompt { prompt, text, form } => {
                let typed = match form {
                    PromptForm::Text => Ok(typed_text(PHONE, &text)),
                    PromptForm::Others => Ok(typed_text(MAIL, &text)),
                    PromptForm::Own => Ok(typed_text(VIGIE, &text)),
                    PromptForm::Command => command_text(&text),
                };
                let refused = match typed {
                    Ok(typed) => self.typist.push(Prompt::new(prompt, typed, form)),
                    Err(reason) => {
                        let why = RefusedPrompt::ByAgent { reason };
                        Some(AgentEvent::PromptRefused { prompt, why })
                    }
                };
                self.report(refused);
            }
            OrderKind::Withdraw { prompt } => {
                let withdrawn = self.typist.withdraw(prompt);
                self.report(withdrawn);
            }
            OrderKind::Mail { mail, text } => self.mail(mail, typed_text(MAIL, &text)),
            OrderKind::Interrupt => self.interrupt(now),
            OrderKind::Answer { request, decision } => {
                let settled = self.requests.answer(&request, &decision);
                self.report(settled);
            }
            // The holder ends its processes itself.
            OrderKind::End | OrderKind::Kill => {}
        }
    }

    pub(in crate::agents) fn hook(
        &mut self,
        now: Instant,
        call: HookCall,
        plan_file: impl FnOnce(&str) -> Option<String>,
    ) {
        let Some(event) = HookEvent::read(&call.event) else {
            self.alarm("a hook of the agent sent something without an event name");
            return;
        };
        self.follow_conversation(&event);
        if event.conversation.is_none() {
            self.alarm("hooks of this version of the agent carry no session id");
        }
        let turn = event.turn.clone();
        let main = event.agent.is_none();
        match &event.what {
            Hook::PermissionRequested { call: tool, suggestions } => {
                let ask = hooks::asked(tool, &event.cwd, suggestions, plan_file);
                let (tool, suggestions) = (tool.clone(), suggestions.clone());
                let (request, over) =
                    self.requests.open(now, &event, tool, suggestions, call.reply);
                self.report(over);
                self.report([AgentEvent::Asked { request, ask }]);
                return; // The call stays open until somebody answers.
            }
            Hook::PromptSubmitted { prompt } => self.submitted(now, prompt, turn),
            Hook::ToolStarting { call } => {
                self.call_begins(now, call);
                // The card says it better.
                if !call.asks_a_person() {
                    self.report([AgentEvent::Progress { turn, line: call.line() }]);
                }
            }
            Hook::ToolEnded { call } => {
                self.call_ends(call);
                let over = self.requests.tool_ended(event.agent.as_deref(), call);
                self.report(over);
            }
            Hook::Batch { calls } => {
                for call in calls {
                    self.call_ends(call);
                    let over = self.requests.tool_ended(event.agent.as_deref(), call);
                    self.report(over);
                }
                if main && matches!(self.stop, Stop::No) {
                    return self.give_mail(BATCH_EVENT, call.reply);
                }
            }
            Hook::Stopped { text, background } if main => {
                if text.is_none() {
                    self.alarm("this version of the agent does not say its final answer");
                }
                self.turn_ended(turn.as_ref());
                let text = text.clone().unwrap_or_default();
                self.report([AgentEvent::Finished { turn, text, provisional: *background }]);
            }
            Hook::StopFailed { kind, text } if main => {
                self.turn_ended(turn.as_ref());
                self.goes_on_alone = *kind == FailureKind::Limit;
                let (kind, text) = (*kind, text.clone());
                self.report([AgentEvent::TurnFailed { turn, kind, text }]);
            }
            Hook::Compacting => {
                let took = self.typist.command_took();
                self.report(took);
                self.report([AgentEvent::Compacted]);
            }
            Hook::SessionStarted { source } if source == "clear" => {
                let took = self.typist.command_took();
                self.report(took);
            }
            Hook::Status { cost_usd } => {
                let cost = self.cost.read(*cost_usd);
                self.report(cost);
            }
            Hook::SessionStarted { .. }
            | Hook::Stopped { .. }
            | Hook::StopFailed { .. }
            | Hook::SessionEnded
            | Hook::Other { .. } => {}
        }
        // An empty answer: nothing of this needs a decision, and the agent waits for it.
        call.reply.answer(Value::Object(serde_json::Map::new()));
    }

    /// `/clear` gives the session a new id in place; the old one's last event changes nothing.
    fn follow_conversation(&mut self, event: &HookEvent) {
        let Some(id) = &event.conversation else { return };
        let known = self.conversation.as_ref() == Some(id)
            && (event.transcript.is_none() || self.transcript == event.transcript);
        if known || event.what == Hook::SessionEnded || event.agent.is_some() {
            return;
        }
        self.conversation = Some(id.clone());
        self.transcript.clone_from(&event.transcript);
        let (id, transcript) = (id.clone(), event.transcript.clone());
        self.report([AgentEvent::Conversation { id, transcript }]);
    }

    fn submitted(&mut self, now: Instant, text: &str, turn: Option<TurnId>) {
        if turn.is_none() {
            self.alarm("prompts of this version of the agent carry no prompt id");
        }
        self.turns.push(Turn { id: turn.clone(), opened: now, seen_busy: false });
        self.goes_on_alone = false;
        if let Some((prompt, taken)) = self.typist.submitted(text, turn.as_ref()) {
            self.last_taken = Some(prompt.text);
            self.report([taken]);
        } else {
            // What it left running in the background is done: nobody said that.
            let text = if text.trim_start().starts_with("<task-notification>") {
                String::new()
            } else {
                shortened(&hooks::unwrapped(text), FOREIGN_CHARS)
            };
            self.report([AgentEvent::ForeignTurn { turn, text }]);
        }
    }

    /// The turn `id` is over, and with it those it was merged from.
    fn turn_ended(&mut self, id: Option<&TurnId>) {
        let at = self.turns.iter().rposition(|turn| turn.id.as_ref() == id);
        self.turns.drain(..at.map_or(self.turns.len(), |at| at + 1));
        self.calls.clear();
        let over = self.requests.turn_ended();
        self.report(over);
        self.return_mail();
        if matches!(self.stop, Stop::Wanted { .. }) {
            self.stop = Stop::No; // It ended by itself first.
        }
    }

    /// One look at registry, screen and desk.
    pub(in crate::agents) fn look(&mut self, now: Instant, view: &View<'_>) {
        if view.desk_typed {
            self.desk_typed = Some(now);
        }
        if self.status != view.status {
            self.status.clone_from(&view.status);
            self.status_since = now;
        }
        if self.status == Some(Status::Idle) {
            self.first_idle.get_or_insert(now);
        }
        if let Some(version) = &view.version {
            self.check_version(version);
        }
        let over = self.requests.hung_up(now);
        self.report(over);
        let over = self.requests.status(now, self.waits());
        self.report(over);
        let input =
            if self.looks_at_box() { input_box::read(view.screen) } else { InputBox::Hidden };
        self.stopping(now, &input);
        self.stay_stopped(now);
        self.notice_end_of_turn(now);
        let sight = Sight { gate: self.gate(now), input, screen: view.screen };
        let acts = self.typist.look(now, &sight);
        for act in &acts {
            if matches!(
                act,
                Act::Report(AgentEvent::PromptRefused { why: RefusedPrompt::NoSignal, .. })
            ) {
                self.alarm("a prompt was typed and the agent never said that it took it");
            }
        }
        self.acts.extend(acts);
        self.say_doing(now, view.screen);
    }

    fn looks_at_box(&self) -> bool {
        !self.typist.is_resting()
            || matches!(self.stop, Stop::Settling { .. } | Stop::Clearing { .. })
    }

    fn waits(&self) -> Waits {
        match &self.status {
            Some(Status::Waiting(_)) => Waits::Yes,
            Some(Status::Busy) => Waits::Working,
            Some(Status::Idle) => Waits::Idle,
            Some(Status::Unknown(_)) | None => Waits::Unknown,
        }
    }

    fn gate(&self, now: Instant) -> Gate {
        let held = match &self.status {
            None => Some(Held::Starting),
            Some(Status::Busy) => Some(Held::Busy),
            Some(Status::Waiting(_) | Status::Unknown(_)) => Some(Held::Dialog),
            Some(Status::Idle) if !self.requests.is_empty() => Some(Held::Dialog),
            Some(Status::Idle) => {
                let settled = self
                    .first_idle
                    .is_some_and(|first| now.duration_since(first) >= FIRST_KEYS_AFTER);
                let typing =
                    self.desk_typed.is_some_and(|last| now.duration_since(last) < DESK_TYPES_FOR);
                if !settled {
                    Some(Held::Starting)
                } else if !matches!(self.stop, Stop::No) || !self.turns.is_empty() {
                    Some(Held::Busy)
                } else if typing {
                    Some(Held::DeskTyping)
                } else {
                    None
                }
            }
        };
        held.map_or(Gate::Free, Gate::Closed)
    }

    fn say_doing(&mut self, now: Instant, screen: &[String]) {
        if !self.requests.is_empty() {
            self.asked_us = Some(now);
        }
        let alone_since = self.asked_us.map_or(self.status_since, |at| at.max(self.status_since));
        let waited = now.duration_since(alone_since);
        let needs = |why: String| Doing::NeedsDesk { why, screen: screen.to_vec() };
        if self.requests.oldest_unconfirmed().is_some_and(|since| {
            now.duration_since(since) >= CONFIRMED_WITHIN
                && matches!(self.status, Some(Status::Idle | Status::Busy))
        }) {
            self.alarm("the agent asks for permission and its own status does not say so");
        }
        let doing = match &self.status {
            _ if !self.requests.is_empty() => Doing::Waiting,
            None if self.first_idle.is_some() => self.doing.clone(), // it is leaving
            None if now.duration_since(self.started) < STARTS_WITHIN => Doing::Starting,
            None => needs(
                "it has not come to its prompt: a question of its own start is on the screen"
                    .into(),
            ),
            Some(Status::Idle) => Doing::Idle,
            Some(Status::Busy) => Doing::Working,
            Some(Status::Waiting(_)) if waited < NEEDS_DESK_AFTER => self.doing.clone(),
            Some(Status::Waiting(what)) => needs(waits_for(what)),
            Some(Status::Unknown(word)) => needs(format!(
                "it says `{word}` of itself, which this version of Vigie does not know"
            )),
        };
        // The screen of a dialog moves (a spinner, a clock): say it once per reason.
        let same = match (&doing, &self.doing) {
            (Doing::NeedsDesk { why: new, .. }, Doing::NeedsDesk { why: old, .. }) => new == old,
            (new, old) => new == old,
        };
        if !same {
            self.doing = doing.clone();
            self.report([AgentEvent::Now { doing }]);
        }
        if matches!(self.status, Some(Status::Unknown(_))) {
            self.alarm("the registry of this version of the agent uses words Vigie does not know");
        }
        if self.status.is_none()
            && self.first_idle.is_none()
            && now.duration_since(self.started) >= STARTS_WITHIN
        {
            self.alarm("the agent is not at its prompt 10 s after its start; until it is, it can be used at the desk only");
        }
    }

    fn check_version(&mut self, version: &str) {
        if let Some(what) = super::probe::outside_tested(version)
            && self.alarms.insert("version")
        {
            self.report([AgentEvent::Degraded { what }]);
        }
    }

    /// The program is gone: nothing that waits for it is left without an end.
    pub(in crate::agents) fn gone(&mut self) {
        let over = self.requests.gone();
        self.report(over);
        let lost = self.typist.gone();
        self.report(lost);
        self.return_mail();
    }

    /// Said once per run: one broken promise needs one message.
    fn alarm(&mut self, what: &'static str) {
        if self.alarms.insert(what) {
            self.report([AgentEvent::Degraded { what: what.into() }]);
        }
    }

    fn report(&mut self, events: impl IntoIterator<Item = AgentEvent>) {
        self.acts.extend(events.into_iter().map(Act::Report));
    }
}

/// Source of the words: seen with 2.1.332, the last three only in its program text.
fn waits_for(what: &str) -> String {
    match what {
        "dialog open" => "something is open over its prompt; /stop closes it".into(),
        "permission prompt" => "it asks for a permission without telling Vigie".into(),
        "input needed" => "it asks something that only its own screen can answer".into(),
        "sandbox request" | "goal proposal" | "worker request" => format!("it waits for a {what}"),
        "" => "it waits for somebody".into(),
        other => format!("it waits for `{other}`"),
    }
}

#[cfg(test)]
mod tests;
