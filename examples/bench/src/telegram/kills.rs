//! `kill -9` again and again while a person goes on writing: what is lost, what is done twice.

use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use telegram_emulator::{ADA, Emulator};
use tokio::time::timeout;

use super::{DEMO, Figure, Town, rest};
use crate::{chance::Chance, home::DEADLINE};

const KILLS: usize = 20;
/// Two between each two kills.
const MESSAGES: usize = 40;
/// The daemon lives at most so long once it polls, in milliseconds.
const LIVES: u64 = 1000;
/// All forty answers, at one a second, and a minute for what was in doubt.
const DRAINED: Duration = Duration::from_mins(4);
/// What says so itself is no surprise.
const MARK: &str = "may be a repeat";

/// What went wrong, over all seeds.
#[derive(Debug, Default)]
struct Wrong {
    lost: usize,
    doubled: usize,
    missing: usize,
    unmarked: usize,
    marked: usize,
}

pub(crate) async fn measure(folder: &Path, vigie: &Path, seeds: u64) -> Result<Vec<Figure>> {
    let mut wrong = Wrong::default();
    for seed in 1..=seeds {
        eprintln!("bench:   seed {seed} ...");
        let folder = folder.join(format!("seed-{seed}"));
        fs::create_dir_all(&folder)?;
        one(&folder, vigie, Chance::new(seed), &mut wrong).await?;
    }
    let all = seeds * u64::try_from(MESSAGES)?;
    let what = format!("{KILLS} kills, {all} messages, {seeds} seeds");
    let figure = |words: &str, count: usize| {
        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        Figure::new(format!("{what}: {words}"), count, "×")
    };
    Ok(vec![
        figure("lost on the way to the agent", wrong.lost).at_most(0.),
        figure("twice at the agent", wrong.doubled).at_most(0.),
        figure("answers missing on the phone", wrong.missing).at_most(0.),
        figure("unmarked repeats on the phone", wrong.unmarked).at_most(0.),
        figure("marked repeats on the phone", wrong.marked),
    ])
}

async fn one(folder: &Path, vigie: &Path, mut chance: Chance, wrong: &mut Wrong) -> Result<()> {
    let mut town = Town::open(folder, vigie, DEMO, ADA).await?;
    town.session("PD-285", "demo").await?;
    let mut sent = 0;
    for _ in 0..KILLS {
        town.emulator.wait_polling().await;
        let mut moments = [(); 3].map(|()| chance.below(LIVES));
        moments.sort_unstable();
        let [first, second, killed] = moments;
        // What is sent after the kill waits at Telegram's; the order of the three is the dice's.
        let third = chance.below(3);
        let mut past = 0;
        for (at, kills) in [(first, third == 0), (second, third == 1), (killed, third == 2)] {
            rest(Duration::from_millis(at - past)).await;
            past = at;
            if kills {
                town.home.kill();
            } else {
                town.emulator.send(ADA, ADA, &format!("[PD-285] stream {}", 100 + sent)).now();
                sent += 1;
            }
        }
        town.home.up().await?;
    }
    let _ = timeout(DRAINED, all_answered(&town.emulator)).await; // what is missing is counted below
    town.home.session_is("PD-285", &["idle"]).await?;
    let memory = memory(&town.home.data()).context("the demo agent remembers nothing")?;
    for number in 100..100 + MESSAGES {
        let task = format!("stream {number}");
        match memory.iter().filter(|prompt| prompt.ends_with(&task)).count() {
            0 => wrong.lost += 1,
            more => wrong.doubled += more - 1,
        }
        let (marked, plain) = answers(&town.emulator, number);
        wrong.missing += usize::from(marked + plain == 0);
        wrong.unmarked += plain.saturating_sub(1);
        wrong.marked += marked;
    }
    town.home.down().await
}

async fn all_answered(emulator: &Emulator) {
    let all = |emulator: &Emulator| {
        (100..100 + MESSAGES).all(|number| answers(emulator, number) != (0, 0))
    };
    emulator.wait_for("all answers", DRAINED + DEADLINE, all).await;
    rest(Duration::from_secs(3)).await; // in which a repeat would come
}

/// How often the phone shows this answer as a possible repeat, and without a mark.
fn answers(emulator: &Emulator, number: usize) -> (usize, usize) {
    let answer = format!("{number} lines printed");
    let all = emulator.messages(ADA, None);
    let of = all.iter().filter(|shown| shown.is_bot() && shown.text.contains(&answer));
    let (marked, plain): (Vec<_>, Vec<_>) = of.partition(|shown| shown.text.contains(MARK));
    (marked.len(), plain.len())
}

/// Every prompt the demo agent has carried out, from the file it keeps.
fn memory(data: &Path) -> Option<Vec<String>> {
    let mut folders = vec![data.join("sessions")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path()) {
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            if entry.is_dir() {
                folders.push(entry);
            } else if name.starts_with("demo-") && name.ends_with(".jsonl") {
                files.push(entry);
            }
        }
    }
    let text = fs::read_to_string(files.first()?).ok()?;
    let said = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Some(said.filter_map(|said| said["prompt"].as_str().map(str::to_owned)).collect())
}
