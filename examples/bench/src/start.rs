//! What an idle Vigie takes, and how soon it is back after a crash.

use anyhow::{Context, Result};
use std::{fs, path::Path, time::Duration};
use tokio::time::sleep;
use vigie::{hold::client, store::Store};

use super::{
    commits::event,
    home::Home,
    table::{Figure, median},
};

const SESSIONS: usize = 50;
const ROWS: u32 = 1_000_000;
/// Written at once.
const BATCH: u32 = 10_000;
const RESTARTS: usize = 5;
/// After this an idle program has nothing left to set up.
pub(crate) const SETTLED: Duration = Duration::from_secs(2);

pub(crate) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let cat = "[[agent]]\nname = \"cat\"\nkind = \"shell\"\nprogram = \"cat\"\n";
    let mut home = Home::new(folder, vigie, cat)?;
    home.up().await?;
    sleep(SETTLED).await;
    let daemon = Memory::of(home.daemon_pid().context("the daemon is gone")?)?;
    let mut empty = restarts(&mut home).await?;

    home.open_session("PD-1", "cat").await?;
    home.session_is("PD-1", &["idle"]).await?;
    sleep(SETTLED).await;
    let run = home.runs().pop().context("the session has no folder")?;
    let holder = Memory::of(client::holder_pid(&run).context("the holder is gone")?)?;

    for number in 2..=SESSIONS {
        home.open_session(&format!("PD-{number}"), "cat").await?;
    }
    for number in 2..=SESSIONS {
        home.session_is(&format!("PD-{number}"), &["idle"]).await?;
    }
    home.kill();
    fill(&home.data(), ROWS).await?;
    home.up().await?;
    let mut full = restarts(&mut home).await?;
    let alive = home.runs().iter().filter(|run| client::alive(run)).count();
    anyhow::ensure!(alive == SESSIONS, "only {alive} of {SESSIONS} sessions live on");
    sleep(SETTLED).await;
    let laden = Memory::of(home.daemon_pid().context("the daemon is gone")?)?;
    home.down().await?;

    let empty = median(&mut empty);
    let what = format!("crash → ready, {SESSIONS} sessions, {ROWS} events");
    Ok(vec![
        Figure::new("idle daemon, resident", daemon.resident, "MB"),
        Figure::new("idle daemon, its own alone", daemon.private, "MB"),
        Figure::new(format!("the same with {SESSIONS} sessions, resident"), laden.resident, "MB")
            .against("without any", daemon.resident),
        Figure::new("idle holder, resident", holder.resident, "MB"),
        Figure::new("idle holder, its own alone", holder.private, "MB"),
        Figure::new(what, median(&mut full), "ms").against("an empty folder", empty),
    ])
}

/// Milliseconds from a start to an answer, after `kill -9` each.
async fn restarts(home: &mut Home) -> Result<Vec<f64>> {
    let mut all = Vec::new();
    for _ in 0..RESTARTS {
        home.kill();
        all.push(home.up().await?.as_secs_f64() * 1000.);
    }
    Ok(all)
}

/// Writes so many lines of the journal.
pub(crate) async fn fill(data: &Path, rows: u32) -> Result<()> {
    let store = Store::open(data)?;
    for batch in 0..rows / BATCH {
        let rows = (0..BATCH).map(|number| event(batch, number)).collect();
        store.write(rows).await.await??;
    }
    Ok(())
}

/// Of one process, in MB.
pub(crate) struct Memory {
    /// All that lies in memory, shared program text included.
    pub(crate) resident: f64,
    /// What would be free again if it ended.
    pub(crate) private: f64,
}

impl Memory {
    /// Source of the names: `proc_pid_smaps(5)`, whose sums are in `smaps_rollup`, in kB.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))
            .context("this system does not say how much memory a process takes")?;
        let sum = |name: &str| -> f64 {
            let lines = text.lines().filter(|line| line.starts_with(name));
            let kilobytes =
                lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
            kilobytes.sum::<f64>() * 1024. / 1e6
        };
        Ok(Self { resident: sum("Rss:"), private: sum("Private_") })
    }
}
