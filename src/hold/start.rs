//! Starts the session's program in its terminal, confined as the spec says.

use std::{io, path::Path, path::PathBuf};

use super::{process::HoldError, pty::Pty, record::Recording};
use crate::{
    agents::{self, CommandLine, Spec},
    confine::{Confinement, Door, Task},
};

/// Of the run's folder, what the program may see.
const AGENT: &str = "agent";

/// Makes the folder of the program's own in the run's `folder`.
pub(crate) fn agent_folder(folder: &Path) -> io::Result<PathBuf> {
    let own = folder.join(AGENT);
    make(&own)?;
    Ok(own)
}

fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Returns when the program runs.
pub(crate) async fn start(
    folder: &Path,
    spec: &Spec,
    command: CommandLine,
    recording: Recording,
) -> Result<Pty, HoldError> {
    let used = agents::used_folders(spec);
    let unusable = |folder: &Path| {
        let folder = folder.to_owned();
        move |source| HoldError::Folder { folder, source }
    };
    used.iter().try_for_each(|folder| make(folder).map_err(unusable(folder)))?;
    let Some(confinement) = spec.confinement.clone() else {
        return Pty::spawn(spec, &command, recording);
    };
    if let Some(account) = &confinement.account {
        let own = folder.join(AGENT);
        account.own_all(&own).map_err(unusable(&own))?;
        used.iter().try_for_each(|folder| account.own(folder).map_err(unusable(folder)))?;
    }
    let keep = [confinement.keep, used].concat();
    // To be read alone: an agent may not change what its own program is told.
    let show = [confinement.show, vec![folder.join(AGENT)]].concat();
    let confinement = Confinement { keep, show, ..confinement };
    let CommandLine { program, args, env } = command;
    let door = Door::open(folder, Task::new(confinement, &spec.cwd, &program, &args));
    let (door, starter) = door.map_err(|source| HoldError::Listen {
        what: "the program that is to be confined",
        source,
    })?;
    let starter = CommandLine { program: starter.program, args: starter.args, env };
    let pty = Pty::spawn(spec, &starter, recording)?;
    let entered = door.let_in(pty.pid).await;
    entered.map_err(|error| HoldError::Program { program, reason: error.to_string() })?;
    Ok(pty)
}
