//! All sessions and runs: what each does, since when, at what cost. Who waits for a person stands first.

use maud::{Markup, html};
use std::collections::BTreeSet;
use vigie_core::{
    Timestamp,
    bridge::SessionLook,
    command::SessionView,
    outage::{Ends, LimitedView},
    run::{RunLife, RunView},
    session::{Ended, Life, Session},
};

use crate::{
    frame::{Page, Tab},
    gate::Asked,
    pieces::{self, small_icon, state},
    words::{age, many, money, said},
};

/// What the board is made of.
pub struct Board<'a> {
    pub sessions: &'a [SessionView],
    /// Those that are not over.
    pub runs: &'a [RunView],
    /// Open gates, oldest first.
    pub waiting: &'a [Asked],
    pub show: &'a Show,
    pub form: Option<NewSession<'a>>,
    /// How the chat services do, and what was not delivered.
    pub health: &'a [String],
    pub now: Timestamp,
}

/// Which rows are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Show {
    pub state: Filter,
    pub project: Option<String>,
    /// Words that stand in the row.
    pub find: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    #[default]
    All,
    Waiting,
    Working,
    Idle,
    Ended,
}

impl Filter {
    pub const ALL: [Self; 5] = [Self::All, Self::Waiting, Self::Working, Self::Idle, Self::Ended];

    /// As it stands in the address.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Ended => "ended",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Waiting => "Waiting",
            Self::Working => "Working",
            Self::Idle => "Idle",
            Self::Ended => "Ended",
        }
    }

    fn takes(self, group: Group) -> bool {
        match self {
            Self::All => true,
            Self::Waiting => group == Group::Waits,
            Self::Working => group == Group::Works,
            Self::Idle => group == Group::Idle,
            Self::Ended => group == Group::Over,
        }
    }
}

/// What can be chosen for a new session.
pub struct NewSession<'a> {
    pub projects: &'a [String],
    pub agents: &'a [String],
}

/// In the order in which rows stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Waits,
    Works,
    Idle,
    Over,
}

/// What a row is about; both may bear the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Session,
    Run,
}

struct Row {
    kind: Kind,
    group: Group,
    id: String,
    href: String,
    name: String,
    title: String,
    project: String,
    look: &'static str,
    state: String,
    doing: String,
    last: String,
    since: Timestamp,
    micro_usd: u64,
}

impl Row {
    fn holds(&self, words: &str) -> bool {
        let all = [&self.name, &self.title, &self.project, &self.doing, &self.last];
        let all = all.map(|text| text.to_lowercase());
        words.split_whitespace().all(|word| all.iter().any(|text| text.contains(word)))
    }
}

pub fn page(board: &Board) -> Page {
    let rows = rows(board);
    let projects: BTreeSet<_> = rows.iter().map(|row| row.project.as_str()).collect();
    let words = board.show.find.to_lowercase();
    let shown: Vec<_> = rows
        .iter()
        .filter(|row| board.show.state.takes(row.group) && row.holds(&words))
        .filter(|row| board.show.project.as_ref().is_none_or(|project| row.project == *project))
        .collect();
    let main = html! {
        div.head {
            h1 { "Board" }
            @if board.form.is_some() {
                div.end { a.btn.go href="#new" { (small_icon("i-plus")) "New session" } }
            }
        }
        (strip(board.waiting, board.now))
        (filters(board.show, &rows, &projects))
        @if shown.is_empty() { (nothing(board, rows.is_empty())) } @else { div.panel { (table(&shown, board.now)) } }
        p.foot.small.dim {
            @for part in board.health { (said(part)) " · " }
            a href="/system" { "System" }
        }
        @if let Some(form) = &board.form { (new_session(form)) }
    };
    Page { title: "Board".into(), tab: Tab::Board, main }
}

/// What waits for a person, on top of every list.
pub fn strip(waiting: &[Asked], now: Timestamp) -> Markup {
    let Some(oldest) = waiting.first() else {
        return html! { p.strip.none id="strip" { span.what { "Nothing waits for you." } } };
    };
    let count = match waiting.len() {
        1 => "1 waits for you".to_owned(),
        count => format!("{count} wait for you"),
    };
    html! {
        a.strip id="strip" href="/waiting" {
            (small_icon("i-bell"))
            span.what {
                (count) ", oldest " (age(oldest.card.opened, now)) ": "
                @if let Some(from) = &oldest.from { (said(from)) " " }
                (said(&oldest.card.title))
            }
            span.next { "Answer " (small_icon("i-next")) }
        }
    }
}

fn filters(show: &Show, rows: &[Row], projects: &BTreeSet<&str>) -> Markup {
    let count = |filter: Filter| rows.iter().filter(|row| filter.takes(row.group)).count();
    html! {
        form.head.filters role="search" aria-label="Show" method="get" action="/board" data-go {
            div.chips {
                @for filter in Filter::ALL {
                    button.chip name="state" value=(filter.name()) aria-current=[(filter == show.state).then_some("true")] {
                        (filter.label()) " " span.num { (count(filter)) }
                    }
                }
            }
            div.end {
                label.hush for="show-project" { "Project" }
                select.input id="show-project" name="project" {
                    option value="" { "All projects" }
                    @for project in projects {
                        option value=(project) selected[show.project.as_deref() == Some(*project)] { (said(project)) }
                    }
                }
                label.hush for="find" { "Find" }
                input.input id="find" type="search" name="find" value=(show.find) placeholder="Find  /" data-key="/";
            }
        }
    }
}

