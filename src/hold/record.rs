//! The session as an asciicast v2 file, for playing back.
//! Format: docs.asciinema.org, "asciicast v2": a header line, then `[seconds, code, text]`; codes
//! `o` output, `r` resize, `m` marker. What people type is not in it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::clock;
use crate::agents::{Size, Spec};

pub(crate) const FILE: &str = "output.cast";
/// The recording of the run before this one; older ones are dropped.
const PREVIOUS: &str = "output.previous.cast";
/// Output that waits for the disk; beyond it a marker stands for what is missing, because a slow
/// disk must not hold up the program.
const WAITING: usize = 4 << 20;
/// Output within this time becomes one event.
const COALESCE: Duration = Duration::from_millis(50);

/// Takes output without ever waiting for the disk.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Shared>);

struct Shared {
    pending: Mutex<Pending>,
    more: Condvar,
}

#[derive(Default)]
struct Pending {
    events: Vec<(f64, Event)>,
    bytes: usize,
    missing: usize,
    state: State,
}

#[derive(Default, PartialEq, Eq)]
enum State {
    #[default]
    Recording,
    /// The file is full or failed; output is ignored.
    Full,
    Stopping,
}

enum Event {
    Output(Vec<u8>),
    Resize(Size),
    Marker(String),
}

/// Waits for the last events to be written.
pub(crate) struct Recording {
    recorder: Recorder,
    started: Instant,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Recording {
    pub(crate) fn start(folder: &Path, spec: &Spec) -> io::Result<Self> {
        let path = folder.join(FILE);
        match fs::rename(&path, folder.join(PREVIOUS)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let header = serde_json::json!({
            "version": 2, "width": spec.size.columns, "height": spec.size.rows,
            "timestamp": clock::now().timestamp(), "title": spec.name,
            "env": {"TERM": "xterm-256color"},
        });
        writeln!(file, "{header}")?;
        let shared = Shared { pending: Mutex::default(), more: Condvar::new() };
        let recorder = Recorder(Arc::new(shared));
        let (writer, limit) = (recorder.clone(), spec.recording_limit);
        let thread = thread::Builder::new()
            .name("recording".into())
            .spawn(move || writer.write(&file, limit))?;
        Ok(Self { recorder, started: Instant::now(), thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn output(&self, bytes: &[u8]) {
        let mut pending = self.recorder.lock();
        if pending.state != State::Recording {
            return;
        }
        if pending.bytes + bytes.len() > WAITING {
            pending.missing += bytes.len();
            return;
        }
        pending.bytes += bytes.len();
        let at = self.started.elapsed().as_secs_f64();
        if pending.missing > 0 {
            let missing = std::mem::take(&mut pending.missing);
            let note = format!("{missing} bytes are missing here: the disk was too slow");
            pending.events.push((at, Event::Marker(note)));
        }
        match pending.events.last_mut() {
            Some((since, Event::Output(joined))) if at - *since < COALESCE.as_secs_f64() => {
                joined.extend_from_slice(bytes);
            }
            Some(_) | None => pending.events.push((at, Event::Output(bytes.to_vec()))),
        }
        self.recorder.0.more.notify_one();
    }

    pub(crate) fn resized(&self, size: Size) {
        let at = self.started.elapsed().as_secs_f64();
        self.recorder.lock().events.push((at, Event::Resize(size)));
        self.recorder.0.more.notify_one();
    }

    /// Writes what is left and ends the recording.
    pub(crate) fn finish(&self) {
        self.recorder.lock().state = State::Stopping;
        self.recorder.0.more.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join(); // it ends after one last write
        }
    }
}

impl Recorder {
    fn lock(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, mut file: &File, limit: u64) {
        let mut cast = Cast::new(limit);
        loop {
            let mut pending = self.lock();
            while pending.events.is_empty() && pending.state != State::Stopping {
                pending = self.0.more.wait(pending).unwrap_or_else(PoisonError::into_inner);
            }
            if pending.state != State::Stopping {
                // Let a burst gather; it is one event and one write then.
                let waited = self.0.more.wait_timeout_while(pending, COALESCE, |pending| {
                    pending.state == State::Recording && pending.bytes < WAITING / 2
                });
                pending = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let stopping = pending.state == State::Stopping;
            let events = std::mem::take(&mut pending.events);
            pending.bytes = 0;
            drop(pending);

            let full = cast.add(events, stopping);
            let failed = file.write_all(&std::mem::take(&mut cast.lines)).is_err();
            if stopping {
                return;
            }
            if full || failed {
                let mut pending = self.lock();
                if pending.state == State::Recording {
                    pending.state = State::Full;
                }
            }
        }
    }
}

/// Turns events into lines, characters never cut in two, until its limit.
struct Cast {
    /// Longest recording, in bytes.
    limit: u64,
    lines: Vec<u8>,
    half: Vec<u8>,
    written: u64,
    last: f64,
    full: bool,
}

impl Cast {
    fn new(limit: u64) -> Self {
        Self { limit, lines: Vec::new(), half: Vec::new(), written: 0, last: 0.0, full: false }
    }

    /// `true` when the recording is full.
    fn add(&mut self, events: Vec<(f64, Event)>, last: bool) -> bool {
        for (at, event) in events {
            match event {
                Event::Output(bytes) => {
                    self.half.extend(bytes);
                    let text = self.whole_characters();
                    self.line(at, "o", &text);
                }
                Event::Resize(size) => {
                    self.line(at, "r", &format!("{}x{}", size.columns, size.rows));
                }
                Event::Marker(note) => self.line(at, "m", &note),
            }
        }
        if last && !self.half.is_empty() {
            let rest = String::from_utf8_lossy(&std::mem::take(&mut self.half)).into_owned();
            self.line(self.last, "o", &rest);
        }
        self.full
    }

    fn whole_characters(&mut self) -> String {
        let open = match std::str::from_utf8(&self.half) {
            Err(error) if error.error_len().is_none() => self.half.len() - error.valid_up_to(),
            Ok(_) | Err(_) => 0,
        };
        let rest = self.half.split_off(self.half.len() - open);
        let text = String::from_utf8_lossy(&self.half).into_owned();
        self.half = rest;
        text
    }

    fn line(&mut self, at: f64, code: &str, text: &str) {
        self.last = at;
        if self.full || (code == "o" && text.is_empty()) {
            return;
        }
        let mut line = serde_json::json!([at, code, text]).to_string();
        if self.written + line.len() as u64 > self.limit {
            self.full = true;
            let note = format!("the recording ends here: it reached {} MB", self.limit >> 20);
            line = serde_json::json!([at, "m", note]).to_string();
        }
        self.written += line.len() as u64 + 1;
        self.lines.extend(line.bytes());
        self.lines.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(cast: &Cast) -> Vec<serde_json::Value> {
        let text = String::from_utf8(cast.lines.clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_character_cut_by_a_read_is_whole_in_the_recording() {
        let mut cast = Cast::new(32 << 20);
        let bytes = "aé".as_bytes();
        cast.add(vec![(0.5, Event::Output(bytes[..2].to_vec()))], false);
        cast.add(vec![(1.0, Event::Output(bytes[2..].to_vec()))], true);
        assert_eq!(
            lines(&cast),
            [serde_json::json!([0.5, "o", "a"]), serde_json::json!([1.0, "o", "é"])]
        );
    }

    #[test]
    fn a_recording_that_is_full_says_so_and_stops() {
        let mut cast = Cast::new(32 << 20);
        let much = || vec![(1.0, Event::Output(vec![b'x'; 20 << 20]))];
        assert!(!cast.add(much(), false));
        assert!(cast.add(much(), false));
        assert!(cast.add(vec![(2.0, Event::Resize(Size { columns: 1, rows: 1 }))], false));
        let lines = lines(&cast);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1][2], "the recording ends here: it reached 32 MB");
    }
}
