//! The parts of a message, in their order, and how they are brought into one message.

use vigie_core::{
    bridge::{Fact, Limits, TextUnit},
    text::{self, Rich, Style},
};

use super::parcel::beginning;
use crate::{
    api::Entity,
    markup::{Composer, MESSAGE_UNITS, Text, utf16_len},
};

/// What is said where there is nothing to see: Telegram takes no empty message.
const NOTHING: &str = "(nothing to see)";

/// A line of ours where a message is too long, in UTF-16 units, and how many of one sort there are.
/// All of them together leave at least a fourth of a message to what they are about.
const SHORT_LINE: usize = 160;
const SHORT_FACT: usize = 120;
const SHORT_LABEL: usize = 32;
const WARNINGS: usize = 4;
const FACTS: usize = 6;
const DETAILS: usize = 4;

/// Below this many units a beginning says nothing, and only the note stays.
const LEAST: usize = 48;

/// The parts of a message, in the order in which they are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    /// What became of it, and when.
    pub verdict: Rich,
    /// Who speaks, and of what.
    pub title: String,
    pub warnings: Vec<String>,
    pub contents: Vec<Rich>,
    /// What the buttons have no room for.
    pub details: Vec<String>,
    pub facts: Vec<Fact>,
    pub until: String,
    pub answer: Rich,
    pub code: String,
    /// What is said in place of what was cut.
    pub cut: &'static str,
}

impl Sheet {
    /// The message: whole where it fits; else with shorter lines around its contents; else, with what
    /// was cut said, with their beginning.
    pub(super) fn fit(&self) -> Text {
        self.fit_in(MESSAGE_UNITS)
    }

    /// The same in at most `units`, for captions.
    pub(super) fn fit_in(&self, units: usize) -> Text {
        if let Some(text) = self.text(units) {
            return text;
        }
        let short = self.shortened();
        let fitted = short.text(units).or_else(|| {
            let mut room = units;
            while room >= LEAST {
                if let Some(text) = short.begun(room).text(units) {
                    return Some(text);
                }
                room = room * 7 / 8;
            }
            None
        });
        fitted.unwrap_or_else(|| short.without_contents(units))
    }

    fn composed(&self) -> Composer {
        let mut composer = Composer::new().rich(&self.verdict).line(&self.title, Some(Style::Bold));
        for warning in &self.warnings {
            composer = composer.line(warning, None);
        }
        for content in &self.contents {
            composer = composer.rich(content);
        }
        for detail in &self.details {
            composer = composer.line(detail, None);
        }
        for fact in &self.facts {
            composer = composer.fact(fact);
        }
        composer.line(&self.until, None).rich(&self.answer).line(&self.code, Some(Style::Code))
    }

    /// The message, if it is one of at most `units`.
    fn text(&self, units: usize) -> Option<Text> {
        let mut all = self.composed().finish();
        match all.len() {
            0 => Some(nothing()),
            1 => all.pop().filter(|text| utf16_len(&text.text) <= units),
            _ => None,
        }
    }

    /// The same with all but the contents in few and short lines.
    fn shortened(&self) -> Self {
        let fact = |fact: &Fact| Fact {
            label: line(&fact.label, SHORT_LABEL),
            value: line(&fact.value, SHORT_FACT),
        };
        let mut facts: Vec<Fact> = self.facts.iter().take(FACTS).map(fact).collect();
        if let Some(more) = more(self.facts.len(), FACTS) {
            facts.push(Fact { label: "and".into(), value: more });
        }
        Self {
            verdict: cut(&self.verdict, SHORT_LINE * 2, "…"),
            title: line(&self.title, SHORT_LINE),
            warnings: lines(&self.warnings, WARNINGS),
            contents: self.contents.clone(),
            details: lines(&self.details, DETAILS),
            facts,
            until: line(&self.until, SHORT_LINE),
            answer: cut(&self.answer, SHORT_LINE * 2, "…"),
            code: line(&self.code, SHORT_LABEL),
            cut: self.cut,
        }
    }

    /// The same with the beginnings of its contents, in `room` units together.
    fn begun(&self, room: usize) -> Self {
        let each = room / self.contents.len().max(1);
        let contents = self.contents.iter().map(|content| cut(content, each, self.cut)).collect();
        Self { contents, ..self.clone() }
    }

    fn without_contents(&self, units: usize) -> Text {
        let contents = vec![Rich::plain(self.cut)];
        Self { contents, ..self.clone() }.text(units).unwrap_or_else(nothing)
    }
}

fn nothing() -> Text {
    Text { text: NOTHING.into(), entities: Vec::<Entity>::new() }
}

fn more(all: usize, shown: usize) -> Option<String> {
    all.checked_sub(shown).filter(|more| *more > 0).map(|more| format!("{more} more"))
}

fn lines(all: &[String], most: usize) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().take(most).map(|text| line(text, SHORT_LINE)).collect();
    lines.extend(more(all.len(), most).map(|more| format!("… and {more}")));
    lines
}

/// `text` in one line of at most `units`.
fn line(text: &str, units: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if utf16_len(&line) <= units {
        return line;
    }
    format!("{}…", beginning(&line, units - 1).trim_end())
}

/// The beginning of `rich` in about `units`, at the end of a line where there is one, and `note`.
fn cut(rich: &Rich, units: usize, note: &str) -> Rich {
    if utf16_len(&rich.text) <= units {
        return rich.clone();
    }
    let limits = Limits::of_text(TextUnit::Utf16, units, usize::MAX, usize::MAX);
    let enough = rich.slice(0..beginning(&rich.text, units * 2).len());
    let mut first = text::split(&enough, &limits).into_iter().next().unwrap_or_default();
    first.push("\n", None);
    first.push(note, Some(Style::Italic));
    first
}
