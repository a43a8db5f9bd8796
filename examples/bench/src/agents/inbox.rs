//! An inbox in which nothing waits, and two hundred thousand messages lie that are read.

use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

use super::{agent, rows, session};
use crate::{
    home::Home,
    latency::{Agent, Meeting, ms},
    table::{Figure, percentile},
};

const OLD: u32 = 200_000;
const CALLS: usize = 300;
/// What we aim at, in milliseconds.
const AIM: f64 = 1.;

pub(super) async fn measure(folder: &Path, ours: &Path) -> Result<Vec<Figure>> {
    let meeting = Meeting::open().await?;
    let mut home = Home::new(folder, ours, &agent(ours, "caller", &meeting))?;
    home.up().await?;
    let mut caller = session(&home, "PD-1", "caller", &meeting).await?;
    let mut fresh = reads(&mut caller, "fresh").await?;

    let shown: Value = home.desk().get("/sessions/PD-1").await?;
    let id = shown["id"].as_str().context("the session has no id")?.parse()?;
    home.kill();
    rows::read_mail(&home.data(), id, "PD-1", OLD).await?;
    home.up().await?;
    home.session_is("PD-1", &["idle"]).await?;
    caller.tell("again connect").await?;
    caller.says("again").await?;
    let mut old = reads(&mut caller, "old").await?;
    home.down().await?;
    let mut figure = |hundredth| {
        let value = percentile(&mut old, hundredth);
        let what = format!("empty read_messages, {OLD} old ones, p{hundredth} of {CALLS}");
        let plain = percentile(&mut fresh, hundredth);
        [
            Figure::new(&what, value, "ms").at_most(AIM),
            Figure::new(what, value, "ms").against("no old ones", plain),
        ]
    };
    Ok([50, 95].map(&mut figure).into_iter().flatten().collect())
}

/// Milliseconds of each call.
async fn reads(caller: &mut Agent, what: &str) -> Result<Vec<f64>> {
    let mut samples = Vec::new();
    for number in 0..CALLS {
        let word = format!("{what}-{number}");
        caller.tell(&format!("{word} read_messages {{}}")).await?;
        samples.push(ms(caller.says(&format!("{word}-took")).await?));
    }
    Ok(samples)
}
