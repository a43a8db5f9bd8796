//! What people do in chats: who it is, whether it was heard before, and what it is.

use chrono::TimeDelta;

use super::{Work, gates::Who, given::Given, outbox::target_of, route::with_file, show};
use crate::{
    Timestamp,
    agent::PromptForm,
    answer::{self, Reading},
    bridge::{Action, Attached, Button, Heard, HeardKind, Level, Mark, Place, TextOrigin, Weight},
    command::{Kept, Refusal, Start},
    delivery::{Rank, Shown},
    id::{BridgeName, DeliveryId, GateId, HeardId, HumanId, MessageId, SessionId},
    prompt::{PromptMessage, PromptState},
    route::{Address, Target as Named},
    session::Life,
    state::{Facts, HeardOutcome, HeardRow, Role, Row},
    text::Rich,
};

/// Older than this, words are still delivered, but no longer decide or command anything: what they
/// were about may be over.
const STALE: TimeDelta = TimeDelta::minutes(15);

/// Quicker than this nobody reads a card and answers it: a word that comes sooner was meant for
/// something else.
const REACTION: TimeDelta = TimeDelta::seconds(1);

/// Whether a message itself says whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addressed {
    /// By prefix, or by the thread it stands in.
    Yes,
    /// By focus alone, or not at all.
    No,
}

/// A text being taken in.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub heard: HeardId,
    pub human: HumanId,
    pub via: String,
    pub place: Place,
    pub id: MessageId,
    pub text: String,
    pub files: Vec<Attached>,
    /// What it answers, when the person said so.
    pub reply_session: Option<SessionId>,
    pub reply_gate: Option<GateId>,
    /// It answers a message that is neither a card nor of any session.
    pub reply_elsewhere: bool,
    pub reply_to: Option<MessageId>,
    pub forwarded: bool,
    /// When it was written, as far as the service knows.
    pub sent: Timestamp,
    /// The person named whom they mean, in so many words.
    pub addressed: Addressed,
    /// How long ago it was sent, when that is long.
    pub age: Option<TimeDelta>,
}

impl Message {
    /// For receipts on it.
    pub(super) fn receipt(&self, targets: Vec<crate::id::SessionName>) -> PromptMessage {
        PromptMessage { heard: self.heard, place: self.place.clone(), id: self.id.clone(), targets }
    }

    /// Whoever wrote it can have seen the card of a gate that opened then.
    pub(super) fn can_have_seen(&self, opened: Timestamp) -> bool {
        self.sent >= opened + REACTION
    }

    /// Only words typed lately can decide or command.
    pub(super) fn can_act(&self) -> bool {
        !self.forwarded && self.age.is_none()
    }
}

