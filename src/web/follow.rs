//! The event stream: one JSON object a line, in order, from where the reader was. Nothing is
//! skipped, however slow the reader is: it reads the journal, not a broadcast.

use axum::{
    body::{Body, Bytes},
    extract::{Extension, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Deserialize;
use std::{collections::VecDeque, convert::Infallible, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;

use super::{fault::Fault, people::Caller, query::Query, serve::App, shapes::Event};
use crate::config::Role;

/// Events read at once.
const BATCH: usize = 100;

/// An empty line this often tells the reader that the line still holds, and us when it is gone.
const HEARTBEAT: Duration = Duration::from_secs(20);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    /// The last event the reader has; without it, only what comes from now on.
    after: Option<u64>,
    /// `false`: end with the newest event instead of waiting for more.
    #[serde(default = "yes")]
    follow: bool,
}

fn yes() -> bool {
    true
}

/// What happens, one event a line, without an end.
#[utoipa::path(
    get, path = "/events", params(From),
    responses((status = 200, body = Event, content_type = "application/x-ndjson"))
)]
pub(super) async fn events(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(from): Query<From>,
) -> Result<Response, Fault> {
    caller.needs(Role::Viewer)?;
    let newest = app.outside.newest.clone();
    let after = from.after.unwrap_or_else(|| *newest.borrow());
    if i64::try_from(after).map_or(true, |after| after == i64::MAX) {
        let fault = Fault::new(StatusCode::BAD_REQUEST, "unreadable", "no event has such a number");
        return Err(fault.hint("`after` is the `seq` of the last event that you have."));
    }
    let stop = app.tasks.stopping();
    let mut reader =
        Reader { app, newest, after, waits: from.follow, stop, ready: VecDeque::new() };
    reader.read().await?; // what is wrong from the start gets a proper status
    let lines = stream::unfold(reader, |mut reader| async move {
        let line = reader.next().await?;
        Some((Ok::<_, Infallible>(line), reader))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

struct Reader {
    app: App,
    newest: watch::Receiver<u64>,
    after: u64,
    waits: bool,
    stop: CancellationToken,
    ready: VecDeque<Event>,
}

impl Reader {
    /// The next line; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ready.is_empty()
            && *self.newest.borrow_and_update() > self.after
            && let Err(fault) = self.read().await
        {
            tracing::warn!(why = fault.words(), "an event stream ends early");
            return None;
        }
        if let Some(event) = self.ready.pop_front() {
            return Some(line(&event));
        }
        if !self.waits {
            return None;
        }
        tokio::select! {
            () = self.stop.cancelled() => None,
            changed = self.newest.changed() => changed.ok().map(|()| Bytes::from_static(b"\n")),
            () = tokio::time::sleep(HEARTBEAT) => Some(Bytes::from_static(b"\n")),
        }
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let events = (self.app.outside.events)(self.after, BATCH).await?;
        self.after = events.last().map_or(self.after, |event| event.seq);
        self.ready.extend(events);
        Ok(())
    }
}

fn line(event: &Event) -> Bytes {
    let mut text = serde_json::to_vec(event).expect("an event is numbers, a time and JSON");
    text.push(b'\n');
    text.into()
}
