use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether letters that differ in case alone are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Counts,
    Folded,
}

/// A name in which `*` stands for any characters, also none. Nothing else in it is special.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Glob(String);

impl Glob {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn fits(&self, text: &str, case: Case) -> bool {
        match case {
            Case::Counts => star_fits(&self.0, text),
            Case::Folded => star_fits(&self.0.to_lowercase(), &text.to_lowercase()),
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `*` in `pattern` can be filled in so that it is `text`; takes time in the product of both.
fn star_fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    list_fits(&pattern, &text, |c| *c == '*', |a, b| a == b)
}

/// Whether there is a text that both of them are.
pub(super) fn meet(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    lists_meet(&one, &other, |c| *c == '*', |c| *c == '*', |_| true, |a, b| a == b)
}

/// The same over any lists, each with parts that stand for any number of parts; those of the other one
/// stand for no part of the first that they may not hide.
pub(super) fn lists_meet<P, T>(
    one: &[P],
    other: &[T],
    is_any: impl Fn(&P) -> bool,
    is_any_too: impl Fn(&T) -> bool,
    may_hide: impl Fn(&P) -> bool,
    meets: impl Fn(&P, &T) -> bool,
) -> bool {
    // `ends[n]`: what is left of the first can be what is left of the second from its part `n` on.
    let mut ends: Vec<bool> =
        (0..=other.len()).map(|at| other[at..].iter().all(&is_any_too)).collect();
    for part in one.iter().rev() {
        let mut here = vec![false; other.len() + 1];
        for at in (0..=other.len()).rev() {
            here[at] = match other.get(at) {
                None => is_any(part) && ends[at],
                Some(_) if is_any(part) => ends[at] || here[at + 1],
                Some(next) if is_any_too(next) => here[at + 1] || may_hide(part) && ends[at],
                Some(next) => ends[at + 1] && meets(part, next),
            };
        }
        ends = here;
    }
    ends[0]
}

/// The same over any list: `is_any` parts of the pattern stand for any number of parts.
pub(super) fn list_fits<P, T>(
    pattern: &[P],
    list: &[T],
    is_any: impl Fn(&P) -> bool,
    fits: impl Fn(&P, &T) -> bool,
) -> bool {
    // `open[n]`: the pattern so far can be the first `n` parts.
    let mut open = vec![false; list.len() + 1];
    open[0] = true;
    for part in pattern {
        if is_any(part) {
            let first = open.iter().position(|it| *it).unwrap_or(open.len());
            open[first..].fill(true);
        } else {
            for at in (0..list.len()).rev() {
                open[at + 1] = open[at] && fits(part, &list[at]);
            }
            open[0] = false;
        }
    }
    open[list.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_patterns_meet_where_one_text_is_both() {
        for (one, other) in [
            ("dep*", "deploy"),
            ("*.pem", "key*"),
            ("*", ""),
            ("a*c", "*b*"),
            ("**", "x"),
            ("a*", "*a"),
        ] {
            assert!(meet(one, other) && meet(other, one), "{one} {other}");
        }
        for (one, other) in [("*.pem", "*.rs"), ("dep*", "src"), ("a", ""), ("a*b", "a*c")] {
            assert!(!meet(one, other) && !meet(other, one), "{one} {other}");
        }
    }

    #[test]
    fn a_star_is_anything_and_nothing_else_is() {
        let fits = |pattern: &str, text: &str| Glob::new(pattern).fits(text, Case::Counts);
        for (pattern, text) in [
            ("PD-*", "PD-285"),
            ("*", ""),
            ("a*c*e", "abcde"),
            ("a**", "a"),
            ("é*", "éa"),
            ("", ""),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("Bash", "BashOutput"), ("Bash", "bash"), ("a*c", "abd"), ("a?", "ab"), ("", "a")]
        {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
        assert!(Glob::new("pd-*").fits("PD-9", Case::Folded));
        let long = "a*".repeat(200);
        assert!(!fits(&format!("{long}b"), &"a".repeat(2_000)), "and it takes no time");
    }
}
