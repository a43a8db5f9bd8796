//! Gates: opened by a request of the agent, decided once, shown everywhere, handed to the agent.

use serde_json::json;

use super::{About, Work, show};
use crate::{
    agent::{AcceptEdits, Asked, AtDesk, Decision, OrderKind, Question, Scope, Settled},
    answer::{self, Reading},
    bridge::{
        Action, Body, Button, Card, CardKind, CardState, Decided, Level, Mark, Post, Risk, Weight,
    },
    command::Refusal,
    delivery::{Rank, Target},
    gate::{Answer, Gate, GateState, Shown, TooLate},
    id::{DeliveryId, GateCode, GateId, HumanId, OrderId, RequestId, SessionId},
    risk,
    state::{Role, Row},
    text::{self, Rich, Style},
};

/// An answer as it came in, before the gate says what it means.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Allow {
        code_typed: bool,
    },
    AllowForSession {
        code_typed: bool,
    },
    AllowWithEdits,
    Deny {
        reason: Option<String>,
    },
    /// Options by number from 1, of the first question that is still open.
    Numbers(Vec<usize>),
    /// One option of one question, by positions from 0.
    Option {
        question: usize,
        option: usize,
    },
    /// A person's own words.
    Words(String),
}

impl Given {
    pub(super) fn from_reading(reading: Reading, code_typed: bool) -> Option<Self> {
        match reading {
            Reading::Allow { .. } => Some(Self::Allow { code_typed }),
            Reading::AllowForSession { .. } => Some(Self::AllowForSession { code_typed }),
            Reading::Deny { reason, .. } => Some(Self::Deny { reason }),
            Reading::Option { numbers, .. } => Some(Self::Numbers(numbers)),
            Reading::AllowAll | Reading::Unclear { .. } | Reading::NotAnAnswer => None,
        }
    }
}

/// Who answers, and from where.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub human: HumanId,
    pub via: String,
}

