//! What was allowed for longer than one request: listed and taken back.

use axum::{
    Json,
    extract::{Extension, Path, State},
};
use vigie_core::command::{Command, Reply};

use super::{ask, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{Done, GrantShape},
    },
};

/// What holds of what was allowed for longer, the oldest first.
#[utoipa::path(
    get, path = "/grants",
    responses((status = 200, body = Vec<GrantShape>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<GrantShape>>, Fault> {
    match ask(&app, &caller, Role::Approver, Command::Grants).await? {
        Reply::Grants(grants) => Ok(Json(grants.iter().map(GrantShape::new).collect())),
        other => Err(unexpected(&other)),
    }
}

/// Takes one back.
#[utoipa::path(
    delete, path = "/grants/{number}",
    responses((status = 200, body = Done))
)]
pub(super) async fn revoke(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(number): Path<String>,
) -> Result<Json<Done>, Fault> {
    let number = number.parse().map_err(Fault::unreadable)?;
    match ask(&app, &caller, Role::Approver, Command::RevokeGrant { number }).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
