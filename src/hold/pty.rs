//! The program in its terminal: started, read, written to and resized. Reading and writing block,
//! so each has a thread of its own.

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::{
    io::{self, Read, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};
use tokio::sync::{mpsc, oneshot, watch};

use super::{process::HoldError, record::Recording, terminal::Terminal};
use crate::agents::{CommandLine, Keys, Screen, Size, Spec};

/// Writes that wait for the program to read; callers wait for each anyway.
const WRITES: usize = 64;
/// Written at once. Between pieces the writer looks whether the caller still wants it.
const PIECE: usize = 4096;
/// Read at once.
const CHUNK: usize = 64 << 10;
/// Reads that may be ahead of the screen; with more the program waits, as at any slow terminal. Linux
/// gives at most 4,095 bytes a read.
const READ_AHEAD: usize = 16;
/// Output that the screen follows at once, in bytes: a millisecond or two of work, for whose time
/// nobody else sees it.
const FOLLOWED: usize = 32 << 10;
/// Output that an adapter gets at once, in bytes.
const ADAPTER_READS: usize = 256 << 10;
/// Narrower than this no program draws sensibly, wider is no terminal but a mistake.
const SIDE: std::ops::RangeInclusive<u16> = 2..=1000;

pub(crate) struct Pty {
    pub(crate) pid: u32,
    pub(crate) keys: Keys,
    /// Bytes printed so far; closed when the program's output has ended.
    pub(crate) printed: watch::Receiver<u64>,
    terminal: Arc<Mutex<Terminal>>,
    master: Mutex<Box<dyn MasterPty + Send>>,
    recording: Arc<Recording>,
}

impl Pty {
    pub(crate) fn spawn(
        spec: &Spec,
        command: &CommandLine,
        recording: Recording,
    ) -> Result<Self, HoldError> {
        let failed =
            |reason: String| HoldError::Program { program: command.program.clone(), reason };
        // The library would start it in the home folder instead.
        if !spec.cwd.is_dir() {
            return Err(HoldError::NoFolder { cwd: spec.cwd.clone() });
        }
        let size = usable(spec.size);
        let pair = native_pty_system()
            .openpty(pty_size(size))
            .map_err(|error| failed(format!("there is no terminal for it: {error}")))?;
        let mut builder = CommandBuilder::new(&command.program);
        builder.args(&command.args);
        builder.env_clear();
        for (name, value) in &command.env {
            builder.env(name, value);
        }
        builder.cwd(&spec.cwd);
        let child = pair.slave.spawn_command(builder).map_err(|error| failed(error.to_string()))?;
        let pid = child.process_id().ok_or_else(|| failed("it has no process id".into()))?;
        drop(pair.slave); // else its end of output never comes

        let terminal = Arc::new(Mutex::new(Terminal::new(size)));
        let recording = Arc::new(recording);
        let started = || -> anyhow::Result<_> {
            let reader = pair.master.try_clone_reader()?;
            let writer = pair.master.take_writer()?;
            let printed = start_reader(reader, terminal.clone(), recording.clone())?;
            Ok((printed, start_writer(writer)?))
        };
        let (printed, keys) = started().map_err(|error| failed(error.to_string()))?;
        Ok(Self { pid, keys, printed, terminal, master: Mutex::new(pair.master), recording })
    }

    pub(crate) fn terminal(&self) -> MutexGuard<'_, Terminal> {
        lock(&self.terminal)
    }

    /// Gives the terminal this size, as far as it is one.
    pub(crate) fn resize(&self, size: Size) {
        let size = usable(size);
        let mut terminal = self.terminal();
        if terminal.size() == size {
            return;
        }
        terminal.resize(size);
        drop(terminal);
        let master = self.master.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = master.resize(pty_size(size)) {
            tracing::warn!(%error, "the terminal could not be resized");
        }
        self.recording.resized(size);
    }

    pub(crate) fn finish_recording(&self) {
        self.recording.finish();
    }

    /// What an adapter may look at.
    pub(crate) fn screen(&self) -> Screen {
        let (lines, since, paste) =
            (self.terminal.clone(), self.terminal.clone(), self.terminal.clone());
        Screen::new(Arc::new(move || lock(&lines).lines()), self.printed.clone()).with_output(
            Arc::new(move |offset| lock(&since).since(offset, ADAPTER_READS)),
            Arc::new(move || lock(&paste).takes_paste()),
        )
    }
}

fn lock(terminal: &Mutex<Terminal>) -> MutexGuard<'_, Terminal> {
    terminal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The nearest size that a terminal can have.
pub(crate) fn usable(size: Size) -> Size {
    Size {
        columns: size.columns.clamp(*SIDE.start(), *SIDE.end()),
        rows: size.rows.clamp(*SIDE.start(), *SIDE.end()),
    }
}

fn pty_size(size: Size) -> PtySize {
    PtySize { rows: size.rows, cols: size.columns, pixel_width: 0, pixel_height: 0 }
}

fn start_reader(
    mut reader: Box<dyn Read + Send>,
    terminal: Arc<Mutex<Terminal>>,
    recording: Arc<Recording>,
) -> io::Result<watch::Receiver<u64>> {
    let (tell, printed) = watch::channel(0);
    let (parts, read_ahead) = std::sync::mpsc::sync_channel::<Vec<u8>>(READ_AHEAD);
    let read = move || {
        let mut chunk = vec![0; CHUNK];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) if parts.send(chunk[..length].to_vec()).is_err() => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    };
    let follow = move || {
        while let Ok(mut bytes) = read_ahead.recv() {
            // Whoever looks is woken for what they see: once for all that came meanwhile.
            while bytes.len() < FOLLOWED
                && let Ok(more) = read_ahead.try_recv()
            {
                bytes.extend(more);
            }
            let end = lock(&terminal).feed(&bytes);
            recording.output(&bytes);
            tell.send_replace(end);
        }
    };
    thread::Builder::new().name("screen".into()).spawn(follow)?;
    thread::Builder::new().name("reader".into()).spawn(read)?;
    Ok(printed)
}

fn start_writer(mut writer: Box<dyn Write + Send>) -> io::Result<Keys> {
    let (keys, mut inbox) = mpsc::channel::<(Vec<u8>, oneshot::Sender<io::Result<()>>)>(WRITES);
    let write = move || {
        while let Some((bytes, done)) = inbox.blocking_recv() {
            let mut pieces = bytes.chunks(PIECE);
            // A caller that stopped waiting (an interrupt came) must not type the rest.
            let result = pieces.try_for_each(|piece| {
                if done.is_closed() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                writer.write_all(piece)
            });
            let _ = done.send(result);
        }
    };
    thread::Builder::new().name("writer".into()).spawn(write)?;
    Ok(Keys::new(keys))
}
