//! `cargo xtask bench`: what Vigie costs, each figure beside a plainer way to do the same, measured
//! in the same run. `docs/figures.md` says what each figure means.
//!
//! The program also plays the other parts: the daemon and the holders whose sessions it looks into
//! (`up`, `hold`), and the agents in them (`demo-agent`, `stamp`, `flood`).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever runs it")]

mod agent;
mod agents;
mod chance;
mod commits;
mod desk;
mod flood;
mod formatter;
mod home;
mod latency;
mod matrix;
mod page;
mod runs;
mod start;
mod table;
mod telegram;

use anyhow::{Context, Result, bail};
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use table::Figure;

const HELP: &str = "\
vigie-bench [--json] [--folder FOLDER] [--seeds N] [PART...]
  PART: commits, latency, flood, start, formatter; without any, all of these
        workflows, which is check, steps, long, sleeping: three minutes
        agents, which is calls, letters, delivery, inbox, connected: two minutes
        telegram, which is answer, talk, questions, turn, idle, faults, forum: a quarter of an hour
        matrix, which is matrix-in, matrix-out, matrix-rooms: six minutes
        desk, which is desk-live, desk-history, desk-day: four minutes, with chromedriver
        kills: N times a minute and a half
  FOLDER: where the throw-away data goes, on the disk that is to be measured
";

/// What is measured when nothing else is asked for.
const PARTS: [&str; 5] = ["commits", "latency", "flood", "start", "formatter"];

/// As many runs of kills as the figures are given for.
const SEEDS: u64 = 10;

/// What was asked for.
struct Asked {
    json: bool,
    folder: PathBuf,
    parts: Vec<String>,
    seeds: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["up" | "hold" | "confine" | "step" | "javascript", ..] => return vigie::cli::main(),
        ["demo-agent", "--work", ..] => agent::work(),
        ["demo-agent", "--answer", meet, ..] => agent::answer(meet),
        ["demo-agent", "--caller", meet, ..] => agents::program::caller(meet),
        ["demo-agent", "--pushed", meet, ..] => agents::program::pushed(meet),
        ["demo-agent", "--beside", meet, ..] => agents::program::beside(meet),
        ["demo-agent", meet, ..] => agent::ask(meet),
        ["stamp", meet, ..] => agent::stamp(meet),
        ["flood", meet, megabytes, ..] => agent::flood(meet, megabytes),
        ["help" | "--help" | "-h", ..] => {
            print!("{HELP}");
            Ok(())
        }
        words => measure(words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(words: &[&str]) -> Result<()> {
    let asked = read(words)?;
    if cfg!(debug_assertions) {
        eprintln!("bench: this is no release build, so the figures say little");
    }
    let ours = env::current_exe().context("the system does not say where this program lies")?;
    let vigie = program_beside(&ours)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures: Vec<Figure> = Vec::new();
    for part in &asked.parts {
        eprintln!("bench: {part} ...");
        let folder = tempfile::Builder::new().prefix("vigie-bench-").tempdir_in(&asked.folder)?;
        let measured = runtime.block_on(async {
            match part.as_str() {
                "commits" => commits::measure(folder.path()).await,
                "latency" => latency::measure(folder.path(), &ours).await,
                "flood" => flood::measure(folder.path(), &ours, &vigie).await,
                "formatter" => formatter::measure(),
                "start" => start::measure(folder.path(), &vigie).await,
                part if agents::PARTS.contains(&part) => {
                    agents::measure(part, folder.path(), (&ours, &vigie)).await
                }
                part if runs::PARTS.contains(&part) => {
                    runs::measure(part, folder.path(), &vigie).await
                }
                part if desk::PARTS.contains(&part) => {
                    desk::measure(part, folder.path(), &vigie).await
                }
                part if matrix::PARTS.contains(&part) => {
                    matrix::measure(part, folder.path(), (&ours, &vigie)).await
                }
                part => telegram::measure(part, folder.path(), (&ours, &vigie), asked.seeds).await,
            }
        });
        figures.extend(measured.with_context(|| format!("{part} could not be measured"))?);
    }
    if asked.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        print!("{}", table::words(&figures));
    }
    Ok(())
}

fn read(words: &[&str]) -> Result<Asked> {
    // Beside the build is the disk people work on; the system's temporary folder may be memory.
    let beside = env::current_exe()?.parent().map(Path::to_owned).unwrap_or_default();
    let mut asked = Asked { json: false, folder: beside, parts: Vec::new(), seeds: SEEDS };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--json" => asked.json = true,
            "--folder" => asked.folder = words.next().context("--folder needs a folder")?.into(),
            "--seeds" => {
                let number = words.next().and_then(|word| word.parse().ok());
                asked.seeds = number.context("--seeds needs a number")?;
            }
            "workflows" => asked.parts.extend(runs::PARTS.map(String::from)),
            "agents" => asked.parts.extend(agents::PARTS.map(String::from)),
            "telegram" => asked.parts.extend(telegram::PARTS.map(String::from)),
            "desk" => asked.parts.extend(desk::PARTS.map(String::from)),
            "matrix" => asked.parts.extend(matrix::PARTS.map(String::from)),
            part if is_part(part) => asked.parts.push(part.into()),
            other => bail!("`{other}` is not known\n{HELP}"),
        }
    }
    if asked.parts.is_empty() {
        asked.parts = PARTS.map(String::from).into();
    }
    Ok(asked)
}

fn is_part(word: &str) -> bool {
    let all =
        [&PARTS[..], &agents::PARTS, &desk::PARTS, &matrix::PARTS, &runs::PARTS, &telegram::PARTS]
            .concat();
    all.contains(&word) || word == telegram::KILLS
}

/// The program that is shipped, from the same build.
fn program_beside(ours: &Path) -> Result<PathBuf> {
    let found = Some(ours.with_file_name("vigie")).filter(|file| file.is_file());
    found.context("there is no `vigie` beside this program; run `cargo xtask bench`")
}
