//! What a session's terminal showed, played back out of its recording into the holder's own model of a
//! screen. Everything here reads a whole recording, of some tens of megabytes at most.

use serde_json::Value;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Lines},
    path::Path,
    time::Duration,
};

use super::recording;
use crate::{
    agents::Size,
    hold::{
        Terminal,
        protocol::{Picture, Run},
    },
};

/// Frames of one part: some seconds of a busy terminal.
const MOST: usize = 150;
/// Between two frames, in seconds.
const FRAME: f64 = 0.1;
/// Longest side of a terminal: what a recording says of it is not taken on faith.
const LARGEST: u16 = 1000;

/// How long a recording is, and how large the terminal was at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    pub time: Duration,
    pub size: Size,
}

/// One moment of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub at: Duration,
    pub picture: Picture,
}

/// Some of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reel {
    pub frames: Vec<Frame>,
    /// Where it goes on; `None`: there is no more.
    pub next: Option<Duration>,
}

/// # Errors
/// When there is no recording or it cannot be read.
pub fn length(folder: &Path) -> io::Result<Length> {
    let mut events = Events::open(folder)?;
    let mut size = events.size;
    let mut last = 0.0;
    for (at, event) in &mut events {
        last = at;
        if let Event::Resize(now) = event {
            size = now;
        }
    }
    Ok(Length { time: moment(last), size })
}

/// The last screen that was drawn.
///
/// # Errors
/// When there is no recording or it cannot be read.
pub fn last(folder: &Path) -> io::Result<Picture> {
    Ok(played(folder)?.picture())
}

/// What went off the top of the screen since the program started, as far as the model keeps it, and how
/// many columns the screen has.
///
/// # Errors
/// When there is no recording or it cannot be read.
pub fn above(folder: &Path) -> io::Result<(u16, Vec<Vec<Run>>)> {
    let mut terminal = played(folder)?;
    let rows = terminal.above();
    Ok((terminal.size().columns, rows))
}

/// What was shown at that moment and from then on, one part of it.
///
/// # Errors
/// When there is no recording or it cannot be read.
pub fn frames(folder: &Path, from: Duration) -> io::Result<Reel> {
    let from = from.as_secs_f64();
    let mut events = Events::open(folder)?;
    let mut terminal = Terminal::new(events.size);
    let mut frames: Vec<Frame> = Vec::new();
    let mut drawn = from;
    let mut changed = Some(from);
    for (at, event) in &mut events {
        if at > from
            && let Some(since) = changed
            && (frames.is_empty() || at - drawn >= FRAME)
        {
            frames.push(Frame { at: moment(since), picture: terminal.picture() });
            drawn = since;
            if frames.len() == MOST {
                return Ok(Reel { frames, next: Some(moment(since)) });
            }
        }
        take(&mut terminal, event);
        changed = Some(at.max(from));
    }
    if let Some(since) = changed {
        frames.push(Frame { at: moment(since), picture: terminal.picture() });
    }
    Ok(Reel { frames, next: None })
}

/// A recording's times are numbers that it says itself.
fn moment(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn played(folder: &Path) -> io::Result<Terminal> {
    let mut events = Events::open(folder)?;
    let mut terminal = Terminal::new(events.size);
    for (_, event) in &mut events {
        take(&mut terminal, event);
    }
    Ok(terminal)
}

fn take(terminal: &mut Terminal, event: Event) {
    match event {
        Event::Output(text) => {
            terminal.feed(text.as_bytes());
        }
        Event::Resize(size) => terminal.resize(size),
    }
}

enum Event {
    Output(String),
    Resize(Size),
}

/// What stands in an asciicast, one by one. A last line that is still being written is left out.
struct Events {
    lines: Lines<BufReader<File>>,
    /// At its beginning.
    size: Size,
}

impl Events {
    /// The recording of the newest run in a session's folder.
    fn open(folder: &Path) -> io::Result<Self> {
        let file = recording::files(folder).pop().ok_or(io::ErrorKind::NotFound)?;
        let mut lines = BufReader::new(File::open(file)?).lines();
        let head: Value = match lines.next().transpose()? {
            Some(line) => serde_json::from_str(&line).unwrap_or_default(),
            None => Value::Null,
        };
        let cells = |key: &str, usual: u16| {
            let told = head.get(key).and_then(Value::as_u64);
            told.and_then(|told| u16::try_from(told).ok()).unwrap_or(usual).clamp(1, LARGEST)
        };
        let size = Size { columns: cells("width", 80), rows: cells("height", 24) };
        Ok(Self { lines, size })
    }
}

impl Iterator for Events {
    type Item = (f64, Event);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.lines.next()?.ok()?;
            let Ok(Value::Array(event)) = serde_json::from_str(&line) else { continue };
            let [at, Value::String(kind), Value::String(text)] = event.as_slice() else { continue };
            let at = at.as_f64().unwrap_or_default();
            match kind.as_str() {
                "o" => return Some((at, Event::Output(text.clone()))),
                "r" => {
                    if let Some(size) = resized(text) {
                        return Some((at, Event::Resize(size)));
                    }
                }
                _ => {}
            }
        }
    }
}

