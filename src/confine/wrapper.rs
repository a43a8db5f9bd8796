//! `vigie confine`: the process that confines itself and then becomes a session's program. It must
//! have no thread besides its first.

use serde::{Deserialize, Serialize};
use std::{
    convert::Infallible,
    env,
    ffi::OsStr,
    io::{self, Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, net::UnixStream, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use super::{Confinement, door::SOCKET, probe};

/// This very program, even where its file was replaced since it was started; Linux alone confines.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// What a shell says when a program could not be started.
const NOT_STARTED: u8 = 127;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ConfineArgs {
    /// Become what the holder of this folder says, confined
    Run { folder: PathBuf },
    /// Become this, confined
    Exec { task: String },
    /// Map all ids of a process
    Map { pid: u32 },
    /// Try what this machine offers: hide this folder, then try to get out
    Probe {
        folder: PathBuf,
        /// Leave the files as they are
        #[arg(long)]
        without_files: bool,
    },
    /// Wait for the end of the input
    Idle,
}

/// Carries out one of them.
pub fn main(args: &ConfineArgs) -> ExitCode {
    match args {
        ConfineArgs::Run { folder } => run(folder),
        ConfineArgs::Exec { task } => exec(task),
        ConfineArgs::Map { pid } => map(*pid),
        ConfineArgs::Probe { folder, without_files } => probe::try_out(folder, *without_files),
        ConfineArgs::Idle => match io::copy(&mut io::stdin(), &mut io::sink()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}

/// Before the name of a variable that is the program's and none of ours: `LD_PRELOAD` and its like must
/// not mean anything to the process that is about to confine itself.
const CARRIED: &str = "VIGIE_CARRIES_";

/// How a variable of the program's is called on its way to it, through [`Task::arguments`].
pub fn carried(name: &str) -> String {
    format!("{CARRIED}{name}")
}

/// What a confined process becomes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    confinement: Confinement,
    cwd: PathBuf,
    program: PathBuf,
    args: Vec<String>,
}

impl Task {
    pub fn new(
        confinement: Confinement,
        cwd: &Path,
        program: impl AsRef<Path>,
        args: &[impl AsRef<str>],
    ) -> Self {
        let args = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        Self { confinement, cwd: cwd.into(), program: program.as_ref().into(), args }
    }

    /// Of our own program, which becomes this one. Everybody can read arguments.
    pub fn arguments(&self) -> [String; 3] {
        let task = serde_json::to_string(self).expect("plain data");
        ["confine".into(), "exec".into(), task]
    }
}

/// Becomes the program; the connection to the holder closes with that, and says why not otherwise.
fn run(folder: &Path) -> ExitCode {
    let connected = env::set_current_dir(folder).and_then(|()| UnixStream::connect(SOCKET));
    // Without a holder there is nobody to tell.
    let Ok(mut holder) = connected else { return ExitCode::from(NOT_STARTED) };
    let mut task = Vec::new();
    let heard = holder.read_to_end(&mut task).map_err(|error| error.to_string());
    let Err(why) = heard.and_then(|_| become_it(&task));
    let _ = holder.write_all(why.as_bytes());
    ExitCode::from(NOT_STARTED)
}

#[expect(clippy::print_stderr, reason = "whoever started it reads it")]
fn exec(task: &str) -> ExitCode {
    let Err(why) = become_it(task.as_bytes());
    eprintln!("{why}");
    ExitCode::from(NOT_STARTED)
}

fn become_it(task: &[u8]) -> Result<Infallible, String> {
    let task: Task = serde_json::from_slice(task).map_err(|error| error.to_string())?;
    enter(&task.confinement).map_err(|why| format!("it could not be confined: {why}"))?;
    // What holds signals back is whoever started it, for itself alone.
    nix::sys::signal::SigSet::empty()
        .thread_set_mask()
        .map_err(|error| format!("signals do not reach it: {error}"))?;
    // Through the mounts that are there now: the old folder leads around them.
    env::set_current_dir(&task.cwd)
        .map_err(|error| format!("{} is not there for it: {error}", task.cwd.display()))?;
    let mut program = Command::new(&task.program);
    for (name, value) in env::vars_os() {
        if let Some(own) = name.as_bytes().strip_prefix(CARRIED.as_bytes()) {
            program.env_remove(&name).env(OsStr::from_bytes(own), value);
        }
    }
    Err(program.args(&task.args).exec().to_string())
}

/// Confines this process, for good.
#[cfg(target_os = "linux")]
pub(super) fn enter(confinement: &Confinement) -> Result<(), String> {
    use super::{
        Protection::{Files, Processes, Signals, Terminal},
        domain, filter, mounts, namespaces,
    };
    let by = |protection| confinement.by.contains(&protection);
    let failed = |error: io::Error| format!("it gets no namespaces of its own: {error}");
    if by(Files) {
        let mut way = namespaces::Way::open().map_err(failed)?;
        way.enter().map_err(failed)?;
        mounts::arrange(confinement).map_err(|error| error.to_string())?;
        // Once more: what is mounted now is locked then, whoever somebody is in there.
        way.enter().and_then(|()| way.close()).map_err(failed)?;
    }
    if let Some(account) = &confinement.account {
        account.enter().map_err(|error| format!("it cannot become {}: {error}", account.name))?;
        for folder in &confinement.show {
            std::fs::read_dir(folder).map_err(|error| {
                let (name, folder) = (&account.name, folder.display());
                format!("{name} cannot reach {folder} ({error}): keep Vigie where all may pass, by VIGIE_HOME")
            })?;
        }
    }
    if by(Signals) {
        domain::without_signals()?;
    } else if by(Processes) && !by(Files) {
        domain::without_tracing()?;
    }
    if by(Terminal) { filter::enter() } else { Ok(()) }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn enter(_: &Confinement) -> Result<(), String> {
    Err("only Linux confines".into())
}

#[cfg(target_os = "linux")]
fn map(pid: u32) -> ExitCode {
    super::namespaces::map(pid)
}

#[cfg(not(target_os = "linux"))]
fn map(_: u32) -> ExitCode {
    ExitCode::FAILURE
}
