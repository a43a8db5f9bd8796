//! `vigie step`: the process that carries one attempt out, outlives the daemon, and leaves behind
//! how it ended. It is alone on its folder, adopts the orphans below it (Linux) and ends them all
//! before it says that anything has ended.
//!
//! SIGUSR1 cancels, SIGUSR2 puts off what an agent does. Any other signal that asks it to leave (the machine shuts down) ends what runs
//! and leaves no word on how it ended: nobody cancelled it, so the run decides what that means.

mod claude;
mod files;
mod http;
mod javascript;
mod mask;
mod measure;
mod output;
mod pour;
mod process;
mod shell;

use nix::{errno::Errno, sys::signal::SigSet, sys::signal::Signal, unistd};
use std::{
    env,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};
use tokio::signal::unix::{SignalKind, signal};
use vigie_workflow::run::{Ended, Outcome};

use super::{
    place::{BEGAN, ENDED, FAILED, LOCK, STOP, started_at},
    task::{Kind, Left, Task},
};
use crate::hold;
use mask::Mask;
pub(super) use mask::SHORTEST as SHORTEST_SECRET;

/// Somebody who asks whether we live takes the lock for a moment.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_AGAIN: Duration = Duration::from_millis(2);

/// What waits to be looked at: a few threads say a few things each.
const EVENTS: usize = 16;

/// What the threads of this process tell its first.
enum Event {
    /// The program ended.
    Exited(process::Status),
    /// Nothing lives below us any more.
    NoneLeft,
    /// One of the program's outputs is closed.
    Closed,
    /// It printed more than is kept of anything.
    TooMuch,
    /// What it printed cannot be kept.
    Broken(String),
    Cancel,
    /// The agent stops, and goes on later.
    PutOff,
    Leave,
    /// An answer came over the network, or none did.
    Answered(Box<Ended>),
}

/// Everything that one attempt is carried out with.
struct Keeper {
    /// Where the attempt's files are.
    folder: PathBuf,
    task: Task,
    mask: Arc<Mask>,
    events: mpsc::Receiver<Event>,
    tell: mpsc::SyncSender<Event>,
    deadline: Instant,
}

/// The whole life of a `vigie step` process.
pub fn main(folder: impl AsRef<Path>) -> ExitCode {
    let folder = folder.as_ref();
    // Before anything else: who knows our number may tell us to stop.
    let signals = signals();
    if let Err(error) = signals.thread_block() {
        return refused(folder, &format!("signals cannot be held back: {error}"));
    }
    match keep(folder, signals) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => refused(folder, &why),
    }
}

fn refused(folder: &Path, why: &str) -> ExitCode {
    let written = private(&folder.join(FAILED)).and_then(|mut file| file.write_all(why.as_bytes()));
    // Nobody else is there to be told.
    drop(written);
    ExitCode::FAILURE
}

fn signals() -> SigSet {
    let all = [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
    all.into_iter().collect()
}

/// What whoever started Vigie ignores is ignored by all that it starts, and then a step that is told to
/// end does not. A signal that is caught does to a program what it always does once that is started.
fn heed_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    let kinds = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::terminate(),
        SignalKind::alarm(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ];
    kinds.into_iter().try_for_each(|kind| signal(kind).map(drop))
}

