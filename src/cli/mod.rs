//! The command line: one file per command, all but a few of them clients of the desk's socket.

mod answer;
mod args;
pub mod attach;
mod audit;
mod completions;
mod doctor;
mod down;
mod failure;
mod grants;
pub mod hook;
mod init;
mod install;
mod kept;
mod log;
mod login;
mod mail;
mod matrix;
mod mcp;
mod new;
mod out;
mod pair;
mod plain;
mod policy;
mod ringing;
mod screen;
mod see;
mod send;
mod sessions;
mod status;
mod steer;
mod token;
mod undelivered;
mod up;
mod usage;
mod waiting;
mod watch;
mod workflow;

pub use args::{Args, Command};
pub use failure::Exit;

use clap::Parser;
use std::{env, ffi::OsString, future::Future, io, process::ExitCode};

use crate::{
    agents::demo,
    clock::Clock,
    config::Surroundings,
    confine, hold,
    runner::{javascript, keep},
    web::client::Client,
};
use args::{Mcp, McpSetup, Undelivered};
use failure::Failure;
use out::Out;

/// What a command works with.
struct Desk {
    client: Client,
    around: Surroundings,
    out: Out,
    clock: Clock,
}

/// Reads the command line of this process and carries it out.
pub fn main() -> ExitCode {
    if let Some(exit) = at_once() {
        return exit;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let args = match part_of_a_session(args) {
        Ok(exit) => return exit,
        Err(args) => *args,
    };
    let out = Out::new(args.json, Clock::system());
    match run(args, out.clone()) {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            out.failure(&failure);
            failure.exit().into()
        }
    }
}

/// What steps are made of comes by the hundred, and to know the whole command line takes longer than
/// some of them.
fn at_once() -> Option<ExitCode> {
    let words: Vec<OsString> = env::args_os().skip(1).take(4).collect();
    match words.iter().map(OsString::as_os_str).collect::<Vec<_>>()[..] {
        [step, folder] if step == "step" => Some(keep::main(folder)),
        [confine, exec, task] if confine == "confine" && exec == "exec" => {
            let task = task.to_str()?.to_owned();
            Some(confine::main(&confine::ConfineArgs::Exec { task }))
        }
        [confine, map, pid] if confine == "confine" && map == "map" => {
            let pid = pid.to_str()?.parse().ok()?;
            Some(confine::main(&confine::ConfineArgs::Map { pid }))
        }
        [word] if word == "javascript" => Some(javascript::main()),
        _ => None,
    }
}

/// Help and version go to standard output and are no failure; clap knows which is which.
fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell when the terminal is gone.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

/// The hidden commands that sessions are made of. They print for programs and need no daemon.
fn part_of_a_session(args: Args) -> Result<ExitCode, Box<Args>> {
    match args.command {
        Command::Confine(confine) => Ok(confine::main(&confine)),
        Command::Step { folder } => Ok(keep::main(folder)),
        Command::Javascript => Ok(javascript::main()),
        Command::Hold { folder } => Ok(hold::run(folder).unwrap_or(ExitCode::FAILURE)),
        Command::Hook(hook) => {
            // It never fails its agent, whatever happens.
            let _ = block_on(hook::hook(hook));
            Ok(ExitCode::SUCCESS)
        }
        Command::DemoAgent(demo) => Ok(block_on(demo::main(demo)).unwrap_or(ExitCode::FAILURE)),
        _ => Err(Box::new(args)),
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work))
}

fn run(args: Args, out: Out) -> Result<(), Failure> {
    let Args { json: _, home, command } = args;
    if let Command::Completions { shell } = command {
        return completions::print(shell);
    }
    let config = match &command {
        Command::Up(up) => up.config.clone(),
        Command::Doctor { config } => config.clone(),
        Command::Init(init) => init.config().cloned(),
        Command::Workflow(workflow) => workflow.config.clone(),
        Command::Policy(policy) => policy.config.clone(),
        Command::Usage(usage) => usage.config.clone(),
        _ => None,
    };
    let around = Surroundings::of_this_process(home, config).map_err(Failure::usage)?;
    let desk = Desk { client: Client::new(&around.data), around, out, clock: Clock::system() };
    block_on(dispatch(command, &desk))
        .map_err(|error| Failure::outside(format!("the program cannot start: {error}")))?
}

