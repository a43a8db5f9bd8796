//! A full forum: eight agents at work use up what a group bears, and a ninth needs a person.

use anyhow::{Context, Result};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use telegram_emulator::{ADA, AGENTS, Shown};
use tokio::time::timeout;

use super::{APART, DEADLINE, Figure, Town, rest};
use crate::{latency::Meeting, table::percentile};

const WORKERS: usize = 8;
const CARDS: usize = 20;
/// Between two questions; the group bears twenty calls a minute, and a card takes two.
const SPACED: Duration = Duration::from_secs(9);
/// So long nothing is asked at first: until all topics are there.
const TOPICS: Duration = Duration::from_secs(65);
/// A card that is not there by then never comes.
const MISSING: Duration = Duration::from_mins(1);

pub(super) async fn measure(folder: &Path, ours: &Path) -> Result<Vec<Figure>> {
    let asks = Meeting::open().await?;
    let agents = format!(
        "[[agent]]\nname = \"work\"\nkind = \"demo\"\nargs = [\"--work\"]\n\n\
         [[agent]]\nname = \"ask\"\nkind = \"demo\"\nargs = [\"{}\"]\n\n",
        asks.address
    );
    let town = Town::open(folder, ours, &agents, AGENTS).await?;
    town.home.open_session("PD-9", "ask").await?;
    let mut agent = asks.agent().await?;
    town.home.session_is("PD-9", &["idle"]).await?;
    for number in 1..=WORKERS {
        town.home.open_session(&format!("PD-{number}"), "work").await?;
    }
    rest(TOPICS).await;
    let topics = town.emulator.topics(AGENTS).len();
    let before = town.emulator.calls().len();
    let (mut cards, mut missing) = (Vec::new(), 0);
    for number in 0..CARDS {
        let next = Instant::now() + SPACED + Duration::from_millis(APART[number % APART.len()]);
        let word = format!("word-{number:03}.");
        agent.tell(&word).await?;
        let asked = u64::try_from(agent.says(&word).await?).context("a time before 1970")?;
        let card = town.emulator.wait_value("a card", DEADLINE, |emulator| {
            let asks =
                |shown: &Shown| shown.button("Approve").is_some() && shown.text.contains(&word);
            emulator.messages(AGENTS, None).into_iter().rev().find(asks)
        });
        let Ok(card) = timeout(MISSING, card).await else {
            missing += 1;
            continue;
        };
        let late = card.at.saturating_sub(Duration::from_nanos(asked));
        cards.push(late.as_secs_f64() * 1000.);
        town.emulator.press(AGENTS, card.id, ADA, "Approve").answer().await;
        rest(next.saturating_duration_since(Instant::now())).await;
    }
    let calls = town.emulator.calls();
    let work = calls.iter().skip(before).filter(|call| super::counts(&call.method)).count();
    let floods = town.emulator.floods().len();
    town.home.down().await?;
    let worst = percentile(&mut cards, 100);
    let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let what = format!("{WORKERS} at work in a forum: the ninth's card");
    Ok(vec![
        Figure::new(format!("{what}, p50 of {CARDS}"), percentile(&mut cards, 50), "ms"),
        Figure::new(format!("{what}, p95 of {CARDS}"), percentile(&mut cards, 95), "ms")
            .at_most(3000.),
        Figure::new(format!("{what}, the last of {CARDS}"), worst, "ms"),
        Figure::new("the same: cards that never came", float(missing), "×").at_most(0.),
        Figure::new("the same: 429 of flood control", float(floods), "×").at_most(0.),
        Figure::new(format!("the same: calls in all, {topics} topics"), float(work), "calls"),
    ])
}
