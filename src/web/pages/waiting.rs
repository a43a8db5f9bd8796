//! What waits for a person.

use axum::{
    extract::{Extension, State},
    response::Response,
};
use vigie_dashboard::{
    Page,
    waiting::{self, Waiting},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::web::{fault::Fault, people::Caller, serve::App};

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    how: How,
) -> Response {
    live::answer(app, caller, how, draw).await
}

async fn draw(seen: Seen) -> Result<Page, Fault> {
    let may = seen.may_answer();
    let page = Waiting { open: &seen.waiting, decided: &seen.decided, may, now: seen.now };
    Ok(waiting::page(&page))
}
