//! What a person sees of an answer when Telegram stumbles.

use anyhow::Result;
use std::{path::Path, time::Duration};
use telegram_emulator::{ADA, Call, Fault, FaultKind, Shown};

use super::{DEMO, Figure, Town, ms, rest};

/// What says so itself is no surprise.
const MARK: &str = "may be a repeat";
/// Above a wait that Telegram asked for, in milliseconds.
const LATE: f64 = 300.;
/// Between two faults: a private chat's budget is whole again.
const BETWEEN: Duration = Duration::from_secs(6);

pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let town = Town::open(folder, vigie, DEMO, ADA).await?;
    town.session("PD-285", "demo").await?;
    let mut figures = Vec::new();
    let strikes =
        [("answer carried out and cut off", FaultKind::DropAfter), ("502", FaultKind::Status(502))];
    for (number, (what, kind)) in (211..).zip(strikes) {
        let seen = strike(&town, kind, number).await?;
        let unmarked = seen.iter().filter(|shown| !shown.text.contains(MARK)).count();
        let all = format!("{what}: shown {} ×, of those unmarked repeats", seen.len());
        figures.push(count(all, unmarked.saturating_sub(1)).at_most(0.));
        figures.push(
            count(format!("{what}: answers missing"), usize::from(seen.is_empty())).at_most(0.),
        );
    }
    for (number, seconds) in [(221, 5), (231, 60)] {
        figures.extend(wait(&town, seconds, number).await?);
    }
    town.home.down().await?;
    Ok(figures)
}

fn count(what: String, number: usize) -> Figure {
    Figure::new(what, f64::from(u32::try_from(number).unwrap_or(u32::MAX)), "×")
}

/// How often the phone shows the answer that `kind` struck.
async fn strike(town: &Town, kind: FaultKind, number: usize) -> Result<Vec<Shown>> {
    rest(BETWEEN).await;
    let answer = format!("{number} lines printed");
    town.emulator.fault(Fault::new("sendMessage", kind));
    town.emulator.send(ADA, ADA, &format!("[PD-285] stream {number}")).now();
    town.emulator.wait_message(ADA, None, &answer).await;
    // What is said of one chat is said in order: behind the next answer no repeat can come.
    let next = number + 1;
    town.emulator.send(ADA, ADA, &format!("[PD-285] stream {next}")).now();
    town.emulator.wait_message(ADA, None, &format!("{next} lines printed")).await;
    town.emulator.clear_faults();
    let all = town.emulator.messages(ADA, None);
    Ok(all.into_iter().filter(|shown| shown.is_bot() && shown.text.contains(&answer)).collect())
}

/// A 429: how long after the asked wait the answer came, and what was called inside the wait.
async fn wait(town: &Town, seconds: u64, number: usize) -> Result<[Figure; 3]> {
    rest(BETWEEN).await;
    let answer = format!("{number} lines printed");
    town.emulator.fault(Fault::new("sendMessage", FaultKind::TooMany(seconds)));
    town.emulator.send(ADA, ADA, &format!("[PD-285] stream {number}")).now();
    let refused = town.emulator.wait_value("the refusal", super::DEADLINE, |emulator| {
        emulator
            .calls_of("sendMessage")
            .into_iter()
            .rev()
            .find(|call| call.fault.is_some())
            .filter(|call| call.params.to_string().contains(&answer))
    });
    let refused = refused.await;
    // Something to say inside the wait.
    let next = number + 1;
    town.emulator.send(ADA, ADA, &format!("[PD-285] stream {next}")).now();
    let shown = town.emulator.wait_message(ADA, None, &answer).await;
    town.emulator.wait_message(ADA, None, &format!("{next} lines printed")).await;
    town.emulator.clear_faults();
    let end = refused.at + Duration::from_secs(seconds);
    let inside =
        |call: &&Call| call.at > refused.at && call.at < end && call.method != "getUpdates";
    let calls = town.emulator.calls();
    let inside: Vec<&str> = calls.iter().filter(inside).map(|call| call.method.as_str()).collect();
    let shown_times = town
        .emulator
        .messages(ADA, None)
        .iter()
        .filter(|shown| shown.is_bot() && shown.text.contains(&answer))
        .count();
    let late = ms(town.at(end), town.seen_at(&shown));
    let what = format!("429 of {seconds} s");
    Ok([
        Figure::new(format!("{what}: after the wait"), late, "ms").at_most(LATE),
        count(format!("{what}: calls inside it ({})", inside.join(", ")), inside.len()).at_most(0.),
        count(format!("{what}: shown"), shown_times).at_most(1.),
    ])
}
