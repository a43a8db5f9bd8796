//! What people do in chats: who it is, whether it was heard before, and what it is.

use chrono::TimeDelta;

use super::{Work, gates::Who, outbox::target_of, route::with_file, show, taps::Told};
use crate::{
    Timestamp,
    agent::PromptForm,
    bridge::{Attached, Heard, HeardKind, Level, Mark, Place, TextOrigin},
    command::{Kept, Refusal},
    delivery::{Rank, Shown},
    id::{BridgeName, DeliveryId, GateId, HeardId, HumanId, MessageId, SessionId},
    prompt::{PromptMessage, PromptState},
    route::{Address, Target as Named},
    state::{Facts, HeardOutcome, HeardRow, Role, Row},
    text::Rich,
};

/// Older than this, words are still delivered, but no longer decide or command anything: what they
/// were about may be over.
const STALE: TimeDelta = TimeDelta::minutes(15);

/// Older than this, words may be of a time nobody remembers, and services tell old things again: whoever
/// wrote them is asked whether they still count.
const MISSED: TimeDelta = TimeDelta::hours(24);

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
    pub missed: Missed,
}

/// Whether words come so late that they go nowhere by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    No,
    Yes,
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
            | HeardKind::Withdrawn { .. }
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
            | HeardKind::Withdrawn { .. }
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
        self.was_heard(&human, &heard.place, heard.at);
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
                    missed: self.is_missed(&heard.place, heard.at),
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
            HeardKind::Tap { message, action } => {
                let told = if role < Role::Talker {
                    Told::may_look()
                } else if self.is_too_old(heard, action.gate()) {
                    Told::too_old()
                } else {
                    self.tap(action, &Who { human, via })
                };
                self.tell_who_tapped(&heard.place, message, told);
                HeardOutcome::Handled
            }
            HeardKind::Reaction { message, emoji, means } => {
                let who = Who { human, via };
                let told = match means {
                    Some(_) if role < Role::Talker => Some(Told::may_look()),
                    Some(action) => Some(self.reacts(heard, action, &who)),
                    None => self.reaction(heard, emoji, facts.gate, &who),
                };
                if let Some(told) = told {
                    self.tell_who_reacted(&heard.place, message, told);
                }
                HeardOutcome::Handled
            }
            HeardKind::Withdrawn { .. } => self.withdrawn(&facts),
            HeardKind::TakenBack { message, emoji } => {
                self.reaction_taken_back(&heard.place, message, emoji, facts.gate);
                HeardOutcome::Handled
            }
        }
    }

    /// How long ago that was, when it is long.
    pub(super) fn long_ago(&self, at: Timestamp) -> Option<TimeDelta> {
        Some(self.now - at).filter(|age| *age > STALE)
    }

    /// Whether words of then are too old to go anywhere: by their age, or since they were written before
    /// the chat was ours.
    fn is_missed(&self, place: &Place, at: Timestamp) -> Missed {
        let row = self.state.chats.get(&(place.bridge.clone(), place.chat.clone()));
        let before = row.and_then(|row| row.opened).is_some_and(|opened| at < opened);
        match self.long_ago(at) {
            Some(age) if age > MISSED || before => Missed::Yes,
            Some(_) | None => Missed::No,
        }
    }

    pub(super) fn kept(&self, heard: HeardId) -> Option<(HeardRow, Kept)> {
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
        let words = format!(
            "{name} already has the first version. Should the edit go as a message of its own?"
        );
        let mut kept = Kept {
            by: by.clone(),
            place: place.clone(),
            text: new_text,
            form: PromptForm::Text,
            session,
            asked: None,
            start: None,
            offered: vec![],
        };
        let options = self.kept_options(id, &kept);
        let post = show::note(Level::Note, Rich::plain(words), options);
        kept.asked = Some(self.post_to_place(place, session, post));
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
        self.question_decided(kept, "You changed the message.");
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
            missed: self.is_missed(&original.place, edited),
        };
        let outcome = self.text(message);
        self.put(Row::Heard(HeardRow { outcome, ..original.clone() }));
        HeardOutcome::Handled
    }
}

pub(super) fn words_of(result: Result<String, Refusal>) -> String {
    result.unwrap_or_else(|refusal| refusal.in_a_chat())
}

/// Where an answer came from, as cards say it.
pub(super) fn via_words(bridge: &BridgeName) -> String {
    match bridge.as_str() {
        "phone" => "the phone page".into(),
        "telegram" => "Telegram".into(),
        "matrix" => "Matrix".into(),
        other => other.into(),
    }
}
