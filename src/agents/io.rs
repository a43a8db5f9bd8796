//! What the holder hands to an adapter.

use chrono::{DateTime, Utc};
use std::{io, path::PathBuf, sync::Arc};
use tokio::sync::{mpsc, oneshot, watch};
use vigie_core::{
    Timestamp,
    agent::{AgentEvent, ExitStatus, Order},
};

use super::Spec;

/// An adapter's whole world. It owns this and returns when the program has exited and everything
/// is reported.
pub struct AgentIo {
    pub spec: Spec,
    /// The session's own folder, 0700: the adapter may keep files in it.
    pub folder: PathBuf,
    /// Each order once, in order.
    pub orders: mpsc::Receiver<Order>,
    /// What the agent's hooks say, each with a way to answer.
    pub hooks: mpsc::Receiver<HookCall>,
    pub reports: Reporter,
    pub calls: watch::Sender<Calls>,
    pub keys: Keys,
    pub screen: Screen,
    pub desk: Desk,
    /// The child's process id; also its process group and session.
    pub pid: u32,
    /// Becomes `Some` when the program is gone.
    pub exited: watch::Receiver<Option<ExitStatus>>,
}

/// Whether one of the agent's tools runs. What else lives below its program, such as a server it started
/// earlier, is no work of this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// The agent does not tell.
    Untold,
    None,
    /// The oldest that runs began then.
    Since(Timestamp),
}

/// One call of one hook: the agent's JSON, and the answer it waits for.
pub struct HookCall {
    pub event: serde_json::Value,
    pub reply: HookReply,
}

/// Dropping it answers with nothing ("no decision").
pub struct HookReply(oneshot::Sender<serde_json::Value>);

impl HookReply {
    pub fn new(answer: oneshot::Sender<serde_json::Value>) -> Self {
        Self(answer)
    }

    /// `false` when the agent no longer waits.
    pub fn answer(self, json: serde_json::Value) -> bool {
        self.0.send(json).is_ok()
    }

    /// Resolves when the agent stops waiting (Claude Code: denied or escaped at the desk).
    pub async fn gone(&mut self) {
        self.0.closed().await;
    }
}

/// Numbers reports and keeps them on disk until the daemon has them.
#[derive(Clone)]
pub struct Reporter(mpsc::Sender<AgentEvent>);

impl Reporter {
    pub fn new(journal: mpsc::Sender<AgentEvent>) -> Self {
        Self(journal)
    }

    /// Waits while the journal is behind. Reports of one adapter keep their order.
    pub async fn report(&self, event: AgentEvent) {
        // The journal outlives every adapter; when it is gone the process is ending.
        let _ = self.0.send(event).await;
    }
}

/// Writes to the program as if typed.
#[derive(Clone)]
pub struct Keys(mpsc::Sender<(Vec<u8>, oneshot::Sender<io::Result<()>>)>);

impl Keys {
    pub fn new(writer: mpsc::Sender<(Vec<u8>, oneshot::Sender<io::Result<()>>)>) -> Self {
        Self(writer)
    }

    /// Returns when all bytes are in the PTY.
    pub async fn write(&self, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
        let (done, written) = oneshot::channel();
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the program's terminal is closed");
        self.0.send((bytes.into(), done)).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?
    }
}

/// The program's screen, for looking at.
#[derive(Clone)]
pub struct Screen {
    lines: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    since: Arc<dyn Fn(u64) -> Printed + Send + Sync>,
    paste: Arc<dyn Fn() -> bool + Send + Sync>,
    bytes: watch::Receiver<u64>,
}

/// A part of what the program printed, escape sequences and all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    pub bytes: Vec<u8>,
    /// The offset after the last of `bytes`.
    pub end: u64,
    /// Bytes that were asked for and are no longer kept.
    pub lost: u64,
}

impl Screen {
    /// `lines` draws the screen as text, top to bottom, without trailing blanks; `bytes` counts
    /// what the program has printed.
    pub fn new(
        lines: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
        bytes: watch::Receiver<u64>,
    ) -> Self {
        Self { lines, since: Arc::new(|_| Printed::default()), paste: Arc::new(|| false), bytes }
    }

    /// Adds the output itself: `since` an offset on, and whether the program switched bracketed
    /// paste on.
    #[must_use]
    pub fn with_output(
        self,
        since: Arc<dyn Fn(u64) -> Printed + Send + Sync>,
        paste: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Self {
        Self { since, paste, ..self }
    }

    pub fn lines(&self) -> Vec<String> {
        (self.lines)()
    }

    /// Bytes printed so far; changes whenever the program prints.
    pub fn printed(&self) -> watch::Receiver<u64> {
        self.bytes.clone()
    }

    /// What was printed from `offset` on, as far as the holder keeps it.
    pub fn since(&self, offset: u64) -> Printed {
        (self.since)(offset)
    }

    /// The program takes a paste in brackets (`ESC [ 200 ~`).
    pub fn takes_paste(&self) -> bool {
        (self.paste)()
    }
}

/// What happens at the desk.
#[derive(Clone)]
pub struct Desk(watch::Receiver<Option<DeskKey>>);

/// What was typed last through a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeskKey {
    pub at: DateTime<Utc>,
    pub line: DeskLine,
}

/// Whether something typed at the desk still stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeskLine {
    /// Keys without an Enter after them.
    Open,
    /// The last of them sent the line or threw it away.
    Done,
}

impl DeskLine {
    /// By the last byte: Enter sends, Ctrl-C and Ctrl-U throw away, Ctrl-D ends.
    pub fn after(typed: &[u8]) -> Self {
        match typed.last() {
            Some(b'\r' | b'\n' | 0x03 | 0x04 | 0x15) => Self::Done,
            Some(_) | None => Self::Open,
        }
    }
}

impl Desk {
    pub fn new(last_key: watch::Receiver<Option<DeskKey>>) -> Self {
        Self(last_key)
    }

    /// When somebody last typed into the session through a viewer.
    pub fn last_key(&self) -> Option<DateTime<Utc>> {
        self.0.borrow().map(|key| key.at)
    }

    /// Somebody began a line at the desk and has not sent it.
    pub fn has_draft(&self) -> bool {
        self.0.borrow().is_some_and(|key| key.line == DeskLine::Open)
    }
}
