//! What did not reach its chat: looked at, and tried once more.

use axum::{
    Json,
    extract::{Extension, Path, State},
};
use vigie_core::{
    command::{Command, Reply},
    delivery::Undelivered,
};

use super::{ask, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{Done, UndeliveredShape},
    },
};

/// What was given up in the last seven days and was not tried again, the oldest first.
#[utoipa::path(get, path = "/undelivered", responses((status = 200, body = Vec<UndeliveredShape>)))]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<UndeliveredShape>>, Fault> {
    let all = read_undelivered(&app, &caller).await?;
    Ok(Json(all.iter().map(UndeliveredShape::new).collect()))
}

pub(in crate::web) async fn read_undelivered(
    app: &App,
    caller: &Caller,
) -> Result<Vec<Undelivered>, Fault> {
    match ask(app, caller, Role::Viewer, Command::Undelivered).await? {
        Reply::Undelivered(all) => Ok(all),
        other => Err(unexpected(&other)),
    }
}

/// Tries it once more.
#[utoipa::path(post, path = "/undelivered/{id}/retry", responses((status = 200, body = Done)))]
pub(super) async fn retry(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(delivery): Path<String>,
) -> Result<Json<Done>, Fault> {
    match ask(&app, &caller, Role::Talker, Command::RetryDelivery { delivery }).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
