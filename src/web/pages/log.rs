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
    /// How far the reader has it, in bytes.
    from: Option<u64>,
    /// `false`: one event, with what there is, be it nothing.
    #[serde(default = "waits")]
    wait: bool,
}

fn waits() -> bool {
    true
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
    let (stop, at) = (app.tasks.stopping(), last(&headers).or(which.from));
    let mut reader = Reader {
        app,
        caller,
        which,
        view,
        newest,
        stop,
        at: 0,
        line: String::new(),
        begins: true,
        over: false,
    };
    let size = reader.part(0, 1).await?.size; // what is wrong from the start gets a proper status
    reader.at = at.unwrap_or_else(|| size.saturating_sub(TAIL));
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
    /// The line that is not over, as it was told last.
    line: String,
    begins: bool,
    over: bool,
}

impl Reader {
    async fn part(&self, offset: u64, most: usize) -> Result<OutputShape, Fault> {
        let Which { step, attempt, stream, .. } = &self.which;
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
                    let told = told(&part.text, part.over);
                    let news = told.taken > 0 || told.line != self.line;
                    if !news && !part.over && self.which.wait {
                        self.wait().await?;
                        continue;
                    }
                    // What is held back is read once more, with what follows.
                    self.at = part.next - (part.text.len() - told.taken) as u64;
                    self.over = part.over || !self.which.wait;
                    let reveal = |text: &str| text::reveal(text).text.text;
                    let (text, line) = (reveal(&told.text), reveal(&told.line));
                    self.line = told.line;
                    let data = json!({ "text": text, "line": line, "over": part.over });
                    return Some(event("more", self.at, &data));
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

/// Longest line that may still be written over, in bytes: progress is shorter.
const LONGEST_LINE: usize = 4 << 10;

/// What of a log is told: lines that are over, and the one that is not and may be written over.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    text: String,
    line: String,
    /// Bytes that are over; the rest is read once more, with what follows.
    taken: usize,
}

fn told(text: &str, over: bool) -> Told {
    let ended = text.rfind('\n').map_or(0, |at| at + 1);
    // Letters that stand for what is no text are longer than that was: where they lie is not known.
    let whole = over || text[ended..].contains(char::REPLACEMENT_CHARACTER);
    let (lines, rest) = text.split_at(if whole { text.len() } else { ended });
    let mut told: String = lines.split_inclusive('\n').map(shown).collect();
    // An endless line: what a return of the carriage stands behind is written over; else it is told.
    let (gone, rest) = match rest.rfind('\r') {
        _ if rest.len() <= LONGEST_LINE => rest.split_at(0),
        Some(at) => rest.split_at(at + 1),
        None => {
            told.push_str(&shown(rest));
            rest.split_at(rest.len())
        }
    };
    Told { text: told, line: shown(rest), taken: lines.len() + gone.len() }
}

/// A line as a terminal would show it: written over, without colours, titles and what else a terminal
/// takes for itself. Source of the sequences: ECMA-48, 5.4 and 5.6.
fn shown(line: &str) -> String {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line.strip_suffix('\r').unwrap_or(line), "\n"),
        None => (line, ""),
    };
    let (mut cells, mut column): (Vec<char>, usize) = (Vec::new(), 0);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\u{8}' => column = column.saturating_sub(1),
            '\u{1b}' => match letters.next() {
                Some('[') => {
                    let mut inside = String::new();
                    while let Some(letter) = letters.next_if(|letter| !ends_escape(*letter)) {
                        inside.push(letter);
                    }
                    match (letters.next(), inside.as_str()) {
                        (Some('K'), "" | "0") => cells.truncate(column),
                        (Some('K'), "2") => cells.clear(),
                        _ => {}
                    }
                }
                // A string for the terminal: a title, a link, progress.
                Some(']' | 'P' | '_' | '^') => {
                    while let Some(letter) = letters.next() {
                        let ends = letter == '\u{1b}' && letters.next_if_eq(&'\\').is_some();
                        if ends || letter == '\u{7}' {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            letter => {
                cells.resize(cells.len().max(column + 1), ' ');
                cells[column] = letter;
                column += 1;
            }
        }
    }
    cells.into_iter().collect::<String>() + end
}

fn ends_escape(letter: char) -> bool {
    ('@'..='~').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_as_a_terminal_would() {
        for (line, expected) in [
            ("a\u{1b}[1;31mred\u{1b}[0m\r\n", "ared\n"),
            ("line\rover", "over"),
            ("10 %\r20 %\r100 %\n", "100 %\n"),
            ("long words\rab\u{1b}[K\n", "ab\n"),
            ("\u{1b}]0;a title\u{7}said\n", "said\n"),
            ("\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\\n", "link\n"),
            ("ab\u{8}c\n", "ac\n"),
            ("\tindented\n", "\tindented\n"),
            ("it ends in\u{1b}[1;3", "it ends in"),
        ] {
            assert_eq!(shown(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_line_that_is_not_over_is_told_apart_and_has_an_end() {
        let parts = |text: &str, over| {
            let Told { text, line, taken } = told(text, over);
            (text, line, taken)
        };
        assert_eq!(parts("one\n10 %\r20 %", false), ("one\n".into(), "20 %".into(), 4));
        assert_eq!(parts("one\n10 %\r20 %", true), ("one\n20 %".into(), String::new(), 13));
        let progress = "10 %\r".repeat(LONGEST_LINE) + "20 %";
        assert_eq!(parts(&progress, false), (String::new(), "20 %".into(), progress.len() - 4));
        assert_eq!(parts("10 \u{fffd}", false), ("10 \u{fffd}".into(), String::new(), 6));
        let endless = "a".repeat(LONGEST_LINE + 1);
        assert_eq!(parts(&endless, false), (endless.clone(), String::new(), endless.len()));
    }
}
