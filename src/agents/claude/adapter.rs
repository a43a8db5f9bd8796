//! The task that runs beside one Claude Code: orders, hooks and looks go into the [`Machine`],
//! keys and reports come out.

use nix::{
    libc::O_NONBLOCK,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{
    collections::BTreeMap,
    env, fs,
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};
use vigie_core::{
    agent::{AgentEvent, OrderKind},
    ledger::{MOST_AT_ONCE, Used},
};

use super::{
    machine::{Machine, View},
    records::Records,
    registry::{self, Registry, Status},
    typist::Act,
};
use crate::agents::{
    AgentIo, Calls, Conversation, HookCall,
    demo::INTERRUPTED_EVENT,
    hooks::{Hook, HookEvent},
};
use crate::clock::Clock;

/// Between two looks while something is on its way; 50 ms polling saw every change.
const LOOK_OFTEN: Duration = Duration::from_millis(100);
/// Between two looks otherwise.
const LOOK_SELDOM: Duration = Duration::from_millis(250);
/// After the program's end, how long its last hooks and its last words may take.
const LAST_WORDS: Duration = Duration::from_millis(400);
/// Between two looks into its records when no hook calls: subagents work on in the background.
const READ_EVERY: Duration = Duration::from_secs(1);
/// Longest plan that is read from its file, in bytes.
const LONGEST_PLAN: u64 = 1024 * 1024;

/// Runs until the program has exited and everything is reported.
pub async fn run(io: AgentIo) {
    let config = config_folder(&io.spec.env);
    let source = Source::Registry(Registry::new(&config, io.pid));
    drive(io, source).await;
}

/// The program's: what the configuration sets, else what it inherited from us.
pub(super) fn config_folder(set: &BTreeMap<String, String>) -> PathBuf {
    let names = ["CLAUDE_CONFIG_DIR", "HOME"];
    let value = |name: &str| set.get(name).cloned().or_else(|| env::var(name).ok());
    let env = names.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect();
    registry::config_folder(&env)
}

/// Where an agent's status comes from.
pub(in crate::agents) enum Source {
    Registry(Registry),
    /// An agent that keeps no registry: what its hooks let one conclude.
    Hooks(Option<Status>),
}

impl Source {
    fn hear(&mut self, call: &HookCall) {
        let Self::Hooks(status) = self else { return };
        let Some(event) = HookEvent::read(&call.event) else { return };
        *status = match event.what {
            Hook::SessionStarted { .. } | Hook::Stopped { .. } | Hook::StopFailed { .. } => {
                Some(Status::Idle)
            }
            Hook::PromptSubmitted { .. } | Hook::ToolEnded { .. } | Hook::Batch { .. } => {
                Some(Status::Busy)
            }
            Hook::PermissionRequested { .. } => Some(Status::Waiting("permission prompt".into())),
            Hook::SessionEnded => None,
            Hook::Other { name } if name == INTERRUPTED_EVENT => Some(Status::Idle),
            Hook::ToolStarting { .. }
            | Hook::Compacting
            | Hook::Status { .. }
            | Hook::Other { .. } => return,
        };
    }

    /// A request was answered by us, which no hook tells.
    fn answered(&mut self) {
        if let Self::Hooks(status @ Some(Status::Waiting(_))) = self {
            *status = Some(Status::Busy);
        }
    }

    fn read(&self) -> (Option<Status>, Option<String>) {
        match self {
            Self::Registry(registry) => {
                registry.read().map_or((None, None), |entry| (entry.status(), entry.version))
            }
            Self::Hooks(status) => (status.clone(), None),
        }
    }
}

/// Joins an agent that speaks Claude Code's hooks with the machine that understands them.
pub(in crate::agents) async fn drive(mut io: AgentIo, mut source: Source) {
    let conversation = match &io.spec.conversation {
        Conversation::New { id } | Conversation::Resume { id } => id.clone(),
    };
    let started = AgentEvent::Started {
        pid: io.pid,
        version: None,
        conversation: Some(conversation.clone()),
    };
    io.reports.report(started).await;
    let mut machine = Machine::new(Instant::now(), Some(conversation));
    let mut records = Records::new(io.spec.env.clone(), io.spec.session.made());
    let mut last_read = Instant::now();
    let mut last_key = io.desk.last_key();
    let mut printed = io.screen.printed();
    let mut calling = None;
    io.calls.send_replace(Calls::None);
    while io.exited.borrow().is_none() {
        let pace = if machine.is_pending() { LOOK_OFTEN } else { LOOK_SELDOM };
        let mut heard = false;
        tokio::select! {
            Some(call) = io.hooks.recv() => {
                source.hear(&call);
                machine.hook(Instant::now(), call, plan_file);
                heard = true;
            }
            Some(order) = io.orders.recv() => {
                if order.what == OrderKind::End {
                    leave(io.pid);
                }
                if matches!(order.what, OrderKind::Answer { .. }) {
                    source.answered();
                }
                machine.order(Instant::now(), order);
            }
            gone = io.exited.changed() => {
                if gone.is_err() {
                    break;
                }
            }
            // Once nothing is printed any more, the branch is never ready.
            Ok(()) = printed.changed(), if machine.awaits_screen() => {}
            () = sleep(pace) => {}
        }
        let (status, version) = source.read();
        let desk_key = io.desk.last_key();
        let view = View {
            status,
            version,
            screen: &io.screen.lines(),
            desk_typed: std::mem::replace(&mut last_key, desk_key) != desk_key,
        };
        machine.look(Instant::now(), &view);
        // Before what a hook told is: an answer is written down before its turn is said to be over.
        if heard || last_read.elapsed() >= READ_EVERY {
            last_read = Instant::now();
            follow(&mut records, &machine);
            report_usage(&io, &records.read()).await;
        }
        carry_out(&io, &mut machine).await;
        if calling != machine.calling_since() {
            calling = machine.calling_since();
            let since = |at: Instant| Calls::Since(Clock::system().now() - at.elapsed());
            io.calls.send_replace(calling.map_or(Calls::None, since));
        }
    }
    // Its last hooks were sent before it left; what comes later nobody sends.
    while let Ok(Some(call)) = timeout(LAST_WORDS, io.hooks.recv()).await {
        machine.hook(Instant::now(), call, plan_file);
    }
    io.orders.close();
    while let Some(order) = io.orders.recv().await {
        machine.order(Instant::now(), order);
    }
    machine.gone();
    follow(&mut records, &machine);
    report_usage(&io, &records.read_on()).await;
    carry_out(&io, &mut machine).await;
}

fn follow(records: &mut Records, machine: &Machine) {
    if let Some((conversation, transcript)) = machine.transcript() {
        records.follow(conversation, transcript);
    }
}

/// Tells what its records have that was not told.
async fn report_usage(io: &AgentIo, used: &[Used]) {
    for entries in used.chunks(MOST_AT_ONCE) {
        io.reports.report(AgentEvent::Usage { entries: entries.to_vec() }).await;
    }
}

/// Asks the program to leave in its own way: TERM, upon which it ends its tools, says goodbye to
/// its hooks and exits within half a second. INT would only interrupt, `/exit` needs a free prompt.
fn leave(pid: u32) {
    let group = i32::try_from(pid).map(Pid::from_raw);
    // When it is gone already, that is what was wanted.
    let _ = group.map(|group| killpg(group, Signal::SIGTERM));
}

async fn carry_out(io: &AgentIo, machine: &mut Machine) {
    for act in machine.acts() {
        match act {
            // A terminal that is closed means an exit, and that comes by itself.
            Act::Keys(keys) => drop(io.keys.write(keys).await),
            Act::Report(event) => io.reports.report(event).await,
        }
    }
}

/// The plan's text. The path is the agent's word: only a Markdown file of sensible size is read.
fn plan_file(path: &str) -> Option<String> {
    if Path::new(path).extension().is_none_or(|kind| kind != "md") {
        return None;
    }
    // Not blocking: what is named like a plan may be a pipe.
    let file = fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut plan = Vec::new();
    file.take(LONGEST_PLAN).read_to_end(&mut plan).ok()?;
    Some(String::from_utf8_lossy(&plan).into_owned())
}