/// `80x24`.
fn resized(text: &str) -> Option<Size> {
    let (columns, rows) = text.split_once('x')?;
    let side = |text: &str| text.parse::<u16>().ok().map(|side| side.clamp(1, LARGEST));
    Some(Size { columns: side(columns)?, rows: side(rows)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fmt::Write as _, fs};

    fn folder(lines: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let cast = format!("{{\"version\":2,\"width\":20,\"height\":3}}\n{lines}");
        fs::write(folder.path().join("output.cast"), cast).unwrap();
        folder
    }

    fn first_lines(reel: &Reel) -> Vec<String> {
        reel.frames.iter().map(|frame| frame.picture.lines.join("|")).collect()
    }

    #[test]
    fn a_recording_is_played_from_any_moment() {
        let folder = folder(
            "[0.5,\"o\",\"one\\r\\n\"]\n[1.0,\"o\",\"two\\r\\n\"]\n[1.02,\"o\",\"and\"]\n[3.5,\"r\",\"30x4\"]\n[4.0,\"o\",\" three\"]\n[5.0,\"o\",\"tor",
        );
        let reel = frames(folder.path(), Duration::ZERO).unwrap();
        assert_eq!(
            first_lines(&reel),
            ["", "one", "one|two", "one|two|and", "one|two|and", "one|two|and three"]
        );
        assert_eq!(reel.next, None);
        assert_eq!(reel.frames[1].at, Duration::from_millis(500));
        let late = frames(folder.path(), Duration::from_secs(2)).unwrap();
        assert_eq!(first_lines(&late), ["one|two|and", "one|two|and", "one|two|and three"]);
        assert_eq!(late.frames[0].at, Duration::from_secs(2));
        let end = frames(folder.path(), Duration::from_mins(1)).unwrap();
        assert_eq!(first_lines(&end), ["one|two|and three"]);
        let length = length(folder.path()).unwrap();
        assert_eq!(length.time, Duration::from_secs(4));
        assert_eq!(length.size, Size { columns: 30, rows: 4 });
        assert_eq!(last(folder.path()).unwrap().lines.join("|"), "one|two|and three");
    }

    #[test]
    fn a_long_one_comes_in_parts_that_join() {
        let mut lines = String::new();
        for at in 0..400u32 {
            writeln!(lines, "[{at},\"o\",\"{at}\\r\\n\"]").unwrap();
        }
        let folder = folder(&lines);
        let (mut from, mut parts, mut shown) = (Duration::ZERO, 0, Vec::new());
        loop {
            let reel = frames(folder.path(), from).unwrap();
            assert!(reel.frames.len() <= MOST);
            shown.extend(reel.frames.iter().map(|frame| frame.at.as_secs()));
            parts += 1;
            match reel.next {
                Some(next) => from = next,
                None => break,
            }
        }
        assert_eq!(parts, 3);
        shown.dedup();
        assert_eq!(shown, (0..400).collect::<Vec<u64>>());
    }

    #[test]
    fn what_went_off_the_top_is_kept() {
        let folder = folder("[0.1,\"o\",\"a\\r\\nb\\r\\nc\\r\\nd\\r\\ne\\r\\nf\\r\\ng\\r\\nh\"]\n");
        let (columns, rows) = above(folder.path()).unwrap();
        let text = |row: &Vec<Run>| row.iter().map(|run| run.text.trim_end()).collect::<String>();
        assert_eq!(columns, 20);
        assert_eq!(rows.iter().map(text).collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
        assert_eq!(last(folder.path()).unwrap().lines, ["f", "g", "h"]);
    }

    #[test]
    fn no_recording_is_said_and_a_strange_one_does_no_harm() {
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(length(nothing.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        let strange = folder("[-1,\"r\",\"0x99999\"]\n[1e300,\"o\",\"x\"]\n[\"\",\"o\",7]\nnull\n");
        assert_eq!(length(strange.path()).unwrap().time, Duration::ZERO);
        assert_eq!(frames(strange.path(), Duration::ZERO).unwrap().frames.len(), 2);
    }
}
