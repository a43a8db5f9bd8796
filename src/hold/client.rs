//! How the daemon and the command line speak to holders.

use futures_util::{FutureExt, StreamExt};
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::BufReader,
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Mutex,
    time::{Instant, sleep, timeout},
};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec, LinesCodec};
use vigie_core::{
    agent::{Order, Report},
    policy::Policy,
};

use super::{
    environment, journal,
    process::{FAILED, LOCK, SPEC, private},
    protocol::{
        Done, Follow, FromHolder, HELLO, Hello, LINE, Mode, OUTPUT_AT, Picture, ToHolder, VERSION,
        Welcome, frames, read_line, write_line,
    },
    server::SOCKET,
    tree::{self, Killed},
};
use crate::agents::Spec;

/// A holder answers in well under a second; a loaded machine may take some.
const STARTING: Duration = Duration::from_secs(10);
/// For each thing asked of a holder that lives.
const ANSWER: Duration = Duration::from_secs(10);
/// For a holder to leave once its session is killed.
const DYING: Duration = Duration::from_secs(15);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
const LOG: &str = "holder.log";

/// Why a holder could not be reached or started.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the session in `{}` has no holder any more", folder.display())]
    Gone { folder: PathBuf },
    #[error("the holder refused: {why}")]
    Refused { why: String },
    #[error("the holder of `{}` did not answer in time", folder.display())]
    Silent { folder: PathBuf },
    #[error("the session could not be started: {why}")]
    NotStarted { why: String },
    #[error("some processes of the session in `{}` do not die", folder.display())]
    Stuck { folder: PathBuf },
    #[error("the connection to the holder broke")]
    Broken { source: io::Error },
    #[error("the session's folder `{}` cannot be used", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
}

fn broken(source: io::Error) -> LinkError {
    LinkError::Broken { source }
}

/// Starts a holder for `spec` in `folder`, which is made if need be, and returns when it answers.
/// `binary` is the program that knows `hold`: our own, except in tests. The holder is a child of
/// the caller's until the caller ends, and outlives it.
///
/// # Errors
/// [`LinkError::NotStarted`] with the holder's own reason.
pub async fn spawn(binary: &Path, folder: &Path, spec: &Spec) -> Result<(), LinkError> {
    let unusable = |source| LinkError::Folder { folder: folder.to_owned(), source };
    if alive(folder) {
        return Err(LinkError::NotStarted { why: "it has a holder already".into() });
    }
    let log = prepare(folder, spec).map_err(unusable)?;
    let mut command = tokio::process::Command::new(binary);
    command
        .arg0("vigie") // by this name `ancestry` knows it
        .arg("hold")
        .arg(folder)
        .current_dir("/")
        .env_clear() // the program can read its holder's environment
        .envs(environment::cleaned())
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(unusable)?)
        .stderr(log);
    let not_started = |why: String| LinkError::NotStarted { why };
    let mut holder = command
        .spawn()
        .map_err(|error| not_started(format!("`{}` does not run: {error}", binary.display())))?;
    let deadline = Instant::now() + STARTING;
    loop {
        match ask(folder, Mode::Screen).await {
            Ok(_) => return Ok(()), // dropped here, the runtime buries it whenever it ends
            Err(LinkError::Refused { why }) => return Err(not_started(why)),
            Err(_) => {}
        }
        if let Ok(Some(status)) = holder.try_wait() {
            // A program that is over at once is a session that took place.
            if fs::read_to_string(folder.join(FAILED)).is_err() && status.success() {
                return Ok(());
            }
            return Err(not_started(reason(folder, &status.to_string())));
        }
        if Instant::now() >= deadline {
            let _ = holder.start_kill();
            return Err(not_started(reason(folder, "its holder did not answer")));
        }
        sleep(LOOK).await;
    }
}

fn prepare(folder: &Path, spec: &Spec) -> io::Result<File> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let _ = fs::remove_file(folder.join(FAILED)); // usually there is none
    let mut file = private(&folder.join(SPEC))?;
    serde_json::to_writer_pretty(&mut file, spec)?;
    file.flush()?;
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join(LOG)).and_then(
        |log| {
            log.set_len(0)?; // one run's log is enough to say why it did not start
            Ok(log)
        },
    )
}

