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

/// Oldest first. One look at everything, so that each gate finds its session's name.
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<GateShape>>, Fault> {
    let status = read_status(&app, &caller).await?;
    Ok(Json(shapes::gates(&status.waiting, &status.sessions)))
}

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

/// The same by a button of the gate's card.
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
