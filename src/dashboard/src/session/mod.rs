//! One session: its terminal, what was said, what changed, and what may be done with it.

mod about;
mod changes;
mod passed;
mod post;
mod recording;
mod talk;
mod terminal;

use maud::{Markup, html};
use vigie_core::{
    Timestamp, command::SessionView, id::HumanId, mail::Mail, prompt::Prompt, session::Session,
};

pub use changes::Changes;
pub use passed::{Passed, Way};
pub use recording::Recorded;
pub use talk::{Said, Talk, What};
pub use terminal::Terminal;

use crate::{
    board,
    frame::{Page, Tab},
    gate::{Asked, May},
    pieces::small_icon,
    words::said,
};

/// What one page of a session is made of.
pub struct SessionPage<'a> {
    pub view: &'a SessionView,
    /// What it asks, oldest first.
    pub asked: &'a [Asked],
    /// What waits to be told to it, first what goes in first.
    pub queue: &'a [Prompt],
    pub rights: Rights,
    /// Who looks.
    pub me: &'a HumanId,
    /// Whether its name means this session, and not a younger one.
    pub named: Named,
    pub pane: Pane<'a>,
    pub now: Timestamp,
}

/// What whoever looks may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    pub answer: May,
    pub deeds: Deeds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deeds {
    Look,
    /// Write to it, stop, end and resume it.
    Write,
    /// And type into its terminal, which can answer whatever it asks there.
    Type,
}

/// Which session its name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    This,
    Another,
}

/// The pages of a session, each with an address of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    Terminal,
    Conversation,
    Diff,
    Files,
    Mail,
    Cost,
    Recording,
}

impl View {
    pub const ALL: [Self; 7] = [
        Self::Terminal,
        Self::Conversation,
        Self::Diff,
        Self::Files,
        Self::Mail,
        Self::Cost,
        Self::Recording,
    ];

    /// As it stands in the address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Conversation => "conversation",
            Self::Diff => "diff",
            Self::Files => "files",
            Self::Mail => "mail",
            Self::Cost => "cost",
            Self::Recording => "recording",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Terminal => "Terminal",
            Self::Conversation => "Conversation",
            Self::Diff => "Diff",
            Self::Files => "Files",
            Self::Mail => "Mail",
            Self::Cost => "Cost",
            Self::Recording => "Recording",
        }
    }
}

/// What the chosen page holds; where it could not be read, why.
pub enum Pane<'a> {
    Terminal(Terminal<'a>),
    Conversation(Result<&'a Talk, &'a str>),
    Diff(Result<&'a Changes, &'a str>),
    /// And what went in and out as a file, newest first.
    Files(Result<&'a Changes, &'a str>, &'a [Passed]),
    /// Newest first.
    Mail(&'a [Mail]),
    Cost,
    Recording(Result<&'a Recorded, &'a str>),
}

impl Pane<'_> {
    fn view(&self) -> View {
        match self {
            Self::Terminal(_) => View::Terminal,
            Self::Conversation(_) => View::Conversation,
            Self::Diff(_) => View::Diff,
            Self::Files(..) => View::Files,
            Self::Mail(_) => View::Mail,
            Self::Cost => View::Cost,
            Self::Recording(_) => View::Recording,
        }
    }
}

pub fn page(page: &SessionPage) -> Page {
    let session = &page.view.session;
    let name = session.name.to_string();
    let main = html! {
        (head(page))
        @if let Some(asked) = page.asked.first() {
            a.strip.phone-only href=(format!("#gate-{}", asked.card.code)) {
                (small_icon("i-bell"))
                span.what { (said(&asked.card.title)) }
                span.next { "Answer " (small_icon("i-next")) }
            }
        }
        div.cols {
            div {
                (tabs(page))
                section id=(page.pane.view().name()) aria-label=(page.pane.view().label()) { (pane(page)) }
            }
            (about::side(page))
        }
        link rel="stylesheet" href="/assets/palette.css";
        script src="/assets/term.js" type="module" {}
    };
    let title = if session.title.is_empty() { name } else { format!("{name} {}", session.title) };
    Page { title, tab: Tab::Board, main }
}

/// The address of one of its pages.
pub(crate) fn address(session: &Session, view: View) -> String {
    match view {
        View::Terminal => format!("/sessions/{}", session.id),
        view => format!("/sessions/{}?view={}", session.id, view.name()),
    }
}

fn head(page: &SessionPage) -> Markup {
    let session = &page.view.session;
    html! {
        div.head {
            h1 dir="auto" { span.mono.dim { (session.name) } " " (said(&session.title)) }
            (board::session_state(page.view))
            (post::deeds(page))
            (post::words(page))
        }
        @if page.named == Named::Another {
            p.dim.small { "A younger session goes by this name: " a href=(format!("/sessions/{}", session.name)) { (session.name) } "." }
        }
    }
}

fn tabs(page: &SessionPage) -> Markup {
    let session = &page.view.session;
    let now = page.pane.view();
    html! {
        nav.tabs aria-label=(session.name) {
            @for view in View::ALL {
                a href=(address(session, view)) aria-current=[(view == now).then_some("page")] {
                    (view.label())
                    @if view == View::Mail && page.view.unread_mail > 0 { " " span.faint.num { (page.view.unread_mail) } }
                }
            }
        }
    }
}

fn pane(page: &SessionPage) -> Markup {
    let session = &page.view.session;
    match &page.pane {
        Pane::Terminal(terminal) => terminal::pane(page, terminal),
        Pane::Conversation(talk) => told(*talk, |talk| talk::pane(session, talk)),
        Pane::Diff(changes) => told(*changes, changes::diff),
        Pane::Files(changes, passed) => {
            html! { (passed::list(passed)) (changes::files(session, *changes)) }
        }
        Pane::Mail(mail) => about::mail(mail),
        Pane::Cost => about::cost(session),
        Pane::Recording(recorded) => told(*recorded, |recorded| recording::pane(session, recorded)),
    }
}

/// What was read, or the sentence that says why it was not.
fn told<T: ?Sized>(read: Result<&T, &str>, shown: impl FnOnce(&T) -> Markup) -> Markup {
    match read {
        Ok(read) => shown(read),
        Err(why) => nothing(why),
    }
}

fn nothing(why: &str) -> Markup {
    html! { div.panel.empty { p.dim { (said(&sentence(why))) } } }
}

/// With a capital letter and a full stop.
fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