fn nothing(board: &Board, at_all: bool) -> Markup {
    html! {
        div.panel.empty {
            @if at_all {
                p { b { "No session yet." } }
                @if board.form.is_some() { p.dim { "Start one: it runs in the background and rings when it needs you." } }
            } @else {
                p { b { "No session is like that." } }
                p { a href="/board" { "Show all" } }
            }
        }
    }
}

fn table(rows: &[&Row], now: Timestamp) -> Markup {
    let columns = [
        ("c-state", "State"),
        ("c-title", "Story"),
        ("c-proj", "Project"),
        ("c-doing", "Doing"),
        ("c-last", "Last words"),
        ("c-since n", "Since"),
        ("c-cost n", "Cost"),
    ];
    html! {
        table.board role="table" aria-label="Sessions and runs" {
            thead role="rowgroup" {
                tr role="row" {
                    @for (class, name) in columns { th class=(class) role="columnheader" scope="col" { (name) } }
                }
            }
            tbody role="rowgroup" { @for row in rows { (line(row, now)) } }
        }
    }
}

fn line(row: &Row, now: Timestamp) -> Markup {
    let quiet = matches!(row.group, Group::Idle | Group::Over) && row.look != "lost";
    html! {
        tr.quiet[quiet] role="row" id=(row.id) {
            td.c-state role="cell" { (state(row.look, &row.state)) }
            th.c-title role="rowheader" scope="row" {
                a.title href=(row.href) { b.key { (said(&row.name)) } (kind(row.kind)) span dir="auto" { (said(&row.title)) } }
            }
            td.c-proj.dim role="cell" { (said(&row.project)) }
            td.c-doing.doing role="cell" dir="auto" { (said(&row.doing)) }
            td.c-last.dim role="cell" dir="auto" { (said(&row.last)) }
            td.c-since.n role="cell" { (age(row.since, now)) }
            td.c-cost.n role="cell" { (money(row.micro_usd)) }
        }
    }
}

fn kind(kind: Kind) -> Markup {
    html! {
        @match kind {
            Kind::Session => {}
            Kind::Run => i.kind { (small_icon("i-runs")) "run" }
        }
    }
}

fn new_session(form: &NewSession) -> Markup {
    let choice = |id: &str, label: &str, all: &[String], usual: Option<&str>| {
        html! {
            label.field for=(id) { (label)
                select.input id=(id) name=(id) { @if let Some(usual) = usual { option value="" { (usual) } } @for name in all { option value=(name) { (said(name)) } } }
            }
        }
    };
    html! {
        section.band.new-session id="new" aria-labelledby="new-t" {
            h2 id="new-t" { "New session" }
            form.panel.form data-post="/sessions" data-then="/sessions/{id}" {
                label.field for="name" { "Story or name"
                    input.input.mono id="name" name="name" required maxlength="40" placeholder="PD-292" autocomplete="off" autocapitalize="characters" spellcheck="false";
                }
                label.field for="title" { "What it is about"
                    input.input id="title" name="title" maxlength="200" autocomplete="off";
                }
                (choice("project", "Project", form.projects, None))
                (choice("agent", "Agent", form.agents, Some("as the project has it")))
                label.field.wide for="prompt" { "First words to it"
                    textarea.input id="prompt" name="prompt" rows="4" maxlength="64000" {}
                }
                p.error.wide role="alert" hidden {}
                div.wide { button.btn.go { "Start" } }
            }
        }
    }
}

fn rows(board: &Board) -> Vec<Row> {
    let asked = |session: &Session| {
        let name = session.name.to_string();
        board.waiting.iter().find(move |asked| asked.from.as_deref() == Some(name.as_str()))
    };
    let mut rows: Vec<_> =
        board.sessions.iter().map(|view| of_session(view, asked(&view.session))).collect();
    rows.extend(board.runs.iter().map(of_run));
    // Who waits longest first; of the others who stirred last.
    rows.sort_by_key(|row| {
        let since = row.since.timestamp_millis();
        (row.group, if row.group == Group::Waits { since } else { -since }, row.id.clone())
    });
    rows
}

