//! What waits for a person, and the answer.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
};
use vigie_core::{
    bridge::Action,
    command::{Command, Reply},
};

use super::{ask, read, read_status, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{self, AnswerGate, Done, GateShape, TapGate},
    },
};

/// What waits for a person, oldest first.
#[utoipa::path(
    get, path = "/waiting",
    responses((status = 200, body = Vec<GateShape>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<GateShape>>, Fault> {
    // One look at everything, so that each gate finds its session's name.
    let status = read_status(&app, &caller).await?;
    Ok(Json(shapes::gates(&status.waiting, &status.sessions)))
}

/// Answers what waits, by its code.
#[utoipa::path(
    post, path = "/waiting/{code}/answer", request_body = AnswerGate,
    responses((status = 200, body = Done))
)]
pub(super) async fn answer(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(code): Path<String>,
    body: Bytes,
) -> Result<Json<Done>, Fault> {
    let AnswerGate { choice } = read(&body)?;
    match ask(&app, &caller, Role::Approver, Command::Answer { code, choice }).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}

/// Answers by a button of a gate's card.
#[utoipa::path(
    post, path = "/waiting/tap", request_body = TapGate,
    responses((status = 200, body = Done))
)]
pub(super) async fn tap(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Json<Done>, Fault> {
    let TapGate { action } = read(&body)?;
    let action: Action = action.parse().map_err(Fault::unreadable)?;
    match ask(&app, &caller, Role::Approver, Command::Tap { action }).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
