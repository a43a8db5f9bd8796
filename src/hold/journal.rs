//! The reports of a session on disk, one JSON a line, written before anybody sees them.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncSeekExt},
    sync::{mpsc, watch},
};
use vigie_core::agent::{AgentEvent, Report};

use super::clock;

pub(crate) const FILE: &str = "journal.jsonl";

/// Reports come one at a time and are on disk in milliseconds; more than these wait in the adapter.
const QUEUE: usize = 64;
/// Until a disk that refused a report is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Read from the file at once.
const CHUNK: usize = 256 << 10;

/// What is safely in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    /// The program's exit is in it: nothing more will come.
    pub(crate) closed: bool,
}

/// A journal found on disk, ready to go on.
pub(crate) struct Journal {
    file: File,
    bytes: u64,
    next: u64,
    /// Bytes of a last line that a power cut left unfinished; they are cut off.
    pub(crate) torn: u64,
}

impl Journal {
    pub(crate) fn open(folder: &Path, first_seq: u64) -> io::Result<Self> {
        let path = folder.join(FILE);
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let found = scan(&file, |_| {})?;
        if found.torn > 0 {
            file.set_len(found.bytes)?;
            file.sync_data()?;
        }
        file.seek(SeekFrom::End(0))?;
        let next = first_seq.max(found.last + 1);
        Ok(Self { file, bytes: found.bytes, next, torn: found.torn })
    }

    /// Starts the thread that writes. It ends when every sender is gone.
    pub(crate) fn start(self) -> io::Result<(mpsc::Sender<AgentEvent>, watch::Receiver<Written>)> {
        let (events, inbox) = mpsc::channel(QUEUE);
        let (tell, written) = watch::channel(Written { bytes: self.bytes, closed: false });
        thread::Builder::new().name("journal".into()).spawn(move || self.write(inbox, &tell))?;
        Ok((events, written))
    }

    fn write(mut self, mut inbox: mpsc::Receiver<AgentEvent>, tell: &watch::Sender<Written>) {
        let mut batch = Vec::new();
        while inbox.blocking_recv_many(&mut batch, QUEUE) > 0 {
            let mut lines = Vec::new();
            let mut closed = false;
            for what in batch.drain(..) {
                closed |= matches!(what, AgentEvent::Exited { .. });
                let report = Report { seq: self.next, at: clock::now(), what };
                self.next += 1;
                serde_json::to_writer(&mut lines, &report).expect("a report is plain data");
                lines.push(b'\n');
            }
            while let Err(error) = self.append(&lines) {
                tracing::error!(%error, "the journal cannot be written, trying again");
                let _ = self.file.set_len(self.bytes); // else the next line joins a torn one
                thread::park_timeout(AGAIN);
            }
            self.bytes += lines.len() as u64;
            tell.send_replace(Written { bytes: self.bytes, closed });
        }
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines)?;
        self.file.sync_data()
    }
}

struct Found {
    last: u64,
    bytes: u64,
    torn: u64,
}

/// Reads all whole lines. A last line without its end is torn; a whole line that is no report is
/// an error, because numbers after it would not follow.
fn scan(file: &File, mut each: impl FnMut(Report)) -> io::Result<Found> {
    let mut reader = BufReader::new(file);
    let mut found = Found { last: 0, bytes: 0, torn: 0 };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)? as u64;
        if !line.ends_with(b"\n") {
            found.torn = length;
            break;
        }
        let report: Report = serde_json::from_slice(&line).map_err(|error| {
            let why = format!("line {number} of {FILE} is no report: {error}");
            io::Error::new(io::ErrorKind::InvalidData, why)
        })?;
        found.last = report.seq;
        found.bytes += length;
        each(report);
    }
    Ok(found)
}

/// All reports from `from_seq` on in the folder of a session that may be long dead; a torn last
/// line is not one of them. No journal yet is no reports.
pub(crate) fn read(folder: &Path, from_seq: u64) -> io::Result<Vec<Report>> {
    let file = match File::open(folder.join(FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut reports = Vec::new();
    scan(&file, |report| reports.extend((report.seq >= from_seq).then_some(report)))?;
    Ok(reports)
}

/// Follows a journal that is being written.
pub(crate) struct Tail {
    file: tokio::fs::File,
    at: u64,
    line: Vec<u8>,
    from_seq: u64,
}

impl Tail {
    pub(crate) async fn open(folder: &Path, from_seq: u64) -> io::Result<Self> {
        let mut file = tokio::fs::File::open(folder.join(FILE)).await?;
        file.seek(SeekFrom::Start(0)).await?;
        Ok(Self { file, at: 0, line: Vec::new(), from_seq })
    }

    /// The next reports that lie below `end`; empty when there are none yet.
    pub(crate) async fn next(&mut self, end: u64) -> io::Result<Vec<Report>> {
        let mut reports = Vec::new();
        while self.at < end && reports.is_empty() {
            let most = usize::try_from(end - self.at).unwrap_or(CHUNK).min(CHUNK);
            let mut chunk = vec![0; most];
            let read = self.file.read(&mut chunk).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.at += read as u64;
            for part in chunk[..read].split_inclusive(|byte| *byte == b'\n') {
                self.line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    let report: Report = serde_json::from_slice(&self.line)?;
                    self.line.clear();
                    reports.extend((report.seq >= self.from_seq).then_some(report));
                }
            }
        }
        Ok(reports)
    }
}
