//! `vigie attach`: a person's terminal shows a live session and types into it.

use anyhow::{Context, bail};
use futures_util::StreamExt;
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr},
};
use std::{
    io::{IsTerminal, Read, Write, stdin, stdout},
    os::fd::AsFd,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt,
    net::unix::OwnedWriteHalf,
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::codec::FramedRead;

use crate::{
    agents::Size,
    hold::{
        client,
        protocol::{CLOSED, Closed, DETACH, INPUT, Mode, OUTPUT, RESIZE, frame, frames},
    },
};

/// A second Ctrl-\ within this time detaches; a single one is sent on after it.
const TWICE: Duration = Duration::from_millis(500);
/// Between two looks of the reading thread whether it is still wanted, in milliseconds.
const STILL_WANTED: u16 = 100;
/// Chunks between the terminal and the socket; a slow terminal is skipped ahead by the holder.
const CHUNKS: usize = 8;
/// For the terminal to take the last output.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// Ctrl-\ as one byte, and as programs with an extended keyboard get it: kitty's protocol, also
/// with the event's kind, and xterm's `modifyOtherKeys`.
const DETACH_KEY: [&[u8]; 4] = [b"\x1c", b"\x1b[92;5u", b"\x1b[92;5:1u", b"\x1b[27;5;92~"];

/// Saves the title, and lets what is on the screen scroll up instead of painting over it.
const ENTER: &str = "\x1b[22;0t\x1b[999;1H";
/// Everything a session may have switched on, off: extended keys, mouse, focus and colour reports,
/// bracketed paste, synchronised output, the alternate screen, margins, looks; the cursor at the
/// bottom and visible, the title as it was. Source: xterm's control sequences, kitty's keyboard
/// protocol.
const LEAVE: &str = "\x1b[<16u\x1b[>4;0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\
    \x1b[?1015l\x1b[?1004l\x1b[?2031l\x1b[?2004l\x1b[?2026l\x1b[?1l\x1b>\x1b[?1049l\x1b[r\x1b[?6l\
    \x1b[?7h\x1b[0 q\x1b[m\x1b[?25h\x1b[23;0t\x1b[999;1H\r\n";

/// How a person left a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// The session goes on.
    Detached,
    /// The program is gone; `last` holds its last lines.
    Ended { last: Vec<String> },
}

/// Shows the session in `folder` on this process's terminal until the person presses Ctrl-\ twice
/// or the program ends. The terminal is as before afterwards, whatever happens.
pub async fn attach(folder: &Path) -> anyhow::Result<Left> {
    if !stdin().is_terminal() || !stdout().is_terminal() {
        bail!("attach needs a terminal: run it from one, or look with `vigie screen`");
    }
    let size = size();
    let (read, write) = client::ask(folder, Mode::Attach { size }).await?;
    let mut winch = signal(SignalKind::window_change())?;
    let mut quits = Quits::listen()?;
    let raw = Raw::enter(size).context("the terminal cannot be switched to raw mode")?;
    let keyboard = Keyboard::start()?;
    let (screen, drawn) = start_screen()?;

    let showing = show(FramedRead::new(read, frames()), &screen);
    let typing = type_in(keyboard, write, &mut winch);
    let left = tokio::select! {
        left = showing => left,
        left = typing => left,
        name = quits.any() => Err(anyhow::anyhow!("stopped by {name}; the session goes on")),
    };
    drop(screen);
    let _ = timeout(LAST_OUTPUT, drawn).await; // a terminal that hangs keeps its last part
    drop(raw);
    left
}

fn size() -> Size {
    let (columns, rows) = terminal_size::terminal_size_of(stdout())
        .map_or((80, 24), |(width, height)| (width.0, height.0));
    Size { columns, rows }
}

/// Signals that end us, after the terminal is as it was.
struct Quits(Vec<(&'static str, tokio::signal::unix::Signal)>);

impl Quits {
    fn listen() -> std::io::Result<Self> {
        let kinds = [
            ("SIGTERM", SignalKind::terminate()),
            ("SIGHUP", SignalKind::hangup()),
            ("SIGINT", SignalKind::interrupt()),
            ("SIGQUIT", SignalKind::quit()),
        ];
        let listen = |(name, kind)| signal(kind).map(|signal| (name, signal));
        kinds.into_iter().map(listen).collect::<Result<_, _>>().map(Self)
    }

    async fn any(&mut self) -> &'static str {
        let waits = self.0.iter_mut().map(|(name, signal)| {
            Box::pin(async move {
                signal.recv().await;
                *name
            })
        });
        futures_util::future::select_all(waits).await.0
    }
}

/// The terminal in raw mode; dropping it gives it back.
struct Raw(Termios);

impl Raw {
    fn enter(size: Size) -> nix::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(stdin(), SetArg::TCSADRAIN, &raw)?;
        let guard = Self(before);
        let lines = "\n".repeat(usize::from(size.rows));
        let _ = write!(stdout(), "{ENTER}{lines}").and_then(|()| stdout().flush());
        Ok(guard)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = stdout().write_all(LEAVE.as_bytes()).and_then(|()| stdout().flush());
        let _ = tcsetattr(stdin(), SetArg::TCSADRAIN, &self.0);
    }
}

/// What is typed, read by a thread that stops when this is dropped.
struct Keyboard {
    typed: mpsc::Receiver<Vec<u8>>,
    wanted: Arc<AtomicBool>,
}

