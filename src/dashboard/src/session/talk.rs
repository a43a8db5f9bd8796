//! What was said in a session.

use maud::{Markup, html};
use vigie_core::{Timestamp, session::Session, text};

use crate::{
    pieces::small_icon,
    rich,
    words::{day_and_clock, many, said},
};

/// The newest part of a conversation, or an older one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    pub said: Vec<Said>,
    /// How many were said before these; those can be asked for.
    pub before: usize,
    /// And how many after.
    pub after: usize,
    /// Megabytes at the beginning of its file that are not read.
    pub unread: u64,
    /// An agent that writes nothing down: what its terminal printed, the newest part.
    pub printed: Option<String>,
}

/// One thing in a conversation, the secrets in it masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub at: Option<Timestamp>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Person(String),
    /// Words of another session or a program.
    Mail(String),
    /// In Markdown.
    Agent(String),
    /// A use of a tool in one line, and the beginning of what came of it.
    Tool {
        line: String,
        came: Option<String>,
    },
    Note(String),
    /// Lines of a subagent's own talk.
    Subagent(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    Person,
    Others,
    Agent,
}

impl Said {
    /// `None`: it belongs to whoever spoke before.
    fn speaker(&self) -> Option<Speaker> {
        match self.what {
            What::Person(_) => Some(Speaker::Person),
            What::Mail(_) => Some(Speaker::Others),
            What::Agent(_) | What::Tool { .. } => Some(Speaker::Agent),
            What::Note(_) | What::Subagent(_) => None,
        }
    }

    fn is_work(&self) -> bool {
        matches!(self.what, What::Tool { .. } | What::Subagent(_))
    }
}

pub(super) fn pane(session: &Session, talk: &Talk) -> Markup {
    let Talk { said: all, before, after, unread, printed } = talk;
    if let Some(printed) = printed {
        return html! {
            p.small.dim { "This agent writes no conversation down. What its terminal printed:" }
            pre.code-block.foot tabindex="0" { (said(printed)) }
        };
    }
    if all.is_empty() {
        return super::nothing("nothing was said in it yet");
    }
    let at = |before: usize| format!("/sessions/{}?view=conversation&before={before}", session.id);
    html! {
        p.small { a href="#end" { "To the end" } }
        @if *before == 0 && *unread > 0 {
            p.small.dim { "What was said before stands in the first " (unread) " MB of the agent's own file, which are not read." }
        }
        @if *before > 0 { p.small { a href=(at(*before)) { "Older, " (before) " more" } } }
        @for turn in turns(all) { (one(session, turn)) }
        span id="end" {}
        @if *after > 0 { p.foot { a href=(super::address(session, super::View::Conversation)) { "To the newest" } } }
    }
}

/// What one speaker said in one go.
fn turns(all: &[Said]) -> Vec<&[Said]> {
    let mut speaker = None;
    let mut starts = vec![0];
    for (at, said) in all.iter().enumerate() {
        let speaks = said.speaker();
        if speaks.is_some() && speaks != speaker {
            if speaker.is_some() {
                starts.push(at);
            }
            speaker = speaks;
        }
    }
    let ends = starts.iter().skip(1).copied().chain([all.len()]);
    starts.iter().zip(ends).map(|(start, end)| &all[*start..end]).collect()
}

fn one(session: &Session, turn: &[Said]) -> Markup {
    let who = match turn.iter().find_map(Said::speaker) {
        Some(Speaker::Person) => "A person".to_owned(),
        Some(Speaker::Others) => "Others".into(),
        Some(Speaker::Agent) | None => session.name.to_string(),
    };
    let tools = turn.iter().filter(|said| matches!(said.what, What::Tool { .. })).count();
    html! {
        div.turn {
            p.who {
                (who)
                @if let Some(at) = turn.iter().find_map(|said| said.at) { ", " (day_and_clock(at)) }
                @if tools > 0 { ", " (many(tools, "tool", "tools")) }
            }
            @for part in turn.chunk_by(|one, other| one.is_work() && other.is_work()) { (some(part)) }
        }
    }
}

fn some(part: &[Said]) -> Markup {
    html! {
        @if let [one] = part { (single(&one.what)) } @else {
            details.tool {
                summary { (small_icon("i-screen")) (many(part.len(), "tool", "tools")) " " code { (last(part)) } }
                ul { @for one in part { li { (single(&one.what)) } } }
            }
        }
    }
}

fn last(part: &[Said]) -> Markup {
    let line = part.iter().rev().find_map(|said| match &said.what {
        What::Tool { line, .. } => Some(line.as_str()),
        What::Person(_) | What::Mail(_) | What::Agent(_) | What::Note(_) | What::Subagent(_) => {
            None
        }
    });
    html! { (said(line.unwrap_or_default())) }
}

fn single(what: &What) -> Markup {
    match what {
        What::Person(words) | What::Mail(words) => html! { p.lines dir="auto" { (said(words)) } },
        What::Agent(words) => {
            html! { div.doc dir="auto" { (rich::blocks(&text::reveal_styled(&text::markdown(words)))) } }
        }
        What::Tool { line, came: None } => {
            html! { p.tool-line { (small_icon("i-screen")) code { (said(line)) } } }
        }
        What::Tool { line, came: Some(came) } => html! {
            details.tool {
                summary { (small_icon("i-screen")) code { (said(line)) } }
                pre.code-block tabindex="0" { (said(came)) }
            }
        },
        What::Note(line) => html! { p.small.dim { (said(line)) } },
        What::Subagent(lines) => {
            html! { p.small.dim { "A subagent worked here: " (many(*lines, "line", "lines")) "." } }
        }
    }
}
