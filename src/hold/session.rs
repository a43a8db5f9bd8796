//! One session from its program's start to its end: joins terminal, adapter, hooks, journal and
//! socket, carries out what is the holder's own business (end, kill), and leaves last.

use nix::sys::signal::Signal;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};
use vigie_core::agent::{AgentEvent, ExitStatus, Order, OrderKind, RefusedPrompt, Settled};

use super::{
    clock, environment, hooks,
    journal::{Journal, Written},
    orders::Taken,
    process::{HoldError, LOCK, private},
    protocol,
    pty::Pty,
    record::Recording,
    server::{self, Server},
    start,
    token::Token,
    tree::{self, Killed, Undertaker},
    vitals,
};
use crate::agents::{self, AgentIo, AgentKind, Desk, Reporter, Spec, guard::Guarded};

pub(crate) const ABOUT: &str = "holder.json";
/// Orders the adapter has not looked at; far more than people send while an agent is busy.
const ORDERS: usize = 1024;
/// After `End`: the agent's own way of leaving. Claude Code needs about two seconds.
const POLITE: Duration = Duration::from_secs(10);
/// After TERM, before KILL.
const TERMINATING: Duration = Duration::from_secs(5);
/// What a program leaves behind gets this long after HUP and TERM.
const LEFTOVERS: Duration = Duration::from_secs(1);
/// The rest of the output after the last process is gone.
const DRAIN: Duration = Duration::from_secs(2);
/// An adapter's last reports.
const ADAPTER_ENDS: Duration = Duration::from_secs(10);
/// The last lines of the screen kept with the exit.
const LAST_LINES: usize = 20;

/// Holds the session in `folder`, which is the working directory and locked by us.
pub(crate) async fn run(folder: &Path, spec: Spec) -> Result<(), HoldError> {
    let ours = |source| HoldError::Journal { source };
    let journal = Journal::open(folder, spec.first_seq).map_err(ours)?;
    let taken = Taken::open(folder).map_err(ours)?;
    let torn = journal.torn;
    let own = start::agent_folder(folder)
        .map_err(|source| HoldError::Folder { folder: folder.to_owned(), source })?;
    let signals = Signals::listen()?;
    let recording = Recording::start(folder, &spec)
        .map_err(|source| HoldError::System { what: "record the session", source })?;
    let (events, mut written) = journal.start().map_err(ours)?;
    let reports = Reporter::new(events);
    let guarded = Arc::new(Guarded::new(spec.guard.clone()));
    let hooks = hooks::listen(guarded.clone(), reports.clone())
        .await
        .map_err(|source| HoldError::Listen { what: "the agent's hooks", source })?;
    let (address, hook_calls, serve_hooks) = hooks.split();
    let mut env = environment::of_program(&spec);
    if let Some(url) = &spec.mcp_url {
        env.extend(give_token(url, &reports, &mut written).await?);
    }
    if torn > 0 {
        let what = format!("the last report before a crash was torn ({torn} bytes) and is dropped");
        reports.report(AgentEvent::Degraded { what }).await;
    }
    let command = agents::command_line(spec.kind, &spec, &own, &address, env)
        .map_err(|source| HoldError::Agent { source })?;
    let pty = Arc::new(start::start(folder, &spec, command, recording).await?);

    let (last_key, desk) = watch::channel(None);
    let (exit, exited) = watch::channel(None);
    let (to_adapter, adapter_orders) = mpsc::channel(ORDERS);
    let io = AgentIo {
        spec: spec.clone(),
        folder: folder.to_owned(),
        orders: adapter_orders,
        hooks: hook_calls,
        reports: reports.clone(),
        keys: pty.keys.clone(),
        screen: pty.screen(),
        desk: Desk::new(desk),
        pid: pty.pid,
        exited: exited.clone(),
    };
    let (server, orders) =
        Server::new(folder, &spec, pty.clone(), last_key, written.clone(), guarded);
    let closing = server.closing();
    let socket =
        server::bind().map_err(|source| HoldError::Listen { what: "the daemon", source })?;
    let (gone, adapter_gone) = oneshot::channel();
    let (left, server_left) = oneshot::channel();
    let mut work = JoinSet::new();
    work.spawn(serve_hooks);
    // Whatever a plain program prints it prints because it does something.
    let printed = (spec.kind == AgentKind::Shell).then(|| pty.printed.clone());
    work.spawn(vitals::watch(pty.pid, printed, reports.clone(), exited.clone()));
    work.spawn(adapter(spec.kind, io, exited.clone(), reports.clone(), gone));
    work.spawn(async move {
        server.serve(socket).await;
        drop(left);
    });
    introduce(folder, pty.pid)
        .map_err(|source| HoldError::System { what: "introduce itself", source })?;

    let ending = Ending { pty: pty.clone(), exited, reports: reports.clone(), written, closing };
    let session = Session {
        folder: folder.to_owned(),
        forgotten: false,
        undertaker: Undertaker::new(pty.pid),
        taken,
        to_adapter,
        reports,
        exit,
        work,
    };
    session.run(orders, signals, ending.run(adapter_gone, server_left)).await;
    Ok(())
}

