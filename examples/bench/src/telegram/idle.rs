//! What it takes while nobody says anything.

use anyhow::{Context, Result};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};
use telegram_emulator::{ADA, World};
use vigie::hold::client;

use super::{DEADLINE, DEMO, Figure, Town, ms, rest};
use crate::{start::Memory, table::median};

const STARTS: usize = 5;
const SESSIONS: usize = 10;
/// After this an idle program has nothing left to set up.
const SETTLED: Duration = Duration::from_secs(5);
const LOOKED_AT: Duration = Duration::from_secs(30);

pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let mut town = Town::new(folder, vigie, World::default(), DEMO)?;
    let mut polls = Vec::new();
    for _ in 0..STARTS {
        town.home.kill();
        polls.push(first_poll(&mut town).await?);
    }
    town.pair(ADA).await?;
    town.session("PD-1", "demo").await?;
    rest(SETTLED).await;
    let daemon = town.home.daemon_pid().context("the daemon is gone")?;
    let memory = Memory::of(daemon)?;
    for number in 2..=SESSIONS {
        town.session(&format!("PD-{number}"), "demo").await?;
    }
    rest(SETTLED).await;
    let holders = town.home.runs().iter().filter_map(|run| client::holder_pid(run)).collect();
    let (daemon, holders) = (share(vec![daemon]), share(holders));
    let (daemon, holders) = tokio::try_join!(daemon, holders)?;
    town.home.down().await?;
    let idle = format!("{SESSIONS} idle sessions, share of a core");
    Ok(vec![
        Figure::new("start → first poll", median(&mut polls), "ms").at_most(100.),
        Figure::new("daemon with one session, resident", memory.resident, "MB").at_most(20.),
        Figure::new("the same, its own alone", memory.private, "MB"),
        Figure::new(format!("{idle}: daemon and holders"), daemon + holders, "%").at_most(1.5),
        Figure::new(format!("{idle}: the daemon of that"), daemon, "%"),
    ])
}

/// Milliseconds from a start to the first poll.
async fn first_poll(town: &mut Town) -> Result<f64> {
    let before = town.emulator.calls_of("getUpdates").len();
    let start = Instant::now();
    town.home.up().await?;
    let poll = town.emulator.wait_value("a poll", DEADLINE, |emulator| {
        emulator.calls_of("getUpdates").get(before).map(|call| call.at)
    });
    Ok(ms(start, town.at(poll.await)))
}

/// What processes take of one core, in percent.
async fn share(pids: Vec<u32>) -> Result<f64> {
    let ran = || pids.iter().map(|pid| nanoseconds(*pid)).sum::<Result<f64>>();
    let (before, start) = (ran()?, Instant::now());
    rest(LOOKED_AT).await;
    Ok((ran()? - before) / 1e7 / start.elapsed().as_secs_f64())
}

/// How long all threads of a process ran. Source: the kernel's `sched-stats`, first number of
/// `schedstat`, in nanoseconds. Threads that ended are not in it.
fn nanoseconds(pid: u32) -> Result<f64> {
    let mut sum = 0.;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
        let ran = text.split_whitespace().next().unwrap_or_default();
        sum += ran.parse::<f64>().context("the system does not say how long a thread ran")?;
    }
    Ok(sum)
}
