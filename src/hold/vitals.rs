//! Whether anything goes on below a session's program, measured at its processes: so that somebody
//! notices when nothing does. Told when it begins and when it ends, never in between.
//!
//! Where the agent tells which of its tools run, only what began with one of those counts: a server
//! that it started an hour ago may be as busy as it likes, the agent itself is silent all the same.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval},
};
use vigie_core::{
    Timestamp,
    agent::{AgentEvent, ExitStatus, Running},
};

use super::clock;
#[cfg(target_os = "linux")]
use super::tree;
use crate::agents::{Calls, Reporter};

/// Between two looks at the process table.
const EVERY: Duration = Duration::from_secs(15);
/// Every command pauses now and then; telling of each pause would fill the journal.
const SILENT: Duration = Duration::from_mins(1);
/// Less than this between two looks is a server that wakes up to see that there is nothing to do. In
/// ticks of the kernel, of which there are 100 in a second. Source: proc(5), `sysconf(_SC_CLK_TCK)`.
const A_SIGN: u64 = 10;
/// Of that, in milliseconds.
#[cfg(target_os = "linux")]
const A_TICK: u64 = 10;
/// A program begins after its tool did; their times are read off clocks that differ by less than this.
const APART: chrono::TimeDelta = chrono::TimeDelta::milliseconds(200);
/// The wall's clock went so much further than ours: the machine slept.
const SLEPT: chrono::TimeDelta = chrono::TimeDelta::seconds(30);

/// Where the signs are.
pub(super) struct Signs {
    pub(super) program: u32,
    pub(super) calls: watch::Receiver<Calls>,
    /// Bytes on the terminal, where those are a sign: a full-screen program's clock is none.
    pub(super) printed: Option<watch::Receiver<u64>>,
}

/// What one look saw.
struct Look {
    /// Since the first look, without the time the machine slept.
    awake: Duration,
    wall: Timestamp,
    calls: Calls,
    below: Vec<Seen>,
    printed: u64,
}

/// A process below the program.
#[derive(Clone)]
struct Seen {
    pid: u32,
    parent: u32,
    name: String,
    /// Of the processor's time.
    ticks: u64,
    /// `None`: nobody can tell.
    born: Option<Timestamp>,
}

/// What is known from the looks so far.
#[derive(Default)]
struct Vitals {
    last: Option<(Duration, Timestamp, u64, Calls)>,
    /// When each process was first seen, and what it had used at the last look.
    known: HashMap<u32, (Timestamp, u64)>,
    /// When something last went on.
    sign: Option<(Duration, Timestamp)>,
    told: bool,
}

/// Looks until the program is gone.
pub(super) async fn watch(
    signs: Signs,
    reports: Reporter,
    mut exited: watch::Receiver<Option<ExitStatus>>,
) {
    let (begun, mut vitals) = (Instant::now(), Vitals::default());
    let mut looks = interval(EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = exited.wait_for(Option::is_some) => return,
            _ = looks.tick() => {}
        }
        let wall = clock::now();
        let look = Look {
            awake: begun.elapsed(),
            wall,
            calls: *signs.calls.borrow(),
            below: below(signs.program, wall),
            printed: signs.printed.as_ref().map_or(0, |printed| *printed.borrow()),
        };
        if let Some(event) = vitals.look(&look) {
            reports.report(event).await;
        }
    }
}

impl Vitals {
    fn look(&mut self, look: &Look) -> Option<AgentEvent> {
        let counts = look.counts();
        let sign = self.is_sign(look, &counts);
        self.known = counts
            .iter()
            .map(|seen| {
                let since = self.known.get(&seen.pid).map_or(look.wall, |(since, _)| *since);
                (seen.pid, (since, seen.ticks))
            })
            .collect();
        self.last = Some((look.awake, look.wall, look.printed, look.calls));
        if sign || self.sign.is_none() {
            self.sign = Some((look.awake, look.wall));
            return std::mem::take(&mut self.told).then_some(AgentEvent::Stirs);
        }
        let (awake, since) = self.sign?;
        if self.told || look.awake.saturating_sub(awake) < SILENT {
            return None;
        }
        self.told = true;
        let call = match look.calls {
            Calls::Since(since) => Some(since),
            Calls::None | Calls::Untold => None,
        };
        Some(AgentEvent::Silent { since, running: self.newest(look, &counts), call })
    }

    fn is_sign(&self, look: &Look, counts: &[&Seen]) -> bool {
        let Some((awake, wall, printed, calls)) = self.last else { return true };
        let passed = chrono::TimeDelta::from_std(look.awake.saturating_sub(awake));
        let slept = passed.is_ok_and(|passed| look.wall - wall - passed > SLEPT);
        let others = counts.len() != self.known.len()
            || counts.iter().any(|seen| !self.known.contains_key(&seen.pid));
        let used = |seen: &&Seen| {
            let before = self.known.get(&seen.pid).map_or(0, |(_, ticks)| *ticks);
            seen.ticks.saturating_sub(before)
        };
        let used: u64 = counts.iter().map(used).sum();
        slept || others || used >= A_SIGN || look.printed != printed || look.calls != calls
    }

