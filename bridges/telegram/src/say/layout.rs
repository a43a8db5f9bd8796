//! A post as one message of Telegram: text and entities, buttons, or a file with a caption. Pure.
//!
//! Whoever speaks stands in the first line, in bold: a session's name, and nobody's where Vigie
//! speaks. In a session's own topic the session needs no name, and there it is Vigie that has one.

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

use super::{Spot, keys, sheet::Sheet};
use crate::{api::Keyboard, markup::Text};

/// Longest caption of a file, in UTF-16 units. Source: Bot API, `sendDocument`, field `caption`.
const CAPTION_UNITS: usize = 1024;

/// Vigie's own name, where its words stand among those of a session that has none.
const VIGIE: &str = "Vigie";

/// Longest first line that is looked at for posing as Vigie, in characters.
const LIKE_A_NAME: usize = 24;

/// What a text says that is cut here; the daemon cuts in its own way before, so that this is rare.
const CUT: &str = "… (cut: it is longer than Telegram takes)";

/// The daemon sends what no card can hold as a document before it.
const CUT_CARD: &str = "… (cut; the document above has all)";

/// A post as Telegram gets it.
#[derive(Clone, Debug)]
pub(super) enum Laid {
    Written(Written),
    Enclosed(Enclosed),
}

/// A text and its buttons.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub text: Text,
    pub keyboard: Option<Keyboard>,
    pub silent: bool,
}

/// A file and what is said below it.
#[derive(Clone, Debug)]
pub(super) struct Enclosed {
    pub name: String,
    pub contents: Contents,
    pub media: Media,
    pub caption: Option<Text>,
    pub silent: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Contents {
    Text(String),
    /// In a file on this machine.
    At(String),
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Among those of all sessions.
    Main,
    /// In a topic that is one session's.
    Topic,
}

impl Where {
    pub(super) fn of(spot: Spot) -> Self {
        if spot.thread.is_some() { Self::Topic } else { Self::Main }
    }
}

/// Lays `post` out; `now` tells how long something has been going on.
pub(super) fn lay_out(post: &Post, place: Where, now: Timestamp) -> Laid {
    let from = post.from.as_ref();
    let silent = post.level != Level::Ring;
    let (sheet, buttons) = match &post.body {
        Body::Text { text, part, buttons } => (words(from, text, *part, buttons, place), buttons),
        Body::Card(of) => (card(from, of), &of.buttons),
        Body::Progress(of) => (progress(from, of, place, now), &of.buttons),
        Body::Document(Document { name, text, about }) => {
            return Laid::Enclosed(Enclosed {
                name: name.clone(),
                contents: Contents::Text(text.clone()),
                media: Media::File,
                caption: caption(from, about, place),
                silent,
            });
        }
        Body::File(FilePost { path, name, media, about }) => {
            return Laid::Enclosed(Enclosed {
                name: name.clone(),
                contents: Contents::At(path.clone()),
                media: *media,
                caption: caption(from, about, place),
                silent,
            });
        }
    };
    Laid::Written(Written { text: sheet.fit(), keyboard: keys::keyboard(buttons), silent })
}

/// Vigie's own words in one silent message.
pub(super) fn plain(words: &str) -> Text {
    Sheet { contents: vec![Rich::plain(words)], cut: CUT, ..Sheet::default() }.fit()
}

fn words(
    from: Option<&SessionName>,
    text: &Rich,
    part: Option<Part>,
    buttons: &[Button],
    place: Where,
) -> Sheet {
    let speaker = match (from, place) {
        (Some(name), Where::Main) => Some(name.as_str()),
        (Some(name), Where::Topic) => poses_as_vigie(&text.text).then_some(name.as_str()),
        (None, Where::Main) => None,
        (None, Where::Topic) => Some(VIGIE),
    };
    let part = part.map(|part| format!("({}/{})", part.number, part.of));
    let title: Vec<&str> = speaker.into_iter().chain(part.as_deref()).collect();
    Sheet {
        title: title.join(" "),
        contents: vec![text.clone()],
        details: keys::details(buttons, &text.text),
        cut: CUT,
        ..Sheet::default()
    }
}

/// Whether an agent's text begins as Vigie's own words do in a topic. With its name in front it does
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

fn progress(from: Option<&SessionName>, of: &Progress, place: Where, now: Timestamp) -> Sheet {
    let name = from.filter(|_| place == Where::Main).map_or("", SessionName::as_str);
    let Some(ended) = &of.ended else {
        let mut lines = of.lines.join("\n");
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str(&span(of.since, now));
        let contents = vec![Rich::plain(lines)];
        return Sheet { title: name.into(), contents, cut: CUT, ..Sheet::default() };
    };
    let mut line = Rich::default();
    line.push(name, Some(Style::Bold));
    if !name.is_empty() {
        line.push(" ", None);
    }
    line.push(ended, None);
    Sheet { contents: vec![line], cut: CUT, ..Sheet::default() }
}

fn card(from: Option<&SessionName>, card: &Card) -> Sheet {
    let title = from.map_or_else(|| card.title.clone(), |name| format!("{name} {}", card.title));
    let mut contents = vec![card.content.clone()];
    contents.extend(card.diff.as_deref().and_then(|diff| diff_beside(&card.content, diff)));
    let sheet = Sheet {
        verdict: verdict(&card.state),
        title,
        warnings: card.warnings.clone(),
        contents,
        facts: card.facts.clone(),
        cut: CUT_CARD,
        ..Sheet::default()
    };
    match card.state {
        CardState::Open => Sheet {
            details: keys::details(&card.buttons, &card.content.text),
            until: format!("Until {}, {}", moment(card.until, card.opened), card.lapse.words()),
            answer: answer_rule(card),
            code: code_alone(card),
            ..sheet
        },
        CardState::Answered(_) | CardState::Taken { .. } | CardState::Closed { .. } => sheet,
    }
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

fn caption(from: Option<&SessionName>, about: &str, place: Where) -> Option<Text> {
    let name = from.filter(|_| place == Where::Main).map_or("", SessionName::as_str);
    let sheet = Sheet {
        title: name.into(),
        contents: vec![Rich::plain(about)],
        cut: CUT,
        ..Sheet::default()
    };
    if name.is_empty() && about.trim().is_empty() {
        return None;
    }
    Some(sheet.fit_in(CAPTION_UNITS))
}

#[cfg(test)]
mod tests;
