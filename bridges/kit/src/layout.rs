//! A post as words in their order, buttons, or a file with a caption: the same on every service. Pure.
//!
//! Whoever speaks stands in the first line, in bold: a session's name, and nobody's where Vigie
//! speaks. In a session's own thread the session needs no name, and there it is Vigie that has one.

use chrono::Datelike as _;
use vigie_core::{
    Timestamp,
    bridge::{
        Body, Button, Card, CardState, Decided, Document, FilePost, Level, Media, Part, Post,
        Progress,
    },
    id::SessionName,
    text::{Rich, Style, reveal},
};

use crate::sheet::Sheet;

/// Vigie's own name, where its words stand among those of a session that has none.
const VIGIE: &str = "Vigie";

/// Longest first line that is looked at for posing as Vigie, in characters.
const LIKE_A_NAME: usize = 24;

/// The daemon sends what no card can hold as a document before it.
const CUT_CARD: &str = "… (cut; the document above has all)";

/// What differs from service to service.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// As people call it: "Telegram".
    pub name: &'static str,
    /// What the buttons have no room for and is not shown already, a line each; see [`details`].
    pub details: fn(buttons: &[Button], shown: &str) -> Vec<String>,
}

/// A post laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Laid {
    Written(Written),
    Enclosed(Enclosed),
}

/// A text and its buttons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub sheet: Sheet,
    pub buttons: Vec<Button>,
    pub silent: bool,
}

/// A file and what is said below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosed {
    pub name: String,
    pub contents: Contents,
    pub media: Media,
    pub caption: Option<Sheet>,
    pub silent: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    Text(String),
    /// In a file on this machine.
    At(String),
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Among those of all sessions.
    Main,
    /// In a thread, topic or room that is one session's.
    Thread,
}

/// Lays `post` out; `now` tells how long something has been going on.
pub fn lay_out(service: Service, post: &Post, place: Where, now: Timestamp) -> Laid {
    service.lay_out(post, place, now)
}

/// Vigie's own words in one silent message.
pub fn plain(service: Service, words: &str) -> Sheet {
    Sheet { contents: vec![Rich::plain(words)], cut: service.cut(), ..Sheet::default() }
}

/// What the buttons say beyond their labels and `shown` does not say already; `whole` tells whether
/// all of a label stands on its button.
pub fn details(buttons: &[Button], shown: &str, whole: impl Fn(&Button) -> bool) -> Vec<String> {
    let line = |button: &Button| {
        let detail = button.detail.as_deref().filter(|detail| !shown.contains(detail.trim()));
        let cut = || !whole(button) && !shown.contains(button.label.trim());
        match detail {
            Some(detail) => Some(format!("{}: {detail}", button.label)),
            None => cut().then(|| button.label.clone()),
        }
    };
    buttons.iter().filter_map(line).collect()
}

impl Service {
    /// See [`lay_out`].
    fn lay_out(self, post: &Post, place: Where, now: Timestamp) -> Laid {
        let from = post.from.as_ref();
        let silent = post.level != Level::Ring;
        let enclosed = |name: &str, contents, media, about| {
            let (name, caption) = (name.to_owned(), self.caption(from, about, place));
            Laid::Enclosed(Enclosed { name, contents, media, caption, silent })
        };
        let (sheet, buttons) = match &post.body {
            Body::Text { text, part, buttons } => {
                (self.words(from, text, *part, buttons, place), buttons)
            }
            Body::Card(of) => (self.card(from, of), &of.buttons),
            Body::Progress(of) => (self.progress(from, of, place, now), &of.buttons),
            Body::Document(Document { name, text, about }) => {
                return enclosed(name, Contents::Text(text.clone()), Media::File, about);
            }
            Body::File(FilePost { path, name, media, about }) => {
                return enclosed(name, Contents::At(path.clone()), *media, about);
            }
        };
        Laid::Written(Written { sheet, buttons: buttons.clone(), silent })
    }

    /// What a text says that is cut here; the daemon cuts in its own way before, so that this is rare.
    fn cut(self) -> String {
        format!("… (cut: it is longer than {} takes)", self.name)
    }

    fn words(
        self,
        from: Option<&SessionName>,
        text: &Rich,
        part: Option<Part>,
        buttons: &[Button],
        place: Where,
    ) -> Sheet {
        let speaker = match (from, place) {
            (Some(name), Where::Main) => Some(name.as_str()),
            (Some(name), Where::Thread) => poses_as_vigie(&text.text).then_some(name.as_str()),
            (None, Where::Main) => None,
            (None, Where::Thread) => Some(VIGIE),
        };
        let part = part.map(|part| format!("({}/{})", part.number, part.of));
        let title: Vec<&str> = speaker.into_iter().chain(part.as_deref()).collect();
        Sheet {
            title: title.join(" "),
            contents: vec![text.clone()],
            details: (self.details)(buttons, &text.text),
            cut: self.cut(),
            ..Sheet::default()
        }
    }

