//! The holder's socket: who may speak, and the modes of the protocol.

use std::{
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncWriteExt, BufReader},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_util::codec::{FramedRead, LinesCodec};
use vigie_core::agent::{Order, Report};

use super::{
    ancestry,
    journal::{Tail, Written},
    protocol::{
        CLOSED, Closed, Done, Follow, FromHolder, HELLO, Hello, LINE, Mode, OUTPUT_AT, ToHolder,
        VERSION, Welcome, frame, read_line, write_line,
    },
    pty::Pty,
    view::{self, Viewers},
};
use crate::agents::{DeskKey, Spec, guard::Guarded};

pub(crate) const SOCKET: &str = "holder.sock";
/// Connections at once: a daemon, some viewers, some looks at the screen.
const CONNECTIONS: usize = 64;
/// For the first line of a caller.
const HELLO_WAIT: Duration = Duration::from_secs(5);
/// For anything we write to a caller that should be reading.
const WRITE_WAIT: Duration = Duration::from_secs(30);
/// For keys a person pressed on the phone.
const KEYS_WAIT: Duration = Duration::from_secs(5);
/// For everybody to take the last of it when the session is over.
const LINGER: Duration = Duration::from_secs(3);
/// Orders that wait for the session's loop, which takes them at once.
const ORDERS: usize = 64;
/// Output sent at once.
const PART: usize = 64 << 10;

/// What callers want of the session.
pub(crate) enum Asked {
    Order(Order),
    Kill,
}

/// What every connection shares.
pub(crate) struct Shared {
    folder: PathBuf,
    orders: mpsc::Sender<Asked>,
    written: watch::Receiver<Written>,
    guarded: Arc<Guarded>,
    pub(crate) pty: Arc<Pty>,
    pub(crate) viewers: Viewers,
    pub(crate) last_key: watch::Sender<Option<DeskKey>>,
    /// The last lines, once the session is over and written down.
    pub(crate) closing: watch::Receiver<Option<Vec<String>>>,
}

pub(crate) struct Server {
    shared: Arc<Shared>,
    closing: watch::Sender<Option<Vec<String>>>,
}

/// Binds in the working directory, so that the path is short whatever the folder's is.
pub(crate) fn bind() -> io::Result<UnixListener> {
    unbind();
    let listener = UnixListener::bind(SOCKET)?;
    std::fs::set_permissions(SOCKET, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

pub(crate) fn unbind() {
    let _ = std::fs::remove_file(SOCKET); // usually there is none
}

impl Server {
    pub(crate) fn new(
        folder: &Path,
        spec: &Spec,
        pty: Arc<Pty>,
        last_key: watch::Sender<Option<DeskKey>>,
        written: watch::Receiver<Written>,
        guarded: Arc<Guarded>,
    ) -> (Self, mpsc::Receiver<Asked>) {
        let (orders, inbox) = mpsc::channel(ORDERS);
        let (close, closing) = watch::channel(None);
        let viewers = Viewers::new(spec.size);
        let folder = folder.to_owned();
        let shared = Shared { folder, orders, written, guarded, pty, viewers, last_key, closing };
        (Self { shared: Arc::new(shared), closing: close }, inbox)
    }

    /// Ends the session for everybody connected, with its last lines.
    pub(crate) fn closing(&self) -> watch::Sender<Option<Vec<String>>> {
        self.closing.clone()
    }

    pub(crate) async fn serve(self, listener: UnixListener) {
        let mut closing = self.shared.closing.clone();
        let mut callers = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) if callers.len() < CONNECTIONS => {
                        callers.spawn(caller(stream, self.shared.clone()));
                    }
                    Ok((stream, _)) => drop(stream),
                    Err(error) => {
                        tracing::warn!(%error, "a caller could not be taken");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = callers.join_next() => {}
                () = over(&mut closing) => break,
            }
        }
        let all = async { while callers.join_next().await.is_some() {} };
        let _ = timeout(LINGER, all).await; // whoever is late reads the journal
    }
}

async fn over(closing: &mut watch::Receiver<Option<Vec<String>>>) {
    // The sender lives as long as the session.
    let _ = closing.wait_for(Option::is_some).await.map(drop);
}

async fn caller(stream: UnixStream, shared: Arc<Shared>) {
    let allowed = ancestry::admit(&stream);
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let said = match allowed {
        Ok(()) => match timeout(HELLO_WAIT, read_line::<Hello>(&mut read, HELLO)).await {
            Ok(Ok(hello)) if hello.protocol == VERSION => Ok(hello.mode),
            Ok(Ok(hello)) => Err(format!(
                "this holder speaks version {VERSION} of its protocol, not {}: end the session \
                 and resume it to go on with the new version",
                hello.protocol
            )),
            Ok(Err(error)) => Err(format!("the first line was not understood: {error}")),
            Err(_) => Err("nothing was asked in time".into()),
        },
        Err(why) => Err(why),
    };
    let welcome = match &said {
        Ok(_) => Welcome::Yes {
            protocol: VERSION,
            binary: env!("CARGO_PKG_VERSION").into(),
            guards: true,
        },
        Err(why) => Welcome::No { why: why.clone() },
    };
    if let (Ok(()), Ok(mode)) = (say(&mut write, &welcome).await, said) {
        // A caller that leaves half-way is nobody's fault.
        if let Err(error) = serve(mode, read, write, &shared).await {
            tracing::debug!(%error, "a caller left");
        }
    }
}

