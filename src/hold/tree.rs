//! The processes of a session: finding them all, ending them all.

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use vigie_core::agent::ExitStatus;

/// The variable that marks every process of a session; its value is the session's id.
pub(crate) const MARK: &str = "VIGIE_SESSION_ID";

/// Between two looks at the process table while killing.
const SWEEP: Duration = Duration::from_millis(20);
/// A process that survives KILL this long sits in the kernel; nothing more can be done.
const GIVE_UP: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) dead: bool,
}

/// Whether all processes are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Killed {
    All,
    /// Some do not die.
    Stuck,
}

/// Every process of the machine that we may see.
#[cfg(target_os = "linux")]
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(process)
        .collect()
}

/// One process; `None` when there is no such.
#[cfg(target_os = "linux")]
pub(crate) fn process(pid: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets and may hold anything, brackets too.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    Some(Process { pid, parent, dead: matches!(state, "Z" | "X") })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn processes() -> Vec<Process> {
    let listed = std::process::Command::new("ps").args(["-axo", "pid=,ppid=,stat="]).output();
    let text = listed.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (pid, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            Some(Process { pid, parent, dead: fields.next()?.starts_with('Z') })
        })
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn process(pid: u32) -> Option<Process> {
    processes().into_iter().find(|process| process.pid == pid)
}

/// The living below `root`, without itself.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
    for process in processes() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if seen.insert(child.pid) {
                open.push(child.pid);
                if !child.dead {
                    found.push(child.pid);
                }
            }
        }
    }
    found
}

/// Sends `signal` to everything below `root` once.
pub(crate) fn signal_all(root: u32, signal: Signal) {
    for pid in descendants(root) {
        let _ = kill(as_pid(pid), signal); // gone already is what we want
    }
}

/// KILL to everything `find` finds, again and again until it finds nothing.
pub(crate) async fn kill_all(find: impl Fn() -> Vec<u32>) -> Killed {
    let deadline = Instant::now() + GIVE_UP;
    loop {
        let living = find();
        if living.is_empty() {
            return Killed::All;
        }
        if Instant::now() >= deadline {
            return Killed::Stuck;
        }
        for pid in living {
            let _ = kill(as_pid(pid), Signal::SIGKILL);
        }
        sleep(SWEEP).await;
    }
}

/// Waits until nothing lives below `root`, at most `patience`.
pub(crate) async fn until_none(root: u32, patience: Duration) {
    let deadline = Instant::now() + patience;
    while !descendants(root).is_empty() && Instant::now() < deadline {
        sleep(SWEEP).await;
    }
}

/// The processes whose environment carries the mark of `session`: what is left when a holder was
/// killed. Linux only; elsewhere there is no way to see another process's environment.
pub(crate) fn marked(session: &str) -> Vec<u32> {
    let mark = format!("{MARK}={session}");
    let carries = |pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let living = processes().into_iter().filter(|process| !process.dead);
    living.map(|process| process.pid).filter(|pid| carries(*pid)).collect()
}

/// Buries dead children: the program at once, adopted orphans after they were seen dead twice.
/// In between, whoever in this process started a child has had the time to wait for it.
pub(crate) struct Undertaker {
    program: u32,
    seen: BTreeSet<u32>,
    /// A child died, or was dead at the last look: the process table is worth reading.
    news: bool,
}

impl Undertaker {
    pub(crate) fn new(program: u32) -> Self {
        Self { program, seen: BTreeSet::new(), news: true }
    }

    /// A child of ours died.
    pub(crate) fn called(&mut self) {
        self.news = true;
    }

    /// How the program ended, once.
    pub(crate) fn program(&self) -> Option<ExitStatus> {
        match waitpid(as_pid(self.program), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => Some(ExitStatus::Code { code }),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Some(ExitStatus::Signal { signal: signal as i32 })
            }
            Err(Errno::ECHILD) => Some(ExitStatus::Unknown),
            Ok(_) | Err(_) => None,
        }
    }

    /// Call it about once a second.
    pub(crate) fn orphans(&mut self) {
        if !self.news {
            return;
        }
        let ours = std::process::id();
        let dead: BTreeSet<u32> = processes()
            .into_iter()
            .filter(|process| process.dead && process.parent == ours)
            .map(|process| process.pid)
            .filter(|pid| *pid != self.program)
            .collect();
        for pid in dead.intersection(&self.seen) {
            let _ = waitpid(as_pid(*pid), Some(WaitPidFlag::WNOHANG));
        }
        self.news = !dead.is_empty();
        self.seen = dead;
    }
}

pub(crate) fn as_pid(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).expect("a process id fits 31 bits"))
}