impl Work<'_> {
    pub(super) fn open_gate(
        &mut self,
        session: SessionId,
        run: u32,
        request: RequestId,
        ask: Asked,
    ) {
        let known = |g: &Gate| g.session == session && g.run == run && g.request == request;
        if self.state.gates.values().any(known) {
            return;
        }
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
            state: GateState::Open,
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
    }

    /// One card a chat. What does not fit on the card goes before it as a document, whole.
    fn post_cards(&mut self, gate: &Gate) -> Vec<DeliveryId> {
        let Some(name) = self.state.sessions.get(&gate.session).map(|s| s.name.clone()) else {
            return Vec::new();
        };
        let chats = self.state.rules.chats.clone();
        let cards = chats.iter().map(|chat| {
            let mut post = self.card_post(gate);
            let stem = format!("{name}-{}", gate.code);
            let fitted = text::fit(&gate.shown.content, &chat.limits, &stem);
            if let (Body::Card(card), Some(mut document)) = (&mut post.body, fitted.document) {
                document.about = format!("{name} {}, whole", gate.shown.title);
                card.content = fitted.parts.into_iter().next().unwrap_or_default();
                card.warnings.push(
                    "It is longer than one message: the document above shows all of it.".into(),
                );
                self.post_document(chat, gate.session, &name, document, Level::Note);
            }
            self.post_in(chat, gate.session, post, Rank::Gate)
        });
        cards.collect()
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
        let chats = self.state.rules.chats.clone();
        let shown: Vec<(DeliveryId, Target)> = gate
            .cards
            .iter()
            .zip(&chats)
            .map(|(card, chat)| (*card, self.session_target(chat, gate.session)))
            .collect();
        self.edit_all(&shown, &post, Rank::Gate);
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
            return Err(Refusal::AlreadyDecided(format!(
                "{} may not answer this.",
                self.state.name_of(&who.human)
            )));
        }
        self.refuse_if_over(&gate)?;
        let decision = match decision(&mut gate, given)? {
            Some(decision) => decision,
            None => {
                let left = gate.picked.iter().filter(|pick| pick.is_none()).count();
                self.put(Row::Gate(gate.clone()));
                self.update_cards(&gate);
                return Ok(format!("Noted. {left} more to answer."));
            }
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
        self.effect(super::Effect::Order {
            session,
            run: gate.run,
            order: crate::agent::Order { id: order, what },
        });
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
        let matching = |g: &&Gate| g.session == session && g.run == run && g.request == *request;
        let Some(mut gate) = self.state.gates.values().find(matching).cloned() else { return };
        let now = self.now;
        let closed = |why: &str| GateState::Closed { why: why.into(), at: now };
        gate.state = match (gate.state, how) {
            (GateState::Answered { answer, .. }, Settled::Ours) => {
                GateState::Taken { answer, at: now }
            }
            (GateState::Open | GateState::Answered { .. }, Settled::AtDesk { allowed }) => {
                closed(match allowed {
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
        self.close_gate(gate);
    }

    fn close_gate(&mut self, gate: Gate) {
        let about = About { session: Some(gate.session), gate: Some(gate.id), human: None };
        self.put(Row::Gate(gate.clone()));
        self.journal("gate_settled", about, json!({ "state": gate.state }));
        self.update_cards(&gate);
    }

    /// The session's program is gone, and with it whatever it waited for.
    pub(super) fn close_gates_of(&mut self, session: SessionId, why: &str) {
        let open = |g: &&Gate| {
            g.session == session && matches!(g.state, GateState::Open | GateState::Answered { .. })
        };
        let gates: Vec<_> = self.state.gates.values().filter(open).cloned().collect();
        for mut gate in gates {
            gate.state = GateState::Closed { why: why.into(), at: self.now };
            self.close_gate(gate);
        }
    }

    /// Denies what nobody answered in time.
    pub(super) fn lapse_gates(&mut self) {
        let now = self.now;
        let late: Vec<_> = self.state.open_gates().filter(|g| g.until <= now).cloned().collect();
        for gate in late {
            let reason = Some("nobody answered in time".into());
            let answer = Answer {
                by: None,
                decision: Decision::Deny { reason },
                verdict: "Denied".into(),
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
        let mark = match result {
            Ok(words) => Mark::Stored { targets: Vec::new(), words: Some(words.clone()) },
            Err(refusal) => Mark::NotTaken { why: refusal.sentence() },
        };
        self.mark(message, mark);
    }

    /// The list of what waits, when an answer could mean several.
    pub(super) fn list_gates(&mut self, place: &crate::bridge::Place, gates: &[GateId]) {
        let mut text = Rich::plain("More than one thing waits. Which one? Nothing was decided.\n");
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

/// What the answer means to this gate. `Ok(None)`: noted, more questions are open.
fn decision(gate: &mut Gate, given: Given) -> Result<Option<Decision>, Refusal> {
    let needs_code = gate.shown.risk == Risk::Code;
    let coded = |typed: bool| {
        if needs_code && !typed {
            Err(Refusal::NeedsCode { code: gate.code.clone() })
        } else {
            Ok(())
        }
    };
    let wrong = |choice: &str, choices: &[&str]| Refusal::NoSuchChoice {
        choice: choice.into(),
        choices: choices.iter().map(|c| (*c).to_owned()).collect(),
    };
    match (&gate.ask, given) {
        (Asked::Permission { .. }, Given::Allow { code_typed }) => {
            coded(code_typed)?;
            Ok(Some(Decision::Allow { scope: Scope::Once }))
        }
        (Asked::Permission { can_remember, .. }, Given::AllowForSession { code_typed }) => {
            coded(code_typed)?;
            if !can_remember || needs_code {
                return Err(wrong("for this session", &["approve", "deny"]));
            }
            Ok(Some(Decision::Allow { scope: Scope::Session }))
        }
        (Asked::Plan { .. }, Given::Allow { .. }) => {
            Ok(Some(Decision::Plan { accept_edits: AcceptEdits::No }))
        }
        (Asked::Plan { .. }, Given::AllowWithEdits) => {
            Ok(Some(Decision::Plan { accept_edits: AcceptEdits::Yes }))
        }
        // Anything but a yes to a plan is what should change in it.
        (Asked::Plan { .. }, Given::Words(words)) => {
            Ok(Some(Decision::Deny { reason: Some(words) }))
        }
        (_, Given::Deny { reason }) => Ok(Some(Decision::Deny { reason })),
        (Asked::Questions { questions }, Given::Words(words)) => {
            Ok(pick(&questions.clone(), &mut gate.picked, None, words))
        }
        (Asked::Questions { questions }, Given::Option { question, option }) => {
            let questions = questions.clone();
            let label = questions
                .get(question)
                .and_then(|q| q.options.get(option))
                .map(|o| o.label.clone());
            let label = label.ok_or_else(|| {
                wrong(&format!("option {}", option + 1), &["the options on the card"])
            })?;
            Ok(pick(&questions, &mut gate.picked, Some(question), label))
        }
        (Asked::Questions { questions }, Given::Numbers(numbers)) => {
            let questions = questions.clone();
            let at = gate.picked.iter().position(Option::is_none).unwrap_or(0);
            let labels = questions.get(at).map(|q| labels(q, &numbers)).unwrap_or_default();
            match labels {
                Some(text) => Ok(pick(&questions, &mut gate.picked, Some(at), text)),
                None => Err(wrong(
                    &join_numbers(&numbers),
                    &["the numbers on the card", "your own words"],
                )),
            }
        }
        // "yes" and "ok" are words like any other to a question.
        (
            Asked::Questions { questions },
            Given::Allow { .. } | Given::AllowForSession { .. } | Given::AllowWithEdits,
        ) => Ok(pick(&questions.clone(), &mut gate.picked, None, "Yes".into())),
        (
            Asked::Permission { .. },
            Given::AllowWithEdits | Given::Numbers(_) | Given::Option { .. } | Given::Words(_),
        ) => Err(wrong("that", &["approve", "deny"])),
        (
            Asked::Plan { .. },
            Given::AllowForSession { .. } | Given::Numbers(_) | Given::Option { .. },
        ) => Err(wrong(
            "that",
            &["approve", "approve and accept its edits", "your own words to change it"],
        )),
    }
}

/// Notes one answer; all of them make the decision.
fn pick(
    questions: &[Question],
    picked: &mut Vec<Option<String>>,
    at: Option<usize>,
    text: String,
) -> Option<Decision> {
    picked.resize(questions.len().max(1), None);
    let at = at.or_else(|| picked.iter().position(Option::is_none)).unwrap_or(0);
    picked[at] = Some(text);
    picked.iter().cloned().collect::<Option<Vec<_>>>().map(|answers| Decision::Answers { answers })
}

/// The labels behind numbers from 1; several only where the question takes several.
fn labels(question: &Question, numbers: &[usize]) -> Option<String> {
    if numbers.is_empty() || (numbers.len() > 1 && !question.multiple) {
        return None;
    }
    let label = |number: &usize| {
        number.checked_sub(1).and_then(|at| question.options.get(at)).map(|o| o.label.clone())
    };
    numbers.iter().map(label).collect::<Option<Vec<_>>>().map(|labels| labels.join(", "))
}

fn join_numbers(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn verdict(decision: &Decision) -> String {
    match decision {
        Decision::Allow { scope: Scope::Once }
        | Decision::Plan { accept_edits: AcceptEdits::No } => "Approved".into(),
        Decision::Allow { scope: Scope::Session } => "Approved for this session".into(),
        Decision::Plan { accept_edits: AcceptEdits::Yes } => "Approved, edits accepted".into(),
        Decision::Deny { reason: None } => "Denied".into(),
        Decision::Deny { reason: Some(reason) } => format!("Denied: {reason}"),
        Decision::Answers { answers } => format!("Answered: {}", answers.join("; ")),
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What the card of a request says.
fn shown(ask: &Asked, cwd: &str) -> Shown {
    match ask {
        Asked::Permission { tool, input, cwd: asked_in, .. } => {
            let folder = if asked_in.is_empty() { cwd } else { asked_in };
            let d = risk::describe(tool, input, folder);
            Shown {
                kind: CardKind::Permission,
                title: d.title,
                content: d.content,
                diff: d.diff,
                warnings: d.warnings,
                facts: d.facts,
                risk: d.risk,
                digest: d.digest,
            }
        }
        Asked::Questions { questions } => {
            let title = if questions.len() == 1 {
                "asks you".into()
            } else {
                format!("asks you {} things", questions.len())
            };
            plain_shown(CardKind::Question, title, questions_text(questions), ask, cwd)
        }
        Asked::Plan { plan } => plain_shown(
            CardKind::Plan,
            "proposes a plan".into(),
            text::markdown(&text::mask(plan).text),
            ask,
            cwd,
        ),
    }
}

fn plain_shown(kind: CardKind, title: String, content: Rich, ask: &Asked, cwd: &str) -> Shown {
    let input = serde_json::to_value(ask).unwrap_or_default();
    let digest = risk::describe("", &input, cwd).digest;
    Shown {
        kind,
        title,
        content,
        diff: None,
        warnings: Vec::new(),
        facts: Vec::new(),
        risk: Risk::Plain,
        digest,
    }
}

fn questions_text(questions: &[Question]) -> Rich {
    let mut text = Rich::default();
    for (index, question) in questions.iter().enumerate() {
        if index > 0 {
            text.push("\n\n", None);
        }
        text.push(&text::reveal(&question.text).text.text, Some(Style::Bold));
        for (number, option) in question.options.iter().enumerate() {
            text.push(
                &format!("\n{}. {}", number + 1, text::reveal(&option.label).text.text),
                None,
            );
            if !option.description.is_empty() {
                text.push(&format!(": {}", text::reveal(&option.description).text.text), None);
            }
        }
    }
    text
}

fn answer_rule(gate: &Gate) -> String {
    let code = &gate.code;
    match (&gate.ask, gate.shown.risk) {
        (Asked::Permission { .. }, Risk::Code) => format!("To allow it, write: approve {code}"),
        (Asked::Permission { .. }, Risk::Plain | Risk::Care) => {
            format!("Or write: approve {code}, or deny {code} and why.")
        }
        (Asked::Questions { questions }, _) if questions.iter().any(|q| q.multiple) => {
            "Write the numbers (1, 3), or reply in your own words. Nothing happens until you answer.".into()
        }
        (Asked::Questions { .. }, _) => {
            "Or reply to this card in your own words. Nothing happens until you answer.".into()
        }
        (Asked::Plan { .. }, _) => "Reply to this card to say what should change.".into(),
    }
}

fn buttons(gate: &Gate) -> Vec<Button> {
    let id = gate.id;
    let button =
        |label: &str, weight, action| Button { label: label.into(), detail: None, weight, action };
    let deny = |label| button(label, Weight::Plain, Action::Deny { gate: id });
    match &gate.ask {
        Asked::Permission { .. } if gate.shown.risk == Risk::Code => vec![deny("Deny")],
        Asked::Permission { can_remember, .. } => {
            let mut all =
                vec![deny("Deny"), button("Approve", Weight::Go, Action::Allow { gate: id })];
            if *can_remember {
                all.push(button(
                    "For this session",
                    Weight::Plain,
                    Action::AllowForSession { gate: id },
                ));
            }
            all
        }
        Asked::Plan { .. } => vec![
            button(
                "Approve, and accept its edits",
                Weight::Go,
                Action::AllowWithEdits { gate: id },
            ),
            button("Approve", Weight::Plain, Action::Allow { gate: id }),
            deny("Keep planning"),
        ],
        Asked::Questions { questions } => {
            let open = questions
                .iter()
                .enumerate()
                .filter(|(at, _)| gate.picked.get(*at).is_none_or(Option::is_none));
            let options = open.flat_map(|(question, q)| {
                q.options.iter().enumerate().map(move |(option, choice)| Button {
                    label: text::reveal(&choice.label).text.text,
                    detail: (!choice.description.is_empty())
                        .then(|| text::reveal(&choice.description).text.text),
                    weight: Weight::Plain,
                    action: Action::Choose { gate: id, question, option },
                })
            });
            options.collect()
        }
    }
}
