//! What sessions write each other, for people to look at.

use axum::{
    Json,
    extract::{Extension, Query, State},
};
use serde::Deserialize;
use vigie_core::caller::{MailQuery, MailSide, Mailbox};

use crate::{
    config::Role,
    web::{fault::Fault, people::Caller, serve::App, shapes::MailShape},
};

/// Messages of one answer when nobody says how many.
const USUAL: usize = 50;

#[derive(Deserialize)]
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

/// Newest first.
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