impl Work<'_> {
    pub(super) fn heard(&mut self, heard: Heard, facts: Facts) {
        if facts.known || !self.state.remember_key(&heard.place.bridge, &heard.key) {
            return;
        }
        let id = self.heard_now;
        let message = match &heard.what {
            HeardKind::Text { message, .. } => Some(message.clone()),
            HeardKind::Edited { .. }
            | HeardKind::Tap { .. }
            | HeardKind::Reaction { .. }
            | HeardKind::TakenBack { .. } => None,
        };
        let outcome = match self.state.human_of(&heard.place.bridge, &heard.from) {
            None => self.stranger(&heard),
            Some(human) => self
                .place_known(&heard, &human)
                .unwrap_or_else(|| self.heard_from(id, human, &heard, facts)),
        };
        let files = match heard.what {
            HeardKind::Text { files, .. } if outcome != HeardOutcome::Stranger => files,
            HeardKind::Text { .. }
            | HeardKind::Edited { .. }
            | HeardKind::Tap { .. }
            | HeardKind::Reaction { .. }
            | HeardKind::TakenBack { .. } => Vec::new(),
        };
        self.put(Row::Heard(HeardRow {
            id,
            bridge: heard.place.bridge.clone(),
            key: heard.key,
            place: heard.place,
            message,
            sent: heard.at,
            received: self.now,
            files,
            outcome,
        }));
    }

    fn heard_from(
        &mut self,
        id: HeardId,
        human: HumanId,
        heard: &Heard,
        facts: Facts,
    ) -> HeardOutcome {
        let role = self.state.rules.people.get(&human).map_or(Role::Viewer, |person| person.role);
        let via = via_words(&heard.place.bridge);
        match &heard.what {
            HeardKind::Text { message, text, origin, files, reply_to } => {
                let age = self.long_ago(heard.at);
                let message = Message {
                    heard: id,
                    human,
                    via,
                    place: heard.place.clone(),
                    id: message.clone(),
                    text: text.clone(),
                    files: files.clone(),
                    reply_session: facts.session,
                    reply_gate: facts.gate,
                    reply_elsewhere: reply_to.is_some()
                        && facts.gate.is_none()
                        && facts.session.is_none(),
                    reply_to: reply_to.clone(),
                    sent: heard.at,
                    addressed: if heard.place.thread.is_some() {
                        Addressed::Yes
                    } else {
                        Addressed::No
                    },
                    forwarded: *origin == TextOrigin::Forwarded,
                    age,
                };
                if role < Role::Talker {
                    self.mark(
                        &message.receipt(vec![]),
                        Mark::NotTaken { why: "you may look, not write".into() },
                    );
                    return HeardOutcome::Handled;
                }
                self.text(message)
            }
            HeardKind::Edited { text, .. } => self.edited(id, &human, heard, text, facts),
            HeardKind::Tap { action, .. } => {
                let notice = if role < Role::Talker {
                    "You may look, not answer.".into()
                } else {
                    self.tap(action, &Who { human, via })
                };
                self.out.notice = Some(notice);
                HeardOutcome::Handled
            }
            HeardKind::TakenBack { .. } => HeardOutcome::Handled,
            HeardKind::Reaction { emoji, .. } => {
                self.reaction(emoji, facts.gate, &Who { human, via });
                HeardOutcome::Handled
            }
        }
    }

    /// How long ago that was, when it is long.
    fn long_ago(&self, at: Timestamp) -> Option<TimeDelta> {
        Some(self.now - at).filter(|age| *age > STALE)
    }

    fn reaction(&mut self, emoji: &str, gate: Option<GateId>, who: &Who) {
        let Some(gate) = gate else { return };
        let given = match answer::read(emoji, &self.state.rules.words) {
            Reading::Allow { .. } => Given::Allow { code_typed: false },
            Reading::Deny { .. } => Given::Deny { reason: None },
            Reading::AllowAll
            | Reading::AllowForSession { .. }
            | Reading::AllowWith { .. }
            | Reading::Back { .. }
            | Reading::Option { .. }
            | Reading::Unclear { .. }
            | Reading::NotAnAnswer => return,
        };
        self.out.notice = Some(words_of(self.answer_gate(gate, given, who)));
    }

    /// What a tap does, in words for whoever tapped.
    fn tap(&mut self, action: &Action, who: &Who) -> String {
        let once = Given::Allow { code_typed: false };
        match action {
            Action::Allow { gate } => words_of(self.answer_gate(*gate, once, who)),
            Action::AllowForSession { gate } => {
                words_of(self.answer_gate(*gate, Given::AllowForSession { code_typed: false }, who))
            }
            Action::AllowWithEdits { gate } => {
                words_of(self.answer_gate(*gate, Given::AllowWithEdits, who))
            }
            Action::Deny { gate } => {
                words_of(self.answer_gate(*gate, Given::Deny { reason: None }, who))
            }
            Action::Choose { gate, question, option } => {
                let given = Given::Option { question: *question, option: *option };
                words_of(self.answer_gate(*gate, given, who))
            }
            Action::Submit { gate, question } => {
                words_of(self.answer_gate(*gate, Given::Ticked { question: *question }, who))
            }
            Action::SendTo { heard, session } => self.send_kept(*heard, *session),
            Action::StartAndSend { heard } => {
                let Some((name, project)) = self.kept(*heard).and_then(|(_, kept)| kept.start)
                else {
                    return "That message is already sent or dropped. Nothing was done.".into();
                };
                let start = Start {
                    name: name.to_string(),
                    title: String::new(),
                    project: Some(project.to_string()),
                    agent: None,
                    ..Start::default()
                };
                match self.start(&start, &who.human) {
                    Ok(session) => self.send_kept(*heard, session),
                    Err(refusal) => words_of(Err(refusal)),
                }
            }
            Action::Drop { heard } => self.drop_kept(*heard),
            Action::SendEdit { heard } => self.send_kept_to_its_own(*heard),
            Action::Resume { session } => {
                let words = self
                    .resume(*session)
                    .map(|()| format!("{} goes on.", self.session_name(*session)));
                words_of(words)
            }
            Action::Interrupt { session } => {
                let live = self.state.sessions.get(session).is_some_and(|s| s.life.is_live());
                if !live {
                    return format!("{} does not run.", self.session_name(*session));
                }
                self.interrupt(*session);
                format!("Stopping {}; its context is kept.", self.session_name(*session))
            }
            Action::InterruptAll => self.interrupt_all(),
            Action::SendBack { gate } => words_of(self.answer_gate(*gate, Given::AskBack, who)),
            Action::CancelRun { run } => words_of(self.cancel_by_tap(*run, who)),
            Action::RetryRun { run } => words_of(self.retry_by_tap(*run, who)),
            Action::FillIn { form, at, option } => self.fill_in(*form, *at, *option),
            Action::StartRun { form } => words_of(self.start_form(*form, who)),
            Action::DropRun { form } => self.drop_form(*form),
        }
    }

    fn interrupt_all(&mut self) -> String {
        let works =
            |session: &&crate::session::Session| matches!(session.life, Life::Working { .. });
        let working: Vec<_> = self.state.live().filter(works).map(|session| session.id).collect();
        if working.is_empty() {
            return "Nothing works. Nothing was stopped.".into();
        }
        for session in &working {
            self.interrupt(*session);
        }
        let names: Vec<_> = working.iter().map(|id| self.session_name(*id)).collect();
        format!("Stopping {}; their context is kept.", names.join(", "))
    }

    /// A kept message goes to the session a person chose.
    fn send_kept(&mut self, heard: HeardId, session: SessionId) -> String {
        let Some((row, kept)) = self.kept(heard) else {
            return "That message is already sent or dropped. Nothing was done.".into();
        };
        let Some(target) = self.state.sessions.get(&session).cloned() else {
            return "That session is not known here any more. Your text is still kept.".into();
        };
        if !target.life.is_live()
            && let Err(refusal) = self.resume(session)
        {
            return words_of(Err(refusal));
        }
        let message = row.message.clone().map(|id| PromptMessage {
            heard,
            place: row.place.clone(),
            id,
            targets: vec![target.name.clone()],
        });
        match self.queue(session, &kept.text, kept.form, &kept.by, message) {
            Ok(prompt) => {
                let outcome =
                    HeardOutcome::Routed { prompts: vec![prompt], sessions: vec![session] };
                self.put(Row::Heard(HeardRow { outcome, ..row }));
                self.close_question(kept.asked, &kept.place, &format!("Sent to {}.", target.name));
                format!("Sent to {}.", target.name)
            }
            Err(refusal) => words_of(Err(refusal)),
        }
    }

    fn drop_kept(&mut self, heard: HeardId) -> String {
        let Some((row, kept)) = self.kept(heard) else {
            return "That message is already sent or dropped. Nothing was done.".into();
        };
        if let Some(message) = row.message.clone() {
            let receipt =
                PromptMessage { heard, place: row.place.clone(), id: message, targets: vec![] };
            self.mark(&receipt, Mark::NotTaken { why: "dropped, as you wished".into() });
        }
        self.put(Row::Heard(HeardRow { outcome: HeardOutcome::Handled, ..row }));
        self.close_question(kept.asked, &kept.place, "Dropped.");
        "Dropped.".into()
    }

    fn send_kept_to_its_own(&mut self, heard: HeardId) -> String {
        match self.kept(heard).and_then(|(_, kept)| kept.session) {
            Some(session) => self.send_kept(heard, session),
            None => "That edit is already sent or dropped. Nothing was done.".into(),
        }
    }

    fn kept(&self, heard: HeardId) -> Option<(HeardRow, Kept)> {
        let row = self.state.kept.get(&heard)?;
        match &row.outcome {
            HeardOutcome::Kept { kept } => Some((row.clone(), kept.clone())),
            HeardOutcome::Stranger | HeardOutcome::Routed { .. } | HeardOutcome::Handled => None,
        }
    }

    /// The message that asked loses its buttons and says what was chosen.
    pub(super) fn close_question(&mut self, asked: Option<DeliveryId>, place: &Place, words: &str) {
        let post = show::note(Level::Log, Rich::plain(words), vec![]);
        let shown = asked.map(|delivery| Shown { delivery, to: target_of(place) });
        self.edit_all(&shown.into_iter().collect::<Vec<_>>(), &post, Rank::Note);
    }

    /// An edit replaces what still waits; what an agent already has is never sent a second time
    /// by itself.
    fn edited(
        &mut self,
        id: HeardId,
        by: &HumanId,
        heard: &Heard,
        text: &str,
        facts: Facts,
    ) -> HeardOutcome {
        let place = &heard.place;
        let Some(original) = facts.heard else { return HeardOutcome::Handled };
        let receipt = original.message.clone().map(|message| PromptMessage {
            heard: original.id,
            place: original.place.clone(),
            id: message,
            targets: vec![],
        });
        let HeardOutcome::Routed { prompts, sessions } = &original.outcome else {
            if let (HeardOutcome::Kept { kept }, Some(message)) =
                (&original.outcome, &original.message)
            {
                return self.edited_kept(&original, kept, message.clone(), (text, heard.at));
            }
            return HeardOutcome::Handled;
        };
        let waiting: Vec<_> =
            self.state.prompts.values().filter(|p| prompts.contains(&p.id)).cloned().collect();
        let untouched = waiting.len() == prompts.len()
            && waiting.iter().all(|p| p.state == PromptState::Queued);
        if untouched
            && let Some(message) = &original.message
            && self.is_for_others(text, sessions)
        {
            for mut prompt in waiting {
                let why = "it was edited to go elsewhere".into();
                prompt.state = PromptState::Refused { why, at: self.now };
                self.put(Row::Prompt(prompt));
            }
            let (id, text) = (message.clone(), (text, heard.at));
            return self.routed_anew(&original, by, id, text);
        }
        let new_text = self.without_address(text);
        if untouched && !new_text.trim().is_empty() {
            let whole = original.files.iter().fold(new_text, with_file);
            for mut prompt in waiting {
                prompt.text.clone_from(&whole);
                self.put(Row::Prompt(prompt));
            }
            if let Some(mut receipt) = receipt {
                receipt.targets = sessions
                    .iter()
                    .filter_map(|s| self.state.sessions.get(s))
                    .map(|s| s.name.clone())
                    .collect();
                let mark = Mark::Stored {
                    targets: receipt.targets.clone(),
                    words: Some("updated before it went in".into()),
                };
                self.mark(&receipt, mark);
            }
            return HeardOutcome::Handled;
        }
        let session = sessions.first().copied();
        let name = session.map(|s| self.session_name(s)).unwrap_or_default();
        let send = Button {
            label: format!("Send the edit to {name}"),
            detail: None,
            weight: Weight::Plain,
            action: Action::SendEdit { heard: id },
        };
        let drop = Button {
            label: "Leave it".into(),
            detail: None,
            weight: Weight::Plain,
            action: Action::Drop { heard: id },
        };
        let words = format!(
            "{name} already has the first version. Should the edit go as a message of its own?"
        );
        let post = show::note(Level::Note, Rich::plain(words), vec![send, drop]);
        let asked = self.post_to_place(place, session, post);
        let kept = Kept {
            by: by.clone(),
            place: place.clone(),
            text: new_text,
            form: PromptForm::Text,
            session,
            asked: Some(asked),
            start: None,
        };
        HeardOutcome::Kept { kept }
    }

    /// A kept message with its address mended is sent as if it had been written so.
    fn edited_kept(
        &mut self,
        original: &HeardRow,
        kept: &Kept,
        id: MessageId,
        text: (&str, Timestamp),
    ) -> HeardOutcome {
        self.close_question(kept.asked, &kept.place, "You changed the message.");
        self.routed_anew(original, &kept.by, id, text)
    }

    /// Whether an address stands before the text that names others than these.
    fn is_for_others(&self, text: &str, sessions: &[SessionId]) -> bool {
        let Address::To { targets, .. } = self.address(text) else { return false };
        let is_one_of_them = |target: &Named| match target {
            Named::Name(name) => {
                self.state.session_named(name).is_some_and(|s| sessions.contains(&s.id))
            }
            Named::Group(_) | Named::All => true,
        };
        !targets.iter().all(is_one_of_them)
    }

    /// As if it had been written so from the beginning.
    fn routed_anew(
        &mut self,
        original: &HeardRow,
        by: &HumanId,
        id: MessageId,
        (text, edited): (&str, Timestamp),
    ) -> HeardOutcome {
        let message = Message {
            heard: original.id,
            human: by.clone(),
            via: via_words(&original.place.bridge),
            place: original.place.clone(),
            id,
            text: text.into(),
            files: original.files.clone(),
            reply_session: None,
            reply_gate: None,
            reply_elsewhere: false,
            reply_to: None,
            sent: edited,
            addressed: Addressed::No,
            forwarded: false,
            age: self.long_ago(edited),
        };
        let outcome = self.text(message);
        self.put(Row::Heard(HeardRow { outcome, ..original.clone() }));
        HeardOutcome::Handled
    }
}

fn words_of(result: Result<String, Refusal>) -> String {
    result.unwrap_or_else(|refusal| refusal.in_a_chat())
}

/// Where an answer came from, as cards say it.
fn via_words(bridge: &BridgeName) -> String {
    match bridge.as_str() {
        "phone" => "the phone page".into(),
        "telegram" => "Telegram".into(),
        "matrix" => "Matrix".into(),
        other => other.into(),
    }
}