async fn serve(
    mode: Mode,
    read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    match mode {
        Mode::Control { from_seq } => control(from_seq, read, write, shared).await,
        Mode::Attach { size } => view::view(size, read, write, shared).await,
        Mode::Screen => {
            let picture = shared.pty.terminal().picture();
            say(&mut write, &picture).await
        }
        Mode::Keys { bytes } => {
            let bytes = shared.pty.terminal().as_pressed(bytes);
            let done = match timeout(KEYS_WAIT, shared.pty.keys.write(bytes)).await {
                Ok(Ok(())) => Done::Yes,
                Ok(Err(error)) => Done::No { why: error.to_string() },
                Err(_) => Done::No { why: "the program does not take what is typed".into() },
            };
            say(&mut write, &done).await
        }
        Mode::Output { from, follow } => output(from, follow, write, shared).await,
        Mode::Kill => {
            let done = match shared.orders.send(Asked::Kill).await {
                Ok(()) => Done::Yes,
                Err(_) => Done::No { why: "the session is ending already".into() },
            };
            say(&mut write, &done).await
        }
    }
}

/// Reports down from `from_seq`, orders up, until the session is over or the daemon leaves.
async fn control(
    from_seq: u64,
    read: BufReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
    shared: &Shared,
) -> io::Result<()> {
    let listening = listen(read, shared);
    let telling = async {
        let mut tail = Tail::open(&shared.folder, from_seq).await?;
        let mut written = shared.written.clone();
        let mut closing = shared.closing.clone();
        loop {
            let end = written.borrow_and_update().bytes;
            let reports = tail.next(end).await?;
            if !reports.is_empty() {
                tell(&mut write, reports).await?;
                continue;
            }
            tokio::select! {
                changed = written.changed() => changed.map_err(io::Error::other)?,
                () = over(&mut closing) => break,
            }
        }
        let end = written.borrow().bytes;
        loop {
            let reports = tail.next(end).await?;
            if reports.is_empty() {
                return say(&mut write, &FromHolder::Ended).await;
            }
            tell(&mut write, reports).await?;
        }
    };
    tokio::select! {
        heard = listening => heard,
        told = telling => told,
    }
}

async fn tell(write: &mut OwnedWriteHalf, reports: Vec<Report>) -> io::Result<()> {
    for report in reports {
        say(write, &FromHolder::Report { report }).await?;
    }
    Ok(())
}

async fn listen(read: BufReader<OwnedReadHalf>, shared: &Shared) -> io::Result<()> {
    use futures_util::StreamExt;
    let mut lines = FramedRead::new(read, LinesCodec::new_with_max_length(LINE));
    while let Some(line) = lines.next().await {
        match serde_json::from_str(&line.map_err(io::Error::other)?)? {
            ToHolder::Order { order } => {
                shared.orders.send(Asked::Order(order)).await.map_err(io::Error::other)?;
            }
            ToHolder::Policies { policies } => shared.guarded.renew(policies),
            // The journal keeps everything for as long as the folder lives.
            ToHolder::Ack { seq } => tracing::debug!(seq, "acknowledged"),
        }
    }
    Ok(())
}

async fn output(
    from: u64,
    follow: Follow,
    mut write: OwnedWriteHalf,
    shared: &Shared,
) -> io::Result<()> {
    let mut printed = shared.pty.printed.clone();
    let mut closing = shared.closing.clone();
    let mut at = from;
    let why = loop {
        printed.borrow_and_update();
        let part = shared.pty.terminal().since(at, PART);
        if !part.bytes.is_empty() {
            let start = part.end - part.bytes.len() as u64;
            let body = [&start.to_be_bytes()[..], &part.bytes].concat();
            put(&mut write, &frame(OUTPUT_AT, &body)).await?;
            at = part.end;
            continue;
        }
        let ended = || closing.borrow().clone();
        match (follow, ended()) {
            (Follow::Once, _) => break Closed::Complete,
            (Follow::Live, Some(last)) => break Closed::Ended { last },
            (Follow::Live, None) => {}
        }
        tokio::select! {
            Ok(()) = printed.changed() => {}
            _ = closing.changed() => {}
        }
    };
    put(&mut write, &closed(&why)).await
}

/// The last frame of a connection.
pub(crate) fn closed(why: &Closed) -> Vec<u8> {
    frame(CLOSED, &serde_json::to_vec(why).expect("plain data"))
}

async fn say<T: serde::Serialize>(write: &mut OwnedWriteHalf, what: &T) -> io::Result<()> {
    timeout(WRITE_WAIT, write_line(write, what)).await.map_err(|_| io::ErrorKind::TimedOut)?
}

async fn put(write: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    timeout(WRITE_WAIT, write.write_all(bytes)).await.map_err(|_| io::ErrorKind::TimedOut)?
}
