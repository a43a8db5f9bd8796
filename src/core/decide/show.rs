//! How things are worded: posts, receipts and thread titles out of the state.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{
    Work,
    afford::{Spender, Until, used_up},
    hush::Cause,
};
use crate::{
    Timestamp,
    bridge::{Body, Button, Document, Level, Part, Post, SessionLook, ThreadState},
    delivery::{Rank, Shown, Spot, Target},
    id::{BridgeName, SessionId, SessionName},
    prompt::Prompt,
    ringing::Kind,
    session::{Life, Session},
    state::Chat,
    text::{self, Rich, Style},
};

/// Longest last words in a list.
const LAST_WORDS: usize = 120;

/// Of a text that is asked about, so much is said again, in characters as people count them.
const QUOTED: usize = 60;

impl Work<'_> {
    pub(super) fn thread_state(&self, id: SessionId) -> Option<ThreadState> {
        let session = self.state.sessions.get(&id)?;
        let (state, detail) = self.state_of(session);
        let title = session.title.clone();
        Some(ThreadState {
            session: session.name.clone(),
            title,
            state,
            detail,
            since: session.life.since(),
        })
    }

    fn state_of(&self, session: &Session) -> (SessionLook, Option<String>) {
        let gate = self.state.open_gates_of(session.id).next();
        if gate.is_none()
            && let Some(limited) = self.state.limited(session, self.now)
        {
            return (SessionLook::Limited, Some(limited.detail));
        }
        match (&session.life, gate) {
            (Life::Starting { .. } | Life::Idle { .. } | Life::Working { .. }, Some(gate)) => {
                let what = match gate.shown.kind {
                    crate::bridge::CardKind::Permission => "permission",
                    crate::bridge::CardKind::Question => "question",
                    crate::bridge::CardKind::Plan => "plan",
                    crate::bridge::CardKind::Approval => "approval",
                };
                (SessionLook::Waiting, Some(what.into()))
            }
            (Life::NeedsDesk { why, .. } | Life::Lost { why, .. }, _) => {
                (session.life.look(), Some(why.clone()))
            }
            (Life::Working { .. }, None) => (
                session.life.look(),
                session.turn.as_ref().and_then(|turn| turn.lines.last().cloned()),
            ),
            (Life::Starting { .. } | Life::Idle { .. } | Life::Ended { .. }, _) => {
                (session.life.look(), session.last_words.clone())
            }
        }
    }

    /// Brings the session's thread up to date in every chat.
    pub(super) fn show_thread(&mut self, session: SessionId) {
        for chat in self.state.hearing() {
            self.show_thread_in(&chat, session);
        }
    }

    /// An agent's own words, masked and cut for each chat; whoever replies to any part reaches it.
    pub(super) fn post_answer(&mut self, id: SessionId, markdown: &str, level: Level) {
        let Some(session) = self.state.sessions.get(&id) else { return };
        let name = session.name.clone();
        let masked = text::mask(markdown);
        let mut rich = text::markdown(&masked.text);
        if rich.is_empty() {
            rich = Rich::plain(format!("{name} finished with no text."));
        }
        if masked.masked > 0 {
            let words = format!(
                "\n\n{} masked; the desk shows it (vigie log {name}).",
                secrets(masked.masked)
            );
            rich.push(&words, Some(Style::Italic));
        }
        let document = format!("{name}-{}", self.now.format("%Y%m%d-%H%M%S"));
        for chat in self.state.hearing() {
            self.fold_earlier(&chat, id, &name);
            self.post_rich(&chat, id, &name, &rich, level, &document);
        }
    }

    fn post_rich(
        &mut self,
        chat: &Chat,
        id: SessionId,
        name: &SessionName,
        rich: &Rich,
        level: Level,
        document: &str,
    ) {
        let fitted = text::fit(rich, &self.state.limits_of(&chat.bridge, &chat.chat), document);
        let of = fitted.parts.len();
        for (index, text) in fitted.parts.into_iter().enumerate() {
            let part = (of > 1).then_some(Part { number: index + 1, of });
            let body = Body::Text { text, part, buttons: Vec::new() };
            self.post_in(chat, id, Post { from: Some(name.clone()), level, body }, Rank::Final);
        }
        if let Some(document) = fitted.document {
            self.post_document(chat, id, document, level, Rank::Final);
        }
    }

    pub(super) fn post_document(
        &mut self,
        chat: &Chat,
        id: SessionId,
        document: Document,
        level: Level,
        rank: Rank,
    ) {
        let from = self.state.sessions.get(&id).map(|session| session.name.clone());
        let post = Post { from, level, body: Body::Document(document) };
        self.post_in(chat, id, post, rank);
    }

    pub(super) fn post_in(&mut self, chat: &Chat, id: SessionId, post: Post, rank: Rank) -> Shown {
        self.post_about(chat, Some(id), post, rank)
    }

    /// Says it in the session's thread of that chat, or in the chat itself when it is about none. What
    /// rings does so where people are.
    pub(super) fn post_about(
        &mut self,
        chat: &Chat,
        session: Option<SessionId>,
        post: Post,
        rank: Rank,
    ) -> Shown {
        let cause = match session {
            Some(session) => self.state.cause_in(Kind::Trouble, session),
            None => Cause::vigie(),
        };
        let level = self.level_in(chat, post.level, &cause);
        self.post_as_loud(chat, session, Post { level, ..post }, rank)
    }

    /// The same, exactly as loud as it is.
    pub(super) fn post_as_loud(
        &mut self,
        chat: &Chat,
        session: Option<SessionId>,
        post: Post,
        rank: Rank,
    ) -> Shown {
        let to = match session {
            Some(id) => self.session_target(chat, id),
            None => main_of(chat),
        };
        let what = crate::delivery::Outgoing::Post { post, reply_to: None };
        let draft = super::outbox::Draft {
            to: to.clone(),
            what,
            rank,
            session,
            newest: None,
            not_before: None,
        };
        Shown { delivery: self.deliver(draft), to }
    }

    /// Says news of a session in every chat that hears of it, as loud as news of that kind is set to
    /// be, and no louder than the post itself; perhaps not at all.
    pub(super) fn post_news(&mut self, kind: Kind, session: SessionId, post: &Post, rank: Rank) {
        if let Some(level) = self.loudness(kind).level() {
            self.post_as_set(kind, session, post, (level, rank));
        }
    }

    /// The same of what waits for a person: it is always there.
    pub(super) fn post_what_asks(&mut self, kind: Kind, session: SessionId, post: &Post) {
        let level = self.loudness(kind).level().unwrap_or(Level::Note);
        self.post_as_set(kind, session, post, (level, Rank::Gate));
    }

    fn post_as_set(
        &mut self,
        kind: Kind,
        session: SessionId,
        post: &Post,
        (level, rank): (Level, Rank),
    ) {
        let cause = self.state.cause_in(kind, session);
        self.rings_for(&cause, level.min(post.level));
        for chat in self.state.hearing() {
            let level = self.level_in(&chat, level.min(post.level), &cause);
            self.post_as_loud(&chat, Some(session), Post { level, ..post.clone() }, rank);
        }
    }

    /// Something that goes on in the background.
    pub(super) fn post_notice(&mut self, session: SessionId, text: Rich) {
        self.post_news(Kind::Notice, session, &note(Level::Log, text, vec![]), Rank::Note);
    }

    /// Vigie's own words about a session.
    pub(super) fn tell(
        &mut self,
        session: SessionId,
        level: Level,
        words: &str,
        buttons: Vec<Button>,
    ) {
        let rank = if level == Level::Ring { Rank::Gate } else { Rank::Note };
        if level == Level::Ring {
            let cause = self.state.cause_in(Kind::Trouble, session);
            self.trouble(&cause, words);
        }
        self.post_to_session(session, &note(level, Rich::plain(words), buttons), rank);
    }

    /// What the receipt on a person's message should say while it is on its way.
    pub(super) fn mark_stored(&mut self, prompt: &Prompt) {
        let Some(message) = prompt.message.clone() else { return };
        let words = self.waiting_words(prompt);
        self.mark_stored_as(&message, words);
    }

    /// Why words to that session are kept: "claude is at its usage limit until 04:11". `mark`: what
    /// begins a command where this is said.
    pub(super) fn kept_words(&self, id: SessionId, mark: &str) -> Option<String> {
        let session = self.state.sessions.get(&id).filter(|session| session.life.is_live())?;
        self.limited_words(id).or_else(|| {
            if session.is_in_a_turn() {
                return None;
            }
            let blocked = self.state.blocked(&Spender::Session(id), self.now)?;
            let label = self.state.label(&blocked.scope);
            Some(match blocked.until {
                Until::Said => {
                    let name = &session.name;
                    format!("{label} {}; {mark}budget {name} more lets it go on", used_up(&blocked))
                }
                Until::OthersEnd => {
                    format!("the rest of the money of {label} is set aside for what runs")
                }
            })
        })
    }

    /// Why it is not with the agent yet; `None` when it goes in now.
    fn waiting_words(&self, prompt: &Prompt) -> Option<String> {
        let session = self.state.sessions.get(&prompt.session)?;
        let name = &session.name;
        let ahead = self.state.line_of(session.id).filter(|p| p.number < prompt.number).count();
        let waits = |gate: &crate::gate::Gate| gate.is_by(crate::gate::Asker::Request);
        let when = if self.state.open_gates_of(session.id).any(waits) {
            format!("{name} takes it after your answer")
        } else if let Some(words) = self.kept_words(session.id, "/") {
            // Whoever writes several times hears it once where each word costs a call.
            return self.first_to_hear(prompt).then(|| format!("kept: {words}"));
        } else {
            match &session.life {
                Life::Idle { .. } if ahead == 0 => return None,
                Life::Idle { .. } | Life::Working { .. } => {
                    format!("{name} takes it after this turn")
                }
                Life::Starting { .. } => format!("{name} takes it when it has started"),
                Life::NeedsDesk { .. } => format!("{name} needs you at the desk first"),
                Life::Ended { .. } | Life::Lost { .. } => {
                    format!("{name} takes it when it is resumed")
                }
            }
        };
        Some(if ahead > 0 { format!("{} in line, {when}", ordinal(ahead + 1)) } else { when })
    }
}