async fn dispatch(command: Command, desk: &Desk) -> Result<(), Failure> {
    match command {
        Command::Up(args) => up::run(args, desk).await,
        Command::Down => down::run(desk).await,
        Command::Status => status::run(desk).await,
        Command::Doctor { config } => doctor::run(config.is_some(), desk).await,
        Command::Login { human } => login::link(human, desk).await,
        Command::Logins => login::list(desk).await,
        Command::Logout { id } => login::logout(&id, desk).await,
        Command::Init(init) => init::run(init, desk).await,
        Command::Pair { human } => pair::code(human, desk).await,
        Command::People => pair::people(desk).await,
        Command::Unpair { bridge, id } => pair::unpair(&bridge, &id, desk).await,
        Command::Matrix(what) => matrix::run(what, desk).await,
        Command::Mcp(Mcp { what: None, token }) => mcp::serve(token, desk).await,
        Command::Mcp(Mcp { what: Some(McpSetup::Install(args)), .. }) => {
            install::install(args, desk).await
        }
        Command::Mcp(Mcp { what: Some(McpSetup::Uninstall(args)), .. }) => {
            install::uninstall(args, desk).await
        }
        Command::Token(token) => token::run(token, desk).await,
        Command::New(args) => new::run(args, desk).await,
        Command::Send(args) => send::run(args, desk).await,
        Command::Stop { name } => steer::run(&name, "stop", desk).await,
        Command::End { name, tree } => steer::end(&name, tree, desk).await,
        Command::Kill { name } => steer::run(&name, "kill", desk).await,
        Command::Resume { name } => steer::run(&name, "resume", desk).await,
        Command::Handover { name, agent } => steer::hand_over(&name, agent, desk).await,
        Command::Retry { account } => steer::retry(account, desk).await,
        Command::Sessions { all } => sessions::run(all, desk).await,
        Command::Mail(args) => mail::run(args, desk).await,
        Command::Usage(args) => usage::run(args, desk).await,
        Command::Budget(args) => usage::budget(args, desk).await,
        Command::Waiting => waiting::run(desk).await,
        Command::Undelivered { what: None } => undelivered::list(desk).await,
        Command::Undelivered { what: Some(Undelivered::Retry { id }) } => {
            undelivered::retry(&id, desk).await
        }
        Command::Digest => ringing::digest(desk).await,
        Command::Mute { name: None, .. } => ringing::mutes(desk).await,
        Command::Mute { name: Some(name), time } => ringing::mute(name, time, desk).await,
        Command::Unmute { name } => ringing::unmute(&name, desk).await,
        Command::Answer { code, choice } => answer::run(&code, &choice, desk).await,
        Command::Attach { name } => see::run(&name, desk).await,
        Command::Screen { name } => screen::run(&name, desk).await,
        Command::Log(args) => log::run(&args, desk).await,
        Command::Watch { after } => watch::run(after, desk).await,
        Command::Grants { what } => grants::run(what, desk).await,
        Command::Policy(args) => policy::run(args, desk),
        Command::Audit(args) => audit::run(&args, desk),
        Command::Workflow(what) => workflow::run(what, desk).await,
        Command::Completions { shell } => completions::print(shell),
        Command::Hold { .. }
        | Command::Step { .. }
        | Command::Javascript
        | Command::Confine(_)
        | Command::Hook(_)
        | Command::DemoAgent(_) => {
            unreachable!("carried out before there was a desk")
        }
    }
}

/// The environment variable, when it is set to something.
fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}