/// A token for the program, as its environment. Its hash is written down before the program starts,
/// so that the daemon knows the token as soon as anybody can use it.
async fn give_token(
    url: &str,
    reports: &Reporter,
    written: &mut watch::Receiver<Written>,
) -> Result<[(String, String); 2], HoldError> {
    let token = Token::mint()
        .map_err(|source| HoldError::System { what: "make the program's token", source })?;
    let before = written.borrow_and_update().bytes;
    reports.report(AgentEvent::Token { hash: token.hash() }).await;
    // A journal that never writes again is a process that ends.
    let _ = written.wait_for(|written| written.bytes > before).await;
    Ok(token.environment(url))
}

/// Who holds this session: for people and for `doctor`; nothing decides by it.
fn introduce(folder: &Path, program: u32) -> std::io::Result<()> {
    let about = serde_json::json!({
        "pid": std::process::id(), "program": program, "started": clock::now(),
        "protocol": protocol::VERSION, "binary": env!("CARGO_PKG_VERSION"),
    });
    serde_json::to_writer(private(&folder.join(ABOUT))?, &about).map_err(Into::into)
}

struct Signals {
    child: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> Result<Self, HoldError> {
        let listen = |kind| {
            signal(kind).map_err(|source| HoldError::System { what: "listen to signals", source })
        };
        Ok(Self {
            child: listen(SignalKind::child())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }
}

/// Runs the adapter and says so when it stops before its program.
async fn adapter(
    kind: AgentKind,
    io: AgentIo,
    exited: watch::Receiver<Option<ExitStatus>>,
    reports: Reporter,
    gone: oneshot::Sender<()>,
) {
    let mut one = JoinSet::new();
    one.spawn(agents::run(kind, io));
    let ended = one.join_next().await;
    let failed = !matches!(ended, Some(Ok(())));
    if failed || exited.borrow().is_none() {
        let what = "the part of Vigie that understands this agent stopped: the session goes on \
                    at the desk, but nothing more can be sent from a chat"
            .to_owned();
        reports.report(AgentEvent::Degraded { what }).await;
    }
    drop(gone);
}

/// The owner of what the session does on its own behalf.
struct Session {
    folder: PathBuf,
    forgotten: bool,
    undertaker: Undertaker,
    taken: Taken,
    to_adapter: mpsc::Sender<Order>,
    reports: Reporter,
    exit: watch::Sender<Option<ExitStatus>>,
    work: JoinSet<()>,
}

impl Session {
    async fn run(
        mut self,
        mut orders: mpsc::Receiver<server::Asked>,
        mut signals: Signals,
        ending: impl Future<Output = ()>,
    ) {
        let mut ending = std::pin::pin!(ending);
        let mut second = interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut ending => break,
                Some(asked) = orders.recv() => match asked {
                    server::Asked::Order(order) => self.carry_out(order),
                    server::Asked::Kill => self.kill(),
                },
                _ = signals.child.recv() => {
                    self.undertaker.called();
                    self.bury();
                }
                _ = signals.terminate.recv() => { self.work.spawn(terminate(Duration::ZERO)); }
                _ = second.tick() => {
                    self.bury();
                    self.undertaker.orphans();
                    self.end_when_forgotten();
                }
                Some(_) = self.work.join_next() => {}
            }
        }
    }

    fn bury(&mut self) {
        if self.exit.borrow().is_none()
            && let Some(how) = self.undertaker.program()
        {
            self.exit.send_replace(Some(how));
        }
    }

    /// Without its folder nobody finds the session any more, and it would run for ever.
    fn end_when_forgotten(&mut self) {
        if !self.forgotten && !self.folder.join(LOCK).exists() {
            self.forgotten = true;
            tracing::error!("the session's folder was removed, so the session ends");
            self.work.spawn(terminate(Duration::ZERO));
        }
    }

