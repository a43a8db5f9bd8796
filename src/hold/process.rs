use nix::{errno::Errno, unistd};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use super::session;
use crate::agents::Spec;

pub(crate) const LOCK: &str = "holder.lock";
pub(crate) const SPEC: &str = "spec.json";
/// Why the holder left before it answered, as a sentence.
pub(crate) const FAILED: &str = "holder.failed";
/// Most that a holder logs, in bytes.
const LOG: usize = 1 << 20;
/// Somebody who asks whether a holder lives takes the lock for a moment.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// Why a session could not be held.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    #[error("the session's folder `{}` cannot be used", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("`{}` must belong to you and be closed to others (mode 0700)", folder.display())]
    OpenFolder { folder: PathBuf },
    #[error("another holder has the session in `{}`", folder.display())]
    Held { folder: PathBuf },
    #[error("`{SPEC}` in the session's folder does not say what to run")]
    Spec { source: serde_json::Error },
    #[error("the session's journal cannot be continued")]
    Journal { source: io::Error },
    #[error("the holder cannot listen for {what}")]
    Listen { what: &'static str, source: io::Error },
    #[error("the agent cannot be prepared: {source}")]
    Agent { source: io::Error },
    #[error("the folder to work in, `{}`, does not exist", cwd.display())]
    NoFolder { cwd: PathBuf },
    #[error("could not start `{}`: {reason}", program.display())]
    Program { program: PathBuf, reason: String },
    #[error("the holder could not {what}")]
    System { what: &'static str, source: io::Error },
}

/// Holds the session in `folder` until its program is gone: the whole life of a `vigie hold`
/// process, which this takes over: it leaves its terminal, closes every descriptor but the
/// standard ones, makes `folder` the working directory and adopts the orphans below it.
///
/// # Errors
/// Also written to the folder, for whoever started the process.
pub fn run(folder: impl AsRef<Path>) -> Result<ExitCode, HoldError> {
    let folder = folder.as_ref();
    let held = hold(folder);
    if let Err(error) = &held {
        let _ = private(&folder.join(FAILED)).and_then(|mut file| write!(file, "{}", chain(error)));
    }
    held.map(|()| ExitCode::SUCCESS)
}

fn hold(folder: &Path) -> Result<(), HoldError> {
    let unusable = |source| HoldError::Folder { folder: folder.to_owned(), source };
    let folder = fs::canonicalize(folder).map_err(unusable)?;
    let about = fs::metadata(&folder).map_err(unusable)?;
    if !about.is_dir() || about.mode() & 0o077 != 0 || about.uid() != unistd::geteuid().as_raw() {
        return Err(HoldError::OpenFolder { folder });
    }
    // The socket is bound by its bare name, whose length has a narrow limit.
    std::env::set_current_dir(&folder).map_err(unusable)?;
    close_inherited();
    log_bounded();
    match unistd::setsid() {
        Ok(_) | Err(Errno::EPERM) => {} // EPERM: we lead a session already
        Err(error) => return Err(system("leave its terminal", error)),
    }
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true).map_err(|error| system("adopt orphans", error))?;
    // Our memory, environment and files are nobody's business: the agent runs as the same user.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false).map_err(|error| system("close its memory", error))?;

    let _lock = lock(&folder)?;
    let spec = fs::read(folder.join(SPEC)).map_err(unusable)?;
    let spec: Spec = serde_json::from_slice(&spec).map_err(|source| HoldError::Spec { source })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| HoldError::System { what: "start its runtime", source })?;
    let held = runtime.block_on(session::run(&folder, spec));
    // A thread may hang in a terminal that nobody reads any more.
    runtime.shutdown_background();
    held
}

fn lock(folder: &Path) -> Result<File, HoldError> {
    let unusable = |source| HoldError::Folder { folder: folder.to_owned(), source };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(folder.join(LOCK)).map_err(unusable)?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::park_timeout(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(HoldError::Held { folder: folder.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
    }
}

/// Whatever the daemon had open without a close-on-exec mark stays its own.
pub(crate) fn close_inherited() {
    let Ok(open) = fs::read_dir("/dev/fd") else { return };
    let open: Vec<i32> = open
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    for fd in open {
        let _ = unistd::close(fd); // the folder we just read is among them, closed already
    }
}

fn system(what: &'static str, error: Errno) -> HoldError {
    HoldError::System { what, source: error.into() }
}

/// Creates or empties a file that only we may read.
pub(crate) fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// An error and its causes as one sentence.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Sends our log to standard error, which is a file in the folder, until it is long enough.
fn log_bounded() {
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(Mutex::new(Bounded(LOG)));
    let _ = log.try_init(); // whoever runs us may have set one up
}

struct Bounded(usize);

impl Write for Bounded {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let left = self.0;
        self.0 = left.saturating_sub(line.len());
        match (left, self.0) {
            (0, _) => {}
            (_, 0) => io::stderr().write_all(b"the log ends here: it is long enough\n")?,
            (_, _) => io::stderr().write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
