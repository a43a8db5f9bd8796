//! `cargo xtask test | bench | day`: what is more than one cargo command.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it talks to whoever runs it")]

mod bench;
mod test;
mod tools;

use anyhow::{Context, Result, bail};
use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

const HELP: &str = "\
cargo xtask test [ARGS]    set up what the tests need and run all of them; ARGS go to `cargo test`
cargo xtask day            play two days of ten sessions, and print what a decision costs in rings and messages
cargo xtask bench [ARGS]   build for release and measure; ARGS go to the benchmark
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let done = match args.split_first() {
        Some((command, rest)) if command == "test" => test::run(rest),
        Some((command, rest)) if command == "bench" => bench::run(rest),
        Some((command, [])) if command == "day" => run(cargo()
            .args(["test", "--quiet", "-p", "vigie-core", "--lib", "--"])
            .args(["--nocapture", "--exact"])
            .arg("decide::tests::day::a_day_rings_for_what_needs_somebody_and_loses_nothing")),
        Some((command, _)) if matches!(command.as_str(), "help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(_) | None => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").into()
}

/// The cargo that runs us.
fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// Runs a command with its output shown.
fn run(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    println!("xtask: {shown}");
    let status = command.status().with_context(|| format!("{shown} does not start"))?;
    if !status.success() {
        bail!("{shown} failed: {status}");
    }
    Ok(())
}

/// Whether a build server runs us: then a missing tool is an error, since nobody reads a warning.
fn on_a_build_server() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}
