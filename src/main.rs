//! The command line; so far only the hidden commands that sessions are made of.

use clap::Parser;
use std::{future::Future, path::PathBuf, process::ExitCode};
use vigie::{
    agents::demo::{self, DemoArgs},
    cli::hook::{HookArgs, hook},
    hold,
};

#[derive(Parser)]
enum Command {
    /// Hold one session's terminal
    Hold { folder: PathBuf },
    /// Hand an agent's hook to its holder
    Hook(HookArgs),
    /// Behave like a coding agent
    DemoAgent(DemoArgs),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Hold { folder } => hold::run(&folder).unwrap_or(ExitCode::FAILURE),
        Command::Hook(args) => {
            // It never fails its agent, whatever happens.
            block_on(hook(args));
            ExitCode::SUCCESS
        }
        Command::DemoAgent(args) => block_on(demo::main(args)).unwrap_or(ExitCode::FAILURE),
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    Some(runtime.block_on(work))
}