    fn carry_out(&mut self, order: Order) {
        if !self.taken.first_time(order.id) {
            return;
        }
        match order.what {
            OrderKind::Kill => return self.kill(),
            OrderKind::End => {
                self.work.spawn(terminate(POLITE));
            }
            OrderKind::Prompt { .. }
            | OrderKind::Withdraw { .. }
            | OrderKind::Mail { .. }
            | OrderKind::Interrupt
            | OrderKind::Answer { .. } => {}
        }
        if let Err(refused) = self.to_adapter.try_send(order) {
            let why = match refused {
                mpsc::error::TrySendError::Full(_) => "too many orders wait for the agent already",
                mpsc::error::TrySendError::Closed(_) => "the agent takes no orders any more",
            };
            self.refuse(refused.into_inner().what, why);
        }
    }

    fn refuse(&mut self, what: OrderKind, why: &str) {
        let event = match what {
            OrderKind::Prompt { prompt, .. } => {
                let gone = self.exit.borrow().is_some();
                let reason = || RefusedPrompt::ByAgent { reason: why.into() };
                let why = if gone { RefusedPrompt::Gone } else { reason() };
                AgentEvent::PromptRefused { prompt, why }
            }
            OrderKind::Answer { request, .. } => {
                AgentEvent::Settled { request, how: Settled::Gone }
            }
            OrderKind::Mail { mail, .. } => AgentEvent::MailReturned { mail },
            OrderKind::Interrupt => AgentEvent::Degraded { what: why.into() },
            OrderKind::Withdraw { .. } | OrderKind::End | OrderKind::Kill => return,
        };
        let reports = self.reports.clone();
        self.work.spawn(async move { reports.report(event).await });
    }

    fn kill(&mut self) {
        self.work.spawn(kill_session());
    }
}

/// KILL to every process of the session. Whatever fled its group, its session and its parents is
/// still below us, because we adopt orphans.
async fn kill_session() {
    if tree::kill_all(|| tree::descendants(std::process::id())).await == Killed::Stuck {
        tracing::error!("a process of the session does not die");
    }
}

/// The session's `End`: the adapter asks the program in its own way, then TERM, then KILL.
async fn terminate(polite: Duration) {
    let root = std::process::id();
    tree::until_none(root, polite).await;
    tree::signal_all(root, Signal::SIGTERM);
    tree::signal_all(root, Signal::SIGCONT); // a stopped process would not see it
    tree::until_none(root, TERMINATING).await;
    kill_session().await;
}

/// What happens once the program is gone.
struct Ending {
    pty: Arc<Pty>,
    exited: watch::Receiver<Option<ExitStatus>>,
    reports: Reporter,
    written: watch::Receiver<Written>,
    closing: watch::Sender<Option<Vec<String>>>,
}

impl Ending {
    async fn run(mut self, adapter: oneshot::Receiver<()>, server: oneshot::Receiver<()>) {
        let how = match self.exited.wait_for(Option::is_some).await {
            Ok(status) => status.unwrap_or(ExitStatus::Unknown),
            Err(_) => ExitStatus::Unknown,
        };
        leave_nothing_behind().await;
        let mut printed = self.pty.printed.clone();
        let drained = async { while printed.changed().await.is_ok() {} };
        if timeout(DRAIN, drained).await.is_err() {
            tracing::warn!("the program's output does not end");
        }
        if timeout(ADAPTER_ENDS, adapter).await.is_err() {
            tracing::error!("the adapter did not end");
        }
        let last = last_lines(self.pty.terminal().lines());
        self.reports.report(AgentEvent::Exited { how, last: last.clone() }).await;
        // Nobody is told that it ended before it is written down that it did.
        let _ = self.written.wait_for(|written| written.closed).await;
        self.pty.finish_recording();
        server::unbind();
        self.closing.send_replace(Some(last));
        let _ = server.await;
    }
}

async fn leave_nothing_behind() {
    let root = std::process::id();
    if tree::descendants(root).is_empty() {
        return;
    }
    tree::signal_all(root, Signal::SIGHUP);
    tree::signal_all(root, Signal::SIGTERM);
    tree::until_none(root, LEFTOVERS).await;
    kill_session().await;
}

fn last_lines(mut lines: Vec<String>) -> Vec<String> {
    lines.split_off(lines.len().saturating_sub(LAST_LINES))
}