impl Keyboard {
    fn start() -> std::io::Result<Self> {
        let (keys, typed) = mpsc::channel(CHUNKS);
        let wanted = Arc::new(AtomicBool::new(true));
        let still = wanted.clone();
        thread::Builder::new().name("keyboard".into()).spawn(move || read_keys(&keys, &still))?;
        Ok(Self { typed, wanted })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

fn read_keys(keys: &mpsc::Sender<Vec<u8>>, wanted: &AtomicBool) {
    let mut chunk = [0; 4096];
    while wanted.load(Ordering::Relaxed) {
        let input = stdin();
        let mut ready = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::from(STILL_WANTED)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        match input.lock().read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(length) => {
                if keys.blocking_send(chunk[..length].to_vec()).is_err() {
                    return;
                }
            }
        }
    }
}

/// Starts the thread that writes to the terminal; the second part resolves when it has ended.
fn start_screen() -> std::io::Result<(mpsc::Sender<Vec<u8>>, tokio::sync::oneshot::Receiver<()>)> {
    let (screen, mut parts) = mpsc::channel::<Vec<u8>>(CHUNKS);
    let (done, drawn) = tokio::sync::oneshot::channel();
    let draw = move || {
        while let Some(bytes) = parts.blocking_recv() {
            if stdout().write_all(&bytes).and_then(|()| stdout().flush()).is_err() {
                break;
            }
        }
        drop(done);
    };
    thread::Builder::new().name("screen".into()).spawn(draw)?;
    Ok((screen, drawn))
}

async fn show<R: tokio::io::AsyncRead + Unpin>(
    mut frames: FramedRead<R, tokio_util::codec::LengthDelimitedCodec>,
    screen: &mpsc::Sender<Vec<u8>>,
) -> anyhow::Result<Left> {
    while let Some(frame) = frames.next().await {
        let frame = frame.context("the connection to the session broke")?;
        match frame.split_first() {
            Some((&OUTPUT, bytes)) => screen.send(bytes.to_vec()).await?,
            Some((&CLOSED, why)) => return left(serde_json::from_slice(why)?),
            Some(_) | None => bail!("the session said something this version does not understand"),
        }
    }
    bail!("the holder of the session is gone: `vigie status` tells whether it can be resumed")
}

fn left(why: Closed) -> anyhow::Result<Left> {
    match why {
        Closed::Detached | Closed::Complete => Ok(Left::Detached),
        Closed::Ended { last } => Ok(Left::Ended { last }),
        Closed::TooSlow => {
            bail!("this terminal took nothing for a while and was detached; the session goes on")
        }
    }
}

/// Sends keys and sizes until Ctrl-\ comes twice.
async fn type_in(
    mut keyboard: Keyboard,
    mut write: OwnedWriteHalf,
    winch: &mut tokio::signal::unix::Signal,
) -> anyhow::Result<Left> {
    let mut keys = Keys::default();
    let mut single = Instant::now();
    loop {
        let bytes = tokio::select! {
            typed = keyboard.typed.recv() => {
                let Some(typed) = typed else { bail!("the terminal is gone; the session goes on") };
                single = Instant::now() + TWICE;
                match keys.press(&typed) {
                    Pressed::Send(bytes) => bytes,
                    Pressed::Detach(bytes) => {
                        write.write_all(&frame(INPUT, &bytes)).await?;
                        write.write_all(&frame(DETACH, &[])).await?;
                        return Ok(Left::Detached);
                    }
                }
            }
            () = sleep_until(single), if keys.waits() => keys.give_up(),
            _ = winch.recv() => {
                let size = size();
                let ([c1, c2], [r1, r2]) = (size.columns.to_be_bytes(), size.rows.to_be_bytes());
                write.write_all(&frame(RESIZE, &[c1, c2, r1, r2])).await?;
                continue;
            }
        };
        if !bytes.is_empty() {
            write.write_all(&frame(INPUT, &bytes)).await?;
        }
    }
}

/// Finds Ctrl-\ pressed twice and leaves every other byte alone.
#[derive(Default)]
struct Keys {
    /// A first Ctrl-\, as it came.
    first: Option<&'static [u8]>,
}

#[derive(Debug, PartialEq, Eq)]
enum Pressed {
    Send(Vec<u8>),
    Detach(Vec<u8>),
}

impl Keys {
    fn press(&mut self, mut typed: &[u8]) -> Pressed {
        let mut send = Vec::with_capacity(typed.len());
        while !typed.is_empty() {
            let key = DETACH_KEY.into_iter().find(|key| typed.starts_with(key));
            match (key, self.first.take()) {
                (Some(_), Some(_)) => return Pressed::Detach(send),
                (Some(key), None) => {
                    self.first = Some(key);
                    typed = &typed[key.len()..];
                }
                (None, first) => {
                    send.extend(first.unwrap_or_default());
                    send.push(typed[0]);
                    typed = &typed[1..];
                }
            }
        }
        Pressed::Send(send)
    }

    fn waits(&self) -> bool {
        self.first.is_some()
    }

    fn give_up(&mut self) -> Vec<u8> {
        self.first.take().unwrap_or_default().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn twice_detaches_once_does_not() {
        for key in DETACH_KEY {
            let mut keys = Keys::default();
            assert_eq!(keys.press(&[b"a", key].concat()), Pressed::Send(b"a".into()));
            assert_eq!(keys.press(&[key, b"b"].concat()), Pressed::Detach(Vec::new()));
            let mut keys = Keys::default();
            keys.press(key);
            assert_eq!(keys.press(b"x"), Pressed::Send([key, b"x"].concat()));
            keys.press(key);
            assert_eq!(keys.give_up(), key);
        }
    }

    proptest! {
        #[test]
        fn other_bytes_are_untouched(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut keys = Keys::default();
            if let Pressed::Send(mut sent) = keys.press(&bytes) {
                sent.extend(keys.give_up());
                prop_assert_eq!(sent, bytes);
            }
        }
    }
}
