//! What a step prints, told while it prints.

use axum::{
    extract::{Extension, Path, State},
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{self, Sse},
    },
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use std::{convert::Infallible, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vigie_core::{run::RunView, text};

use crate::{
    config::Role,
    web::{
        api::runs::{Part, read_output, read_run},
        fault::Fault,
        outside::Stream,
        people::Caller,
        query::Query,
        serve::App,
        shapes::OutputShape,
    },
};

/// Nobody tells that a file grew: it is looked at this often.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// After so many looks at a file that did not grow the reader hears that the line holds.
const BEATS: u32 = 60;

/// Bytes of one event.
const PART: usize = 64 << 10;

/// Bytes of a long log that somebody sees who comes to it; what is before stands in its file.
const TAIL: u64 = 256 << 10;

/// Which log, as it stands in the address.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Which {
    step: String,
    attempt: Option<u32>,
    #[serde(default)]
    stream: Stream,
}

pub(super) async fn follow(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    caller.needs(Role::Viewer)?;
    let newest = app.outside.newest.clone();
    let view = read_run(&app, &caller, name).await?;
    let (stop, at) = (app.tasks.stopping(), last(&headers));
    let mut reader =
        Reader { app, caller, which, view, newest, stop, at: 0, begins: true, over: false };
    reader.at = match at {
        Some(at) => at,
        None => reader.part(0, 1).await?.size.saturating_sub(TAIL),
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    Ok(Sse::new(events).into_response())
}

/// Where a browser was whose line broke.
fn last(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}

struct Reader {
    app: App,
    caller: Caller,
    which: Which,
    /// The run, as it stood when it was last asked for.
    view: RunView,
    newest: watch::Receiver<u64>,
    stop: CancellationToken,
    at: u64,
    begins: bool,
    over: bool,
}

impl Reader {
    async fn part(&self, offset: u64, most: usize) -> Result<OutputShape, Fault> {
        let Which { step, attempt, stream } = &self.which;
        let part = Part { offset, most: Some(most), attempt: *attempt, stream: *stream };
        read_output(&self.app, &self.view, step, part).await
    }

    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<sse::Event> {
        if self.over {
            return None;
        }
        if self.begins {
            self.begins = false;
            return Some(event("begin", self.at, &json!({ "from": self.at })));
        }
        for _ in 0..BEATS {
            match self.part(self.at, PART).await {
                Ok(part) => {
                    let open = if part.over { 0 } else { open_escape(&part.text) };
                    let (text, _) = part.text.split_at(part.text.len() - open);
                    if text.is_empty() && !part.over {
                        self.wait().await?;
                        continue;
                    }
                    // What is held back is read once more, with its end.
                    (self.at, self.over) = (part.next - open as u64, part.over);
                    let text = text::reveal(&plain(text)).text.text;
                    return Some(event(
                        "more",
                        self.at,
                        &json!({ "text": text, "over": self.over }),
                    ));
                }
                Err(fault) => {
                    tracing::debug!(why = fault.words(), "a log is told no further");
                    return None;
                }
            }
        }
        Some(sse::Event::default().event("beat").data(""))
    }

    /// For a while; then the run is looked at again if anything happened.
    async fn wait(&mut self) -> Option<()> {
        tokio::select! {
            () = self.stop.cancelled() => return None,
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
        if self.newest.has_changed().ok()? {
            self.newest.borrow_and_update();
            let id = self.view.row.id.to_string();
            self.view = read_run(&self.app, &self.caller, id).await.ok()?;
        }
        Some(())
    }
}

fn event(kind: &str, at: u64, data: &serde_json::Value) -> sse::Event {
    sse::Event::default().event(kind).id(at.to_string()).data(data.to_string())
}

/// Longest sequence for a terminal whose end is waited for, in bytes.
const LONGEST_ESCAPE: usize = 64;

/// How many bytes at the end of a text begin a sequence for a terminal that does not end in it.
fn open_escape(text: &str) -> usize {
    let Some(begin) = text.rfind('\u{1b}') else { return 0 };
    let tail = &text[begin..];
    let open = match tail.strip_prefix("\u{1b}[") {
        Some(inside) => !inside.contains(ends_escape),
        None => tail.len() == 1,
    };
    if open && tail.len() < LONGEST_ESCAPE { tail.len() } else { 0 }
}

fn ends_escape(letter: char) -> bool {
    ('@'..='~').contains(&letter)
}

/// A text without colours and returns of the carriage.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            // Up to the letter that ends it: ECMA-48, 5.4.
            while letters.next_if(|letter| !ends_escape(*letter)).is_some() {}
            letters.next();
        } else if letter != '\r' {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_not_shown_even_where_a_part_ends_in_one() {
        assert_eq!(plain("a\u{1b}[1;31mred\u{1b}[0m\r\n\tb"), "ared\n\tb");
        for (text, open) in
            [("done", 0), ("a\u{1b}", 1), ("a\u{1b}[1;3", 5), ("a\u{1b}[0m", 0), ("\u{1b}]x", 0)]
        {
            assert_eq!(open_escape(text), open, "{text:?}");
        }
        let endless = format!("\u{1b}[{}", "1".repeat(LONGEST_ESCAPE));
        assert_eq!(open_escape(&endless), 0);
    }
}
