//! What is silent for whoever asks, and what happened meanwhile.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
};
use vigie_core::command::{Command, Reply};

use super::{ask, read, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{Done, MuteSession},
    },
};

/// What is silent for whoever asks, in words.
#[utoipa::path(get, path = "/mutes", responses((status = 200, body = Done)))]
pub(super) async fn mutes(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Done>, Fault> {
    done(&app, &caller, Command::Mute { words: String::new() }).await
}

/// Keeps a session from ringing for whoever asks.
#[utoipa::path(post, path = "/mutes", request_body = MuteSession,
    responses((status = 200, body = Done))
)]
pub(super) async fn mute(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Json<Done>, Fault> {
    let MuteSession { session, time } = read(&body)?;
    let words = format!("{session} {}", time.unwrap_or_default());
    done(&app, &caller, Command::Mute { words }).await
}

/// Lets a session ring again.
#[utoipa::path(delete, path = "/mutes/{name}", responses((status = 200, body = Done)))]
pub(super) async fn unmute(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Done>, Fault> {
    done(&app, &caller, Command::Unmute { name }).await
}

/// What happened since the last digest, and what waits, in words.
#[utoipa::path(get, path = "/digest", responses((status = 200, body = Done)))]
pub(super) async fn digest(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Done>, Fault> {
    done(&app, &caller, Command::Digest).await
}

async fn done(app: &App, caller: &Caller, what: Command) -> Result<Json<Done>, Fault> {
    match ask(app, caller, Role::Viewer, what).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
