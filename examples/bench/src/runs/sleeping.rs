use anyhow::{Context, Result};
use std::{path::Path, time::Duration};
use tokio::time::sleep;

use super::{
    super::{start::Memory, table::Figure},
    begin, cpu_seconds, up,
};

const RUNS: usize = 1_000;
const WHILE: Duration = Duration::from_secs(20);
/// What such runs may take of one core, in hundredths.
const AT_MOST: f64 = 0.2;

pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let text = "name: sleeper\nlimits: {concurrency: 1000}\nsteps:\n  - {id: nap, sleep: 1h}\n";
    let mut home = up(folder, vigie, &[("sleeper", text.to_owned())]).await?;
    let daemon = home.daemon_pid().context("the daemon is gone")?;
    sleep(WHILE / 10).await;
    let idle = percent(daemon).await?;
    for _ in 0..RUNS {
        begin(&home, "sleeper").await?;
    }
    // What shows the progress of so many has settled by then.
    sleep(WHILE).await;
    let asleep = percent(daemon).await?;
    let memory = Memory::of(daemon)?.private;
    home.kill();
    let back = home.up().await?;
    home.down().await?;
    Ok(vec![
        Figure::new("daemon without runs, of a core", idle, "%"),
        Figure::new(format!("daemon with {RUNS} runs asleep, of a core"), asleep, "%")
            .at_most(AT_MOST),
        Figure::new("its memory then", memory, "MB"),
        Figure::new("crash → ready with them", back.as_secs_f64() * 1000., "ms"),
    ])
}

async fn percent(daemon: u32) -> Result<f64> {
    let before = cpu_seconds(daemon)?;
    sleep(WHILE).await;
    Ok((cpu_seconds(daemon)? - before) / WHILE.as_secs_f64() * 100.)
}
