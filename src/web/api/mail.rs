//! What sessions write each other, for people to look at.

use axum::{
    Json,
    extract::{Extension, State},
};
use serde::Deserialize;
use utoipa::IntoParams;
use vigie_core::caller::{MailQuery, MailSide, Mailbox};

use crate::{
    config::Role,
    web::{fault::Fault, people::Caller, query::Query, serve::App, shapes::MailShape},
};

/// Messages of one answer when nobody says how many.
const USUAL: usize = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// To or from this session, by name.
    with: Option<String>,
    /// With these words in it.
    words: Option<String>,
    /// Of this exchange.
    thread: Option<String>,
    /// Older than the one of this number.
    before: Option<u64>,
    most: Option<usize>,
}

/// Messages between sessions, newest first.
#[utoipa::path(
    get, path = "/mail", params(Wanted),
    responses((status = 200, body = Vec<MailShape>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Vec<MailShape>>, Fault> {
    caller.needs(Role::Viewer)?;
    let Wanted { with, words, thread, before, most } = wanted;
    let thread = thread.map(|thread| thread.parse()).transpose().map_err(Fault::unreadable)?;
    let (of, side, most) = (Mailbox::Everybody, MailSide::Both, most.unwrap_or(USUAL));
    let query = MailQuery { of, side, with, words, thread, before, most };
    let found = (app.outside.mail)(query).await?;
    Ok(Json(found.iter().map(MailShape::new).collect()))
}
