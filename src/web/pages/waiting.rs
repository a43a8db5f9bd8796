//! What waits for a person.

use axum::{
    Json,
    extract::{Extension, State},
    response::Response,
};
use serde_json::{Value, json};
use vigie_dashboard::{
    Page,
    waiting::{self, Waiting},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::web::{api, fault::Fault, people::Caller, serve::App};

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    how: How,
) -> Response {
    live::answer(app, caller, how, draw).await
}

/// How many wait, for pages that nobody sees right now.
pub(super) async fn count(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, Fault> {
    let status = api::read_status(&app, &caller).await?;
    Ok(Json(json!({ "waiting": status.waiting.len() })))
}

async fn draw(seen: Seen) -> Result<Page, Fault> {
    let may = seen.may_answer();
    let page = Waiting { open: &seen.waiting, decided: &seen.decided, may, now: seen.now };
    Ok(waiting::page(&page))
}
