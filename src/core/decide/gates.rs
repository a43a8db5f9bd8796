//! Gates: opened by a request of the agent, decided once, shown everywhere, handed to the agent.

use serde_json::json;
use std::{cmp::Reverse, collections::BTreeSet, fmt::Write as _};
use vigie_workflow::language::OnTimeout;

use super::{
    About, Work,
    card::{answer_rule, buttons, lasting_fact, shown},
    given::{Given, decision, lower_first, verdict},
    grants::{HOURS, Lasting, kind_of},
    reactions::by_reaction,
    show,
};
use crate::{
    Timestamp,
    agent::{Asked, AtDesk, Decision, OrderKind, Settled},
    answer,
    bridge::{Body, Card, CardKind, CardState, Decided, Lapse, Level, Limits, Mark, Post},
    command::{CardView, Refusal},
    delivery::{Rank, Shown},
    gate::{Answer, Asker, Gate, GateState, SessionWaits, TooLate, Waits},
    id::{GateCode, GateId, HumanId, OrderId, RequestId, SessionId},
    ringing::Rung,
    session::Life,
    state::{Chat, Row, State},
    text::{self, Rich, Style},
};

/// Bytes of words around what a card is about for which a service's limits leave room.
/// Letters of what was asked that the journal keeps beside the answer.
const AUDITED: usize = 500;

const WORDS_AROUND: usize = 300;

/// Who answers, and from where.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub human: HumanId,
    pub via: String,
}

