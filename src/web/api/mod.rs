//! `/api/v1`, the same over the socket and over TCP.

mod desk;
mod grants;
mod line;
mod mail;
mod matrix;
mod openapi;
mod people;
mod ringing;
pub(super) mod runs;
mod sessions;
mod tokens;
pub(super) mod undelivered;
mod usage;
mod waiting;
pub(super) mod workflows;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Extension, State},
    routing::{get, put},
};
use serde::de::DeserializeOwned;
use utoipa_axum::{router::OpenApiRouter, routes};
use vigie_core::{
    command::{Command, Refusal, Reply, Request, SessionView, Status},
    nearest::nearest,
};

use super::{
    fault::Fault,
    people::Caller,
    serve::App,
    shapes::{DaemonShape, StatusShape},
};
use crate::config::Role;

/// Everything that a signed-in person may reach, with the description of it at `/openapi.json`.
pub(super) fn router() -> Router<App> {
    let (router, described) = described().split_for_parts();
    let described = openapi::document(&described);
    router
        // A workflow may be called `check`: its text is kept under the address that checks one.
        .route("/workflows/check", put(workflows::save))
        .route("/openapi.json", get(async move || Json(described)))
        .fallback(nothing_here)
}

/// What a handler says of itself is what is routed: there is no second list.
fn described() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(status))
        .routes(routes!(daemon))
        .routes(routes!(sessions::list, sessions::start))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::send))
        .routes(routes!(sessions::stop))
        .routes(routes!(sessions::end))
        .routes(routes!(sessions::kill))
        .routes(routes!(sessions::resume))
        .routes(routes!(sessions::hand_over))
        .routes(routes!(sessions::retry_account))
        .routes(routes!(sessions::keys))
        .routes(routes!(sessions::screen))
        .routes(routes!(sessions::folder))
        .routes(routes!(line::list))
        .routes(routes!(line::edit, line::withdraw))
        .routes(routes!(waiting::list))
        .routes(routes!(waiting::answer))
        .routes(routes!(waiting::tap))
        .routes(routes!(mail::list))
        .routes(routes!(ringing::mutes, ringing::mute))
        .routes(routes!(ringing::unmute))
        .routes(routes!(ringing::digest))
        .routes(routes!(usage::show))
        .routes(routes!(usage::delegations))
        .routes(routes!(usage::prices))
        .routes(routes!(usage::budgets, usage::set_budget))
        .routes(routes!(super::follow::events))
        .routes(routes!(desk::link))
        .routes(routes!(desk::logins))
        .routes(routes!(desk::logout))
        .routes(routes!(people::pair))
        .routes(routes!(people::list))
        .routes(routes!(people::unpair))
        .merge(matrix::router())
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(grants::list))
        .routes(routes!(grants::revoke))
        .routes(routes!(runs::workflows, workflows::create))
        .routes(routes!(runs::check))
        .routes(routes!(workflows::save))
        .routes(routes!(runs::list, runs::start))
        .routes(routes!(runs::show))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::retry))
        .routes(routes!(runs::output))
        .routes(routes!(undelivered::list))
        .routes(routes!(undelivered::retry))
        .routes(routes!(super::pages::system::examine))
        .routes(routes!(desk::down))
}

async fn nothing_here() -> Fault {
    Fault::no_such_page()
}

/// How everything stands.
#[utoipa::path(get, path = "/status", responses((status = 200, body = StatusShape)))]
async fn status(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<StatusShape>, Fault> {
    let status = read_status(&app, &caller).await?;
    let runs = runs::read_open(&app, &caller).await?;
    Ok(Json(StatusShape::new(about(&app), &status, &runs, app.outside.protections.to_vec())))
}

/// The daemon itself.
#[utoipa::path(get, path = "/daemon", responses((status = 200, body = DaemonShape)))]
async fn daemon(State(app): State<App>) -> Json<DaemonShape> {
    Json(about(&app))
}

fn about(app: &App) -> DaemonShape {
    DaemonShape {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        url: app.url.to_string(),
    }
}

/// Puts one request to the hub for `caller`, who must be at least `role`.
pub(super) async fn ask(
    app: &App,
    caller: &Caller,
    role: Role,
    what: Command,
) -> Result<Reply, Fault> {
    caller.needs(role)?;
    let request = Request { by: caller.human.clone(), via: caller.via().into(), what };
    Ok(app.outside.hub.ask(request).await?)
}

pub(super) async fn read_status(app: &App, caller: &Caller) -> Result<Status, Fault> {
    match ask(app, caller, Role::Viewer, Command::Status).await? {
        Reply::Status(status) => Ok(status),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn read_sessions(app: &App, caller: &Caller) -> Result<Vec<SessionView>, Fault> {
    match ask(app, caller, Role::Viewer, Command::Sessions).await? {
        Reply::Sessions(sessions) => Ok(sessions),
        other => Err(unexpected(&other)),
    }
}

/// The session of that name or id: the live one, else the newest.
pub(super) async fn read_session(
    app: &App,
    caller: &Caller,
    name: &str,
) -> Result<SessionView, Fault> {
    let sessions = read_sessions(app, caller).await?;
    let folded = name.to_ascii_lowercase();
    let named = |view: &&SessionView| {
        view.session.name.folded() == folded || view.session.id.to_string() == name
    };
    let best = sessions
        .iter()
        .filter(named)
        .max_by_key(|view| (view.session.life.is_live(), view.session.created));
    best.cloned().ok_or_else(|| {
        let there = sessions.iter().map(|view| view.session.name.as_str());
        let near = nearest(name, there, MOST_NEAR).into_iter().map(str::to_owned).collect();
        Refusal::NoSession { name: name.into(), near }.into()
    })
}

/// Names offered for one that does not exist.
const MOST_NEAR: usize = 3;

/// The hub answered something else than was asked: a fault of ours.
pub(super) fn unexpected(reply: &Reply) -> Fault {
    tracing::error!(?reply, "the hub gave an answer of another kind");
    let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
    Fault::new(status, "internal", "Vigie answered itself nonsense")
        .hint("This is a fault of Vigie; its log has the details.")
}

/// Reads a body of JSON.
fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(Fault::unreadable)
}
