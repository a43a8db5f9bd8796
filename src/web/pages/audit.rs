//! Everything that was decided.

use axum::{
    extract::{Extension, State},
    response::Response,
};
use chrono::SecondsFormat;
use serde::Deserialize;
use std::{collections::HashMap, fmt::Write as _, sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};
use vigie_core::{
    command::{Command, Reply},
    id::SessionId,
};
use vigie_dashboard::{
    Page,
    audit::{self, Audit, Line, Show},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::{
    config::Role,
    web::{
        api::{self, ask, unexpected},
        csv::{self, cell},
        fault::Fault,
        people::Caller,
        query::Query,
        serve::App,
        shapes::Event,
    },
};

/// Lines of one page.
const PAGE: usize = 200;

/// Gates whose words are looked up; of older ones it is only said that they were.
const GATES: usize = 1_000;

/// Lines of one export: more than anybody opens in a spreadsheet.
const EXPORT: usize = 100_000;

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    show: String,
    before: Option<u64>,
    /// Of that session alone, by name or id.
    session: Option<String>,
}

impl Asked {
    fn show(&self) -> Show {
        Show::ALL.into_iter().find(|show| show.name() == self.show).unwrap_or_default()
    }
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
    how: How,
) -> Response {
    let kept = Kept::default();
    live::answer(app, caller, how, move |seen| draw(seen, asked.clone(), Arc::clone(&kept))).await
}

/// What was read for a page, when, and how long that took.
struct Lines {
    at: Instant,
    took: Duration,
    events: Vec<Event>,
}

type Kept = Arc<Mutex<Option<Lines>>>;

/// Lines that are rare take a look at the whole journal: reading them has a bounded share of the time,
/// however often the page is drawn.
const SHARE: u32 = 10;

async fn read(
    app: &App,
    kept: &Kept,
    asked: &Asked,
    of: Option<SessionId>,
) -> Result<Vec<Event>, Fault> {
    let mut kept = kept.lock().await;
    if let Some(Lines { at, took, events }) = kept.as_ref()
        && at.elapsed() < *took * SHARE
    {
        return Ok(events.clone());
    }
    let begun = Instant::now();
    let (before, prefixes) = (asked.before.unwrap_or(u64::MAX), asked.show().prefixes());
    let events = (app.outside.history)(before, PAGE, prefixes, of).await?;
    let (at, took) = (Instant::now(), begun.elapsed());
    *kept = Some(Lines { at, took, events: events.clone() });
    Ok(events)
}

async fn draw(seen: Seen, asked: Asked, kept: Kept) -> Result<Page, Fault> {
    let show = asked.show();
    let of = match &asked.session {
        Some(name) => Some(api::read_session(&seen.app, &seen.caller, name).await?.session),
        None => None,
    };
    let events = read(&seen.app, &kept, &asked, of.as_ref().map(|of| of.id)).await?;
    let older = events.last().map(|event| event.seq).filter(|_| events.len() == PAGE);
    let names: HashMap<_, _> = seen
        .status
        .sessions
        .iter()
        .map(|view| (view.session.id.to_string(), view.session.name.to_string()))
        .collect();
    let gates = gates(&seen, &events).await?;
    let line = |event| line(&seen.app, &names, &gates, event);
    let lines: Vec<_> = events.into_iter().map(line).collect();
    let of = of.map(|of| (of.name.to_string(), of.id.to_string()));
    let of = of.as_ref().map(|(name, id)| (name.as_str(), id.as_str()));
    Ok(audit::page(&Audit { lines: &lines, show, of, older, newest: asked.before.is_none() }))
}

/// What gates of workflows ask, and where they are shown, by their ids.
async fn gates(seen: &Seen, events: &[Event]) -> Result<HashMap<String, (String, String)>, Fault> {
    if !events.iter().any(|event| event.gate.is_some() && event.session.is_none()) {
        return Ok(HashMap::new());
    }
    let what = Command::Cards { decided: GATES };
    let cards = match ask(&seen.app, &seen.caller, Role::Viewer, what).await? {
        Reply::Cards(cards) => cards,
        other => return Err(unexpected(&other)),
    };
    let named = |asked: super::Asked| {
        (asked.card.gate.to_string(), (asked.card.title.clone(), asked.href.clone()))
    };
    Ok(cards.into_iter().map(super::asked).map(named).collect())
}

fn line(
    app: &App,
    names: &HashMap<String, String>,
    gates: &HashMap<String, (String, String)>,
    event: Event,
) -> Line {
    let Event { seq, at, kind, session, gate, human, detail } = event;
    let about = match (session, gate) {
        (Some(id), _) => {
            let name = names.get(&id).cloned().unwrap_or_else(|| id.clone());
            Some((name, Some(format!("/sessions/{id}"))))
        }
        (None, Some(gate)) => Some(match gates.get(&gate) {
            Some((title, href)) => (title.clone(), Some(href.clone())),
            None => ("a gate of long ago".into(), None),
        }),
        (None, None) => detail["name"].as_str().map(|name| (name.to_owned(), None)),
    };
    let rule = || detail["rule"].as_str().map(ToOwned::to_owned);
    let who = human.map(|id| app.people.name(&id)).or_else(rule);
    Line { seq, at, kind, who, about, detail: detail.to_string() }
}

/// The same as a table for a spreadsheet, oldest last.
pub(super) async fn table(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
) -> Response {
    csv::answer("vigie-audit", export(&app, &caller, &asked).await)
}

async fn export(app: &App, caller: &Caller, asked: &Asked) -> Result<String, Fault> {
    caller.needs(Role::Viewer)?;
    let of = match &asked.session {
        Some(name) => Some(api::read_session(app, caller, name).await?.session.id),
        None => None,
    };
    let (before, prefixes) = (asked.before.unwrap_or(u64::MAX), asked.show().prefixes());
    let events = (app.outside.history)(before, EXPORT, prefixes, of).await?;
    let sessions = api::read_sessions(app, caller).await?;
    let names: HashMap<_, _> = sessions
        .iter()
        .map(|view| (view.session.id.to_string(), view.session.name.to_string()))
        .collect();
    let mut text = csv::head(&["number", "at", "what", "who", "session", "gate", "detail"]);
    for event in events {
        let Event { seq, at, kind, session, gate, human, detail } = event;
        let session = session.map(|id| names.get(&id).cloned().unwrap_or(id)).unwrap_or_default();
        let at = at.to_rfc3339_opts(SecondsFormat::Millis, true);
        let who = human.map(|id| app.people.name(&id)).unwrap_or_default();
        let cells = [kind, who, session, gate.unwrap_or_default(), detail.to_string()];
        let cells: Vec<_> = cells.iter().map(|text| cell(text)).collect();
        let _ = write!(text, "\"{seq}\",\"{at}\",{}\r\n", cells.join(","));
    }
    Ok(text)
}