impl Work<'_> {
    /// A request that the agent's holder keeps open.
    pub(super) fn asked(&mut self, session: SessionId, run: u32, request: RequestId, ask: Asked) {
        if self.gate_of_request(session, run, &request).is_none() {
            self.open_gate(session, run, request, ask, Asker::Request);
        }
    }

    fn gate_of_request(&self, session: SessionId, run: u32, request: &RequestId) -> Option<&Gate> {
        self.state.gates.values().find(|g| {
            g.request().is_some_and(|waits| {
                waits.session == session && waits.run == run && waits.request == *request
            })
        })
    }

    pub(super) fn open_gate(
        &mut self,
        session: SessionId,
        run: u32,
        request: RequestId,
        ask: Asked,
        asker: Asker,
    ) -> Gate {
        let cwd = self.state.sessions.get(&session).map(|s| s.cwd.clone()).unwrap_or_default();
        let shown = shown(&ask, &cwd);
        let waits = Waits::Session(SessionWaits { session, run, request, asker });
        let until = self.now + self.state.rules.gate_deadline;
        let gate = self.begin_gate(waits, ask, shown, until);
        self.show_thread(session);
        gate
    }

    /// Asks, in every chat that hears of it.
    pub(super) fn begin_gate(
        &mut self,
        waits: Waits,
        ask: Asked,
        shown: crate::gate::Shown,
        until: Timestamp,
    ) -> Gate {
        let state = &*self.state;
        let taken = |code: &GateCode| state.gates.values().any(|g| g.code == *code);
        let code = self.ids.code(|code| taken(code) || !answer::can_be_typed(code));
        let blanks = match &ask {
            Asked::Questions { questions } => questions.len(),
            Asked::Approval(approval) => approval.form.len(),
            Asked::Permission { .. } | Asked::Plan { .. } => 0,
        };
        let mut gate = Gate {
            id: self.ids.make(GateId::from_parts),
            code,
            waits,
            ask,
            shown,
            opened: self.now,
            until,
            picked: vec![None; blanks],
            ticked: BTreeSet::new(),
            yes: Vec::new(),
            needed: 1,
            words_of: None,
            state: GateState::Open,
            cards: Vec::new(),
            rang: Vec::new(),
            rung: Rung::default(),
        };
        if let Some(ruled) = self.ruled(&mut gate) {
            return self.settle_by_rule(gate, ruled);
        }
        self.call_people(&mut gate);
        self.put(Row::Gate(gate.clone()));
        self.post_cards(&mut gate);
        self.put(Row::Gate(gate.clone()));
        let detail =
            json!({ "code": gate.code, "title": gate.shown.title, "digest": gate.shown.digest });
        self.journal_gate("gate_opened", &gate, None, detail);
        gate
    }

    /// One card a chat. What does not fit on the card goes before it as a document, whole.
    fn post_cards(&mut self, gate: &mut Gate) {
        let mut chats = self.state.hearing();
        let own = gate.step().and_then(|waits| self.chat_of_run(waits.of_run));
        chats.extend(own.filter(|own| !chats.contains(own)));
        let level = |chat: Chat| (self.level_of_card(gate, &chat), chat);
        for (level, chat) in chats.into_iter().map(level).collect::<Vec<_>>() {
            self.say_card(gate, &chat, level);
        }
    }

    /// Its card in one chat, which the gate remembers.
    pub(super) fn say_card(&mut self, gate: &mut Gate, chat: &Chat, level: Level) {
        let loud = self.unless_it_just_rang(chat, level);
        let card = self.post_card(gate, chat, loud);
        gate.cards.push(card);
        if level == Level::Ring {
            self.card_rings(gate, chat);
        }
    }

    /// Whoever waits, as people call it.
    pub(super) fn waits_name(&self, gate: &Gate) -> String {
        match &gate.waits {
            Waits::Session(waits) => self.session_name(waits.session),
            Waits::Step(waits) => waits.run_name.clone(),
        }
    }

    /// A line about a gate; those of a run name it, so that whoever follows it finds them.
    pub(super) fn journal_gate(
        &mut self,
        kind: &str,
        gate: &Gate,
        human: Option<HumanId>,
        mut detail: serde_json::Value,
    ) {
        if let Some(waits) = gate.step() {
            detail["run"] = json!(waits.of_run);
            detail["name"] = json!(waits.run_name);
            detail["step"] = json!(waits.step);
        }
        let about = About { session: gate.session(), gate: Some(gate.id), human };
        self.journal(kind, about, detail);
    }

    pub(super) fn post_card(&mut self, gate: &Gate, chat: &Chat, level: Level) -> Shown {
        let name = self.waits_name(gate);
        let mut post = Post { level, ..self.state.card_post(gate) };
        let stem = format!("{name}-{}", gate.code);
        let limits = self.state.limits_of(&chat.bridge, &chat.chat);
        let fitted = text::fit(&whole(&gate.shown), &of_one_card(limits, gate), &stem);
        let session = gate.session();
        if let (Body::Card(card), Some(mut document)) = (&mut post.body, fitted.document) {
            document.about = format!("{name} {}, whole", gate.shown.title);
            card.content = fitted.parts.into_iter().next().unwrap_or_default();
            card.diff = None;
            card.warnings
                .push("It is longer than one message: the document above shows all of it.".into());
            // Of its own rank, or the card would overtake it.
            let from = session.and_then(|id| self.state.sessions.get(&id)).map(|s| s.name.clone());
            let post = Post { from, level: Level::Note, body: Body::Document(document) };
            self.post_as_loud(chat, session, post, Rank::Gate);
        }
        self.post_as_loud(chat, session, post, Rank::Gate)
    }

    /// The cards show what became of the gate.
    pub(super) fn update_cards(&mut self, gate: &Gate) {
        let post = self.state.card_post(gate);
        self.edit_all(&gate.cards, &post, Rank::Gate);
        if let Some(session) = gate.session() {
            self.show_thread(session);
        }
    }

    pub(super) fn gate_known(&self, id: GateId) -> Result<Gate, Refusal> {
        let long_ago = "That was decided long ago. Your answer changed nothing.";
        let gate = self.state.gates.get(&id).cloned();
        gate.ok_or_else(|| Refusal::AlreadyDecided(long_ago.into()))
    }

    /// Takes an answer. The words tell whoever answered what it did.
    pub(super) fn answer_gate(
        &mut self,
        id: GateId,
        given: Given,
        who: &Who,
    ) -> Result<String, Refusal> {
        let mut gate = self.gate_known(id)?;
        self.refuse_unless_allowed(&gate, who, &given)?;
        self.refuse_if_over(&gate, &given)?;
        let asks_back = matches!(given, Given::AskBack);
        let lasting = given.lasting().filter(|_| kind_of(&gate).is_some());
        if asks_back {
            gate.words_of = Some(who.human.clone());
        }
        let Some(decision) = decision(&mut gate, given, &who.human)? else {
            self.put(Row::Gate(gate.clone()));
            self.update_cards(&gate);
            let words = if asks_back {
                "Write what should change."
            } else {
                "Noted; there is more to answer."
            };
            return Ok(words.into());
        };
        if let Some(words) = self.one_yes_of_several(&mut gate, &decision, who) {
            return Ok(words);
        }
        let mut verdict = verdict(&decision);
        let mut words = verdict.clone();
        if let Some(lasting) = lasting {
            words = self.give_grant(&gate, lasting, who)?;
            verdict = match lasting {
                Lasting::Session => "Approved for this session".into(),
                Lasting::Hours => format!("Approved, and its like for {HOURS} h"),
            };
        }
        let answer = Answer {
            by: Some(who.human.clone()),
            decision,
            verdict,
            at: self.now,
            via: who.via.clone(),
            rule: None,
        };
        let id = gate.id;
        self.settle_with(gate, &answer);
        let others = lasting.map(|_| self.answer_others_granted(id)).unwrap_or_default();
        if !others.is_empty() {
            let codes: Vec<_> = others.iter().map(ToString::to_string).collect();
            let _ = write!(words, " It also answered {}.", codes.join(", ")); // a String takes everything
        }
        Ok(words)
    }

    /// A yes that is not the last one needed: the words for whoever gave it.
    fn one_yes_of_several(
        &mut self,
        gate: &mut Gate,
        decision: &Decision,
        who: &Who,
    ) -> Option<String> {
        let needed = match (&gate.ask, decision) {
            (Asked::Approval(approval), Decision::Approve { .. }) => approval.count as usize,
            (Asked::Permission { .. }, Decision::Allow { .. }) => gate.needed as usize,
            (
                Asked::Approval(_)
                | Asked::Permission { .. }
                | Asked::Plan { .. }
                | Asked::Questions { .. },
                _,
            ) => return None,
        };
        let again = gate.yes.contains(&who.human);
        if !again {
            gate.yes.push(who.human.clone());
        }
        // Whoever may not answer any more has not said yes.
        let counts: Vec<_> =
            gate.yes.iter().filter(|human| self.may(gate, human)).cloned().collect();
        gate.yes = counts;
        if gate.yes.len() >= needed {
            return None;
        }
        if !again {
            self.put(Row::Gate(gate.clone()));
            let verdict = format!("Said yes, {} of {needed}", gate.yes.len());
            let detail = json!({
                "name": self.waits_name(gate), "code": gate.code, "title": gate.shown.title,
                "yes": gate.yes, "needed": needed, "verdict": verdict, "via": who.via,
            });
            self.journal_gate("gate_approved_by_one", gate, Some(who.human.clone()), detail);
            self.update_cards(gate);
        }
        Some(format!("Noted: {} of {needed} said yes.", gate.yes.len()))
    }

    pub(super) fn refuse_if_over(&self, gate: &Gate, given: &Given) -> Result<(), Refusal> {
        let over = match &gate.state {
            GateState::Open => return Ok(()),
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => {
                TooLate::Decided(Box::new(answer.clone()))
            }
            GateState::Closed { why, at } => TooLate::Closed { why: why.clone(), at: *at },
        };
        let mut words = self.too_late_words(&over);
        if let (Given::Deny { .. }, TooLate::Decided(answer)) = (given, &over) {
            words.extend(self.how_to_stop(gate, answer));
        }
        let open: Vec<_> = self.state.open_gates().map(|gate| gate.code.to_string()).collect();
        if gate.step().is_some() && !open.is_empty() {
            let _ = write!(words, " Open codes: {}.", open.join(", ")); // a String takes everything
        }
        Err(Refusal::AlreadyDecided(words))
    }

    fn too_late_words(&self, over: &TooLate) -> String {
        match over {
            TooLate::Decided(answer) => {
                let decided = self.state.decided(answer);
                format!(
                    "Already {} by {}, {}, from {}. Your answer changed nothing.",
                    lower_first(&decided.verdict),
                    decided.by,
                    decided.at.format("%H:%M UTC"),
                    decided.via
                )
            }
            TooLate::Closed { why, at } => {
                format!("{why}, {}. Your answer changed nothing.", at.format("%H:%M UTC"))
            }
        }
    }

    pub(super) fn settle_with(&mut self, mut gate: Gate, answer: &Answer) {
        let human = answer.by.clone();
        let what: String =
            text::mask(&gate.shown.content.text).text.chars().take(AUDITED).collect();
        let mut detail = json!({
            "name": self.waits_name(&gate), "code": gate.code, "title": gate.shown.title, "what": what,
            "verdict": answer.verdict, "via": answer.via, "digest": gate.shown.digest,
        });
        if let Some(rule) = &answer.rule {
            detail["rule"] = json!(rule);
        }
        let decision = answer.decision.clone();
        let order = self.ids.make(OrderId::from_parts);
        if gate.decide(answer.clone(), order).is_err() {
            return;
        }
        match gate.waits.clone() {
            Waits::Session(SessionWaits { session, run, request, asker: Asker::Request }) => {
                self.put(Row::Gate(gate.clone()));
                let what = OrderKind::Answer { request, decision };
                let order = crate::agent::Order { id: order, what };
                self.effect(super::Effect::Order { session, run, order });
            }
            Waits::Session(SessionWaits { asker: Asker::Tool, .. }) => {
                self.put(Row::Gate(gate.clone()));
                self.mail_answer(&gate);
            }
            // The run has it with the same commit.
            Waits::Step(_) => {
                gate.state = GateState::Taken { answer: answer.clone(), at: self.now };
                self.put(Row::Gate(gate.clone()));
                self.step_answered(&gate, answer);
            }
        }
        self.journal_gate("gate_answered", &gate, human, detail);
        self.update_cards(&gate);
    }

    /// The agent says a request is over.
    pub(super) fn settled(
        &mut self,
        session: SessionId,
        run: u32,
        request: &RequestId,
        how: &Settled,
    ) {
        let Some(mut gate) = self.gate_of_request(session, run, request).cloned() else { return };
        let now = self.now;
        let closed = |why: &str| GateState::Closed { why: why.into(), at: now };
        gate.state = match (gate.state, how) {
            (GateState::Answered { answer, .. }, Settled::Ours) => {
                GateState::Taken { answer, at: now }
            }
            (GateState::Open | GateState::Answered { .. }, Settled::AtDesk { allowed }) => {
                closed(match allowed {
                    _ if gate.shown.kind != CardKind::Permission => "Answered at the desk",
                    AtDesk::Allowed => "Approved at the desk",
                    AtDesk::Denied => "Denied at the desk",
                    AtDesk::Unknown => "Answered at the desk",
                })
            }
            (GateState::Open, Settled::Gone | Settled::Ours) => {
                closed("The agent is no longer waiting")
            }
            (GateState::Answered { .. }, Settled::Gone) => {
                closed("The agent gave up waiting before it had the answer")
            }
            (over @ (GateState::Taken { .. } | GateState::Closed { .. }), _) => {
                gate.state = over;
                return;
            }
        };
        self.close_gate(&gate);
    }

    pub(super) fn close_gate(&mut self, gate: &Gate) {
        self.put(Row::Gate(gate.clone()));
        self.journal_gate("gate_settled", gate, None, json!({ "state": gate.state }));
        self.update_cards(gate);
    }

    /// The session's program is gone, and with it the requests it waited on. What a tool of ours
    /// asked for it waits for a resume, unless the session was meant to end.
    pub(super) fn close_gates_of(&mut self, session: SessionId, life: &Life, why: &str) {
        self.end_grants_of(session);
        let ended = matches!(life, Life::Ended { .. });
        let open = |g: &&Gate| {
            g.session() == Some(session)
                && (ended || g.is_by(Asker::Request))
                && matches!(g.state, GateState::Open | GateState::Answered { .. })
        };
        let gates: Vec<_> = self.state.gates.values().filter(open).cloned().collect();
        for mut gate in gates {
            let answered = matches!(gate.state, GateState::Answered { .. });
            let why = if gate.is_by(Asker::Tool) && answered {
                format!("{why} before it had the answer; it gets it when it is resumed")
            } else {
                why.into()
            };
            gate.state = GateState::Closed { why, at: self.now };
            self.close_gate(&gate);
        }
    }

    /// Denies what nobody answered in time.
    pub(super) fn lapse_gates(&mut self) {
        let now = self.now;
        let late: Vec<_> = self.state.open_gates().filter(|g| g.until <= now).cloned().collect();
        for gate in late {
            let reason = Some("nobody answered in time".into());
            let deny = Decision::Deny { reason };
            let (decision, verdict) = match lapse(&gate) {
                Lapse::Denied if gate.is_by(Asker::Tool) => (deny, "Not answered"),
                Lapse::Denied => (deny, "Denied"),
                Lapse::Approved => {
                    (Decision::Approve { form: Vec::new(), words: None }, "Approved")
                }
                Lapse::Failed => (deny, "Failed"),
            };
            let (verdict, via) = (verdict.into(), "Vigie".into());
            self.settle_with(
                gate,
                &Answer { by: None, decision, verdict, at: now, via, rule: None },
            );
        }
    }

    /// Says on the person's own message what their answer did.
    pub(super) fn mark_answer(
        &mut self,
        message: &crate::prompt::PromptMessage,
        result: &Result<String, Refusal>,
    ) {
        match result {
            Ok(words) => self.mark_done(message, words.clone()),
            Err(refusal) => self.mark(message, Mark::NotTaken { why: refusal.in_a_chat() }),
        }
    }

    /// The list of what waits, when an answer could mean several.
    pub(super) fn list_gates(&mut self, place: &crate::bridge::Place, gates: &[GateId]) {
        let which = if gates.len() == 1 {
            "One thing waits."
        } else {
            "More than one thing waits. Which one?"
        };
        let mut text = Rich::plain(format!("{which} Nothing was decided.\n"));
        for gate in gates.iter().filter_map(|id| self.state.gates.get(id)) {
            let name = self.waits_name(gate);
            text.push(gate.code.as_str(), Some(Style::Code));
            text.push(&format!("  {name} {}\n", gate.shown.title), None);
        }
        text.push("Write: approve CODE, or deny CODE.", None);
        self.post_to_place(place, None, show::note(Level::Note, text, Vec::new()));
    }
}

