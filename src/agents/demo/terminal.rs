//! The demo agent's screen: what it said scrolls away upwards, below stand either the input box or
//! an open dialog. The box looks like Claude Code's, so that the same eyes read it.

use nix::sys::termios::{self, SetArg, Termios};
use std::io::{self, IsTerminal, Write};

/// A terminal in raw mode, put back when dropped.
pub(super) struct Terminal {
    before: Option<Termios>,
    /// Rows the lower part takes now.
    drawn: usize,
}

/// What stands below.
pub(super) enum Below<'a> {
    Box { input: &'a str, hint: &'a str },
    Dialog { title: &'a str, choices: &'a [String] },
}

impl Terminal {
    pub(super) fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        let mut before = None;
        if stdin.is_terminal() {
            let saved = termios::tcgetattr(&stdin)?;
            let mut raw = saved.clone();
            termios::cfmakeraw(&mut raw);
            termios::tcsetattr(&stdin, SetArg::TCSANOW, &raw)?;
            before = Some(saved);
        }
        let terminal = Self { before, drawn: 0 };
        print("\x1b[?2004h")?;
        Ok(terminal)
    }

    /// Prints `lines` above and draws the lower part anew.
    pub(super) fn draw(&mut self, lines: &[String], below: &Below<'_>) -> io::Result<()> {
        use std::fmt::Write as _;
        let columns = columns();
        let mut out = String::from("\r");
        if self.drawn > 1 {
            let _ = write!(out, "\x1b[{}A", self.drawn - 1); // into a string: cannot fail
        }
        out += "\x1b[J";
        for line in lines {
            out.push_str(&visible(line));
            out += "\r\n";
        }
        let lower = lower(below, columns);
        self.drawn = lower.len();
        out.push_str(&lower.join("\r\n"));
        print(&out)
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The terminal may be gone; then there is nothing to put back.
        let _ = print("\x1b[?2004l\r\n");
        if let Some(before) = &self.before {
            let _ = termios::tcsetattr(io::stdin(), SetArg::TCSANOW, before);
        }
    }
}

fn lower(below: &Below<'_>, columns: usize) -> Vec<String> {
    let rule = "─".repeat(columns);
    match below {
        Below::Box { input, hint } => {
            vec![
                rule.clone(),
                format!("❯ {}", shown(input, columns.saturating_sub(3))),
                rule,
                fitted(hint, columns),
            ]
        }
        Below::Dialog { title, choices } => {
            let mut lines = vec![rule];
            lines.extend(title.lines().map(|line| fitted(&format!(" {line}"), columns)));
            let numbered = choices.iter().enumerate();
            lines.extend(
                numbered.map(|(at, choice)| fitted(&format!("   {}. {choice}", at + 1), columns)),
            );
            lines.push(" Esc to cancel".into());
            lines
        }
    }
}

/// The input in one row: a long or many-lined one is folded as Claude Code folds a paste.
fn shown(input: &str, columns: usize) -> String {
    let lines = input.lines().count();
    if lines > 1 || input.chars().count() > columns {
        let more = lines.saturating_sub(1);
        return fitted(&format!("[Pasted text +{more} lines]"), columns);
    }
    fitted(&visible(input), columns)
}

fn fitted(text: &str, columns: usize) -> String {
    use unicode_width::UnicodeWidthChar;
    let mut width = 0;
    text.chars()
        .take_while(|c| {
            width += c.width().unwrap_or(0);
            width <= columns
        })
        .collect()
}

/// A person's or a program's words, without what a terminal would obey.
fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Columns; 80 when nobody says.
fn columns() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| width.0.max(1).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_takes_one_row() {
        let lower = lower(&Below::Box { input: "a\nb\u{1b}c\nd", hint: "?" }, 40);
        assert_eq!(lower[1], "❯ [Pasted text +2 lines]");
        assert_eq!(shown(&"x".repeat(100), 20).chars().count(), 20);
        assert_eq!(shown("漢字漢字漢字", 7), "漢字漢");
    }
}
