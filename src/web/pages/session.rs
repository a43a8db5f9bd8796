//! One session.

use axum::{
    extract::{Extension, Path, State},
    http::{StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};
use vigie_core::{
    caller::{MailQuery, MailSide, Mailbox},
    command::{Command, Reply},
    id::SessionId,
    mail::Mail,
    prompt::Prompt,
    session::Session,
};
use vigie_dashboard::{
    Page,
    gate::Asked,
    session::{
        self, Changes, Deeds, Named, Pane, Passed, Recorded, Rights, SessionPage, Talk, Terminal,
        View, Way,
    },
    term::Screen,
};

use super::{
    Seen,
    live::{self, How},
};
use crate::{
    config::Role,
    web::{
        api::{ask, read_session, unexpected},
        client::segment,
        fault::Fault,
        people::Caller,
        query::Query,
        serve::App,
        shapes::Event,
    },
};

/// Messages between sessions on the page.
const MAIL: usize = 100;

/// Files that were passed, on the page.
const FILES: usize = 100;

/// Which page of it, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asking {
    #[serde(default)]
    view: String,
    /// Of a conversation: what stands before the entry of that number.
    before: Option<usize>,
}

/// One reader's page, for as long as it is followed.
struct Reading {
    name: String,
    view: View,
    before: Option<usize>,
    kept: Mutex<Option<Kept>>,
}

/// What takes long to read is read again after a while, however often the page is drawn.
struct Kept {
    at: Instant,
    /// The start of its program, and whether that runs.
    run: (u32, bool),
    got: Arc<Got>,
}

/// What the chosen page is drawn from.
enum Got {
    Live,
    Over(Result<Screen, String>),
    Talk(Result<Talk, String>),
    Changes(Result<Changes, String>),
    Files(Result<Changes, String>, Vec<Passed>),
    Mail(Vec<Mail>),
    Cost,
    Recorded(Result<Recorded, String>),
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(asking): Query<Asking>,
    uri: Uri,
    how: How,
) -> Response {
    if how == How::Once
        && name.parse::<SessionId>().is_err()
        && let Ok(view) = read_session(&app, &caller, &name).await
    {
        // The name may be another's tomorrow; who follows this page follows this session.
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        return Redirect::to(&format!("/sessions/{}{query}", view.session.id)).into_response();
    }
    let Asking { view, before } = asking;
    let view = View::ALL.into_iter().find(|known| known.name() == view).unwrap_or_default();
    let reading = Arc::new(Reading { name, view, before, kept: Mutex::new(None) });
    live::answer(app, caller, how, move |seen| draw(seen, Arc::clone(&reading))).await
}

async fn draw(seen: Seen, reading: Arc<Reading>) -> Result<Page, Fault> {
    let view = read_session(&seen.app, &seen.caller, &reading.name).await?;
    let session = &view.session;
    let meant = read_session(&seen.app, &seen.caller, session.name.as_str()).await?;
    let named = if meant.session.id == session.id { Named::This } else { Named::Another };
    let own = format!("/sessions/{}", session.id);
    let asked: Vec<Asked> =
        seen.waiting.iter().filter(|asked| asked.href == own).cloned().collect();
    let queue = queue(&seen, session).await?;
    let got = got(&seen, &reading, session).await?;
    let page = SessionPage {
        view: &view,
        asked: &asked,
        queue: &queue,
        rights: rights(&seen),
        me: &seen.caller.human,
        named,
        pane: pane(&got),
        now: seen.now,
    };
    Ok(session::page(&page))
}

fn rights(seen: &Seen) -> Rights {
    let deeds = if seen.may(Role::Owner) {
        Deeds::Type
    } else if seen.may(Role::Talker) {
        Deeds::Write
    } else {
        Deeds::Look
    };
    Rights { answer: seen.may_answer(), deeds }
}

async fn queue(seen: &Seen, session: &Session) -> Result<Vec<Prompt>, Fault> {
    let what = Command::Prompts { session: session.id };
    match ask(&seen.app, &seen.caller, Role::Viewer, what).await? {
        Reply::Prompts(prompts) => Ok(prompts),
        other => Err(unexpected(&other)),
    }
}