    fn newest(&self, look: &Look, counts: &[&Seen]) -> Option<Running> {
        let since = |seen: &Seen| self.known.get(&seen.pid).map_or(look.wall, |(since, _)| *since);
        let newest = counts.iter().max_by_key(|seen| (since(seen), seen.pid))?;
        Some(Running { name: newest.name.clone(), since: since(newest) })
    }
}

impl Look {
    /// The processes that are the work of this moment: all, or those that began with a tool that runs.
    /// What an older one starts is as old as that.
    fn counts(&self) -> Vec<&Seen> {
        let since = match self.calls {
            Calls::Untold => return self.below.iter().collect(),
            Calls::None => return Vec::new(),
            Calls::Since(since) => since - APART,
        };
        let old = |seen: &&Seen| seen.born.is_some_and(|born| born < since);
        let mut old: HashSet<u32> = self.below.iter().filter(old).map(|seen| seen.pid).collect();
        loop {
            let of_old = |seen: &&Seen| !old.contains(&seen.pid) && old.contains(&seen.parent);
            let more: Vec<u32> = self.below.iter().filter(of_old).map(|seen| seen.pid).collect();
            if more.is_empty() {
                return self.below.iter().filter(|seen| !old.contains(&seen.pid)).collect();
            }
            old.extend(more);
        }
    }
}

/// What lives below the program, without itself: its own clock on the screen is no sign.
#[cfg(target_os = "linux")]
fn below(program: u32, now: Timestamp) -> Vec<Seen> {
    let up = uptime();
    tree::descendants(program).into_iter().filter_map(|pid| seen(pid, now, up)).collect()
}

/// For how long the machine has run, its sleep included: the clock that processes' births are told by.
/// Source: proc(5), `/proc/uptime`, in hundredths of a second.
#[cfg(target_os = "linux")]
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split_ascii_whitespace().next()?.parse().ok()?).ok()
}

/// Elsewhere nothing cheap tells how much a process has used, so nobody is said to be silent.
#[cfg(not(target_os = "linux"))]
fn below(_program: u32, _now: Timestamp) -> Vec<Seen> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let ticks = LOOKS.fetch_add(1, Ordering::Relaxed) * A_SIGN;
    vec![Seen { pid: 0, parent: 0, name: String::new(), ticks, born: None }]
}

