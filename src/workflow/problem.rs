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
        let line = text.lines().nth(self.line.wrapping_sub(1));
        if let Some(line) = line {
            let number = self.line.to_string();
            let before: String = line.chars().take(self.column.saturating_sub(1)).collect();
            let pad: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            writeln!(out, " {number} | {line}")?;
            writeln!(
                out,
                " {} | {pad}{}",
                " ".repeat(number.len()),
                "^".repeat(self.width.max(1))
            )?;
        }
        if let Some(hint) = &self.hint {
            writeln!(out, "   hint: {hint}")?;
        }
        Ok(())
    }
}
