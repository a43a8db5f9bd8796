//! What reactions do that people put on cards, and which of them count.

use super::{
    Work,
    gates::Who,
    given::{Given, lower_first},
    taps::Told,
};
use crate::{
    agent::Asked,
    answer::{Reacted, reacted},
    bridge::{Action, ByReaction, Heard, Place, Risk, in_words},
    command::Refusal,
    gate::{Gate, GateState},
    id::{GateId, MessageId},
};

impl Work<'_> {
    /// A reaction on a card. `None`: it is on none, or none that answers. It never stands for a code
    /// that must be typed.
    pub(super) fn reaction(
        &mut self,
        heard: &Heard,
        emoji: &str,
        gate: Option<GateId>,
        who: &Who,
    ) -> Option<Told> {
        let gate = self.state.gates.get(&gate?)?;
        let action = meant_by(gate, reacted(emoji)?)?;
        Some(self.reacts(heard, &action, who))
    }

    /// A reaction that stands for that button.
    pub(super) fn reacts(&mut self, heard: &Heard, action: &Action, who: &Who) -> Told {
        if self.is_too_old(heard, action.gate()) {
            return Told::too_old();
        }
        if self.counts_as_reaction(&heard.place, action) {
            return self.tap(action, who);
        }
        match self.not_by_reaction(action, who) {
            Ok(words) => Told::Unseen(words),
            Err(refusal) => Told::of(Err(refusal)),
        }
    }

    fn counts_as_reaction(&self, place: &Place, action: &Action) -> bool {
        let reactions = self.state.limits_of(&place.bridge, &place.chat).reactions;
        let gate = action.gate().and_then(|gate| self.state.gates.get(&gate));
        reactions.may(action, gate.map(by_reaction))
    }

    /// What to do instead of a reaction that decides nothing there.
    fn not_by_reaction(&mut self, action: &Action, who: &Who) -> Result<String, Refusal> {
        let instead = match action.gate() {
            None => self.instead_of(action),
            Some(id) => {
                let gate = self.gate_known(id)?;
                let no = matches!(action, Action::Deny { .. });
                let yes = Given::Allow { code_typed: false };
                let given = if no { Given::Deny { reason: None } } else { yes };
                self.refuse_unless_allowed(&gate, who, &given)?;
                self.refuse_if_over(&gate, &given)?;
                let words = in_words(action, &gate.code).unwrap_or_default();
                format!("Reply: `{words}`")
            }
        };
        Ok(format!(
            "A reaction does not decide that here, since others could put one there in your name. {instead}"
        ))
    }

    /// How somebody does with words what is no answer to a request.
    fn instead_of(&self, action: &Action) -> String {
        let run = |id| self.state.runs.get(id).map(|known| known.row.name()).unwrap_or_default();
        match action {
            Action::SendTo { session, .. } => {
                let name = self.session_name(*session);
                format!("Send your message again with `[{name}]` before it.")
            }
            Action::StartAndSend { heard } => {
                let start = self.kept(*heard).and_then(|(_, kept)| kept.start);
                let name = start.map(|(name, _)| name.to_string()).unwrap_or_default();
                format!("Write: `/new {name}` and your message.")
            }
            Action::SendEdit { .. } => "Send it as a message of its own.".into(),
            Action::Resume { session } => {
                format!("Write: `/resume {}`", self.session_name(*session))
            }
            Action::Interrupt { session } => {
                format!("Write: `/stop {}`", self.session_name(*session))
            }
            Action::AsMuchAgain { session } => {
                format!("Write: `/budget {} more`", self.session_name(*session))
            }
            Action::RunGoesOn { run: id } => format!("Write: `/budget {} more`", run(*id)),
            Action::InterruptAll => "Write `/stop` and the name, for each.".into(),
            Action::CancelRun { run: id } => format!("Write: `/cancel {}`", run(*id)),
            Action::RetryRun { run: id } => format!("Write: `/retry {}`", run(*id)),
            Action::FillIn { .. } => "Write it, or `/run NAME name=value` for all of it.".into(),
            Action::StartRun { .. } => "Write: `/run NAME name=value` for all of it.".into(),
            Action::Drop { .. } | Action::DropRun { .. } => {
                "Leave it: nothing comes of it by itself.".into()
            }
            Action::Allow { .. }
            | Action::AllowForSession { .. }
            | Action::AllowForHours { .. }
            | Action::AllowWithEdits { .. }
            | Action::Deny { .. }
            | Action::SendBack { .. }
            | Action::Choose { .. }
            | Action::Submit { .. } => "Reply to its card.".into(),
        }
    }

    /// What was decided stays so, whatever becomes of the reaction that decided it.
    pub(super) fn reaction_taken_back(
        &mut self,
        place: &Place,
        message: &MessageId,
        emoji: &str,
        gate: Option<GateId>,
    ) {
        let gate = gate.and_then(|gate| self.state.gates.get(&gate));
        let meant = gate.and_then(|gate| Some((gate, meant_by(gate, reacted(emoji)?)?)));
        let Some((gate, _)) = meant.filter(|(_, action)| self.counts_as_reaction(place, action))
        else {
            return;
        };
        let (GateState::Answered { answer, .. } | GateState::Taken { answer, .. }) = &gate.state
        else {
            return;
        };
        let mut words = format!(
            "Taking a reaction back changes nothing: {} stays {}.",
            gate.code,
            lower_first(&answer.verdict)
        );
        if let Some(how) = self.how_to_stop(gate, answer) {
            words.push_str(&how);
        }
        self.say_about(place, message, &words);
    }
}

/// What its card takes from reactions that others could have put there.
pub(super) fn by_reaction(gate: &Gate) -> ByReaction {
    match gate.ask {
        Asked::Approval(_) => ByReaction::Denials,
        Asked::Questions { .. } if gate.step().is_some() => ByReaction::Denials,
        Asked::Permission { .. } if gate.shown.risk > Risk::Plain => ByReaction::Denials,
        Asked::Questions { .. } | Asked::Permission { .. } | Asked::Plan { .. } => {
            ByReaction::Answers
        }
    }
}

/// The button that a reaction on that gate's card stands for. `None`: none, as a number where there is
/// nothing to choose.
fn meant_by(gate: &Gate, reacted: Reacted) -> Option<Action> {
    let id = gate.id;
    let question = gate.picked.iter().position(Option::is_none).unwrap_or(0);
    let chooses = match gate.ask {
        Asked::Questions { .. } | Asked::Approval(_) => true,
        Asked::Permission { .. } | Asked::Plan { .. } => false,
    };
    match reacted {
        // What is ticked is what the yes is about.
        Reacted::Yes if gate.ticked.iter().any(|(at, _)| *at == question) => {
            Some(Action::Submit { gate: id, question })
        }
        Reacted::Yes => Some(Action::Allow { gate: id }),
        Reacted::No => Some(Action::Deny { gate: id }),
        Reacted::Option(number) => {
            let option = number.checked_sub(1).filter(|_| chooses)?;
            Some(Action::Choose { gate: id, question, option })
        }
    }
}
