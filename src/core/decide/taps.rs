//! What people tap: what it does, and what they are told.

use super::{
    Work,
    afford::Spender,
    gates::Who,
    given::Given,
    heard::words_of,
    outbox::{Draft, target_of},
    show,
};
use crate::{
    agent::Decision,
    bridge::{Action, Cards, Heard, Level, Mark, Place, Taps},
    command::{Refusal, Start},
    delivery::{Outgoing, Rank},
    gate::{Answer, Gate},
    id::{GateId, HeardId, MessageId, SessionId},
    prompt::PromptMessage,
    session::{Life, Session},
    state::{HeardOutcome, HeardRow, Row},
};

/// What whoever tapped was told is remembered for so many messages, so that it is said once.
const TOLD: usize = 256;

/// What somebody who tapped is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::decide) enum Told {
    /// What it did is seen in the chat anyway.
    Seen(String),
    /// Nothing else shows it: a refusal, or something that happens elsewhere.
    Unseen(String),
}

impl Told {
    pub(in crate::decide) fn too_old() -> Self {
        let words =
            "That was put there long ago and does nothing now. Do it again if it still counts.";
        Self::Unseen(words.into())
    }

    pub(in crate::decide) fn may_look() -> Self {
        Self::Unseen("You may look, not answer.".into())
    }

    pub(in crate::decide) fn of(result: Result<String, Refusal>) -> Self {
        match result {
            Ok(words) => Self::Seen(words),
            Err(refusal) => Self::Unseen(words_of(Err(refusal))),
        }
    }
}

