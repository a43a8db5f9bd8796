use axum::{
    Json,
    extract::{Path, Query, State},
    http::{HeaderValue, header},
    response::{Html, IntoResponse, Response},
};
use serde::Deserialize;
use std::sync::Arc;
use vigie_core::{
    bridge::Level,
    id::{MessageId, ThreadId},
};

use super::{Person, Refusal};
use crate::{
    PhoneBridge, files,
    store::{self, Continue},
    view::{ChangesView, PageView, SnapshotView, Viewer},
};

/// Messages a chat shows before anybody scrolls up.
const PAGE: i64 = 40;

/// Most messages in one answer.
const LARGEST_PAGE: i64 = 200;

type Bridge = State<Arc<PhoneBridge>>;

/// Without a thread: the main chat, which shows the messages of all threads among its own.
#[derive(Deserialize)]
pub(super) struct MessagesQuery {
    thread: Option<ThreadId>,
    before: Option<MessageId>,
    limit: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct ChangesQuery {
    pub(super) from: Option<String>,
}

/// The page continues from a state, or is told to start anew.
#[derive(serde::Serialize)]
#[serde(tag = "then", rename_all = "snake_case")]
pub(super) enum ContinueView {
    Changes(ChangesView),
    Anew,
}

pub(super) async fn shell(State(phone): Bridge, _: Person) -> Html<String> {
    Html(files::shell(&phone.links))
}

pub(super) async fn state(
    State(phone): Bridge,
    person: Person,
) -> Result<Json<SnapshotView>, Refusal> {
    let id = person.id.clone();
    let snapshot = phone.store.run(move |db| store::snapshot(db, &id)).await?;
    Ok(Json(phone.viewer(&person).snapshot(snapshot)))
}

pub(super) async fn messages(
    State(phone): Bridge,
    person: Person,
    Query(query): Query<MessagesQuery>,
) -> Result<Json<PageView>, Refusal> {
    let ids = phone.store.ids();
    let gone = || Refusal::gone("this chat is not here any more");
    let thread = ids.thread_row(query.thread.as_ref()).ok_or_else(gone)?;
    let before = match &query.before {
        None => None,
        Some(id) => Some(
            ids.message_row(id)
                .ok_or_else(|| Refusal::gone("this message is not here any more"))?,
        ),
    };
    let limit = query.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let page = phone.store.run(move |db| store::page(db, thread, before, limit)).await?;
    Ok(Json(phone.viewer(&person).page(page.ok_or_else(gone)?)))
}

pub(super) async fn changes(
    State(phone): Bridge,
    person: Person,
    Query(query): Query<ChangesQuery>,
) -> Result<Json<ContinueView>, Refusal> {
    let from = query.from.as_deref().unwrap_or_default();
    Ok(Json(phone.changes_from(&person, from).await?))
}

/// Always as a file: what an agent wrote is never a page of ours.
pub(super) async fn document(
    State(phone): Bridge,
    _: Person,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let gone = || Refusal::gone("this file is not here any more");
    let row = phone.store.ids().message_row(&MessageId::new(id)).ok_or_else(gone)?;
    let found = phone.store.run(move |db| store::document(db, row)).await?;
    let document = found.ok_or_else(gone)?;
    let name = format!("attachment; filename=\"{}\"", file_name(&document.name));
    let mut response = document.text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let name = HeaderValue::from_str(&name).expect("only letters, digits and `._-`");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

impl PhoneBridge {
    pub(super) fn viewer<'a>(&'a self, person: &'a Person) -> Viewer<'a> {
        Viewer { ids: self.store.ids(), person, now: self.now_ms(), ill: self.ill.borrow().clone() }
    }

    /// A cursor of another log, or none, means to start anew.
    pub(super) async fn changes_from(
        &self,
        person: &Person,
        cursor: &str,
    ) -> Result<ContinueView, store::StoreError> {
        let Some(from) = self.store.ids().cursor_seq(cursor) else { return Ok(ContinueView::Anew) };
        let id = person.id.clone();
        Ok(match self.store.run(move |db| store::changes(db, &id, from)).await? {
            Continue::Changes(changes) => {
                let mut view = self.viewer(person).changes(changes);
                for (from, level) in view.rings() {
                    // One chat for several people: each has their own quiet hours and mutes.
                    if self.is_hushed(&person.id, from).await {
                        *level = Level::Note;
                    }
                }
                ContinueView::Changes(view)
            }
            Continue::Anew => ContinueView::Anew,
        })
    }
}

fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(safe).take(80).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "document.txt".into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn a_file_name_cannot_leave_its_header_or_its_folder() {
        assert_eq!(file_name("refund-report.md"), "refund-report.md");
        assert_eq!(file_name("../../.ssh/a\"\r\nb"), "_.._.ssh_a___b");
        assert_eq!(file_name(".."), "document.txt");
    }
}
