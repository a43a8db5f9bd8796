//! What is kept until a person says where it should go, and their answer to that in words: a yes or no,
//! a number, a name. In reply to the question it is meant for that one; otherwise only where nothing else
//! can be meant.

use chrono::TimeDelta;

use super::{Work, gates::Who, heard::Message, slash, taps::Told};
use crate::{
    answer::{self, Bare},
    bridge::{Action, Button, Mark, Weight},
    command::Kept,
    id::{GateId, HeardId, SessionId},
    route::{Address, Target},
    state::{Decided, HeardOutcome, HeardRow},
};

/// How long the next words in its place may answer such a question.
const FRESH: TimeDelta = TimeDelta::minutes(15);

/// How long a second answer to such a question can be meant for nothing else: the first takes its time to
/// be seen.
const TWICE: TimeDelta = TimeDelta::seconds(30);

/// What somebody chose, in words.
enum Choice {
    /// One of the options, and what else was said to that session.
    Does(Action, Option<(SessionId, String)>),
    /// It is an answer, and fits none of the options.
    Fits { why: String },
}

impl Work<'_> {
    /// What can be done with it, in the order in which it is shown.
    pub(super) fn kept_options(&self, heard: HeardId, kept: &Kept) -> Vec<Button> {
        let button = |label, action| Button { label, detail: None, weight: Weight::Plain, action };
        if let Some(session) = kept.session {
            let name = self.session_name(session);
            return vec![
                button(format!("Send the edit to {name}"), Action::SendEdit { heard }),
                button("Leave it".into(), Action::Drop { heard }),
            ];
        }
        let to = |session: &SessionId| {
            let name = self.session_name(*session);
            let runs = self.is_live(*session);
            let label = if runs { name } else { format!("Resume {name} and send it") };
            button(label, Action::SendTo { heard, session: *session })
        };
        let mut options: Vec<_> = kept.offered.iter().map(to).collect();
        if let Some((name, project)) = &kept.start {
            let label = format!("Start {name} in {project}");
            options.push(button(label, Action::StartAndSend { heard }));
        }
        options.push(button("Drop it".into(), Action::Drop { heard }));
        options
    }

    /// An answer in words to a question of Vigie's own. `None`: it is none.
    pub(super) fn answers_kept(&mut self, message: &Message) -> Option<HeardOutcome> {
        if !message.can_act() || !message.files.is_empty() {
            return None;
        }
        let (asked, is_reply) = self.questions_of(message);
        let Some(row) = asked.first() else { return self.answers_decided(message) };
        let HeardOutcome::Kept { kept } = &row.outcome else { return None };
        let choice = self.choice(row.id, kept, message, is_reply)?;
        if !is_reply && asked.len() > 1 {
            let why = "several questions wait here; answer in reply to the one you mean";
            return Some(self.fits_none(message, why.into()));
        }
        let decides = !matches!(self.address(&message.text), Address::To { .. });
        let gates = if decides { self.gates_of_place(message) } else { vec![] };
        if !is_reply && !gates.is_empty() {
            let why = "say which one: with the code, or in reply to the question".into();
            let outcome = self.fits_none(message, why);
            self.list_gates(&message.place, &gates);
            return Some(outcome);
        }
        match choice {
            Choice::Fits { why } => Some(self.fits_none(message, why)),
            Choice::Does(action, more) => Some(self.does_kept(message, &action, more)),
        }
    }

    /// A bare answer to a question that somebody decided before is meant for nobody else.
    fn answers_decided(&mut self, message: &Message) -> Option<HeardOutcome> {
        let is_bare = answer::read(&message.text, &self.state.rules.words).bare().is_some();
        let is_it = |decided: &&Decided| match &message.reply_to {
            Some(reply_to) => {
                decided.place.chat == message.place.chat
                    && self.state.messages.get(&decided.asked) == Some(reply_to)
            }
            None => {
                decided.place == message.place
                    && decided.by == message.human
                    && self.now - decided.at < TWICE
                    && self.gates_of_place(message).is_empty()
            }
        };
        if !is_bare || !self.state.decided.iter().any(|decided| is_it(&decided)) {
            return None;
        }
        let why = "that was decided already, and nothing was sent; in other words it goes through";
        Some(self.fits_none(message, why.into()))
    }

    /// The message that asked loses its buttons and says what was chosen.
    pub(super) fn question_decided(&mut self, kept: &Kept, words: &str) {
        if let Some(asked) = kept.asked {
            let (place, by, at) = (kept.place.clone(), kept.by.clone(), self.now);
            self.state.remember_decided(Decided { asked, place, by, at });
        }
        self.close_question(kept.asked, &kept.place, words);
    }

    fn does_kept(
        &mut self,
        message: &Message,
        action: &Action,
        more: Option<(SessionId, String)>,
    ) -> HeardOutcome {
        let who = Who { human: message.human.clone(), via: message.via.clone() };
        match (self.tap(action, &who), more) {
            (Told::Unseen(words), _) => {
                self.fits_none(message, words.trim_end_matches('.').to_owned())
            }
            (Told::Seen(_), None) => {
                self.mark(&message.receipt(vec![]), Mark::Stored { targets: vec![], words: None });
                HeardOutcome::Handled
            }
            (Told::Seen(_), Some((session, text))) => {
                let message = Message { text, ..message.clone() };
                let name = self.session_name(session);
                self.addressed(&message, &[Target::Name(name)])
            }
        }
    }

    fn fits_none(&mut self, message: &Message, why: String) -> HeardOutcome {
        self.mark(&message.receipt(vec![]), Mark::NotTaken { why });
        HeardOutcome::Handled
    }

    /// The questions that these words may answer, newest first; and whether they are a reply to that one,
    /// or to what is kept.
    fn questions_of(&self, message: &Message) -> (Vec<HeardRow>, bool) {
        let asked_as = |row: &HeardRow| match &row.outcome {
            HeardOutcome::Kept { kept } => kept.asked.and_then(|it| self.state.messages.get(&it)),
            HeardOutcome::Stranger | HeardOutcome::Routed { .. } | HeardOutcome::Handled => None,
        };
        if let Some(reply_to) = &message.reply_to {
            let is_it = |row: &&HeardRow| {
                let here = row.place.bridge == message.place.bridge
                    && row.place.chat == message.place.chat;
                let answers = asked_as(row) == Some(reply_to);
                here && (answers || row.message.as_ref() == Some(reply_to))
            };
            return (self.state.kept.values().find(is_it).cloned().into_iter().collect(), true);
        }
        let waits = |row: &&HeardRow| {
            let theirs = match &row.outcome {
                HeardOutcome::Kept { kept } => kept.by == message.human,
                HeardOutcome::Stranger | HeardOutcome::Routed { .. } | HeardOutcome::Handled => {
                    false
                }
            };
            let fresh = self.now - row.received < FRESH && message.can_have_seen(row.received);
            theirs && fresh && row.place == message.place
        };
        let mut asked: Vec<_> = self.state.kept.values().filter(waits).cloned().collect();
        asked.sort_unstable_by_key(|row| std::cmp::Reverse((row.received, row.id)));
        (asked, false)
    }

    fn choice(
        &self,
        heard: HeardId,
        kept: &Kept,
        message: &Message,
        is_reply: bool,
    ) -> Option<Choice> {
        let options = self.kept_options(heard, kept);
        let to = |session| Action::SendTo { heard, session };
        if let Address::To { targets, text } = self.address(&message.text) {
            let [Target::Name(name)] = targets.as_slice() else { return None };
            let session = self.state.session_named(name)?.id;
            let more = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            if more.is_some() && !is_reply {
                return None; // words for that session, and nothing else
            }
            return Some(Choice::Does(to(session), more.map(|text| (session, text))));
        }
        let said = message.text.trim().trim_end_matches(['.', '!']);
        let labelled = |option: &&Button| option.label.eq_ignore_ascii_case(said);
        if let Some(option) = options.iter().find(labelled) {
            return Some(Choice::Does(option.action.clone(), None));
        }
        let named = self.state.session_named(said).map(|session| session.id);
        if let Some(session) = named.filter(|id| is_reply || kept.offered.contains(id)) {
            return Some(Choice::Does(to(session), None));
        }
        let of = |option: &Button| Some(Choice::Does(option.action.clone(), None));
        let which = || {
            let why = "say which: its number or its name, or tap it".into();
            Some(Choice::Fits { why })
        };
        match answer::read(&message.text, &self.state.rules.words).bare()? {
            Bare::No => options.last().and_then(of),
            Bare::Yes => match options.as_slice() {
                [only, _] if !is_unknown_command(kept) => of(only),
                _ => which(),
            },
            Bare::Numbers(&[number]) => {
                number.checked_sub(1).and_then(|at| options.get(at)).map_or_else(which, of)
            }
            Bare::Numbers(_) => which(),
        }
    }

    /// What else a yes could be meant for there.
    fn gates_of_place(&self, message: &Message) -> Vec<GateId> {
        let focus = (message.place.clone(), message.human.clone());
        let scope = self
            .state
            .thread_session(&message.place)
            .or_else(|| self.state.focus.get(&focus).copied());
        let open = self.state.open_gates();
        open.filter(|gate| scope.is_none() || gate.session() == scope).map(|gate| gate.id).collect()
    }
}

/// A yes to "did you mean …?" would send what was not meant.
fn is_unknown_command(kept: &Kept) -> bool {
    matches!(slash::parse(&kept.text), slash::Slash::Unknown { .. })
}
