//! Whether a text answers what waits: as a reply to its card, by a code, or because nothing else can
//! be meant.

use super::{Work, gates::Who, given::Given, heard::Message, route::prompt_words, show};
use crate::{
    agent::Asked,
    answer::{self, Reading},
    bridge::{Action, Button, Level, Mark, Risk, Weight},
    id::{GateId, SessionId},
    state::HeardOutcome,
    text::Rich,
};

impl Work<'_> {
    /// A reply to a card. `None`: the words are no answer to it and go to its session.
    pub(super) fn reply_to_card(&mut self, message: &Message, id: GateId) -> Option<HeardOutcome> {
        let gate = self.state.gates.get(&id).cloned()?;
        let scope: Vec<_> = gate.session().into_iter().collect();
        if !message.can_act() {
            return self.as_answer(message, &scope);
        }
        let reading = answer::read(&message.text, &self.state.rules.words);
        let code_typed = code_of(&reading).is_some_and(|code| *code == gate.code);
        if code_of(&reading).is_some() && !code_typed {
            return self.as_answer(message, &scope);
        }
        let free = !matches!(gate.ask, Asked::Permission { .. });
        let said = prompt_words(message);
        if said.is_empty() {
            return None; // nothing is no answer
        }
        let given = match (reading, free) {
            (_, true) if !message.files.is_empty() && gate.is_open() => Given::Words(said),
            (Reading::Unclear { did_you_mean }, false) if gate.is_open() => {
                return Some(self.unclear(message, &did_you_mean, &[id]));
            }
            (reading, _) if gate.step().is_none() && is_for_workflows(&reading) => return None,
            (Reading::NotAnAnswer | Reading::AllowAll | Reading::Unclear { .. }, false)
                if gate.step().is_none() =>
            {
                return None;
            }
            (Reading::NotAnAnswer | Reading::AllowAll | Reading::Unclear { .. }, true)
                if !gate.is_open() && gate.step().is_none() =>
            {
                return None;
            }
            (_, _) => self.given(id, &message.text, code_typed),
        };
        Some(self.answered(message, id, given))
    }

    fn answered(&mut self, message: &Message, gate: GateId, given: Given) -> HeardOutcome {
        let who = Who { human: message.human.clone(), via: message.via.clone() };
        let result = self.answer_gate(gate, given, &who);
        self.mark_answer(&message.receipt(vec![]), &result);
        HeardOutcome::Handled
    }

    /// A slip of the thumb; where it can mean one thing only, a tap says it was meant.
    fn unclear(&mut self, message: &Message, meant: &str, open: &[GateId]) -> HeardOutcome {
        let why = format!("did you mean {meant}? Nothing was decided and nothing was sent");
        self.mark(&message.receipt(vec![]), Mark::NotTaken { why });
        if let [gate] = open
            && let Some((title, button)) = self.meant(*gate, meant)
        {
            let words = Rich::plain(format!("{title}: did you mean {meant}?"));
            self.post_to_place(&message.place, None, show::note(Level::Note, words, vec![button]));
        }
        HeardOutcome::Handled
    }

    /// The button for what was nearly written, where a tap would do.
    fn meant(&self, id: GateId, word: &str) -> Option<(String, Button)> {
        let gate = self.state.gates.get(&id)?;
        let by_tap = gate.shown.risk != Risk::Code;
        let (label, weight, action) = match answer::read(word, &self.state.rules.words) {
            Reading::Allow { .. } if by_tap && !matches!(gate.ask, Asked::Questions { .. }) => {
                ("Approve", Weight::Go, Action::Allow { gate: id })
            }
            Reading::Deny { .. } => ("Deny", Weight::Plain, Action::Deny { gate: id }),
            Reading::Allow { .. }
            | Reading::AllowAll
            | Reading::AllowForSession { .. }
            | Reading::AllowForHours { .. }
            | Reading::AllowWith { .. }
            | Reading::Back { .. }
            | Reading::Option { .. }
            | Reading::Unclear { .. }
            | Reading::NotAnAnswer => return None,
        };
        let title = format!("{} {}", self.waits_name(gate), gate.shown.title);
        Some((title, Button { label: label.into(), detail: None, weight, action }))
    }

    /// Whether the whole message is an answer to something that waits. `None`: it is not.
    pub(super) fn as_answer(
        &mut self,
        message: &Message,
        scope: &[SessionId],
    ) -> Option<HeardOutcome> {
        let reading = answer::read(&message.text, &self.state.rules.words);
        let open: Vec<GateId> = self
            .state
            .open_gates()
            .filter(|gate| {
                scope.is_empty() || gate.session().is_some_and(|session| scope.contains(&session))
            })
            .map(|gate| gate.id)
            .collect();
        let approvals = |id: &GateId| self.is_approval(*id);
        let an_answer = match &reading {
            // Whatever else waits takes no words with a yes, so that no condition is lost.
            Reading::AllowWith { code, .. } | Reading::Back { code: Some(code), .. } => {
                self.gate_of_code(code.as_str()).is_ok_and(|gate| self.is_approval(gate))
            }
            Reading::Back { code: None, .. } => {
                scope.is_empty() && open.len() == 1 && open.iter().all(approvals)
            }
            Reading::Allow { .. }
            | Reading::AllowForSession { .. }
            | Reading::AllowForHours { .. }
            | Reading::Deny { .. }
            | Reading::Option { .. } => true,
            Reading::AllowAll => !open.is_empty(),
            Reading::Unclear { did_you_mean } if !open.is_empty() && message.can_act() => {
                return Some(self.unclear(message, did_you_mean, &open));
            }
            Reading::Unclear { .. } | Reading::NotAnAnswer => false,
        };
        if !an_answer {
            return self.free_answer(message, scope, &open);
        }
        if !message.can_act() {
            if open.is_empty() && code_of(&reading).is_none() {
                return None;
            }
            let why = if message.forwarded {
                "somebody else's words decide nothing"
            } else {
                "it was sent long ago and decides nothing now"
            };
            self.mark(&message.receipt(vec![]), Mark::NotTaken { why: why.into() });
            return Some(HeardOutcome::Handled);
        }
        if let Some(code) = code_of(&reading) {
            return Some(match self.gate_of_code(code.as_str()) {
                Ok(gate) => {
                    let given = self.given(gate, &message.text, true);
                    self.answered(message, gate, given)
                }
                Err(refusal) => {
                    self.mark_answer(&message.receipt(vec![]), &Err(refusal));
                    HeardOutcome::Handled
                }
            });
        }
        match open.as_slice() {
            [] if scope.is_empty() && self.state.lord().is_none() => {
                self.mark(
                    &message.receipt(vec![]),
                    Mark::NotTaken { why: "nothing waits for an answer".into() },
                );
                Some(HeardOutcome::Handled)
            }
            // "ok" to a session that asked nothing is a message like any other.
            [] => None,
            [gate] if !self.seen_by(message, *gate) => {
                let why = "it asked something new just then; look at the card and answer it";
                self.mark(&message.receipt(vec![]), Mark::NotTaken { why: why.into() });
                Some(HeardOutcome::Handled)
            }
            [gate]
                if reading != Reading::AllowAll
                    && !message.reply_elsewhere
                    && !(scope.is_empty() && self.lord_spoke_after(*gate)) =>
            {
                let given = self.given(*gate, &message.text, false);
                Some(self.answered(message, *gate, given))
            }
            several => {
                let several = several.to_vec();
                self.mark(&message.receipt(vec![]), Mark::NotTaken { why: "say which one".into() });
                self.list_gates(&message.place, &several);
                Some(HeardOutcome::Handled)
            }
        }
    }

    fn seen_by(&self, message: &Message, gate: GateId) -> bool {
        self.state.gates.get(&gate).is_some_and(|gate| message.can_have_seen(gate.opened))
    }

    /// Words to a session answer the one question it asks, or say what to change in its plan.
    fn free_answer(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        open: &[GateId],
    ) -> Option<HeardOutcome> {
        if scope.is_empty()
            && let Some(outcome) = self.words_to_send_back(message, open)
        {
            return Some(outcome);
        }
        let [gate] = open else { return None };
        let question = !matches!(self.state.gates.get(gate)?.ask, Asked::Permission { .. });
        let seen = self.seen_by(message, *gate);
        let said = prompt_words(message);
        if scope.len() != 1 || !question || !seen || !message.can_act() || said.is_empty() {
            return None;
        }
        Some(self.answered(message, *gate, Given::Words(said)))
    }

    /// Whoever tapped "Send back…" says with the next words what should change, wherever they write
    /// them without an address.
    fn words_to_send_back(&mut self, message: &Message, open: &[GateId]) -> Option<HeardOutcome> {
        let of_them = |id: &&GateId| {
            let gate = self.state.gates.get(id);
            gate.is_some_and(|gate| gate.words_of.as_ref() == Some(&message.human))
        };
        let mut waiting = open.iter().filter(of_them).copied();
        let (gate, other) = (waiting.next()?, waiting.next());
        let words = prompt_words(message);
        let bare = message.can_act() && !message.reply_elsewhere && !words.is_empty();
        if !bare || other.is_some() || !self.seen_by(message, gate) {
            return None;
        }
        Some(self.answered(message, gate, Given::SendBack { words }))
    }
}

/// A session takes no such answer: to it these are words like any others.
fn is_for_workflows(reading: &Reading) -> bool {
    match reading {
        Reading::AllowWith { .. } | Reading::Back { .. } => true,
        Reading::Allow { .. }
        | Reading::Deny { .. }
        | Reading::AllowAll
        | Reading::AllowForSession { .. }
        | Reading::AllowForHours { .. }
        | Reading::Option { .. }
        | Reading::Unclear { .. }
        | Reading::NotAnAnswer => false,
    }
}

fn code_of(reading: &Reading) -> Option<&crate::id::GateCode> {
    match reading {
        Reading::Allow { code }
        | Reading::AllowForSession { code }
        | Reading::AllowForHours { code }
        | Reading::Deny { code, .. }
        | Reading::Back { code, .. }
        | Reading::Option { code, .. } => code.as_ref(),
        Reading::AllowWith { code, .. } => Some(code),
        Reading::AllowAll | Reading::Unclear { .. } | Reading::NotAnAnswer => None,
    }
}