impl State {
    /// The card of a gate as it stands.
    pub(super) fn card_post(&self, gate: &Gate) -> Post {
        let session = gate.session().and_then(|id| self.sessions.get(&id));
        let from = session.map(|s| s.name.clone());
        let level = if gate.is_open() { Level::Ring } else { Level::Log };
        let state = match &gate.state {
            GateState::Open => CardState::Open,
            GateState::Answered { answer, .. } => CardState::Answered(self.decided(answer)),
            GateState::Taken { answer, at } => {
                CardState::Taken { decided: self.decided(answer), taken: *at }
            }
            GateState::Closed { why, at } => CardState::Closed { why: why.clone(), at: *at },
        };
        let shown = gate.shown.clone();
        // Whoever speaks is named beside the title; of a run only the title says it.
        let title = match gate.step() {
            Some(waits) => format!("{} {}", waits.run_name, shown.title),
            None => shown.title,
        };
        Post {
            from,
            level,
            body: Body::Card(Card {
                gate: gate.id,
                code: gate.code.clone(),
                kind: shown.kind,
                title,
                opened: gate.opened,
                until: gate.until,
                lapse: lapse(gate),
                content: shown.content,
                diff: shown.diff,
                warnings: shown.warnings,
                facts: shown
                    .facts
                    .into_iter()
                    .chain(self.approval_facts(gate))
                    .chain(lasting_fact(gate))
                    .collect(),
                risk: shown.risk,
                reactions: by_reaction(gate),
                answer: answer_rule(gate),
                buttons: if gate.is_open() { buttons(gate) } else { Vec::new() },
                state,
            }),
        }
    }

