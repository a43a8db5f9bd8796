//! Files that went into a session and out of it.

use maud::{Markup, html};
use vigie_core::Timestamp;

use crate::words::{day_and_clock, said};

/// A file that a person gave, or that people got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    pub at: Timestamp,
    pub name: String,
    /// Its size, or a line about it.
    pub about: String,
    pub way: Way,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// From that person.
    In(String),
    /// To the chats of that service.
    Out(String),
}

pub(super) fn list(all: &[Passed]) -> Markup {
    html! {
        section.band aria-labelledby="passed" {
            h2 id="passed" { "Sent and received" }
            @if all.is_empty() { p.small.dim { "No file came with a message, and none was sent to a chat." } } @else {
                ul.list.panel { @for passed in all { (line(passed)) } }
            }
        }
        h2.foot { "In its folder" }
    }
}

fn line(passed: &Passed) -> Markup {
    html! {
        li {
            div.line { code { (said(&passed.name)) } (day_and_clock(passed.at)) }
            p.small.dim {
                @match &passed.way {
                    Way::In(who) => { "From " (said(who)) }
                    Way::Out(to) => { "To " (said(to)) }
                }
                @if !passed.about.is_empty() { ", " (said(&passed.about)) }
                "."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_text_and_both_ways_are_told_apart() {
        let passed = |name: &str, way| Passed {
            at: Timestamp::default(),
            name: name.into(),
            about: "3 kB".into(),
            way,
        };
        let all = [
            passed("<b>.png", Way::In("Inès Caradec".into())),
            passed("gnp\u{202e}.exe", Way::Out("telegram".into())),
        ];
        let shown = list(&all).into_string();
        assert!(!shown.contains("<b>") && !shown.contains('\u{202e}'), "{shown}");
        assert!(shown.contains("From Inès Caradec, 3 kB.") && shown.contains("To telegram"));
        assert!(list(&[]).into_string().contains("No file came"));
    }
}
