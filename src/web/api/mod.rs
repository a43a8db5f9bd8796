//! `/api/v1`, the same over the socket and over TCP.

mod desk;
mod mail;
mod matrix;
mod people;
mod ringing;
pub(super) mod runs;
mod sessions;
mod tokens;
mod usage;
mod waiting;
pub(super) mod workflows;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Extension, State},
    routing::{get, post, put},
};
use serde::de::DeserializeOwned;
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

/// Everything that a signed-in person may reach.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/status", get(status))
        .route("/daemon", get(daemon))
        .route("/sessions", get(sessions::list).post(sessions::start))
        .route("/sessions/{name}", get(sessions::show))
        .route("/sessions/{name}/send", post(sessions::send))
        .route("/sessions/{name}/stop", post(sessions::stop))
        .route("/sessions/{name}/end", post(sessions::end))
        .route("/sessions/{name}/kill", post(sessions::kill))
        .route("/sessions/{name}/resume", post(sessions::resume))
        .route("/sessions/{name}/handover", post(sessions::hand_over))
        .route("/accounts/retry", post(sessions::retry_account))
        .route("/sessions/{name}/keys", post(sessions::keys))
        .route("/sessions/{name}/screen", get(sessions::screen))
        .route("/sessions/{name}/folder", get(sessions::folder))
        .route("/waiting", get(waiting::list))
        .route("/waiting/{code}/answer", post(waiting::answer))
        .route("/waiting/tap", post(waiting::tap))
        .route("/mutes", get(ringing::mutes).post(ringing::mute))
        .route("/mutes/{name}", axum::routing::delete(ringing::unmute))
        .route("/digest", get(ringing::digest))
        .route("/mail", get(mail::list))
        .route("/usage", get(usage::show))
        .route("/usage/delegations", get(usage::delegations))
        .route("/usage/prices", get(usage::prices))
        .route("/budget", get(usage::budgets).post(usage::set_budget))
        .route("/events", get(super::follow::events))
        .route("/links", post(desk::link))
        .route("/logins", get(desk::logins))
        .route("/logins/{id}", axum::routing::delete(desk::logout))
        .route("/pair", post(people::pair))
        .route("/people", get(people::list))
        .route("/people/{bridge}/{id}", axum::routing::delete(people::unpair))
        .merge(matrix::router())
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/{name}", axum::routing::delete(tokens::revoke))
        .route("/workflows", get(runs::workflows))
        .route("/workflows/check", post(runs::check).put(workflows::save))
        .route("/workflows/{*name}", put(workflows::save))
        .route("/runs", get(runs::list).post(runs::start))
        .route("/runs/{name}", get(runs::show))
        .route("/runs/{name}/cancel", post(runs::cancel))
        .route("/runs/{name}/retry", post(runs::retry))
        .route("/runs/{name}/steps/{step}/output", get(runs::output))
        .route("/doctor", post(super::pages::system::examine))
        .route("/down", post(desk::down))
        .fallback(nothing_here)
        .method_not_allowed_fallback(nothing_here)
}

async fn nothing_here() -> Fault {
    Fault::no_such_page()
}

async fn status(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<StatusShape>, Fault> {
    let status = read_status(&app, &caller).await?;
    let runs = runs::read_open(&app, &caller).await?;
    Ok(Json(StatusShape::new(about(&app), &status, &runs, app.outside.protections.to_vec())))
}

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
