//! Marks that are none: models write names, globs and products as they are.

use std::ops::Range;

use super::Style;

/// Names of Python's that models write bare.
const DUNDERS: &[&str] = &[
    "all", "call", "class", "dict", "doc", "enter", "eq", "exit", "file", "hash", "init", "iter",
    "len", "main", "name", "new", "next", "pycache", "repr", "str", "version",
];

/// The characters of a mark that is none in what models write: `2*3*4`, `a**b**c`, `src/**/*.rs`,
/// `__init__.py`, a single `~`.
pub(super) fn not_a_mark(source: &str, range: &Range<usize>, style: &Style) -> Option<String> {
    let whole = &source[range.clone()];
    let length = if *style == Style::Italic { 1 } else { 2 };
    if *style == Style::Strike {
        return (!whole.starts_with("~~")).then(|| "~".to_owned());
    }
    let (mark, rest) = whole.split_at_checked(length)?;
    let inner = rest.strip_suffix(mark)?;
    let before = source[..range.start].chars().next_back();
    let mut behind = source[range.end..].chars();
    let (after, then) = (behind.next(), behind.next());
    let is_name = inner.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let literal = if mark.starts_with('*') {
        let inside_a_word = [before, after, inner.chars().next(), inner.chars().next_back()]
            .iter()
            .all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()));
        let glob = inner.starts_with('/') || (length == 1 && inner.starts_with('.'));
        let blank = inner.contains(char::is_whitespace);
        // The mark of one thing was taken for the end of another: `**kwargs and a**b`.
        let joined =
            blank && [before, after].iter().any(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()));
        let arguments = blank && (inner.starts_with("args") || inner.starts_with("kwargs"));
        glob || joined || arguments || (inside_a_word && !blank)
    } else {
        let member = after == Some('.') && then.is_some_and(|c| c.is_ascii_alphanumeric());
        let used = member
            || matches!(after, Some('(' | '[' | '/'))
            || matches!(before, Some('.' | '/' | '"' | '\''));
        is_name && (used || (length == 2 && DUNDERS.contains(&inner)))
    };
    literal.then(|| mark.to_owned())
}

/// A lone tick was taken for the beginning of code that the next tick ends: a tick and a blank open
/// it, a blank and a tick close it, and a word follows at once.
/// `whole` is the code with its ticks, `behind` what follows.
pub(super) fn is_lone_tick(whole: &str, behind: &str) -> bool {
    whole.starts_with("` ")
        && whole.ends_with(" `")
        && behind.starts_with(|c: char| c.is_alphanumeric())
}
