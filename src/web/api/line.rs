//! Words that wait for a session: looked at, changed, taken back.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
};
use vigie_core::command::{Command, Reply};

use super::{ask, read, read_session, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{Done, EditPrompt, PromptShape},
    },
};

/// What waits for a session, first what goes in first.
#[utoipa::path(get, path = "/sessions/{name}/prompts",
    responses((status = 200, body = Vec<PromptShape>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Vec<PromptShape>>, Fault> {
    let session = read_session(&app, &caller, &name).await?.session.id;
    match ask(&app, &caller, Role::Viewer, Command::Prompts { session }).await? {
        Reply::Prompts(prompts) => Ok(Json(prompts.iter().map(PromptShape::new).collect())),
        other => Err(unexpected(&other)),
    }
}

/// Puts other words in the place of some that wait. Whoever wrote them may, and owners.
#[utoipa::path(put, path = "/prompts/{id}", request_body = EditPrompt,
    responses((status = 200, body = Done))
)]
pub(super) async fn edit(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(prompt): Path<String>,
    body: Bytes,
) -> Result<Json<Done>, Fault> {
    let EditPrompt { text } = read(&body)?;
    done(&app, &caller, Command::EditPrompt { prompt, text }).await
}

/// Takes words back that wait. Whoever wrote them may, and owners.
#[utoipa::path(delete, path = "/prompts/{id}", responses((status = 200, body = Done)))]
pub(super) async fn withdraw(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(prompt): Path<String>,
) -> Result<Json<Done>, Fault> {
    done(&app, &caller, Command::WithdrawPrompt { prompt }).await
}

async fn done(app: &App, caller: &Caller, what: Command) -> Result<Json<Done>, Fault> {
    match ask(app, caller, Role::Talker, what).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