fn keep(folder: &Path, signals: SigSet) -> Result<(), String> {
    let unusable =
        |error: io::Error| format!("the folder {} cannot be used: {error}", folder.display());
    let folder = fs::canonicalize(folder).map_err(unusable)?;
    let about = fs::metadata(&folder).map_err(unusable)?;
    if !about.is_dir() || about.mode() & 0o077 != 0 || about.uid() != unistd::geteuid().as_raw() {
        return Err(format!("{} must belong to you and be closed to others", folder.display()));
    }
    env::set_current_dir(&folder).map_err(unusable)?;
    hold::close_inherited();
    match unistd::setsid() {
        Ok(_) | Err(Errno::EPERM) => {} // EPERM: we lead a session already
        Err(error) => return Err(format!("it cannot leave its terminal: {error}")),
    }
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)
        .map_err(|error| format!("it cannot adopt orphans: {error}"))?;
    // Secrets are in our memory, and what we start runs as the same user.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false)
        .map_err(|error| format!("it cannot close its memory: {error}"))?;
    heed_signals().map_err(|error| format!("signals cannot be caught: {error}"))?;
    let _lock = lock(&folder).map_err(unusable)?;
    if folder.join(ENDED).exists() || folder.join(BEGAN).exists() {
        return Ok(()); // somebody was here before: an attempt is carried out once
    }
    let mut task = Vec::new();
    // It ends with whoever started us; a task that breaks off does not read.
    io::stdin()
        .lock()
        .read_to_end(&mut task)
        .map_err(|error| format!("its task cannot be read: {error}"))?;
    let task: Task = serde_json::from_slice(&task)
        .map_err(|error| format!("its task does not read: {error}"))?;
    // Whoever stops us leaves this first and signals then.
    if folder.join(STOP).exists() {
        return write_down(&folder, &Left::Ended(Ended::of(Outcome::Cancelled))).map_err(unusable);
    }
    begin(&folder).map_err(unusable)?;
    let (tell, events) = mpsc::sync_channel(EVENTS);
    listen(signals, tell.clone()).map_err(unusable)?;
    let deadline = Instant::now() + task.timeout;
    let mask = Arc::new(Mask::new(&task.secrets));
    let mut keeper = Keeper { folder, task, mask, events, tell, deadline };
    match keeper.work() {
        Some(left) => write_down(&keeper.folder, &left).map_err(unusable),
        None => Ok(()),
    }
}

impl Keeper {
    /// `None`: it was broken off, and nobody knows how it would have ended.
    fn work(&mut self) -> Option<Left> {
        let before = if self.measures() { self.before() } else { None };
        let mut left = match &self.task.what {
            Kind::Shell { .. } => self.shell(),
            Kind::Claude(_) => self.claude(),
            Kind::Http(_) => self.http(),
            Kind::Javascript { .. } => self.javascript(),
        }?;
        if let Left::Ended(ended) = &mut left {
            self.afterwards(ended, before)?;
        }
        Some(left)
    }

    /// The check, the files, and what changed.
    fn afterwards(&mut self, ended: &mut Ended, before: Option<measure::Snapshot>) -> Option<()> {
        if ended.outcome == Outcome::Done
            && let Some(check) = self.task.check.clone()
        {
            ended.outcome = self.check(&check)?;
        }
        if self.measures() {
            ended.changed = before.and_then(|before| self.changed_since(&before));
            if self.task.unchanged && ended.outcome == Outcome::Done {
                ended.outcome = measure::must_be_none(ended.changed.as_deref());
            }
        }
        if ended.outcome == Outcome::Done
            && let Err(why) = self.keep_files(&mut ended.output)
        {
            ended.outcome = Outcome::Failed { why };
        }
        Some(())
    }

    fn measures(&self) -> bool {
        match self.task.what {
            Kind::Shell { .. } | Kind::Claude(_) => self.task.measure || self.task.unchanged,
            Kind::Http(_) | Kind::Javascript { .. } => false,
        }
    }
}

fn lock(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(folder.join(LOCK))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::park_timeout(LOCK_AGAIN);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another process carries it out"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    file.set_len(0)?;
    let us = std::process::id();
    writeln!(file, "{us} {}", started_at(us).unwrap_or_default())?;
    Ok(file)
}

/// On disk before anything has an effect, with the folders it lies in.
fn begin(folder: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(BEGAN)?;
    File::open(folder)?.sync_all()?;
    folder.parent().map_or(Ok(()), |run| File::open(run)?.sync_all())
}

/// Whole or not at all.
fn write_down(folder: &Path, left: &Left) -> io::Result<()> {
    let half = folder.join("ended.half");
    let mut file = private(&half)?;
    file.write_all(&serde_json::to_vec(left)?)?;
    file.sync_all()?;
    fs::rename(&half, folder.join(ENDED))?;
    File::open(folder)?.sync_all()
}

/// Creates or empties a file that only we may read.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Creates a file that only we may read, or adds to it.
pub(super) fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn listen(signals: SigSet, tell: mpsc::SyncSender<Event>) -> io::Result<()> {
    let listen = move || {
        while let Ok(signal) = signals.wait() {
            let event = match signal {
                Signal::SIGUSR1 => Event::Cancel,
                Signal::SIGUSR2 => Event::PutOff,
                _ => Event::Leave,
            };
            if tell.send(event).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".into()).stack_size(pour::STACK).spawn(listen).map(drop)
}
