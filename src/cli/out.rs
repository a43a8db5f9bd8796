//! What a command prints: words for people, or JSON for programs.

use chrono::Local;
use serde::Serialize;
use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex},
};
use vigie_core::Timestamp;

use super::{failure::Failure, plain, set};
use crate::{clock::Clock, web::shapes::ErrorShape};

#[derive(Clone)]
pub(super) struct Out {
    format: Format,
    colour: Colour,
    clock: Clock,
    to: Arc<Mutex<dyn Write + Send>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Words,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Yes,
    No,
}

/// What a word means, and so how it looks; the word alone says it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// A person is waited for.
    Wait,
    /// This broke.
    Bad,
    Good,
    Dim,
    Bold,
    /// Black on white, whatever the terminal's own colours are.
    Paper,
}

impl Out {
    pub(super) fn new(json: bool, clock: Clock) -> Self {
        let plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
        let colour = if plain || !io::stdout().is_terminal() { Colour::No } else { Colour::Yes };
        let format = if json { Format::Json } else { Format::Words };
        Self { format, colour, clock, to: Arc::new(Mutex::new(io::stdout())) }
    }

    /// Words without colours, whatever the terminal of the tests is.
    #[cfg(test)]
    pub(super) fn plain(clock: Clock) -> Self {
        let to = Arc::new(Mutex::new(io::sink()));
        Self { format: Format::Words, colour: Colour::No, clock, to }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Prints `value` as JSON, or `words` of it.
    pub(super) fn show<T: Serialize>(
        &self,
        value: &T,
        words: impl FnOnce(&Self, &T) -> String,
    ) -> Result<(), Failure> {
        let text = match self.format {
            Format::Words => words(self, value),
            Format::Json => serde_json::to_string(value).map_err(Failure::ours)?,
        };
        self.print(&text)
    }

    /// Prints `text` and a line feed. A reader that has seen enough is no failure.
    pub(super) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut to = self.to.lock().expect("nothing panics while it prints");
        match writeln!(to, "{}", text.trim_end_matches('\n')).and_then(|()| to.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::outside(format!("the output cannot be written: {error}")))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// What a person should know and a pipe should not get; not there for programs.
    #[expect(clippy::print_stderr, reason = "beside what the command prints")]
    pub(super) fn beside(&self, lines: &[String]) {
        if self.format == Format::Words {
            for line in lines {
                eprintln!("{line}");
            }
        }
    }

    #[expect(clippy::print_stderr, reason = "the command line's own errors")]
    pub(super) fn failure(&self, failure: &Failure) {
        let Failure { words, hint, code, .. } = failure;
        match self.format {
            Format::Words => {
                // A server's words may be in it.
                eprintln!("vigie: {}", plain::lines(words.trim_end()));
                if let Some(hint) = hint {
                    eprintln!("  {}", plain::lines(hint));
                }
            }
            Format::Json => {
                let (error, hint, code) = (words.clone(), hint.clone(), code.clone());
                let shape = ErrorShape { error, hint, code, mistakes: Vec::new() };
                eprintln!("{}", serde_json::to_string(&shape).unwrap_or_default());
            }
        }
    }

    pub(super) fn has_colour(&self) -> bool {
        self.colour == Colour::Yes
    }

    pub(super) fn ink(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Wait => "33",
            Ink::Bad => "31",
            Ink::Good => "32",
            Ink::Dim => "2",
            Ink::Bold => "1",
            Ink::Paper => "38;5;16;48;5;231",
        };
        match self.colour {
            Colour::Yes => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Colour::No => text.into(),
        }
    }

    /// Ages up to an hour, the clock within a day, the date before that.
    pub(super) fn when(&self, at: Timestamp) -> String {
        let age = self.clock.now() - at;
        let local = at.with_timezone(&Local);
        match age.num_minutes() {
            ..1 => "now".into(),
            minutes @ 1..60 => format!("{minutes} min"),
            60..1440 => local.format("%H:%M").to_string(),
            _ => local.format("%d %b").to_string(),
        }
    }

    /// How long it is past, to the second within two minutes.
    pub(super) fn ago(&self, at: Timestamp) -> String {
        let age = (self.clock.now() - at).num_seconds().max(0);
        match age {
            ..120 => format!("{age} s ago"),
            120..7200 => format!("{} min ago", age / 60),
            _ => format!("{} h ago", age / 3600),
        }
    }

    /// The clock time, with the day where it is another one.
    pub(super) fn until(&self, at: Timestamp) -> String {
        let (local, today) = (at.with_timezone(&Local), self.clock.now().with_timezone(&Local));
        let form = if local.date_naive() == today.date_naive() { "%H:%M" } else { "%d %b, %H:%M" };
        local.format(form).to_string()
    }

    pub(super) fn clock_time(at: Timestamp) -> String {
        at.with_timezone(&Local).format("%H:%M:%S").to_string()
    }
}

/// Rows with their columns under each other; the last one runs free. Widths count what is seen.
pub(super) fn table(rows: &[Vec<Cell>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<Cell>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{}{}", cell.shown, " ".repeat(width - cell.width())));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Text and how it is shown; only the text has a width.
pub(super) struct Cell {
    text: String,
    shown: String,
}

impl Cell {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: text.clone(), text }
    }

    pub(super) fn inked(out: &Out, ink: Ink, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: out.ink(ink, &text), text }
    }

    fn width(&self) -> usize {
        unicode_width::UnicodeWidthStr::width(self.text.as_str())
    }
}
