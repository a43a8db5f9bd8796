//! Sessions: start, write to, steer, look at.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use std::time::Duration;
use vigie_core::{
    caller::Isolated,
    command::{Command, Refusal, Reply, Start},
};

use super::{ask, read, read_session, read_sessions, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{Done, EndSession, Folder, NewSession, Screen, SendText, SessionShape, Stored},
    },
};

/// A holder that draws no screen within this time hangs.
const SCREEN_DEADLINE: Duration = Duration::from_secs(5);

type Answer<T> = Result<Json<T>, Fault>;

pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Answer<Vec<SessionShape>> {
    let sessions = read_sessions(&app, &caller).await?;
    Ok(Json(sessions.iter().map(SessionShape::new).collect()))
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<SessionShape> {
    Ok(Json(SessionShape::new(&read_session(&app, &caller, &name).await?)))
}

pub(super) async fn start(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<SessionShape>), Fault> {
    let NewSession { name, title, project, agent, prompt, isolated } = read(&body)?;
    let isolated = if isolated { Isolated::Yes } else { Isolated::No };
    let start = Command::Start(Start { name, title, project, agent, prompt, isolated });
    match ask(&app, &caller, Role::Talker, start).await? {
        Reply::Started(view) => Ok((StatusCode::CREATED, Json(SessionShape::new(&view)))),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn send(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    body: Bytes,
) -> Answer<Stored> {
    let SendText { text, form } = read(&body)?;
    let send = Command::Send { session, text, form: form.into() };
    match ask(&app, &caller, Role::Talker, send).await? {
        Reply::Stored { prompt, session, ahead } => {
            Ok(Json(Stored { prompt: prompt.to_string(), session: session.to_string(), ahead }))
        }
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn stop(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Answer<Done> {
    steer(&app, &caller, Command::Stop { session }).await
}

pub(super) async fn end(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    body: Bytes,
) -> Answer<Done> {
    let EndSession { tree } = if body.is_empty() { EndSession::default() } else { read(&body)? };
    let end = if tree { Command::EndTree { session } } else { Command::End { session } };
    steer(&app, &caller, end).await
}

pub(super) async fn kill(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Answer<Done> {
    steer(&app, &caller, Command::Kill { session }).await
}

pub(super) async fn resume(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
) -> Answer<Done> {
    steer(&app, &caller, Command::Resume { session }).await
}

async fn steer(app: &App, caller: &Caller, what: Command) -> Answer<Done> {
    match ask(app, caller, Role::Talker, what).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        Reply::Started(view) => Ok(Json(Done { words: format!("{} starts", view.session.name) })),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn screen(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<Screen> {
    let session = read_session(&app, &caller, &name).await?.session;
    if !session.life.is_live() {
        return Err(Refusal::NotLive { name: session.name }.into());
    }
    let drawn = (app.outside.screen)((app.outside.folder)(&session));
    let lines = tokio::time::timeout(SCREEN_DEADLINE, drawn)
        .await
        .unwrap_or_else(|_| Err("its holder does not answer".into()))
        .map_err(|why| {
            let words = format!("the screen of {} cannot be read: {why}", session.name);
            let hint = format!(
                "`vigie sessions` tells its state; `vigie log {}` what it printed.",
                session.name
            );
            Fault::new(StatusCode::BAD_GATEWAY, "no_screen", words).hint(hint)
        })?;
    Ok(Json(Screen { session: session.name.to_string(), lines }))
}

/// Only the desk reaches into a folder.
pub(super) async fn folder(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Answer<Folder> {
    caller.needs_desk()?;
    let session = read_session(&app, &caller, &name).await?.session;
    Ok(Json(Folder {
        folder: (app.outside.folder)(&session).display().to_string(),
        live: session.life.is_live(),
        session: session.name.to_string(),
    }))
}
