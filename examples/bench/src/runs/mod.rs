//! What runs of workflows cost: steps one after the other and side by side, long runs, runs that sleep,
//! and files being checked.

mod check;
mod long;
mod sleeping;
mod steps;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};
use tokio::time::sleep;

use super::{
    home::{DEADLINE, Home},
    table::Figure,
};

/// What is measured of it, in this order.
pub(crate) const PARTS: [&str; 4] = ["check", "steps", "long", "sleeping"];

pub(crate) async fn measure(part: &str, folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    match part {
        "check" => check::measure(),
        "steps" => steps::measure(folder, vigie).await,
        "long" => long::measure(folder, vigie).await,
        _ => sleeping::measure(folder, vigie).await,
    }
}

/// A daemon that knows these workflows, by name and text, and takes as many runs and steps as we like.
async fn up(folder: &Path, vigie: &Path, workflows: &[(&str, String)]) -> Result<Home> {
    let own = folder.join("workflows");
    fs::create_dir_all(&own)?;
    for (name, text) in workflows {
        fs::write(own.join(format!("{name}.yaml")), text)?;
    }
    let bounds = "[workflows]\nhost_steps = 8\nproject_steps = 8\nopen_runs = 2000\n";
    let mut home = Home::new(folder, vigie, bounds)?;
    home.up().await?;
    Ok(home)
}

/// Begins a run and gives its name.
async fn begin(home: &Home, workflow: &str) -> Result<String> {
    let run: Value = home.desk().post("/runs", &json!({ "workflow": workflow })).await?;
    Ok(run["name"].as_str().context("a run has no name")?.to_owned())
}

/// Until the run of that name ended well, asked for so often that asking costs next to nothing.
async fn ended(home: &Home, name: &str) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(10);
    let end = Instant::now() + DEADLINE;
    loop {
        let runs: Value = home.desk().get("/runs?open=true").await?;
        let open = runs.as_array().context("there is no list of runs")?;
        if !open.iter().any(|run| run["name"] == name) {
            break;
        }
        if Instant::now() > end {
            bail!("{name} does not end:\n{}", home.log());
        }
        sleep(LOOK).await;
    }
    let run: Value = home.desk().get(&format!("/runs/{name}")).await?;
    let state = run["state"].as_str().unwrap_or_default();
    anyhow::ensure!(state == "succeeded", "{name} is {state}: {run:.400}");
    Ok(())
}

/// Seconds of the processor that a process took, with all its children that ended.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    /// `proc_pid_stat(5)`: utime, stime, cutime and cstime, in ticks of a hundredth of a second.
    const FIELDS: std::ops::Range<usize> = 11..15;
    const TICKS: f64 = 100.;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("the daemon is gone")?;
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> =
        after_name.split_whitespace().map(|field| field.parse().unwrap_or_default()).collect();
    Ok(fields.get(FIELDS).context("the system says nothing of it")?.iter().sum::<f64>() / TICKS)
}
