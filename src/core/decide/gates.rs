//! Gates: opened by a request of the agent, decided once, shown everywhere, handed to the agent.

use serde_json::json;
use std::collections::BTreeSet;

use super::{
    About, Work,
    card::{answer_rule, buttons, shown},
    given::{Given, decision, lower_first, verdict},
    show,
};
use crate::{
    agent::{Asked, AtDesk, Decision, OrderKind, Settled},
    answer,
    bridge::{Body, Card, CardKind, CardState, Decided, Level, Limits, Mark, Post},
    command::Refusal,
    delivery::{Rank, Shown},
    gate::{Answer, Asker, Gate, GateState, TooLate},
    id::{GateCode, GateId, HumanId, OrderId, RequestId, SessionId},
    session::Life,
    state::{Chat, Role, Row},
    text::{self, Rich, Style},
};

/// Bytes of words around what a card is about for which a service's limits leave room.
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
            g.session == session
                && g.run == run
                && g.request == *request
                && g.asker == Asker::Request
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
        let state = &*self.state;
        let taken = |code: &GateCode| state.gates.values().any(|g| g.code == *code);
        let code = self.ids.code(|code| taken(code) || !answer::can_be_typed(code));
        let questions = match &ask {
            Asked::Questions { questions } => questions.len(),
            Asked::Permission { .. } | Asked::Plan { .. } => 0,
        };
        let mut gate = Gate {
            id: self.ids.make(GateId::from_parts),
            code,
            session,
            run,
            request,
            ask,
            shown,
            opened: self.now,
            until: self.now + self.state.rules.gate_deadline,
            picked: vec![None; questions],
            ticked: BTreeSet::new(),
            state: GateState::Open,
            asker,
            cards: Vec::new(),
        };
        self.put(Row::Gate(gate.clone()));
        gate.cards = self.post_cards(&gate);
        self.put(Row::Gate(gate.clone()));
        let about = About { session: Some(session), gate: Some(gate.id), human: None };
        self.journal(
            "gate_opened",
            about,
            json!({ "code": gate.code, "title": gate.shown.title, "digest": gate.shown.digest }),
        );
        self.show_thread(session);
        gate
    }

    /// One card a chat. What does not fit on the card goes before it as a document, whole.
    fn post_cards(&mut self, gate: &Gate) -> Vec<Shown> {
        self.state.hearing().iter().map(|chat| self.post_card(gate, chat)).collect()
    }

    pub(super) fn post_card(&mut self, gate: &Gate, chat: &Chat) -> Shown {
        let name = self.session_name(gate.session);
        let mut post = self.card_post(gate);
        let stem = format!("{name}-{}", gate.code);
        let limits = self.state.limits_of(&chat.bridge, &chat.chat);
        let fitted = text::fit(&whole(&gate.shown), &of_one_card(limits, gate), &stem);
        if let (Body::Card(card), Some(mut document)) = (&mut post.body, fitted.document) {
            document.about = format!("{name} {}, whole", gate.shown.title);
            card.content = fitted.parts.into_iter().next().unwrap_or_default();
            card.diff = None;
            card.warnings
                .push("It is longer than one message: the document above shows all of it.".into());
            // Of its own rank, or the card would overtake it.
            self.post_document(chat, gate.session, document, Level::Note, Rank::Gate);
        }
        self.post_in(chat, gate.session, post, Rank::Gate)
    }

    fn card_post(&self, gate: &Gate) -> Post {
        let from = self.state.sessions.get(&gate.session).map(|s| s.name.clone());
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
        Post {
            from,
            level,
            body: Body::Card(Card {
                gate: gate.id,
                code: gate.code.clone(),
                kind: shown.kind,
                title: shown.title,
                opened: gate.opened,
                until: gate.until,
                content: shown.content,
                diff: shown.diff,
                warnings: shown.warnings,
                facts: shown.facts,
                risk: shown.risk,
                answer: answer_rule(gate),
                buttons: if gate.is_open() { buttons(gate) } else { Vec::new() },
                state,
            }),
        }
    }

    fn decided(&self, answer: &Answer) -> Decided {
        let by = answer
            .by
            .as_ref()
            .map_or_else(|| "the deadline".to_owned(), |human| self.state.name_of(human));
        Decided {
            verdict: answer.verdict.clone(),
            by: HumanId::new(by),
            at: answer.at,
            via: answer.via.clone(),
        }
    }

    /// The cards show what became of the gate.
    pub(super) fn update_cards(&mut self, gate: &Gate) {
        let post = self.card_post(gate);
        self.edit_all(&gate.cards, &post, Rank::Gate);
        self.show_thread(gate.session);
    }

    /// Takes an answer. The words tell whoever answered what it did.
    pub(super) fn answer_gate(
        &mut self,
        id: GateId,
        given: Given,
        who: &Who,
    ) -> Result<String, Refusal> {
        let Some(mut gate) = self.state.gates.get(&id).cloned() else {
            return Err(Refusal::AlreadyDecided(
                "That was decided long ago. Your answer changed nothing.".into(),
            ));
        };
        if self.state.rules.people.get(&who.human).is_none_or(|p| p.role < Role::Approver) {
            let about = About {
                session: Some(gate.session),
                gate: Some(gate.id),
                human: Some(who.human.clone()),
            };
            self.journal("answer_refused", about, json!({ "code": gate.code, "via": who.via }));
            let mut may: Vec<_> = self.state.rules.people.values().collect();
            may.retain(|person| person.role >= Role::Approver);
            may.sort_by(|a, b| a.name.cmp(&b.name));
            let may: Vec<_> = may.into_iter().map(|person| person.name.as_str()).collect();
            return Err(Refusal::AlreadyDecided(format!(
                "{} may not answer this. {} may.",
                self.state.name_of(&who.human),
                may.join(", ")
            )));
        }
        self.refuse_if_over(&gate)?;
        let Some(decision) = decision(&mut gate, given)? else {
            self.put(Row::Gate(gate.clone()));
            self.update_cards(&gate);
            return Ok("Noted; there is more to answer.".into());
        };
        let verdict = verdict(&decision);
        let answer = Answer {
            by: Some(who.human.clone()),
            decision,
            verdict: verdict.clone(),
            at: self.now,
            via: who.via.clone(),
        };
        self.settle_with(gate, answer);
        Ok(verdict)
    }

    fn refuse_if_over(&self, gate: &Gate) -> Result<(), Refusal> {
        let over = match &gate.state {
            GateState::Open => return Ok(()),
            GateState::Answered { answer, .. } | GateState::Taken { answer, .. } => {
                TooLate::Decided(answer.clone())
            }
            GateState::Closed { why, at } => TooLate::Closed { why: why.clone(), at: *at },
        };
        Err(Refusal::AlreadyDecided(self.too_late_words(&over)))
    }

    fn too_late_words(&self, over: &TooLate) -> String {
        match over {
            TooLate::Decided(answer) => {
                let decided = self.decided(answer);
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

    fn settle_with(&mut self, mut gate: Gate, answer: Answer) {
        let (session, human) = (gate.session, answer.by.clone());
        let detail = json!({ "code": gate.code, "verdict": answer.verdict, "via": answer.via, "digest": gate.shown.digest });
        let what =
            OrderKind::Answer { request: gate.request.clone(), decision: answer.decision.clone() };
        let order = self.ids.make(OrderId::from_parts);
        if gate.decide(answer, order).is_err() {
            return;
        }
        self.put(Row::Gate(gate.clone()));
        match gate.asker {
            Asker::Request => self.effect(super::Effect::Order {
                session,
                run: gate.run,
                order: crate::agent::Order { id: order, what },
            }),
            Asker::Tool => self.mail_answer(&gate),
        }
        self.journal(
            "gate_answered",
            About { session: Some(session), gate: Some(gate.id), human },
            detail,
        );
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
        let about = About { session: Some(gate.session), gate: Some(gate.id), human: None };
        self.put(Row::Gate(gate.clone()));
        self.journal("gate_settled", about, json!({ "state": gate.state }));
        self.update_cards(gate);
    }

    /// The session's program is gone, and with it the requests it waited on. What a tool of ours
    /// asked for it waits for a resume, unless the session was meant to end.
    pub(super) fn close_gates_of(&mut self, session: SessionId, life: &Life, why: &str) {
        let ended = matches!(life, Life::Ended { .. });
        let open = |g: &&Gate| {
            g.session == session
                && (ended || g.asker == Asker::Request)
                && matches!(g.state, GateState::Open | GateState::Answered { .. })
        };
        let gates: Vec<_> = self.state.gates.values().filter(open).cloned().collect();
        for mut gate in gates {
            let why = match (gate.asker, &gate.state) {
                (Asker::Tool, GateState::Answered { .. }) => {
                    format!("{why} before it had the answer; it gets it when it is resumed")
                }
                _ => why.into(),
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
            let verdict = match gate.asker {
                Asker::Request => "Denied",
                Asker::Tool => "Not answered",
            };
            let answer = Answer {
                by: None,
                decision: Decision::Deny { reason },
                verdict: verdict.into(),
                at: now,
                via: "Vigie".into(),
            };
            self.settle_with(gate, answer);
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
            let name = self
                .state
                .sessions
                .get(&gate.session)
                .map(|s| s.name.to_string())
                .unwrap_or_default();
            text.push(gate.code.as_str(), Some(Style::Code));
            text.push(&format!("  {name} {}\n", gate.shown.title), None);
        }
        text.push("Write: approve CODE, or deny CODE.", None);
        self.post_to_place(place, None, show::note(Level::Note, text, Vec::new()));
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