    pub(super) fn decided(&self, answer: &Answer) -> Decided {
        let by = match (&answer.by, &answer.rule) {
            (Some(human), _) => self.name_of(human),
            (None, Some(rule)) => rule.clone(),
            (None, None) => "the deadline".into(),
        };
        Decided {
            verdict: answer.verdict.clone(),
            by: HumanId::new(by),
            at: answer.at,
            via: answer.via.clone(),
        }
    }

    /// Those that wait, oldest first, then the last `over` of those that do not, newest first.
    pub(super) fn cards(&self, over: usize) -> Vec<CardView> {
        let mut decided: Vec<_> = self.gates.values().filter(|gate| !gate.is_open()).collect();
        decided.sort_by_key(|gate| Reverse((gate.over_since(), gate.id)));
        decided.truncate(over);
        let open = self.waiting();
        open.iter().chain(decided).filter_map(|gate| self.card_view(gate)).collect()
    }

    fn card_view(&self, gate: &Gate) -> Option<CardView> {
        let Post { from, body: Body::Card(card), .. } = self.card_post(gate) else { return None };
        let waits = gate.waits.clone();
        Some(CardView { from, waits, card })
    }
}

/// What becomes of it when nobody answers in time.
fn lapse(gate: &Gate) -> Lapse {
    match (&gate.waits, &gate.ask) {
        (Waits::Step(_), Asked::Questions { .. }) => Lapse::Failed,
        (Waits::Step(_), Asked::Approval(approval)) => match approval.on_timeout {
            OnTimeout::Deny => Lapse::Denied,
            OnTimeout::Approve => Lapse::Approved,
            OnTimeout::Fail => Lapse::Failed,
        },
        (Waits::Session(_) | Waits::Step(_), _) => Lapse::Denied,
    }
}

/// All that is asked, as one text.
fn whole(shown: &crate::gate::Shown) -> Rich {
    let mut text = shown.content.clone();
    if let Some(diff) = shown.diff.as_deref().filter(|diff| !diff.is_empty()) {
        if !text.is_empty() {
            text.push("\n", None);
        }
        text.push(diff, Some(Style::Pre { language: Some("diff".into()) }));
    }
    text
}

/// What a card leaves of one message for what it is about. Nothing above an answer is cut without the
/// whole of it in a document, so long words around it take their room here.
fn of_one_card(limits: Limits, gate: &Gate) -> Limits {
    let facts = gate.shown.facts.iter().map(|fact| fact.label.len() + fact.value.len());
    let warnings = gate.shown.warnings.iter().map(String::len);
    let around = gate.shown.title.len() + facts.chain(warnings).sum::<usize>();
    let taken = around.saturating_sub(WORDS_AROUND).min(limits.text / 2);
    Limits { text: limits.text - taken, parts: 1, ..limits }
}
