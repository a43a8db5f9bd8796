//! Memory beside the agents, with sessions whose agents hold a connection to their tools.

use anyhow::{Context, Result};
use std::{path::Path, time::Duration};
use tokio::time::sleep;
use vigie::hold::client;

use super::{agent, session};
use crate::{
    home::Home,
    latency::Meeting,
    start::{Memory, SETTLED},
    table::Figure,
};

const SESSIONS: usize = 10;
const CALLS: usize = 20;

pub(super) async fn measure(folder: &Path, ours: &Path) -> Result<Vec<Figure>> {
    let meeting = Meeting::open().await?;
    let mut home = Home::new(folder, ours, &agent(ours, "caller", &meeting))?;
    home.up().await?;
    sleep(SETTLED).await;
    let daemon = home.daemon_pid().context("the daemon is gone")?;
    let before = Memory::of(daemon)?;
    let mut callers = Vec::new();
    for number in 0..SESSIONS {
        callers.push(session(&home, &format!("PD-{number}"), "caller", &meeting).await?);
    }
    for (number, caller) in callers.iter_mut().enumerate() {
        for call in 0..CALLS {
            let word = format!("call-{number}-{call}");
            caller.tell(&format!("{word} list_sessions {{}}")).await?;
            caller.says(&word).await?;
        }
    }
    sleep(Duration::from_secs(2)).await;
    let after = Memory::of(daemon)?;
    let mut holders = 0.;
    for run in home.runs() {
        let pid = client::holder_pid(&run).context("a holder is gone")?;
        holders += Memory::of(pid)?.private;
    }
    home.down().await?;
    let what = format!("daemon with {SESSIONS} sessions connected");
    Ok(vec![
        Figure::new(format!("{what}, resident"), after.resident, "MB")
            .against("without any", before.resident),
        Figure::new(format!("{what}, its own alone"), after.private, "MB")
            .against("without any", before.private),
        Figure::new(format!("their {SESSIONS} holders, their own alone"), holders, "MB"),
    ])
}
