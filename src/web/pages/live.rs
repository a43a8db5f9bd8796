//! A page once, or again whenever it is another: the same address, asked for as an event stream, tells
//! the page anew after each event that changes it. Who was away is told how things stand now, so there
//! is no gap to fill.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, header, request},
    response::{
        Html, IntoResponse, Response,
        sse::{self, Sse},
    },
};
use futures_util::stream;
use serde_json::json;
use std::{
    convert::Infallible,
    hash::{DefaultHasher, Hash, Hasher},
    pin::Pin,
    sync::Arc,
    time::Duration,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vigie_dashboard::{Frame, Page};

use super::{Seen, me};
use crate::web::{fault::Fault, people::Caller, serve::App};

/// Between two drawings of a page, so that a storm of events costs a bounded share of a processor.
const PAUSE: Duration = Duration::from_millis(60);

/// Ages, and the health of chat services, change without an event.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// After so many of those the reader hears that the line holds.
const BEATS: u32 = 4;

type Drawn = Pin<Box<dyn Future<Output = Result<Page, Fault>> + Send>>;
type Draw = Arc<dyn Fn(Seen) -> Drawn + Send + Sync>;

/// Whether a page is asked for once or to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Once,
    Followed,
}

impl<S: Sync> FromRequestParts<S> for How {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Infallible> {
        Ok(how(&parts.headers))
    }
}

fn how(headers: &HeaderMap) -> How {
    let wants = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    match wants {
        Some(wants) if wants.contains("text/event-stream") => How::Followed,
        Some(_) | None => How::Once,
    }
}

/// Answers with the page that `draw` makes, or with a stream of it.
pub(super) async fn answer<F>(
    app: App,
    caller: Caller,
    how: How,
    draw: impl Fn(Seen) -> F + Send + Sync + 'static,
) -> Response
where
    F: Future<Output = Result<Page, Fault>> + Send + 'static,
{
    let draw: Draw = Arc::new(move |seen| Box::pin(draw(seen)) as Drawn);
    let newest = app.outside.newest.clone();
    let seq = *newest.borrow();
    let told = match read(&app, &caller, &draw).await {
        Ok(told) => told,
        Err(fault) => return fault.into_response(),
    };
    match how {
        How::Once => {
            let frame = Frame { me: &me(&caller), waiting: told.waiting, seq };
            Html(frame.document(&told.page)).into_response()
        }
        How::Followed => {
            let stop = app.tasks.stopping();
            let reader =
                Reader { app, caller, draw, newest, stop, last: None, first: Some(told), quiet: 0 };
            let events = stream::unfold(reader, |mut reader| async move {
                let event = reader.next().await?;
                Some((Ok::<_, Infallible>(event), reader))
            });
            Sse::new(events).into_response()
        }
    }
}

struct Told {
    page: Page,
    waiting: usize,
}

async fn read(app: &App, caller: &Caller, draw: &Draw) -> Result<Told, Fault> {
    let seen = Seen::read(app.clone(), caller.clone()).await?;
    let waiting = seen.waiting.len();
    Ok(Told { page: draw(seen).await?, waiting })
}

struct Reader {
    app: App,
    caller: Caller,
    draw: Draw,
    newest: watch::Receiver<u64>,
    stop: CancellationToken,
    /// What was told last, as a hash.
    last: Option<u64>,
    first: Option<Told>,
    quiet: u32,
}

impl Reader {
    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            let told = if let Some(told) = self.first.take() {
                told
            } else {
                self.wait().await?;
                self.newest.borrow_and_update();
                match read(&self.app, &self.caller, &self.draw).await {
                    Ok(told) => told,
                    Err(fault) => {
                        tracing::debug!(why = fault.words(), "a page is told no further");
                        return None;
                    }
                }
            };
            if let Some(event) = self.event(&told) {
                self.quiet = 0;
                return Some(event);
            }
            self.quiet += 1;
            if self.quiet >= BEATS {
                self.quiet = 0;
                return Some(sse::Event::default().event("beat").data(""));
            }
        }
    }

    /// Until something may have changed.
    async fn wait(&mut self) -> Option<()> {
        tokio::select! {
            () = self.stop.cancelled() => return None,
            () = tokio::time::sleep(PAUSE) => {}
        }
        tokio::select! {
            () = self.stop.cancelled() => None,
            changed = self.newest.changed() => changed.ok(),
            () = tokio::time::sleep(LOOK_AGAIN) => Some(()),
        }
    }

    /// `None`: it is as it was told last.
    fn event(&mut self, told: &Told) -> Option<sse::Event> {
        let html = &told.page.main.0;
        let mut hasher = DefaultHasher::new();
        (html, &told.page.title, told.waiting).hash(&mut hasher);
        let now = hasher.finish();
        if self.last.replace(now) == Some(now) {
            return None;
        }
        let frame = Frame { me: &me(&self.caller), waiting: told.waiting, seq: 0 };
        let title = frame.title(&told.page);
        let data = json!({ "html": html, "title": title, "waiting": told.waiting });
        Some(sse::Event::default().event("page").data(data.to_string()))
    }
}