pub(super) fn main_of(chat: &Chat) -> Target {
    Target { bridge: chat.bridge.clone(), chat: chat.chat.clone(), spot: Spot::Main }
}

/// What begins a command there: Matrix's apps keep `/` for their own, and some send no other.
pub(super) fn command_mark(bridge: &BridgeName) -> char {
    if bridge.as_str() == "matrix" { '!' } else { '/' }
}

/// Vigie's own words.
pub(super) fn note(level: Level, text: Rich, buttons: Vec<Button>) -> Post {
    Post { from: None, level, body: Body::Text { text, part: None, buttons } }
}

/// Our own words, in which what is typed stands between backticks.
pub(super) fn ticked(words: &str) -> Rich {
    let mut text = Rich::default();
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('`')
        && let Some((code, after)) = after.split_once('`')
    {
        text.push(before, None);
        text.push(code, Some(Style::Code));
        rest = after;
    }
    text.push(rest, None);
    text
}

/// The first line, shortened, for lists.
pub(super) fn last_words(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let short: String = line.chars().take(LAST_WORDS).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

/// The first words of somebody's own, in quotation marks, so that they know which are meant.
pub(super) fn quoted(text: &str) -> String {
    let masked = text::mask(text).text;
    let line = masked.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let shown = text::reveal(line).text.text;
    let short: String = shown.graphemes(true).take(QUOTED).collect();
    let more = if short.len() < shown.len() { "…" } else { "" };
    format!("“{}{more}”", short.trim_end())
}

pub(super) fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, teens) if teens != 11 => "st",
        (2, teens) if teens != 12 => "nd",
        (3, teens) if teens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// "4 min", "2 h 05", "3 days".
pub(super) fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to - from).num_seconds().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h {:02}", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// "needs desk", "working".
pub(super) fn look_words(look: SessionLook) -> String {
    let word = serde_json::to_value(look).ok();
    word.and_then(|word| word.as_str().map(|word| word.replace('_', " "))).unwrap_or_default()
}

/// "1,234,567".
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn secrets(number: usize) -> String {
    if number == 1 { "1 secret was".into() } else { format!("{number} secrets were") }
}