fn of_session(view: &SessionView, asked: Option<&Asked>) -> Row {
    let session = &view.session;
    let waits = asked.filter(|_| session.life.is_live());
    let (group, look, state) = match (&session.life, waits) {
        (life, Some(_)) if life.is_live() => (Group::Waits, "waiting", "waits for you".to_owned()),
        (Life::NeedsDesk { .. }, _) => (Group::Waits, "desk", "needs the desk".into()),
        (Life::Starting { .. } | Life::Idle { .. }, _) if needs_somebody(view) => {
            (Group::Waits, "limited", "at its limit".into())
        }
        (Life::Starting { .. } | Life::Idle { .. }, _) if view.limited.is_some() => {
            (Group::Idle, "limited", "at its limit".into())
        }
        (Life::Starting { .. }, _) => (Group::Works, "starting", "starting".into()),
        (Life::Working { .. }, _) => (Group::Works, "working", "working".into()),
        (Life::Idle { .. }, _) => (Group::Idle, "idle", "idle".into()),
        (Life::Lost { .. }, _) => (Group::Over, "lost", "lost".into()),
        (Life::Ended { how: Ended::Itself, .. }, _) => (Group::Over, "done", "done".into()),
        (Life::Ended { .. }, _) => (Group::Over, "ended", "ended".into()),
    };
    Row {
        kind: Kind::Session,
        group,
        id: format!("row-{}", session.id),
        href: format!("/sessions/{}", session.id),
        name: session.name.to_string(),
        title: session.title.clone(),
        project: session.project.to_string(),
        look,
        state,
        doing: doing(view, waits),
        last: session.last_words.as_ref().map_or_else(String::new, |words| format!("“{words}”")),
        since: waits.map_or_else(|| session.life.since(), |asked| asked.card.opened),
        micro_usd: session.spent.micro_usd,
    }
}

/// Whether what stops it does not end by itself.
fn needs_somebody(view: &SessionView) -> bool {
    view.limited.as_ref().is_some_and(|limited| limited.ends == Ends::BySomebody)
}

/// One line: what it asks, says of itself, does or what became of it.
pub fn doing(view: &SessionView, waits: Option<&Asked>) -> String {
    let session = &view.session;
    let queued = || match view.queued {
        0 => String::new(),
        count => format!(", {}", many(count, "message waits", "messages wait")),
    };
    match (&session.life, waits) {
        (_, Some(asked)) => asked.card.title.clone(),
        (Life::Starting { .. } | Life::Idle { .. }, None) if view.limited.is_some() => {
            let limited = view.limited.as_ref().map(LimitedView::sentence);
            format!("{}{}", limited.unwrap_or_default(), queued())
        }
        (Life::NeedsDesk { why, .. } | Life::Lost { why, .. }, None) => why.clone(),
        (Life::Ended { how: Ended::By { human }, .. }, None) => {
            format!("Ended by {}", view.ended_by.as_deref().unwrap_or(human.as_str()))
        }
        (Life::Ended { how: Ended::ByAgent { name }, .. }, None) => format!("Ended by {name}"),
        (Life::Ended { how: Ended::Itself, .. }, None) => "Its program left by itself".into(),
        (Life::Starting { .. }, None) => {
            let by = view.started_by.as_ref().map(|by| format!("Started by {by}"));
            by.unwrap_or_else(|| "Its program comes up".into())
        }
        (Life::Working { .. } | Life::Idle { .. }, None) => {
            let line = session.turn.as_ref().and_then(|turn| turn.lines.last().cloned());
            let summary = session.summary.as_ref().map(|summary| summary.text.clone());
            let idle = matches!(session.life, Life::Idle { .. });
            let what = if idle { summary } else { line.or(summary) };
            let otherwise = if idle { "Waits for words" } else { "At work" };
            format!("{}{}", what.unwrap_or_else(|| otherwise.into()), queued())
        }
    }
}

fn of_run(view: &RunView) -> Row {
    let waits = !view.open_gates.is_empty();
    let over = matches!(view.row.life, RunLife::Over { .. });
    let (group, look, state) = match (waits, over) {
        (true, _) => (Group::Waits, "waiting", "waits for you"),
        (false, true) => (Group::Over, "ended", "over"),
        (false, false) => (Group::Works, "running", "running"),
    };
    // Lists come without steps: the lines of its progress say which go on.
    let goes_on = |line: &&String| line.starts_with(['●', '?', '↻', '☾']);
    let now = view.progress.iter().filter(goes_on).map(|line| line.chars().skip(2).collect());
    let now: Vec<String> = now.collect();
    let doing = if now.is_empty() { "Waits for its turn".into() } else { now.join(", ") };
    Row {
        kind: Kind::Run,
        group,
        id: format!("row-{}", view.row.id),
        href: format!("/runs/{}", view.name),
        name: view.name.clone(),
        title: format!("Workflow {}", view.row.workflow),
        project: view.row.project.as_ref().map(ToString::to_string).unwrap_or_default(),
        look,
        state: state.into(),
        doing,
        last: format!("Started by {}", view.started_by),
        since: view.row.began.unwrap_or(view.row.made),
        micro_usd: view.spent.micro_usd,
    }
}

/// The chip of a session, as on its own page.
pub fn session_state(view: &SessionView) -> Markup {
    let look = view.session.life.look();
    let waits = !view.open_gates.is_empty() && view.session.life.is_live();
    if waits {
        state("waiting", "waits for you")
    } else if let Some(limited) = &view.limited {
        let words = format!("at its limit: {}", limited.detail);
        state(pieces::look(SessionLook::Limited), &words)
    } else {
        state(pieces::look(look), pieces::look_words(look))
    }
}
