//! Where a text goes: the design's order, and a question back to the person wherever that does
//! not name exactly what they meant.

use std::fmt::Write as _;

use super::{
    Work,
    heard::{Addressed, Message, Missed},
    show,
    slash::{self, Slash},
};
use crate::{
    agent::PromptForm,
    answer,
    bridge::{Attached, Got, Level, Mark, Post},
    command::Kept,
    id::{SessionId, SessionName},
    route::{Address, Target, address, bracketed},
    state::{FocusRow, HeardOutcome, HeardRow, Row},
    text::Rich,
};

/// Kept messages of a chat that are asked about at a time; of more, nobody would read the questions.
const MISSED_AT_MOST: usize = 20;

/// Sessions offered when nobody said where.
pub(super) const OFFERED: usize = 6;

const WHERE: &str = "Where should it go?";

/// Why a text goes nowhere by itself, without its full stop, and what is asked about it.
#[derive(Clone, Copy)]
struct Question<'a> {
    why: &'a str,
    ask: &'a str,
}

impl Work<'_> {
    pub(super) fn text(&mut self, mut message: Message) -> HeardOutcome {
        self.say_missed(&message);
        if message.can_act() && self.fills_in(&message) {
            return HeardOutcome::Handled;
        }
        if let Some(outcome) = self.answers_kept(&message) {
            return outcome;
        }
        if let Some(gate) = message.reply_gate
            && let Some(outcome) = self.reply_to_card(&message, gate)
        {
            return outcome;
        }
        match self.address(&message.text) {
            Address::Refused { why, suggestion } => {
                let near = self.state.session_named(&suggestion).map(|s| s.id);
                let question = Question { why: why.trim_end_matches('.'), ask: WHERE };
                self.keep(&message, question, near.into_iter().collect(), None)
            }
            Address::None => self.unaddressed(&message),
            Address::To { targets, text } => {
                message.text = text;
                message.addressed = Addressed::Yes;
                self.addressed(&message, &targets)
            }
        }
    }

    /// A file that could not be fetched is said to whoever sent it.
    fn say_missed(&mut self, message: &Message) {
        for file in &message.files {
            if let Got::Missed { why } = &file.got {
                let words = format!("{} did not arrive here: {why}", file.name);
                self.post_to_place(
                    &message.place,
                    None,
                    show::note(Level::Ring, Rich::plain(words), vec![]),
                );
            }
        }
    }

    pub(super) fn address(&self, text: &str) -> Address {
        let known = |name: &str| self.state.session_named(name).is_some();
        match address(text, &self.state.rules.pattern, &known) {
            Address::None => self.nearly_addressed(text).unwrap_or(Address::None),
            read @ (Address::To { .. } | Address::Refused { .. }) => read,
        }
    }

    /// `[demo1]` where `demo` runs: no name, and too near to one to be taken for words.
    fn nearly_addressed(&self, text: &str) -> Option<Address> {
        let (name, text) = bracketed(text)?;
        let near = !self.near_sessions(&name).is_empty();
        near.then(|| Address::To { targets: vec![Target::Name(name)], text })
    }

    pub(super) fn without_address(&self, text: &str) -> String {
        match self.address(text) {
            Address::To { text, .. } => text,
            Address::None | Address::Refused { .. } => text.into(),
        }
    }

    fn unaddressed(&mut self, message: &Message) -> HeardOutcome {
        let focus = (message.place.clone(), message.human.clone());
        let scope = message
            .reply_session
            .or_else(|| self.state.thread_session(&message.place))
            .or_else(|| self.state.focus.get(&focus).copied().filter(|id| self.is_live(*id)));
        self.send_to_scope(message, &scope.into_iter().collect::<Vec<_>>())
    }

    pub(super) fn is_live(&self, id: SessionId) -> bool {
        self.state.sessions.get(&id).is_some_and(|s| s.life.is_live())
    }

    /// The person named whom they mean.
    pub(super) fn addressed(&mut self, message: &Message, targets: &[Target]) -> HeardOutcome {
        let mut scope = Vec::new();
        for target in targets {
            match target {
                Target::All => scope.extend(self.state.live().map(|s| s.id)),
                Target::Group(prefix) => {
                    let prefix = prefix.to_ascii_lowercase();
                    scope.extend(
                        self.state
                            .live()
                            .filter(|s| s.name.folded().starts_with(&prefix))
                            .map(|s| s.id),
                    );
                }
                Target::Name(name) => match self.state.session_named(name) {
                    Some(session) => scope.push(session.id),
                    None => return self.near_miss(message, name),
                },
            }
        }
        let mut seen = std::collections::HashSet::new();
        scope.retain(|id| seen.insert(*id));
        if scope.is_empty() {
            let question = Question { why: "No session matches that", ask: "" };
            return self.keep(message, question, vec![], None);
        }
        if message.text.trim().is_empty() && message.files.is_empty() {
            return self.only_prefix(message, &scope);
        }
        self.send_to_scope(message, &scope)
    }

    /// Text for these sessions; for none, when nothing said which.
    fn send_to_scope(&mut self, message: &Message, scope: &[SessionId]) -> HeardOutcome {
        match slash::parse(&message.text) {
            Slash::Vigie(name, arguments) => return self.slash(message, scope, name, &arguments),
            Slash::Unknown { typed, meant } => {
                let why = format!("There is no command /{typed}, and nothing was done");
                let ask = match meant {
                    Some(meant) => format!("Did you mean /{meant}?"),
                    None => {
                        format!("/help lists the commands; //{typed} is one of the agent's own.")
                    }
                };
                let question = Question { why: &why, ask: &ask };
                return self.keep(message, question, scope.to_vec(), None);
            }
            Slash::Agent(command) => {
                let message = Message { text: command, ..message.clone() };
                return self.send_to_sessions(&message, scope, PromptForm::Command);
            }
            Slash::Answer(words) => {
                let message = Message { text: words, ..message.clone() };
                return self.as_answer(&message, scope).unwrap_or_else(|| {
                    let why = "nothing waits for an answer".into();
                    self.mark(&message.receipt(vec![]), Mark::NotTaken { why });
                    HeardOutcome::Handled
                });
            }
            Slash::Words(words) => {
                let message = Message { text: words, ..message.clone() };
                return self.send_to_sessions(&message, scope, PromptForm::Text);
            }
            Slash::Text => {}
        }
        // Where nothing waits, `3` is no answer to a card.
        let idle = scope.is_empty() && self.state.open_gates().next().is_none();
        if idle && self.fills_in_unasked(message) {
            return HeardOutcome::Handled;
        }
        if let Some(outcome) = self.as_answer(message, scope) {
            return outcome;
        }
        // Words without an address are for the Lord, so they answer what it asks.
        if let ([], Some(lord)) = (scope, self.state.lord().map(|lord| lord.id))
            && let Some(outcome) = self.as_answer(message, &[lord])
        {
            return outcome;
        }
        if let Some(code) = answer::unreadable_code(&message.text, &self.state.rules.words) {
            let why = format!(
                "nothing has the code {code}, and nothing was sent; /waiting lists what waits"
            );
            self.mark(&message.receipt(vec![]), Mark::NotTaken { why });
            return HeardOutcome::Handled;
        }
        self.send_to_sessions(message, scope, PromptForm::Text)
    }

    /// Nobody goes by that name.
    fn near_miss(&mut self, message: &Message, name: &str) -> HeardOutcome {
        let near: Vec<_> = self.near_sessions(name).into_iter().map(|s| s.id).collect();
        let why = format!("There is no session {name}");
        let start = name.parse().ok();
        self.keep(message, Question { why: &why, ask: WHERE }, near, start)
    }

    /// Only an address: the words without one that follow go there.
    fn only_prefix(&mut self, message: &Message, scope: &[SessionId]) -> HeardOutcome {
        match scope {
            [session] => self.focus_on(message, *session),
            several => {
                let names: Vec<_> = several.iter().map(|id| self.session_name(*id)).collect();
                self.say_here(message, &format!("{}: say what they should do.", names.join(", ")));
                HeardOutcome::Handled
            }
        }
    }

    pub(super) fn focus_on(&mut self, message: &Message, session: SessionId) -> HeardOutcome {
        let (place, human) = (message.place.clone(), message.human.clone());
        self.put(Row::Focus(FocusRow { place, human, session: Some(session) }));
        let line = self.status_line(session);
        self.say_here(
            message,
            &format!(
                "{line}\nWords without an address go to {} here, until /focus off.",
                self.session_name(session)
            ),
        );
        HeardOutcome::Handled
    }

    /// Puts the text into each session's line.
    fn send_to_sessions(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        form: PromptForm,
    ) -> HeardOutcome {
        if message.missed == Missed::Yes {
            return self.ask_about_missed(message, scope, form);
        }
        if scope.is_empty() && form == PromptForm::Text && self.fills_in_unasked(message) {
            return HeardOutcome::Handled;
        }
        // Whatever else has no address goes to the Lord, if there is one.
        if let ([], Some(lord)) = (scope, self.state.lord().map(|lord| lord.id)) {
            return self.send_to_sessions(message, &[lord], form);
        }
        if scope.is_empty() {
            let question = Question { why: "It names no session", ask: WHERE };
            return self.keep_form(message, form, question, self.likeliest(), None);
        }
        let asleep = |work: &mut Self, id: &SessionId| !work.is_live(*id) && !work.wake_lord(*id);
        if let Some(ended) = scope.iter().copied().find(|id| asleep(self, id)) {
            let name = self.session_name(ended);
            let (why, ask) =
                (format!("{name} does not run"), format!("Resume {name} and send it?"));
            let question = Question { why: &why, ask: &ask };
            return self.keep_form(message, form, question, vec![ended], None);
        }
        let names: Vec<SessionName> = scope
            .iter()
            .filter_map(|id| self.state.sessions.get(id))
            .map(|s| s.name.clone())
            .collect();
        let text = prompt_words(message);
        let mut prompts = Vec::new();
        for session in scope {
            match self.queue(
                *session,
                &text,
                form,
                &message.human,
                Some(message.receipt(names.clone())),
            ) {
                Ok(prompt) => {
                    self.note_received(*session, &message.files, &message.human);
                    prompts.push(prompt);
                }
                Err(refusal) => {
                    self.mark_answer(&message.receipt(vec![]), &Err(refusal));
                    return HeardOutcome::Routed { prompts, sessions: scope.to_vec() };
                }
            }
        }
        HeardOutcome::Routed { prompts, sessions: scope.to_vec() }
    }

    /// Words of long ago go nowhere by themselves: what they were about may be over, and some services
    /// tell old things again.
    fn ask_about_missed(
        &mut self,
        message: &Message,
        scope: &[SessionId],
        form: PromptForm,
    ) -> HeardOutcome {
        let here = |row: &&HeardRow| row.place.chat == message.place.chat;
        if self.state.kept.values().filter(here).count() >= MISSED_AT_MOST {
            let why = "it was sent long ago, like many others; write it again if it still counts";
            self.mark(&message.receipt(vec![]), Mark::NotTaken { why: why.into() });
            return HeardOutcome::Handled;
        }
        let offered = match (scope, self.state.lord()) {
            ([], Some(lord)) => vec![lord.id],
            ([], None) => self.likeliest(),
            (scope, _) => scope.to_vec(),
        };
        let age = show::span(message.sent, self.now);
        let why = format!("That was sent {age} ago and missed");
        let question = Question { why: &why, ask: "Send it now?" };
        self.keep_form(message, form, question, offered, None)
    }

    /// Live sessions, those that were heard of last first.
    fn likeliest(&self) -> Vec<SessionId> {
        let mut live: Vec<_> = self.state.live().map(|s| (s.life.since(), s.id)).collect();
        live.sort_unstable_by(|a, b| b.cmp(a));
        live.into_iter().map(|(_, id)| id).take(OFFERED).collect()
    }

    fn keep(
        &mut self,
        message: &Message,
        question: Question<'_>,
        offered: Vec<SessionId>,
        start: Option<SessionName>,
    ) -> HeardOutcome {
        self.keep_form(message, PromptForm::Text, question, offered, start)
    }

    /// Nothing is guessed: the text is kept and the person chooses.
    fn keep_form(
        &mut self,
        message: &Message,
        form: PromptForm,
        question: Question<'_>,
        offered: Vec<SessionId>,
        start: Option<SessionName>,
    ) -> HeardOutcome {
        let start = start.zip(self.state.rules.projects.first().map(|p| p.name.clone()));
        let mut kept = Kept {
            by: message.human.clone(),
            place: message.place.clone(),
            text: prompt_words(message),
            form,
            session: None,
            asked: None,
            start,
            offered,
        };
        let buttons = self.kept_options(message.heard, &kept);
        self.mark(&message.receipt(vec![]), Mark::Kept { why: question.why.into() });
        let words = format!("{}. {} is kept. {}", question.why, quoted(message), question.ask);
        kept.asked = Some(self.post_to_place(
            &message.place,
            None,
            show::note(Level::Note, Rich::plain(words.trim_end()), buttons),
        ));
        HeardOutcome::Kept { kept }
    }

    pub(super) fn say_here(&mut self, message: &Message, words: &str) {
        self.say_post(message, show::note(Level::Note, show::ticked(words), vec![]));
    }

    pub(super) fn say_post(&mut self, message: &Message, post: Post) {
        self.post_to_place(&message.place, None, post);
        self.mark(&message.receipt(vec![]), Mark::Stored { targets: vec![], words: None });
    }
}

