//! Everything that was decided.

use axum::{
    extract::{Extension, Query, State},
    http::header,
    response::{IntoResponse, Response},
};
use chrono::SecondsFormat;
use serde::Deserialize;
use std::{collections::HashMap, fmt::Write as _};
use vigie_dashboard::{
    Page,
    audit::{self, Audit, Line, Show},
};

use super::{
    Seen,
    live::{self, How},
    page_of,
};
use crate::{
    config::Role,
    web::{api, fault::Fault, people::Caller, serve::App, shapes::Event},
};

/// Lines of one page.
const PAGE: usize = 200;

/// Lines of one export: more than anybody opens in a spreadsheet.
const EXPORT: usize = 100_000;

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    show: String,
    before: Option<u64>,
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
    live::answer(app, caller, how, move |seen| draw(seen, asked.clone())).await
}

async fn draw(seen: Seen, asked: Asked) -> Result<Page, Fault> {
    let show = asked.show();
    let before = asked.before.unwrap_or(u64::MAX);
    let history = &seen.app.outside.history;
    let events = history(before, PAGE, show.prefixes()).await?;
    let older = events.last().map(|event| event.seq).filter(|_| events.len() == PAGE);
    let names: HashMap<_, _> = seen
        .status
        .sessions
        .iter()
        .map(|view| (view.session.id.to_string(), view.session.name.to_string()))
        .collect();
    let lines: Vec<_> = events.into_iter().map(|event| line(&seen.app, &names, event)).collect();
    Ok(audit::page(&Audit { lines: &lines, show, older, newest: asked.before.is_none() }))
}

fn line(app: &App, names: &HashMap<String, String>, event: Event) -> Line {
    let Event { seq, at, kind, session, gate, human, detail } = event;
    let about = match (session, gate) {
        (Some(id), _) => {
            let name = names.get(&id).cloned().unwrap_or_else(|| id.clone());
            Some((name, Some(format!("/sessions/{id}"))))
        }
        (None, Some(gate)) => Some((gate, None)),
        (None, None) => detail["name"].as_str().map(|name| (name.to_owned(), None)),
    };
    let rule = || detail["rule"].as_str().map(ToOwned::to_owned);
    let who = human.map(|id| app.people.name(&id)).or_else(rule);
    Line { seq, at, kind, who, about, detail: detail.to_string() }
}

/// The same as a table for a spreadsheet, oldest last.
pub(super) async fn csv(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
) -> Response {
    match export(&app, &caller, &asked).await {
        Ok(text) => {
            let headers = [
                (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
                (header::CONTENT_DISPOSITION, "attachment; filename=\"vigie-audit.csv\""),
            ];
            (headers, text).into_response()
        }
        Err(fault) => page_of(&fault),
    }
}

async fn export(app: &App, caller: &Caller, asked: &Asked) -> Result<String, Fault> {
    caller.needs(Role::Viewer)?;
    let events =
        (app.outside.history)(asked.before.unwrap_or(u64::MAX), EXPORT, asked.show().prefixes())
            .await?;
    let sessions = api::read_sessions(app, caller).await?;
    let names: HashMap<_, _> = sessions
        .iter()
        .map(|view| (view.session.id.to_string(), view.session.name.to_string()))
        .collect();
    let mut text = String::from("number,at,what,who,session,gate,detail\r\n");
    for event in events {
        let Event { seq, at, kind, session, gate, human, detail } = event;
        let session = session.map(|id| names.get(&id).cloned().unwrap_or(id)).unwrap_or_default();
        let at = at.to_rfc3339_opts(SecondsFormat::Millis, true);
        let who = human.map(|id| app.people.name(&id)).unwrap_or_default();
        let cells = [kind, who, session, gate.unwrap_or_default(), detail.to_string()];
        let cells: Vec<_> = cells.iter().map(|cell| field(cell)).collect();
        let _ = write!(text, "{seq},{at},{}\r\n", cells.join(","));
    }
    Ok(text)
}

/// In quotes, as RFC 4180 has it; what a spreadsheet would compute is kept from it.
fn field(text: &str) -> String {
    let computes = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if computes { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_spreadsheet_computes_nothing_of_it() {
        assert_eq!(field("=1+1"), "\"'=1+1\"");
        assert_eq!(field("say \"so\", now"), "\"say \"\"so\"\", now\"");
    }
}
