//! Whether anything goes on below a session's program, measured at its processes: so that somebody
//! notices when nothing does. Told when it begins and when it ends, never in between.

use std::{collections::HashMap, time::Duration};
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
use crate::agents::Reporter;

/// Between two looks at the process table.
const EVERY: Duration = Duration::from_secs(15);
/// Every command pauses now and then; telling of each pause would fill the journal.
const SILENT: Duration = Duration::from_mins(1);
/// Less than this between two looks is a server that wakes up to see that there is nothing to do. In
/// ticks of the kernel, of which there are 100 in a second. Source: proc(5), `sysconf(_SC_CLK_TCK)`.
const A_SIGN: u64 = 10;
/// The wall's clock went so much further than ours: the machine slept.
const SLEPT: chrono::TimeDelta = chrono::TimeDelta::seconds(30);

/// What one look saw.
struct Look {
    /// Since the first look, without the time the machine slept.
    awake: Duration,
    wall: Timestamp,
    below: Vec<Seen>,
    /// Bytes on the terminal, where those are a sign: a full-screen program's clock is none.
    printed: u64,
}

/// A process below the program.
#[derive(Clone)]
struct Seen {
    pid: u32,
    name: String,
    /// Of the processor's time.
    ticks: u64,
}

/// What is known from the looks so far.
#[derive(Default)]
struct Vitals {
    last: Option<(Duration, Timestamp, u64)>,
    /// When each process was first seen, and what it had used at the last look.
    known: HashMap<u32, (Timestamp, u64)>,
    /// When something last went on.
    sign: Option<(Duration, Timestamp)>,
    told: bool,
}

/// Looks until the program is gone.
pub(super) async fn watch(
    program: u32,
    printed: Option<watch::Receiver<u64>>,
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
        let look = Look {
            awake: begun.elapsed(),
            wall: clock::now(),
            below: below(program),
            printed: printed.as_ref().map_or(0, |printed| *printed.borrow()),
        };
        if let Some(event) = vitals.look(&look) {
            reports.report(event).await;
        }
    }
}

impl Vitals {
    fn look(&mut self, look: &Look) -> Option<AgentEvent> {
        let sign = self.is_sign(look);
        self.known = look
            .below
            .iter()
            .map(|seen| {
                let since = self.known.get(&seen.pid).map_or(look.wall, |(since, _)| *since);
                (seen.pid, (since, seen.ticks))
            })
            .collect();
        self.last = Some((look.awake, look.wall, look.printed));
        if sign || self.sign.is_none() {
            self.sign = Some((look.awake, look.wall));
            return std::mem::take(&mut self.told).then_some(AgentEvent::Stirs);
        }
        let (awake, since) = self.sign?;
        if self.told || look.awake.saturating_sub(awake) < SILENT {
            return None;
        }
        self.told = true;
        Some(AgentEvent::Silent { since, running: self.newest(look) })
    }

    fn is_sign(&self, look: &Look) -> bool {
        let Some((awake, wall, printed)) = self.last else { return true };
        let passed = chrono::TimeDelta::from_std(look.awake.saturating_sub(awake));
        let slept = passed.is_ok_and(|passed| look.wall - wall - passed > SLEPT);
        let others = look.below.len() != self.known.len()
            || look.below.iter().any(|seen| !self.known.contains_key(&seen.pid));
        let used = |seen: &Seen| {
            let before = self.known.get(&seen.pid).map_or(0, |(_, ticks)| *ticks);
            seen.ticks.saturating_sub(before)
        };
        let used: u64 = look.below.iter().map(used).sum();
        slept || others || used >= A_SIGN || look.printed != printed
    }

    fn newest(&self, look: &Look) -> Option<Running> {
        let since = |seen: &Seen| self.known.get(&seen.pid).map_or(look.wall, |(since, _)| *since);
        let newest = look.below.iter().max_by_key(|seen| (since(seen), seen.pid))?;
        Some(Running { name: newest.name.clone(), since: since(newest) })
    }
}

/// What lives below the program, without itself: its own clock on the screen is no sign.
#[cfg(target_os = "linux")]
fn below(program: u32) -> Vec<Seen> {
    tree::descendants(program).into_iter().filter_map(seen).collect()
}

/// Elsewhere nothing cheap tells how much a process has used, so nobody is said to be silent.
#[cfg(not(target_os = "linux"))]
fn below(_program: u32) -> Vec<Seen> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let ticks = LOOKS.fetch_add(1, Ordering::Relaxed) * A_SIGN;
    vec![Seen { pid: 0, name: String::new(), ticks }]
}

/// Fields 2, 14 and 15 of `/proc/PID/stat`. Source: proc(5).
#[cfg(target_os = "linux")]
fn seen(pid: u32) -> Option<Seen> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = after.split_ascii_whitespace().skip(11);
    let used = |field: Option<&str>| field?.parse::<u64>().ok();
    let ticks = used(fields.next())? + used(fields.next())?;
    Some(Seen { pid, name, ticks })
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
            name: (*name).into(),
            ticks: *ticks,
        };
        Look {
            awake: Duration::from_secs(seconds),
            wall: wall(seconds),
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
        let silent = AgentEvent::Silent { since: wall(15), running };
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
        let own = seen(std::process::id()).unwrap();
        assert!(!own.name.is_empty());
        assert!(seen(u32::MAX).is_none());
    }
}
