//! What is wrong with a workflow's text, each with its place.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub severity: Severity,
    /// From 1; 0: it is about the file as a whole.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Characters from there that it is about; at least 1.
    pub width: usize,
    /// A sentence without its full stop.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It runs, but perhaps not as meant.
    Warning,
    Error,
}

/// All that is wrong with one text, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems {
    pub all: Vec<Problem>,
}

impl Problems {
    pub fn has_errors(&self) -> bool {
        self.all.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// For a terminal: `FILE:LINE:COLUMN: what`, the line, a pointer into it, and the hint.
    pub fn render(&self, file: &str, text: &str) -> String {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut out = String::new();
        for problem in &self.all {
            let _ = problem.render(&mut out, file, text); // a String takes everything
        }
        out
    }
}

impl Problem {
    fn render(&self, out: &mut String, file: &str, text: &str) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        if self.line == 0 {
            writeln!(out, "{file}: {severity}: {}", self.what)?;
        } else {
            writeln!(out, "{file}:{}:{}: {severity}: {}", self.line, self.column, self.what)?;
        }
        if let Some(line) = text.lines().nth(self.line.wrapping_sub(1)) {
            self.excerpt(out, line)?;
        }
        if let Some(hint) = &self.hint {
            writeln!(out, "   hint: {hint}")?;
        }
        Ok(())
    }

    /// The line and a pointer into it; of a long line the part that it is about.
    fn excerpt(&self, out: &mut String, line: &str) -> fmt::Result {
        let column = self.column.saturating_sub(1);
        let start = if column < WIDEST { 0 } else { column - BEFORE };
        let shown: String = line.chars().skip(start).take(WIDEST).map(visible).collect();
        let pad = shown.chars().take(column - start);
        let pad: String = pad.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let cut = if start > 0 { "…" } else { "" };
        let more = if line.chars().nth(start + WIDEST).is_some() { "…" } else { "" };
        let room = WIDEST.saturating_sub(column - start).max(1);
        let gap = " ".repeat(cut.chars().count());
        let number = self.line.to_string();
        writeln!(out, " {number} | {cut}{shown}{more}")?;
        let (margin, marks) = (" ".repeat(number.len()), "^".repeat(self.width.clamp(1, room)));
        writeln!(out, " {margin} | {gap}{pad}{marks}")
    }
}

/// Characters of a line that are shown.
const WIDEST: usize = 160;
/// Of these, how many stand before what it is about when the line is longer.
const BEFORE: usize = 60;

/// What a terminal would act on or hide is shown as one character that it does neither with.
fn visible(c: char) -> char {
    if c != '\t' && (c.is_control() || crate::yaml::is_hidden(c)) { '\u{fffd}' } else { c }
}