impl Work<'_> {
    /// Where the service shows nothing to whoever tapped, what nothing else shows is said.
    pub(super) fn tell_who_tapped(&mut self, place: &Place, message: &MessageId, told: Told) {
        match self.state.limits_of(&place.bridge, &place.chat).taps {
            Taps::Unanswered => self.tell_who_reacted(place, message, told),
            Taps::Answered => {
                let (Told::Seen(words) | Told::Unseen(words)) = told;
                self.out.notice = Some(words);
            }
        }
    }

    /// No service shows anything to whoever reacted.
    pub(super) fn tell_who_reacted(&mut self, place: &Place, message: &MessageId, told: Told) {
        match told {
            Told::Unseen(words) => self.say_about(place, message, &words),
            Told::Seen(_) => {}
        }
    }

    /// A silent note in reply to that message; the same words about it only once.
    pub(super) fn say_about(&mut self, place: &Place, message: &MessageId, words: &str) {
        let key = (place.clone(), message.clone(), words.to_owned());
        if self.state.told.contains(&key) {
            return;
        }
        self.state.told.push_back(key);
        if self.state.told.len() > TOLD {
            self.state.told.pop_front();
        }
        let post = show::note(Level::Note, show::ticked(words), vec![]);
        self.deliver(Draft {
            to: target_of(place),
            what: Outgoing::Post { post, reply_to: Some(message.clone()) },
            rank: Rank::Reply,
            session: None,
            newest: None,
            not_before: None,
        });
    }

    /// Whether a tap is one of long ago, told only now by a service that forgets none. What is decided is
    /// said to be so instead.
    pub(super) fn is_too_old(&self, heard: &Heard, gate: Option<GateId>) -> bool {
        let told_later = match self.state.limits_of(&heard.place.bridge, &heard.place.chat).cards {
            Cards::Last => true,
            Cards::Perish => false,
        };
        let gate = gate.and_then(|gate| self.state.gates.get(&gate));
        told_later && self.long_ago(heard.at).is_some() && gate.is_none_or(Gate::is_open)
    }

    /// What still helps against something that was let through.
    pub(super) fn how_to_stop(&self, gate: &Gate, answer: &Answer) -> Option<String> {
        let allowed = match answer.decision {
            Decision::Allow { .. } | Decision::Plan { .. } => true,
            Decision::Deny { .. }
            | Decision::Answers { .. }
            | Decision::Approve { .. }
            | Decision::SendBack { .. } => false,
        };
        let session = gate.session().filter(|id| allowed && self.is_live(*id))?;
        Some(format!(" /stop {} interrupts it.", self.session_name(session)))
    }

    /// What a tap does.
    pub(super) fn tap(&mut self, action: &Action, who: &Who) -> Told {
        match action {
            Action::Allow { gate }
            | Action::AllowForSession { gate }
            | Action::AllowForHours { gate }
            | Action::AllowWithEdits { gate }
            | Action::Deny { gate }
            | Action::Choose { gate, .. }
            | Action::Submit { gate, .. }
            | Action::SendBack { gate } => match Given::by_button(action) {
                Some(given) => Told::of(self.answer_gate(*gate, given, who)),
                None => already_gone(),
            },
            Action::SendTo { heard, session } => self.send_kept(*heard, *session),
            Action::StartAndSend { heard } => self.start_and_send(*heard, who),
            Action::Drop { heard } => self.drop_kept(*heard),
            Action::SendEdit { heard } => self.send_kept_to_its_own(*heard),
            Action::Resume { session } => {
                let result = self.resume(*session);
                let name = self.session_name(*session);
                Told::Unseen(words_of(result.map(|()| format!("{name} goes on."))))
            }
            Action::Interrupt { session } => self.interrupt_one(*session),
            Action::InterruptAll => self.interrupt_all(),
            Action::CancelRun { run } => Told::of(self.cancel_by_tap(*run, who)),
            Action::RetryRun { run } => Told::of(self.retry_by_tap(*run, who)),
            Action::FillIn { form, at, option } => self.fill_in(*form, *at, *option),
            Action::StartRun { form } => self.start_form(*form, who),
            Action::DropRun { form } => self.drop_form(*form),
            Action::AsMuchAgain { session } => {
                self.as_much_again(&[Spender::Session(*session)], &who.human)
            }
            Action::RunGoesOn { run } => {
                self.as_much_again(&self.steps_that_wait(*run), &who.human)
            }
        }
    }

    fn interrupt_one(&mut self, session: SessionId) -> Told {
        let name = self.session_name(session);
        if !self.is_live(session) {
            return Told::Unseen(format!("{name} does not run."));
        }
        self.interrupt(session);
        Told::Seen(format!("Stopping {name}; its context is kept."))
    }

    fn interrupt_all(&mut self) -> Told {
        let works = |session: &&Session| {
            matches!(session.life, Life::Working { .. }) || session.cut.is_some()
        };
        let working: Vec<_> = self.state.live().filter(works).map(|session| session.id).collect();
        if working.is_empty() {
            return Told::Unseen("Nothing works. Nothing was stopped.".into());
        }
        for session in &working {
            self.interrupt(*session);
        }
        let names: Vec<_> = working.iter().map(|id| self.session_name(*id)).collect();
        Told::Unseen(format!("Stopping {}; their context is kept.", names.join(", ")))
    }

    fn start_and_send(&mut self, heard: HeardId, who: &Who) -> Told {
        let Some((name, project)) = self.kept(heard).and_then(|(_, kept)| kept.start) else {
            return already_gone();
        };
        let start = Start {
            name: name.to_string(),
            title: String::new(),
            project: Some(project.to_string()),
            agent: None,
            ..Start::default()
        };
        match self.start(&start, &who.human) {
            Ok(session) => self.send_kept(heard, session),
            Err(refusal) => Told::of(Err(refusal)),
        }
    }

    /// A kept message goes to the session a person chose.
    fn send_kept(&mut self, heard: HeardId, session: SessionId) -> Told {
        let Some((row, kept)) = self.kept(heard) else { return already_gone() };
        let Some(target) = self.state.sessions.get(&session).cloned() else {
            let words = "That session is not known here any more. Your text is still kept.";
            return Told::Unseen(words.into());
        };
        if !target.life.is_live()
            && let Err(refusal) = self.resume(session)
        {
            return Told::of(Err(refusal));
        }
        let message = row.message.clone().map(|id| PromptMessage {
            heard,
            place: row.place.clone(),
            id,
            targets: vec![target.name.clone()],
        });
        match self.queue(session, &kept.text, kept.form, &kept.by, message) {
            Ok(prompt) => {
                self.note_received(session, &row.files, &kept.by);
                let outcome =
                    HeardOutcome::Routed { prompts: vec![prompt], sessions: vec![session] };
                self.put(Row::Heard(HeardRow { outcome, ..row }));
                let words = format!("Sent to {}.", target.name);
                self.question_decided(&kept, &words);
                Told::Seen(words)
            }
            Err(refusal) => Told::of(Err(refusal)),
        }
    }

    fn drop_kept(&mut self, heard: HeardId) -> Told {
        let Some((row, kept)) = self.kept(heard) else { return already_gone() };
        if let Some(message) = row.message.clone() {
            let receipt =
                PromptMessage { heard, place: row.place.clone(), id: message, targets: vec![] };
            self.mark(&receipt, Mark::NotTaken { why: "dropped, as you wished".into() });
        }
        self.put(Row::Heard(HeardRow { outcome: HeardOutcome::Handled, ..row }));
        self.question_decided(&kept, "Dropped.");
        Told::Seen("Dropped.".into())
    }

    fn send_kept_to_its_own(&mut self, heard: HeardId) -> Told {
        match self.kept(heard).and_then(|(_, kept)| kept.session) {
            Some(session) => self.send_kept(heard, session),
            None => Told::Unseen("That edit is already sent or dropped. Nothing was done.".into()),
        }
    }
}

fn already_gone() -> Told {
    Told::Unseen("That message is already sent or dropped. Nothing was done.".into())
}