/// The holder's own words, else the end of its log, else what we saw.
fn reason(folder: &Path, otherwise: &str) -> String {
    let failed = fs::read_to_string(folder.join(FAILED)).unwrap_or_default();
    let log = fs::read(folder.join(LOG)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    [failed.trim(), last.trim(), otherwise]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or(otherwise)
        .into()
}

/// A holder has this session. Told by its lock, which ends with it, never by a process id.
pub fn alive(folder: &Path) -> bool {
    File::open(folder.join(LOCK))
        .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// A holder once had this session: there is a journal, whatever became of it.
pub fn was_started(folder: &Path) -> bool {
    folder.join(journal::FILE).exists()
}

/// What the session's program was started with, straight from the folder.
pub fn spec(folder: &Path) -> Result<Spec, LinkError> {
    let unusable = |source| LinkError::Folder { folder: folder.to_owned(), source };
    let bytes = fs::read(folder.join(SPEC)).map_err(unusable)?;
    serde_json::from_slice(&bytes).map_err(|error| unusable(error.into()))
}

/// Reports from `from_seq` on, straight from the folder, whether a holder lives or not.
pub fn read_journal(folder: &Path, from_seq: u64) -> Result<Vec<Report>, LinkError> {
    journal::read(folder, from_seq)
        .map_err(|source| LinkError::Folder { folder: folder.to_owned(), source })
}

/// The screen as it is.
pub async fn screen(folder: &Path) -> Result<Picture, LinkError> {
    let (mut read, _write) = ask(folder, Mode::Screen).await?;
    answer(folder, &mut read).await
}

/// Tells whenever the program prints more than its first `from` bytes.
pub async fn printed(folder: &Path, from: u64) -> Result<Printed, LinkError> {
    let (read, write) = ask(folder, Mode::Output { from, follow: Follow::Live }).await?;
    Ok(Printed { frames: FramedRead::new(read, frames()), _write: write })
}

/// Signs that a program printed; what it printed is not kept.
pub struct Printed {
    frames: FramedRead<BufReader<OwnedReadHalf>, LengthDelimitedCodec>,
    _write: OwnedWriteHalf,
}

impl Printed {
    /// Returns when there is more, one sign for all that is here already. `None`: the program is gone,
    /// or the holder hung up on somebody who was too slow. May be dropped at any await.
    pub async fn more(&mut self) -> Option<()> {
        let mut frame = self.frames.next().await?.ok()?;
        loop {
            if frame.first() != Some(&OUTPUT_AT) {
                return None;
            }
            match self.frames.next().now_or_never() {
                None => return Some(()),
                Some(next) => frame = next?.ok()?,
            }
        }
    }
}

/// Writes `bytes` to the program as if typed; returns when they are in its terminal.
pub async fn keys(folder: &Path, bytes: Vec<u8>) -> Result<(), LinkError> {
    let (mut read, _write) = ask(folder, Mode::Keys { bytes }).await?;
    match answer(folder, &mut read).await? {
        Done::Yes => Ok(()),
        Done::No { why } => Err(LinkError::Refused { why }),
    }
}

/// KILL to every process of the session, whatever state its holder is in, and returns when the
/// holder is gone too.
pub async fn kill_folder(folder: &Path) -> Result<(), LinkError> {
    let asked = ask(folder, Mode::Kill).await;
    let left = async {
        while alive(folder) {
            sleep(LOOK).await;
        }
    };
    if asked.is_ok() && timeout(DYING, left).await.is_ok() {
        return Ok(());
    }
    // No holder, or one that hangs: what carries the session's mark goes, the holder included.
    let session = spec(folder)?.session.to_string();
    let holder = holder_pid(folder).filter(|_| alive(folder));
    let find = || {
        let mut found = tree::marked(&session);
        found.extend(holder.map(tree::descendants).unwrap_or_default());
        found.extend(holder.filter(|_| alive(folder)));
        found
    };
    match tree::kill_all(find).await {
        Killed::All => Ok(()),
        Killed::Stuck => Err(LinkError::Stuck { folder: folder.to_owned() }),
    }
}

/// The process that says it holds this session; believe it only while the lock is held.
pub fn holder_pid(folder: &Path) -> Option<u32> {
    let about = fs::read(folder.join(super::session::ABOUT)).ok()?;
    let about: serde_json::Value = serde_json::from_slice(&about).ok()?;
    about.get("pid")?.as_u64()?.try_into().ok()
}

/// Opens the daemon's connection: every report from `from_seq` on, and the way to send orders.
pub async fn connect(folder: &Path, from_seq: u64) -> Result<Link, LinkError> {
    let (read, write, guards) = greet(folder, Mode::Control { from_seq }).await?;
    Ok(Link {
        guards,
        lines: FramedRead::new(read, LinesCodec::new_with_max_length(LINE)),
        sender: OrderSender { write: Arc::new(Mutex::new(write)) },
        next: from_seq,
    })
}

/// One connection to one holder. Dropping it changes nothing for the session.
pub struct Link {
    lines: FramedRead<BufReader<OwnedReadHalf>, LinesCodec>,
    sender: OrderSender,
    next: u64,
    guards: bool,
}

impl Link {
    /// The next report; `None` when the session is over and all were told. Nothing is lost when
    /// the future is dropped.
    ///
    /// # Errors
    /// [`LinkError::Broken`] when the holder died or hangs up: connect again with
    /// [`Link::next_seq`], or read the journal when nobody is [`alive`].
    pub async fn next(&mut self) -> Result<Option<Report>, LinkError> {
        let line = self.lines.next().await.ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        let line = line.and_then(|line| line.map_err(io::Error::other)).map_err(broken)?;
        match serde_json::from_str(&line).map_err(|error| broken(error.into()))? {
            FromHolder::Report { report } => {
                self.next = report.seq + 1;
                Ok(Some(report))
            }
            FromHolder::Ended => Ok(None),
        }
    }

    /// The number of the report that comes next.
    pub fn next_seq(&self) -> u64 {
        self.next
    }

    /// Whether the holder takes policies: one of an older version does not.
    pub fn guards(&self) -> bool {
        self.guards
    }

    pub fn orders(&self) -> OrderSender {
        self.sender.clone()
    }
}

/// Sends orders over a [`Link`], also from other tasks.
#[derive(Clone)]
pub struct OrderSender {
    write: Arc<Mutex<OwnedWriteHalf>>,
}

impl OrderSender {
    /// Returns when the order is on its way; whether it was carried out is what reports say. In
    /// doubt send it again, with the same id, over a new link.
    pub async fn send(&self, order: Order) -> Result<(), LinkError> {
        self.say(&ToHolder::Order { order }).await
    }

    /// Says which policies hold before each tool from now on.
    pub async fn policies(&self, policies: &[Policy]) -> Result<(), LinkError> {
        let policies = serde_json::to_value(policies).map_err(|error| broken(error.into()))?;
        self.say(&ToHolder::Policies { policies }).await
    }

    /// Says that all reports up to `seq` are safely stored.
    pub async fn ack(&self, seq: u64) -> Result<(), LinkError> {
        self.say(&ToHolder::Ack { seq }).await
    }

    async fn say(&self, what: &ToHolder) -> Result<(), LinkError> {
        let mut write = self.write.lock().await;
        timeout(ANSWER, write_line(&mut *write, what))
            .await
            .map_err(|_| broken(io::ErrorKind::TimedOut.into()))?
            .map_err(broken)
    }
}

type Halves = (BufReader<OwnedReadHalf>, OwnedWriteHalf);
type Greeted = (BufReader<OwnedReadHalf>, OwnedWriteHalf, bool);

/// Connects, says what is wanted, and reads the welcome.
pub(crate) async fn ask(folder: &Path, mode: Mode) -> Result<Halves, LinkError> {
    let (read, write, _) = greet(folder, mode).await?;
    Ok((read, write))
}

/// The same, and whether the holder takes policies.
async fn greet(folder: &Path, mode: Mode) -> Result<Greeted, LinkError> {
    let stream = dial(folder).await?;
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let hello = Hello { protocol: VERSION, mode };
    let greeted = async {
        // A holder that refuses hangs up without reading; its words are what counts.
        let asked = write_line(&mut write, &hello).await;
        let welcome = read_line(&mut read, HELLO).await;
        asked.map_or_else(|error| welcome.as_ref().map(|_| ()).map_err(|_| error), Ok)?;
        welcome
    };
    let silent = |_| LinkError::Silent { folder: folder.to_owned() };
    match timeout(ANSWER, greeted).await.map_err(silent)?.map_err(broken)? {
        Welcome::Yes { guards, .. } => Ok((read, write, guards)),
        Welcome::No { why } => Err(LinkError::Refused { why }),
    }
}

async fn answer<T: for<'a> serde::Deserialize<'a>>(
    folder: &Path,
    read: &mut BufReader<OwnedReadHalf>,
) -> Result<T, LinkError> {
    timeout(ANSWER, read_line(read, LINE))
        .await
        .map_err(|_| LinkError::Silent { folder: folder.to_owned() })?
        .map_err(broken)
}

/// Connects through the folder's descriptor, because a socket's path may have no more than 108
/// bytes (`sun_path` in unix(7)) and folders are longer than that.
#[cfg(target_os = "linux")]
async fn dial(folder: &Path) -> Result<UnixStream, LinkError> {
    use std::os::fd::AsRawFd;
    let gone = || LinkError::Gone { folder: folder.to_owned() };
    let open = File::open(folder).map_err(|_| gone())?;
    let path = format!("/proc/self/fd/{}/{SOCKET}", open.as_raw_fd());
    UnixStream::connect(path).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => gone(),
        _ => broken(error),
    })
}

#[cfg(not(target_os = "linux"))]
async fn dial(folder: &Path) -> Result<UnixStream, LinkError> {
    UnixStream::connect(folder.join(SOCKET)).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            LinkError::Gone { folder: folder.to_owned() }
        }
        _ => broken(error),
    })
}
