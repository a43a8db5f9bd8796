//! The parts of a message, in their order, and how they are brought into one message.

use vigie_core::{
    bridge::{Fact, Limits, TextUnit},
    text::{self, Rich, Style},
};

use crate::{
    compose::Composer,
    measure::{beginning, length, shortened},
};

/// What is said where there is nothing to see: no service takes an empty message.
pub const NOTHING: &str = "(nothing to see)";

/// A line of ours where a message is too long, in the service's units, and how many of one sort there
/// are. All of them together leave at least a fourth of a message of 4,096 to what they are about.
const SHORT_LINE: usize = 160;
const SHORT_FACT: usize = 120;
const SHORT_LABEL: usize = 32;
const WARNINGS: usize = 4;
const FACTS: usize = 6;
const DETAILS: usize = 4;

/// Below this many units a beginning says nothing, and only the note stays.
const LEAST: usize = 48;

/// The parts of a message, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
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
    pub cut: String,
}

impl Sheet {
    /// The message: whole where it fits; else with shorter lines around its contents; else, with what
    /// was cut said, with their beginning. `compose` makes the service's message of a text, and none
    /// of one that does not fit into it; `most` is about how much does, in `unit`, to begin with. Of a
    /// text in which nothing is to be seen it makes a message that says [`NOTHING`].
    ///
    /// `None` only when not even the note fits.
    pub fn fit<T>(
        &self,
        most: usize,
        unit: TextUnit,
        compose: impl Fn(&Rich) -> Option<T>,
    ) -> Option<T> {
        if let Some(whole) = compose(&self.composed()) {
            return Some(whole);
        }
        let short = self.shortened(unit);
        if let Some(whole) = compose(&short.composed()) {
            return Some(whole);
        }
        let mut room = most;
        while room >= LEAST {
            if let Some(begun) = compose(&short.begun(room, unit).composed()) {
                return Some(begun);
            }
            room = room * 7 / 8;
        }
        compose(&short.without_contents().composed())
            .or_else(|| compose(&Rich::plain(self.cut.as_str())))
    }

    /// All of it as one text.
    pub fn composed(&self) -> Rich {
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
        let end = composer.line(&self.until, None).rich(&self.answer);
        end.line(&self.code, Some(Style::Code)).finish()
    }

    /// The same with all but the contents in few and short lines.
    fn shortened(&self, unit: TextUnit) -> Self {
        let fact = |fact: &Fact| Fact {
            label: line(&fact.label, SHORT_LABEL, unit),
            value: line(&fact.value, SHORT_FACT, unit),
        };
        let mut facts: Vec<Fact> = self.facts.iter().take(FACTS).map(fact).collect();
        if let Some(more) = more(self.facts.len(), FACTS) {
            facts.push(Fact { label: "and".into(), value: more });
        }
        Self {
            verdict: cut(&self.verdict, SHORT_LINE * 2, unit, "…"),
            title: line(&self.title, SHORT_LINE, unit),
            warnings: lines(&self.warnings, WARNINGS, unit),
            contents: self.contents.clone(),
            details: lines(&self.details, DETAILS, unit),
            facts,
            until: line(&self.until, SHORT_LINE, unit),
            answer: cut(&self.answer, SHORT_LINE * 2, unit, "…"),
            code: line(&self.code, SHORT_LABEL, unit),
            cut: self.cut.clone(),
        }
    }

    /// The same with the beginnings of its contents, in `room` units together.
    fn begun(&self, room: usize, unit: TextUnit) -> Self {
        let each = room / self.contents.len().max(1);
        let beginning = |content| cut(content, each, unit, &self.cut);
        Self { contents: self.contents.iter().map(beginning).collect(), ..self.clone() }
    }

    fn without_contents(&self) -> Self {
        Self { contents: vec![Rich::plain(self.cut.as_str())], ..self.clone() }
    }
}

fn more(all: usize, shown: usize) -> Option<String> {
    all.checked_sub(shown).filter(|more| *more > 0).map(|more| format!("{more} more"))
}