    fn progress(
        self,
        from: Option<&SessionName>,
        of: &Progress,
        place: Where,
        now: Timestamp,
    ) -> Sheet {
        let name = from.filter(|_| place == Where::Main).map_or("", SessionName::as_str);
        let Some(ended) = &of.ended else {
            let mut lines = of.lines.join("\n");
            if !lines.is_empty() {
                lines.push('\n');
            }
            lines.push_str(&span(of.since, now));
            let contents = vec![Rich::plain(lines)];
            return Sheet { title: name.into(), contents, cut: self.cut(), ..Sheet::default() };
        };
        let mut line = Rich::default();
        line.push(name, Some(Style::Bold));
        if !name.is_empty() {
            line.push(" ", None);
        }
        line.push(ended, None);
        Sheet { contents: vec![line], cut: self.cut(), ..Sheet::default() }
    }

    fn card(self, from: Option<&SessionName>, card: &Card) -> Sheet {
        let title =
            from.map_or_else(|| card.title.clone(), |name| format!("{name} {}", card.title));
        let mut contents = vec![card.content.clone()];
        contents.extend(card.diff.as_deref().and_then(|diff| diff_beside(&card.content, diff)));
        let sheet = Sheet {
            verdict: verdict(&card.state),
            title,
            warnings: card.warnings.clone(),
            contents,
            facts: card.facts.clone(),
            cut: CUT_CARD.into(),
            ..Sheet::default()
        };
        match card.state {
            CardState::Open => Sheet {
                details: (self.details)(&card.buttons, &card.content.text),
                until: format!("Until {}, {}", moment(card.until, card.opened), card.lapse.words()),
                answer: answer_rule(card),
                code: code_alone(card),
                ..sheet
            },
            CardState::Answered(_) | CardState::Taken { .. } | CardState::Closed { .. } => sheet,
        }
    }

    fn caption(self, from: Option<&SessionName>, about: &str, place: Where) -> Option<Sheet> {
        let name = from.filter(|_| place == Where::Main).map_or("", SessionName::as_str);
        let said = !name.is_empty() || !about.trim().is_empty();
        said.then(|| Sheet { title: name.into(), ..plain(self, about) })
    }
}

/// Whether an agent's text begins as Vigie's own words do in a thread. With its name in front it does
/// not.
fn poses_as_vigie(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if first.chars().count() > LIKE_A_NAME {
        return false;
    }
    let seen = reveal(first);
    let letters: String = first.chars().filter(|c| c.is_alphanumeric()).collect();
    seen.hidden + seen.look_alikes > 0 || letters.to_lowercase().starts_with("vigie")
}

/// The diff, unless the content is that already.
fn diff_beside(content: &Rich, diff: &str) -> Option<Rich> {
    let is_diff = |style: &Style| matches!(style, Style::Pre { language: Some(language) } if language == "diff");
    let diff = diff.trim_end_matches('\n');
    if diff.is_empty() || content.spans.iter().any(|span| is_diff(&span.style)) {
        return None;
    }
    let mut rich = Rich::default();
    rich.push(diff, Some(Style::Pre { language: Some("diff".into()) }));
    Some(rich)
}

/// The rule, with what is to be written as code: a tap copies it.
fn answer_rule(card: &Card) -> Rich {
    let (rule, code) = (card.answer.as_str(), card.code.as_str());
    let mut rich = Rich::default();
    let mut rest = rule;
    while let Some(at) = rest.find(code).filter(|_| !code.is_empty()) {
        let before = &rest[..at];
        let verb = before
            .trim_end()
            .rfind(|c: char| !c.is_alphabetic())
            .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
        rich.push(&before[..verb], None);
        rich.push(&rest[verb..at + code.len()], Some(Style::Code));
        rest = &rest[at + code.len()..];
    }
    rich.push(rest, None);
    rich
}

/// The code comes last, on its own where the rule does not name it.
fn code_alone(card: &Card) -> String {
    let code = card.code.as_str();
    if card.answer.contains(code) { String::new() } else { code.to_owned() }
}

fn verdict(state: &CardState) -> Rich {
    let mut line = Rich::default();
    match state {
        CardState::Open => {}
        CardState::Answered(decided) => {
            say_decided(&mut line, decided);
            line.push(" The agent does not have it yet.", None);
        }
        CardState::Taken { decided, taken } => {
            say_decided(&mut line, decided);
            let since = moment(*taken, decided.at);
            line.push(&format!(" The agent has it since {since}."), None);
        }
        CardState::Closed { why, at } => {
            line.push(why, Some(Style::Bold));
            line.push(&format!(", {}.", clock(*at)), None);
        }
    }
    line
}

fn say_decided(line: &mut Rich, decided: &Decided) {
    line.push(&decided.verdict, Some(Style::Bold));
    let (by, at, via) = (&decided.by, clock(decided.at), &decided.via);
    // A reason or a choice would run on into the name.
    let by = if decided.verdict.contains(':') { format!("\nBy {by}") } else { format!(" by {by}") };
    line.push(&format!("{by}, {at}, from {via}."), None);
}

fn clock(at: Timestamp) -> String {
    at.format("%H:%M UTC").to_string()
}

/// The time of day, with the day where it is another than that of `beside`.
fn moment(at: Timestamp, beside: Timestamp) -> String {
    if at.num_days_from_ce() == beside.num_days_from_ce() {
        return clock(at);
    }
    at.format("%-d %B, %H:%M UTC").to_string()
}

/// "40 s", "4 min", "2 h 05".
fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to - from).num_seconds().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h {:02}", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests;