/// Fields 2, 4, 14, 15 and 22 of `/proc/PID/stat`. Source: proc(5).
#[cfg(target_os = "linux")]
fn seen(pid: u32, now: Timestamp, up: Option<Duration>) -> Option<Seen> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let parent = u32::try_from(number(1)?).ok()?;
    let ticks = number(11)? + number(12)?;
    let after_start = Duration::from_millis(number(19)? * A_TICK);
    let born = up.and_then(|up| up.checked_sub(after_start)).map(|age| now - age);
    Some(Seen { pid, parent, name, ticks, born })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(seconds: u64) -> Timestamp {
        let start: Timestamp = "2026-11-30T08:00:00Z".parse().unwrap();
        start + Duration::from_secs(seconds)
    }

    fn look(seconds: u64, below: &[(u32, &str, u64)]) -> Look {
        let seen = |(pid, name, ticks): &(u32, &str, u64)| Seen {
            pid: *pid,
            parent: 1,
            name: (*name).into(),
            ticks: *ticks,
            born: None,
        };
        Look {
            awake: Duration::from_secs(seconds),
            wall: wall(seconds),
            calls: Calls::Untold,
            below: below.iter().map(seen).collect(),
            printed: 0,
        }
    }

    #[test]
    fn silence_is_told_once_with_what_runs_and_ends_with_a_sign() {
        let mut vitals = Vitals::default();
        let server = (7, "server", 500);
        assert_eq!(vitals.look(&look(0, &[server])), None);
        assert_eq!(vitals.look(&look(15, &[server, (9, "npm", 3)])), None, "a new one is a sign");
        for seconds in [30, 45, 60] {
            assert_eq!(vitals.look(&look(seconds, &[server, (9, "npm", 5)])), None);
        }
        let running = Some(Running { name: "npm".into(), since: wall(15) });
        let silent = AgentEvent::Silent { since: wall(15), running, call: None };
        assert_eq!(vitals.look(&look(75, &[server, (9, "npm", 6)])), Some(silent));
        assert_eq!(vitals.look(&look(90, &[server, (9, "npm", 7)])), None, "once");
        let stirs = vitals.look(&look(105, &[server, (9, "npm", 17)]));
        assert_eq!(stirs, Some(AgentEvent::Stirs));
        assert_eq!(vitals.look(&look(120, &[server, (9, "npm", 99)])), None);
    }

    #[test]
    fn what_prints_goes_on_and_so_does_a_machine_that_slept() {
        let mut vitals = Vitals::default();
        for seconds in (0..300).step_by(15) {
            let look = Look { printed: seconds, ..look(seconds, &[]) };
            assert_eq!(vitals.look(&look), None);
        }
        let mut vitals = Vitals::default();
        assert_eq!(vitals.look(&look(0, &[])), None);
        let woken = Look { wall: wall(5 * 3600), ..look(59, &[]) };
        assert_eq!(vitals.look(&woken), None);
        let after = Look { wall: wall(5 * 3600 + 15), ..look(74, &[]) };
        assert_eq!(vitals.look(&after), None, "its time begins anew");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_says_what_it_has_used() {
        let own = seen(std::process::id(), clock::now(), uptime()).unwrap();
        assert!(!own.name.is_empty());
        assert!(own.born.unwrap() <= clock::now());
        assert!(seen(u32::MAX, clock::now(), uptime()).is_none());
    }

    /// Looks every quarter of a minute for that long, and returns what was told.
    fn looks(vitals: &mut Vitals, from: u64, seen: &dyn Fn(u64) -> Look) -> Vec<AgentEvent> {
        (from..from + 120).step_by(15).filter_map(|at| vitals.look(&seen(at))).collect()
    }

    #[test]
    fn a_busy_server_from_before_hides_no_silence_and_a_busy_tool_is_none() {
        // The server was started an hour ago, and never rests; it starts helpers all the time.
        let seen = |seconds: u64, tool: Option<u64>| {
            let busy = |pid, parent, born| Seen {
                pid,
                parent,
                name: "node".into(),
                ticks: seconds * 90,
                born: Some(born),
            };
            let hour = chrono::TimeDelta::hours(1);
            let mut below = vec![busy(7, 1, wall(0) - hour)];
            below.push(busy(1000 + u32::try_from(seconds).unwrap(), 7, wall(seconds)));
            below.extend(tool.map(|ticks| Seen {
                ticks,
                name: "cargo".into(),
                ..busy(9, 1, wall(1))
            }));
            let calls = tool.map_or(Calls::None, |_| Calls::Since(wall(1)));
            Look { calls, below, ..look(seconds, &[]) }
        };
        let mut thinks = Vitals::default();
        let told = looks(&mut thinks, 0, &|at| seen(at, None));
        assert_eq!(told, [AgentEvent::Silent { since: wall(0), running: None, call: None }]);

        let told = looks(&mut thinks, 120, &|at| seen(at, Some(at * 50)));
        assert_eq!(told, [AgentEvent::Stirs], "a tool that works");
        let told = looks(&mut thinks, 240, &|at| seen(at, Some(100_000)));
        let running = Some(Running { name: "cargo".into(), since: wall(120) });
        let silent = AgentEvent::Silent { since: wall(240), running, call: Some(wall(1)) };
        assert_eq!(told, [silent], "a tool that hangs");
    }

    #[test]
    fn a_tool_that_begins_is_a_sign_though_no_program_does() {
        let mut vitals = Vitals::default();
        let none = |at| Look { calls: Calls::None, ..look(at, &[]) };
        assert_eq!(looks(&mut vitals, 0, &none).len(), 1);
        let since = wall(119);
        let fetches = |at| Look { calls: Calls::Since(since), ..look(at, &[]) };
        let silent = AgentEvent::Silent { since: wall(120), running: None, call: Some(since) };
        assert_eq!(looks(&mut vitals, 120, &fetches), [AgentEvent::Stirs, silent]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn real_programs_are_told_apart_by_when_they_began() {
        use std::process::{Child, Command, Stdio};
        let spins = |script: &str| -> Child {
            Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap()
        };
        let own = std::process::id();
        let mut server = spins("while :; do :; done");
        let used = |pid: u32| seen(pid, clock::now(), uptime()).map_or(0, |seen| seen.ticks);
        let end = Instant::now() + Duration::from_mins(1);
        while used(server.id()) < 50 && Instant::now() < end {
            std::thread::yield_now();
        }
        let since = clock::now();
        let mut tool = spins("while :; do :; done");
        while used(tool.id()) < A_SIGN && Instant::now() < end {
            std::thread::yield_now();
        }
        let wall = clock::now();
        let below = below(own, wall);
        let pids = |calls| {
            let look =
                Look { awake: Duration::ZERO, wall, calls, below: below.clone(), printed: 0 };
            look.counts().iter().map(|seen| seen.pid).collect::<Vec<_>>()
        };
        let (all, during) = (pids(Calls::Untold), pids(Calls::Since(since)));
        for child in [&mut server, &mut tool] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(all.contains(&server.id()) && all.contains(&tool.id()));
        assert!(during.contains(&tool.id()) && !during.contains(&server.id()), "{during:?}");
        assert!(pids(Calls::None).is_empty());
    }
}