fn lines(all: &[String], most: usize, unit: TextUnit) -> Vec<String> {
    let short = all.iter().take(most).map(|text| line(text, SHORT_LINE, unit));
    let more = more(all.len(), most).map(|more| format!("… and {more}"));
    short.chain(more).collect()
}

/// `text` in one line of at most `most` units.
fn line(text: &str, most: usize, unit: TextUnit) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    shortened(&words.join(" "), most, unit)
}

/// The beginning of `rich` in about `most` units, at the end of a line where there is one, and `note`.
fn cut(rich: &Rich, most: usize, unit: TextUnit, note: &str) -> Rich {
    if length(&rich.text, unit) <= most {
        return rich.clone();
    }
    let limits = Limits::of_text(unit, most, usize::MAX, usize::MAX);
    let enough = rich.slice(0..beginning(&rich.text, most * 2, unit).len());
    let mut first = text::split(&enough, &limits).into_iter().next().unwrap_or_default();
    first.push("\n", None);
    first.push(note, Some(Style::Italic));
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CUT: &str = "… (cut)";

    /// A service that takes so many bytes, of text and styles together.
    fn message(text: &Rich, most: usize) -> Option<String> {
        let takes = text.text.len() + text.spans.len() * 20;
        (takes <= most).then(|| text.text.clone())
    }

    fn fitted(sheet: &Sheet, most: usize) -> Option<String> {
        sheet.fit(most, TextUnit::Bytes, |text| message(text, most))
    }

    fn card() -> Sheet {
        Sheet {
            title: "PD-287 asks to run a command".into(),
            contents: vec![Rich::plain("cargo test -p quay\n".repeat(20))],
            facts: vec![Fact { label: "The agent says".into(), value: "because ".repeat(40) }],
            until: "Until 10:28 UTC, then it is denied".into(),
            answer: Rich::plain("To allow it, write: approve K7Q2"),
            cut: CUT.into(),
            ..Sheet::default()
        }
    }

    #[test]
    fn what_fits_is_whole() {
        let whole = fitted(&card(), 4_000).unwrap();
        assert_eq!(whole, card().composed().text);
        assert_eq!(whole.matches("because").count(), 40);
    }

    #[test]
    fn lines_around_it_give_way_first_and_then_its_end() {
        let shorter = fitted(&card(), 700).unwrap();
        assert_eq!(shorter.matches("cargo test").count(), 20);
        assert!(shorter.contains("becau…\nUntil 10:28 UTC"), "{shorter}");

        let begun = fitted(&card(), 400).unwrap();
        assert!((1..20).contains(&begun.matches("cargo test").count()), "{begun}");
        assert!(begun.contains("\n… (cut)\n") && begun.ends_with("approve K7Q2"), "{begun}");

        let note = fitted(&card(), 330).unwrap();
        assert!(note.starts_with("PD-287 asks to run a command\n… (cut)\nThe agent"), "{note}");
        assert_eq!(fitted(&card(), 30).unwrap(), CUT);
        assert_eq!(fitted(&card(), 3), None);
    }

    #[test]
    fn the_bytes_of_what_is_cut_are_counted_as_bytes() {
        let sheet = Sheet { contents: vec![Rich::plain("漢".repeat(400))], ..card() };
        let text = fitted(&sheet, 800).unwrap();
        assert!(text.len() <= 800 && text.len() > 500, "{}", text.len());
    }

    proptest! {
        #[test]
        fn a_message_is_found_whatever_stands_on_the_sheet(
            texts in proptest::collection::vec("(\\PC|\n){0,300}", 8), most in 1_700_usize..4_000,
        ) {
            let line = |at: usize| texts[at].clone();
            let sheet = Sheet {
                verdict: Rich::plain(line(0)).wrapped(Style::Bold),
                title: line(1),
                warnings: vec![line(2); 7],
                contents: vec![Rich::plain(line(3).repeat(9))],
                details: vec![line(4); 2],
                facts: vec![Fact { label: line(5), value: line(6) }],
                until: line(7),
                ..card()
            };
            prop_assert!(fitted(&sheet, most).is_some());
        }
    }
}
