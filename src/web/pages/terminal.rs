//! A session's terminal: its screen told as rows that changed, what was above it, its recording. Who
//! reads slowly is told the newest screen, since it is asked for only once the last one is sent.

use axum::{
    Json,
    extract::{Extension, Path, State},
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{self, Sse},
    },
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{convert::Infallible, future::pending, time::Duration};
use tokio_util::sync::CancellationToken;
use vigie_core::session::Session;
use vigie_dashboard::term::{Paint, Painted, Screen};

use crate::web::{
    Printed, api::read_session, fault::Fault, people::Caller, query::Query, serve::App,
};

/// Between two screens: what is faster nobody reads.
const FRAME: Duration = Duration::from_millis(80);

/// A holder that draws no screen within this time hangs.
const DEADLINE: Duration = Duration::from_secs(5);

/// An empty event this often tells us when the reader is gone.
const BEAT: Duration = Duration::from_secs(20);

pub(super) async fn follow(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let session = match read_session(&app, &caller, &name).await {
        Ok(view) => view.session,
        Err(fault) => return fault.into_response(),
    };
    let stop = app.tasks.stopping();
    let watcher =
        Watcher { app, session, stop, painted: Painted::default(), signs: None, stage: Stage::New };
    let events = stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok::<_, Infallible>(event), watcher))
    });
    Sse::new(events).into_response()
}

/// Where the telling of a screen stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    /// Somebody has a screen; another one comes when something was printed.
    Told,
    Over,
}

/// Why the waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Printed,
    Quiet,
    Stopped,
}

struct Watcher {
    app: App,
    session: Session,
    stop: CancellationToken,
    painted: Painted,
    signs: Option<Box<dyn Printed>>,
    stage: Stage,
}

impl Watcher {
    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            match self.stage {
                Stage::Over => return None,
                Stage::New => self.stage = Stage::Told,
                Stage::Told => match self.wait().await {
                    Woken::Stopped => return None,
                    Woken::Quiet => return Some(sse::Event::default().event("beat").data("")),
                    Woken::Printed => {}
                },
            }
            match self.look().await {
                Ok(screen) => {
                    if let Some(paint) = self.painted.paint(&screen) {
                        return Some(event("rows", &shape(paint)));
                    }
                }
                Err(why) => {
                    self.stage = Stage::Over;
                    let words = format!("Its screen cannot be read: {why}.");
                    return Some(event("over", &json!({ "words": words })));
                }
            }
        }
    }

    /// The screen, and from now on signs of what is printed after it.
    async fn look(&mut self) -> Result<Screen, String> {
        let sight = self.app.outside.sight.clone();
        let silent = |_| "its holder does not answer".to_owned();
        let asked = tokio::time::timeout(DEADLINE, sight.screen(&self.session));
        let (screen, printed) = asked.await.map_err(silent)??;
        if self.signs.is_none() {
            let asked = tokio::time::timeout(DEADLINE, sight.printed(&self.session, printed));
            self.signs = Some(asked.await.map_err(silent)??);
        }
        Ok(screen)
    }

    /// Until there may be another screen, or for a while.
    async fn wait(&mut self) -> Woken {
        let signs = &mut self.signs;
        let sign = async {
            match signs {
                Some(signs) => signs.more().await,
                None => pending().await,
            }
        };
        let told = tokio::select! {
            () = self.stop.cancelled() => return Woken::Stopped,
            sign = sign => sign,
            () = tokio::time::sleep(BEAT) => return Woken::Quiet,
        };
        if told.is_none() {
            self.signs = None;
        }
        tokio::select! {
            () = self.stop.cancelled() => Woken::Stopped,
            () = tokio::time::sleep(FRAME) => Woken::Printed,
        }
    }
}

fn event(name: &str, data: &Value) -> sse::Event {
    sse::Event::default().event(name).data(data.to_string())
}

fn shape(paint: Paint) -> Value {
    let Paint { columns, count, rows } = paint;
    json!({ "columns": columns, "count": count, "rows": rows })
}

/// What went off the top of the screen.
pub(super) async fn before(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    let session = read_session(&app, &caller, &name).await?.session;
    let screen = app.outside.sight.above(&session).await.map_err(unreadable)?;
    let rows: Vec<String> = screen.lines().into_iter().map(|line| line.0).collect();
    Ok(Json(json!({ "columns": screen.columns, "rows": rows })))
}

/// Where in a recording, in seconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct From {
    #[serde(default)]
    from: f64,
}

/// Some of a recording: each frame is what changed since the one before, the first is whole.
pub(super) async fn recording(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(From { from }): Query<From>,
) -> Result<Json<Value>, Fault> {
    let session = read_session(&app, &caller, &name).await?.session;
    let from = Duration::try_from_secs_f64(from).map_err(Fault::unreadable)?;
    let reel = app.outside.sight.frames(&session, from).await.map_err(unreadable)?;
    let mut painted = Painted::default();
    let frames = reel.frames.iter().filter_map(|(at, screen)| {
        let Paint { columns, count, rows } = painted.paint(screen)?;
        let at = at.as_secs_f64();
        Some(json!({ "at": at, "columns": columns, "count": count, "rows": rows }))
    });
    let frames: Vec<Value> = frames.collect();
    Ok(Json(json!({ "frames": frames, "next": reel.next.map(|next| next.as_secs_f64()) })))
}

fn unreadable(why: String) -> Fault {
    Fault::new(StatusCode::NOT_FOUND, "no_recording", why)
}
