//! Everything that was decided, and by whom: the journal, newest first.

use maud::{Markup, html};
use std::fmt::Write as _;
use vigie_core::Timestamp;

use crate::{
    frame::{Page, Tab},
    words::{day_and_clock, said},
};

pub struct Audit<'a> {
    /// Newest first.
    pub lines: &'a [Line],
    pub show: Show,
    /// The one session that is shown, by name and id.
    pub of: Option<(&'a str, &'a str)>,
    /// The number before which older ones begin; `None`: there are none.
    pub older: Option<u64>,
    /// Whether these are the newest there are.
    pub newest: bool,
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub seq: u64,
    pub at: Timestamp,
    /// `gate_answered`.
    pub kind: String,
    /// By name.
    pub who: Option<String>,
    /// What it is about, by name, and where that is shown.
    pub about: Option<(String, Option<String>)>,
    /// The rest of it, as JSON.
    pub detail: String,
}

/// Which kinds are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    #[default]
    Decisions,
    Sessions,
    Runs,
    Access,
    All,
}

impl Show {
    pub const ALL: [Self; 5] =
        [Self::Decisions, Self::Sessions, Self::Runs, Self::Access, Self::All];

    /// As it stands in the address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decisions => "decisions",
            Self::Sessions => "sessions",
            Self::Runs => "runs",
            Self::Access => "access",
            Self::All => "all",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Decisions => "Decisions",
            Self::Sessions => "Sessions",
            Self::Runs => "Runs",
            Self::Access => "Access",
            Self::All => "All",
        }
    }

    /// How the kinds begin that it takes; none: every kind.
    pub fn prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Decisions => &["gate_", "tool_", "answer_", "grant_", "keys_"],
            Self::Sessions => &["session_", "launch_", "end_", "keys_", "file_", "prompt_"],
            Self::Runs => &["run_", "slots_"],
            Self::Access => &["pair", "unpair", "token_", "stranger_", "chat_", "readers_"],
            Self::All => &[],
        }
    }
}

pub fn page(audit: &Audit) -> Page {
    let main = html! {
        div.head {
            h1 { "Audit" }
            @if let Some((name, id)) = audit.of {
                p.dim { "of " a.key href=(format!("/sessions/{id}")) { (said(name)) } ". " a href=(format!("/audit?show={}", audit.show.name())) { "Of all" } }
            }
            div.end.under {
                a.btn href=(address("/audit.csv", audit, audit.show, None)) download { "CSV" }
                a.btn href="/api/v1/events?after=0&follow=false" download="events.ndjson" { "JSON" }
            }
        }
        nav.chips.head aria-label="Show" {
            @for show in Show::ALL {
                a.chip href=(address("/audit", audit, show, None)) aria-current=[(show == audit.show).then_some("true")] { (show.label()) }
            }
        }
        @if audit.lines.is_empty() {
            div.panel.empty { p { b { "Nothing of that kind yet." } } }
        } @else {
            div.panel { (table(audit.lines)) }
        }
        p.foot.chips {
            @if !audit.newest { a.btn href=(address("/audit", audit, audit.show, None)) { "Newest" } }
            @if let Some(before) = audit.older {
                a.btn href=(address("/audit", audit, audit.show, Some(before))) { "Older" }
            }
        }
    };
    Page { title: "Audit".into(), tab: Tab::Audit, main }
}

/// The same with other lines.
fn address(path: &str, audit: &Audit, show: Show, before: Option<u64>) -> String {
    let mut address = format!("{path}?show={}", show.name());
    if let Some((_, id)) = audit.of {
        address.push_str("&session=");
        address.push_str(id);
    }
    if let Some(before) = before {
        let _ = write!(address, "&before={before}");
    }
    address
}

fn table(lines: &[Line]) -> Markup {
    html! {
        table.fold.audit role="table" aria-label="What happened" {
            thead role="rowgroup" { tr role="row" {
                @for name in ["When", "What", "Who", "About", "More"] { th role="columnheader" scope="col" { (name) } }
            } }
            tbody role="rowgroup" { @for line in lines { (row(line)) } }
        }
    }
}

fn row(line: &Line) -> Markup {
    html! {
        tr role="row" id=(format!("e{}", line.seq)) {
            td.num.dim role="cell" { (day_and_clock(line.at)) }
            th role="rowheader" scope="row" { (kind(&line.kind)) }
            td role="cell" data-l="Who" { (said(line.who.as_deref().unwrap_or("–"))) }
            td role="cell" data-l="About" {
                @match &line.about {
                    Some((name, Some(href))) => { a.key href=(href) { (said(name)) } }
                    Some((name, None)) => { span.key { (said(name)) } }
                    None => { "–" }
                }
            }
            td role="cell" {
                details { summary.small.dim { "Number " (line.seq) } pre.code-block { (said(&line.detail)) } }
            }
        }
    }
}

/// `gate_answered` → "gate answered".
fn kind(kind: &str) -> String {
    match kind {
        "gate_approved_by_one" => "one of several said yes".into(),
        "gate_ruled" => "decided by a rule".into(),
        "tool_denied" => "denied before it ran".into(),
        other => other.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_said_is_text() {
        let line = Line {
            seq: 7,
            at: Timestamp::default(),
            kind: "gate_answered".into(),
            who: Some("<b>Inès".into()),
            about: Some(("PD-285".into(), Some("/sessions/x".into()))),
            detail: "{\"words\":\"<script>\u{202e}\"}".into(),
        };
        let shown = page(&Audit {
            lines: &[line],
            show: Show::default(),
            of: Some(("PD-285", "ses_1")),
            older: Some(7),
            newest: true,
        });
        let shown = shown.main.into_string();
        assert!(
            !shown.contains("<script>")
                && !shown.contains("<b>Inès")
                && !shown.contains('\u{202e}')
        );
        assert!(
            shown.contains("gate answered") && shown.contains("session=ses_1&amp;before=7"),
            "{shown}"
        );
    }
}
