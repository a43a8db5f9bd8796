//! What a turn of half a minute costs of a chat's budget.

use anyhow::Result;
use scripted_model::Model;
use std::{path::Path, time::Duration};
use telegram_emulator::AGENTS;
use tokio::time::timeout;

use super::{DEADLINE, Figure, Town, claude::Setting, counts, rest};

const TOOLS: u32 = 10;
const TURN: Duration = Duration::from_secs(28);
/// Whatever belongs to the turn was said by then.
const AFTER: Duration = Duration::from_secs(3);

pub(super) async fn measure(folder: &Path, vigie: &Path, program: &Path) -> Result<Vec<Figure>> {
    let model = Model::start().await?;
    let setting = Setting::new(folder, program, &model)?;
    // In a group, where a topic can be renamed too.
    let town = Town::open(folder, vigie, &setting.agent(), AGENTS).await?;
    town.session("PD-285", "cc").await?;
    rest(AFTER).await;
    model.thinks(TURN / (TOOLS + 1));
    let began = town.emulator.clock().now();
    let tools: Vec<String> = (1..=TOOLS).map(|number| format!("bash echo tide {number}")).collect();
    let prompt = format!("[PD-285] turn => {} then say the turn is over", tools.join(" then "));
    town.emulator.send(AGENTS, telegram_emulator::ADA, &prompt).now();
    timeout(DEADLINE, model.asked("tide 10")).await?;
    let end = town.emulator.wait_message(AGENTS, None, "the turn is over").await;
    rest(AFTER).await;
    let calls = town.emulator.calls();
    let counted: Vec<&str> = calls
        .iter()
        .filter(|call| call.at >= began && counts(&call.method))
        .map(|call| call.method.as_str())
        .collect();
    town.home.down().await?;
    let long = end.at.saturating_sub(began).as_secs_f64();
    let what = format!("a turn of {long:.0} s with {TOOLS} tools ({})", counted.join(", "));
    let count = u32::try_from(counted.len()).unwrap_or(u32::MAX);
    Ok(vec![Figure::new(what, f64::from(count), "calls").at_most(4.)])
}
