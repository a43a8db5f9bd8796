//! What is wrong in a file, for a person: where, what, and the nearest right word.

use std::{
    fmt, io,
    ops::Range,
    path::{Path, PathBuf},
};

/// Everything that is wrong with a configuration file.
#[derive(Debug)]
pub struct ConfigError {
    pub file: PathBuf,
    /// In the order of the file; at least one, unless it could not be read.
    pub problems: Vec<Problem>,
    unreadable: Option<io::Error>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub words: String,
    pub hint: Option<String>,
    excerpt: String,
    marked: usize,
}

impl ConfigError {
    pub(super) fn new(file: &Path, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Self { file: file.into(), problems, unreadable: None }
    }

    pub(super) fn unreadable(file: &Path, error: io::Error) -> Self {
        Self { file: file.into(), problems: Vec::new(), unreadable: Some(error) }
    }
}

impl Problem {
    /// `span` is a range of bytes in `text`.
    pub(super) fn new(text: &str, span: Range<usize>, words: String, hint: Option<String>) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let end = text.floor_char_boundary(span.end.clamp(start, text.len()));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        Self {
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            words: hidden(words),
            hint,
            excerpt: hidden(text[line_start..line_end].trim_end().into()),
            marked: text[start..end.min(line_end)].chars().count().max(1),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        if let Some(error) = &self.unreadable {
            return write!(f, "{file}: cannot be read: {error}");
        }
        for (number, problem) in self.problems.iter().enumerate() {
            let Problem { line, column, words, .. } = problem;
            let gap = if number == 0 { "" } else { "\n" };
            writeln!(f, "{gap}{file}:{line}:{column}: {words}")?;
            if !problem.excerpt.is_empty() {
                let indent = " ".repeat(column - 1);
                writeln!(f, "  | {}", problem.excerpt)?;
                writeln!(f, "  | {indent}{}", "^".repeat(problem.marked))?;
            }
            if let Some(hint) = &problem.hint {
                writeln!(f, "  {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.unreadable.as_ref().map(|error| error as _)
    }
}

/// `text` with stars, as many as there were characters, where a bot's token may stand: who puts one
/// into this file by mistake must not find it in a log as well.
fn hidden(text: String) -> String {
    if !text.contains(':') {
        return text;
    }
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut shown = String::new();
    for piece in text.split_inclusive(|c: char| !inside(c)) {
        let word = piece.trim_end_matches(|c: char| !inside(c));
        let number = shown.trim_end_matches(':').rsplit(|c: char| !inside(c)).next();
        let number = number.unwrap_or_default().trim_start_matches("bot");
        let follows_a_number = shown.ends_with(':')
            && number.len() >= SHORTEST_BOT
            && number.bytes().all(|b| b.is_ascii_digit());
        if follows_a_number && word.len() >= SHORTEST_SECRET {
            shown.push_str(&"*".repeat(word.len()));
            shown.push_str(&piece[word.len()..]);
        } else {
            shown.push_str(piece);
        }
    }
    shown
}

/// A port or a time has fewer digits than a bot's number.
const SHORTEST_BOT: usize = 6;
/// Today's have 35 characters; a test server's fewer.
const SHORTEST_SECRET: usize = 5;

/// "Did you mean …? Known: …" for a word that is not among `known`.
pub(super) fn nearest(word: &str, known: &[&str], what: &str) -> Option<String> {
    let list = (!known.is_empty()).then(|| format!("{what}: {}.", known.join(", ")))?;
    let near = vigie_core::nearest::nearest(word, known.iter().copied(), 1);
    Some(match near.first() {
        Some(near) => format!("Did you mean `{near}`? {list}"),
        None => list,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_starred_out_and_nothing_else_is() {
        for (text, shown) in [
            (r#"token = "123456:TEST-TOKEN""#, r#"token = "123456:**********""#),
            ("https://a/bot123456:AA_b-c/getMe", "https://a/bot123456:******/getMe"),
            ("127.0.0.1:7285 at 12:30:15, é:x", "127.0.0.1:7285 at 12:30:15, é:x"),
            ("123456:TEST-TOKEN:x", "123456:**********:x"),
            ("", ""),
        ] {
            assert_eq!(hidden(text.into()), shown);
        }
    }
}