/// What somebody sent, by its first words or by its file.
fn quoted(message: &Message) -> String {
    let file = || message.files.first().map(|file| file.name.as_str());
    let text = Some(message.text.as_str()).filter(|text| !text.trim().is_empty());
    text.or_else(file).map_or_else(|| "What you sent".into(), show::quoted)
}

/// The text as the agent gets it: somebody else's words and old ones say so.
pub(super) fn prompt_words(message: &Message) -> String {
    let text = message.text.trim();
    let text = if message.forwarded {
        let quoted: Vec<_> = text.lines().map(|line| format!("> {line}")).collect();
        format!("Forwarded from somebody else:\n{}", quoted.join("\n"))
    } else {
        text.to_owned()
    };
    let mut text = message.files.iter().fold(text, with_file);
    if let Some(age) = message.age {
        let then = chrono::DateTime::UNIX_EPOCH;
        let _ = write!(text, "\n\n(sent {} ago)", show::span(then, then + age));
    }
    text
}

/// Names the file an agent may open.
pub(super) fn with_file(mut text: String, file: &Attached) -> String {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    let _ = match &file.got {
        Got::File { path, bytes } => {
            write!(text, "Attached file \"{}\" ({bytes} bytes): {path}", file.name)
        }
        Got::Missed { why } => {
            write!(text, "An attached file, \"{}\", could not be fetched: {why}", file.name)
        }
    };
    text
}