fn pane(got: &Got) -> Pane<'_> {
    match got {
        Got::Live => Pane::Terminal(Terminal::Live),
        Got::Over(screen) => {
            Pane::Terminal(Terminal::Over(screen.as_ref().map_err(String::as_str)))
        }
        Got::Talk(talk) => Pane::Conversation(talk.as_ref().map_err(String::as_str)),
        Got::Changes(changes) => Pane::Diff(changes.as_ref().map_err(String::as_str)),
        Got::Files(changes, passed) => {
            Pane::Files(changes.as_ref().map_err(String::as_str), passed)
        }
        Got::Mail(mail) => Pane::Mail(mail),
        Got::Cost => Pane::Cost,
        Got::Recorded(recorded) => Pane::Recording(recorded.as_ref().map_err(String::as_str)),
    }
}

/// How long what was read is good for.
fn lasts(view: View) -> Duration {
    match view {
        View::Conversation => Duration::from_secs(1),
        View::Diff | View::Files => Duration::from_secs(5),
        View::Terminal | View::Recording => Duration::from_mins(5),
        View::Mail | View::Cost => Duration::ZERO,
    }
}

async fn got(seen: &Seen, reading: &Reading, session: &Session) -> Result<Arc<Got>, Fault> {
    let run = (session.run, session.life.is_live());
    let mut kept = reading.kept.lock().await;
    if let Some(kept) = kept.as_ref()
        && kept.run == run
        && kept.at.elapsed() < lasts(reading.view)
    {
        return Ok(Arc::clone(&kept.got));
    }
    let got = Arc::new(read(seen, reading, session).await?);
    *kept = Some(Kept { at: Instant::now(), run, got: Arc::clone(&got) });
    Ok(got)
}

async fn read(seen: &Seen, reading: &Reading, session: &Session) -> Result<Got, Fault> {
    let sight = &seen.app.outside.sight;
    Ok(match reading.view {
        View::Terminal if session.life.is_live() => Got::Live,
        View::Terminal => Got::Over(sight.last_screen(session).await),
        View::Conversation => Got::Talk(sight.talk(session, reading.before).await),
        View::Diff => Got::Changes(sight.changes(session).await),
        View::Files => Got::Files(sight.changes(session).await, passed(seen, session).await?),
        View::Mail => Got::Mail(mail(seen, session).await?),
        View::Cost => Got::Cost,
        View::Recording => Got::Recorded(sight.recorded(session).await),
    })
}

/// Files that came with messages and those that were sent to chats, newest first.
async fn passed(seen: &Seen, session: &Session) -> Result<Vec<Passed>, Fault> {
    let history = &seen.app.outside.history;
    let events = history(u64::MAX, FILES, &["file_"], Some(session.id)).await?;
    let passed = |event: Event| {
        let Event { at, detail, human, .. } = event;
        let said = |key: &str| detail[key].as_str().map(str::to_owned);
        let bytes = detail["bytes"].as_u64().map(|bytes| format!("{bytes} bytes"));
        let way = match human {
            Some(human) => Way::In(seen.app.people.name(&human)),
            None => Way::Out(said("to")?),
        };
        let about = bytes.or_else(|| said("about")).unwrap_or_default();
        Some(Passed { at, name: said("name")?, about, way })
    };
    Ok(events.into_iter().filter_map(passed).collect())
}

async fn mail(seen: &Seen, session: &Session) -> Result<Vec<Mail>, Fault> {
    let query = MailQuery {
        of: Mailbox::Everybody,
        side: MailSide::Both,
        with: Some(session.name.to_string()),
        words: None,
        thread: None,
        before: None,
        most: MAIL,
    };
    Ok((seen.app.outside.mail)(query).await?)
}

/// Which file of its folder.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Wanted {
    path: String,
}

/// Handed out as a file whatever is in it: nothing of it is shown as a page of ours.
pub(super) async fn file(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Response {
    fetch(&app, &caller, &name, wanted.path).await.unwrap_or_else(Fault::into_response)
}

async fn fetch(app: &App, caller: &Caller, name: &str, path: String) -> Result<Response, Fault> {
    caller.needs(Role::Talker)?;
    let session = read_session(app, caller, name).await?.session;
    let file = app.outside.sight.file(&session, path).await.map_err(|why| {
        Fault::new(StatusCode::NOT_FOUND, "no_file", why)
            .hint("Name a file of the session's folder, as it is seen from there.")
    })?;
    let name = format!("attachment; filename*=UTF-8''{}", segment(&file.name));
    let head = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((head, file.bytes).into_response())
}
