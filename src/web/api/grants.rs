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

/// Those that hold, the oldest first.
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<GrantShape>>, Fault> {
    match ask(&app, &caller, Role::Approver, Command::Grants).await? {
        Reply::Grants(grants) => Ok(Json(grants.iter().map(GrantShape::new).collect())),
        other => Err(unexpected(&other)),
    }
}

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
