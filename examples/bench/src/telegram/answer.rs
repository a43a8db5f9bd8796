//! An answer on its way out, without what the agent itself takes: from its hook to the phone.

use anyhow::{Context, Result};
use std::{
    fs::File,
    path::Path,
    time::{Duration, Instant},
};
use telegram_emulator::ADA;

use super::{APART, Figure, Town, echo::Echo, p50_p95_against, rest};
use crate::{commits, latency::Meeting};

const SAMPLES: usize = 40;
/// A turn from the desk takes two calls of a private chat, which bears one a second.
const SPACED: Duration = Duration::from_millis(2600);
/// The holder's journal, the daemon's database, the bridge's: each is on disk before the next acts.
const DISKS: usize = 3;

pub(super) async fn measure(folder: &Path, ours: &Path) -> Result<Vec<Figure>> {
    let meeting = Meeting::open().await?;
    let agent = format!(
        "[[agent]]\nname = \"answer\"\nkind = \"demo\"\nargs = [\"--answer\", \"{}\"]\n\n",
        meeting.address
    );
    let town = Town::open(folder, ours, &agent, ADA).await?;
    town.home.open_session("PD-285", "answer").await?;
    let mut agent = meeting.agent().await?;
    town.home.session_is("PD-285", &["idle"]).await?;
    let echo = Echo::start().await?;
    let mut disk = File::create(folder.join("syncs"))?;
    let (mut back, mut echoes, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..SAMPLES {
        let next = Instant::now() + SPACED + Duration::from_millis(APART[number % APART.len()]);
        echoes.push(echo.sample(&format!("echo-{number:03}")).await);
        syncs.push(commit(&mut disk)?);
        let word = format!("word-{number:03}");
        agent.tell(&word).await?;
        let said = u64::try_from(agent.says(&word).await?).context("a time before 1970")?;
        let shown = town.emulator.wait_message(ADA, None, &format!("{word} is done")).await;
        let late = shown.at.saturating_sub(Duration::from_nanos(said));
        back.push(late.as_secs_f64() * 1000.);
        rest(next.saturating_duration_since(Instant::now())).await;
    }
    town.home.down().await?;
    let mut both: Vec<f64> = echoes.iter().zip(&syncs).map(|(echo, sync)| echo + sync).collect();
    let what = "agent's Stop hook → on the phone";
    let mut figures = Vec::new();
    figures.extend(p50_p95_against(what, &mut back, "bare echo bot", &mut echoes, Some(5.)));
    let plainer = format!("{DISKS} × 4 kB and fdatasync, and an echo");
    figures.extend(p50_p95_against(what, &mut back, &plainer, &mut both, None));
    Ok(figures)
}

/// Milliseconds for as many writes in series as lie on the way.
fn commit(disk: &mut File) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..DISKS {
        commits::sync_once(disk)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1000.)
}
