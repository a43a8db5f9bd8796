//! What this machine offers, found out by trying it in a process that is thrown away.

use nix::{sys::signal::kill, unistd::Pid};
use std::{
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use super::{
    Confinement, Lacking, Protection,
    wrapper::{self, OURSELVES},
};

/// It takes some ten milliseconds; a loaded machine may take its time.
const DEADLINE: Duration = Duration::from_secs(20);

/// Which protections are missing here. `binary` is our own program, `folder` one that is there: a
/// process of ours hides it from itself.
pub async fn probe(binary: &Path, folder: &Path) -> Vec<Lacking> {
    let all = |why: String| {
        Protection::ALL.map(|protection| Lacking { protection, why: why.clone() }).to_vec()
    };
    if !cfg!(target_os = "linux") {
        return all("only Linux confines".into());
    }
    let lacking = match ask(binary, folder, false).await {
        Ok(lacking) => lacking,
        Err(why) => return all(why),
    };
    let Some(files) = lacking.iter().find(|each| each.protection == Protection::Files) else {
        return lacking;
    };
    // The others may have held only by what the attempt left behind.
    let files = files.clone();
    let others = ask(binary, folder, true).await.unwrap_or_else(all);
    std::iter::once(files)
        .chain(others.into_iter().filter(|each| each.protection != Protection::Files))
        .collect()
}

async fn ask(binary: &Path, folder: &Path, without_files: bool) -> Result<Vec<Lacking>, String> {
    let mut command = tokio::process::Command::new(binary);
    command.args(["confine", "probe"]).arg(folder);
    if without_files {
        command.arg("--without-files");
    }
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(DEADLINE, output).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("it could not be tried: {error}")),
        Err(_) => return Err("trying it took too long".into()),
    };
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("trying it ended with {}: {}", output.status, said.trim())
    })
}

/// Confines this process and prints what is missing.
pub(super) fn try_out(folder: &Path, without_files: bool) -> ExitCode {
    let mut lacking = Vec::new();
    match Stranger::start() {
        Ok(mut stranger) => {
            try_all(folder, without_files, &stranger, &mut lacking);
            stranger.end();
        }
        Err(why) => {
            lacking.extend(Protection::OF_A_SESSION.map(|protection| Lacking {
                protection,
                why: format!("it could not be tried: {why}"),
            }));
        }
    }
    let printed = serde_json::to_string(&lacking).expect("plain data");
    match writeln!(std::io::stdout(), "{printed}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn try_all(folder: &Path, without_files: bool, stranger: &Stranger, lacking: &mut Vec<Lacking>) {
    let mut missing = |protection, why: String| lacking.push(Lacking { protection, why });
    let confine = |by: Protection| {
        let hide = vec![folder.to_owned()];
        wrapper::enter(&Confinement { by: vec![by], hide, ..Confinement::default() })
    };
    let before = fs::metadata(folder).map(|about| about.dev()).ok();
    if without_files {
        missing(Protection::Files, "it was not tried".into());
    } else if let Err(why) = confine(Protection::Files) {
        missing(Protection::Files, why);
    } else if before == fs::metadata(folder).map(|about| about.dev()).ok() || uncovered(folder) {
        missing(Protection::Files, "a folder that was hidden is still to be seen".into());
    }
    if let Err(why) = confine(Protection::Signals) {
        missing(Protection::Signals, why);
    } else if stranger.takes_signals() {
        missing(Protection::Signals, "a signal went through".into());
    }
    if stranger.shows_itself()
        && let Err(why) = confine(Protection::Processes)
    {
        missing(Protection::Processes, why);
    } else if stranger.shows_itself() {
        missing(Protection::Processes, "another process could be looked into".into());
    }
    if let Err(why) = confine(Protection::Terminal) {
        missing(Protection::Terminal, why);
    }
}

/// What covers `folder` can be taken away.
#[cfg(target_os = "linux")]
fn uncovered(folder: &Path) -> bool {
    nix::mount::umount(folder).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn uncovered(_: &Path) -> bool {
    true
}

/// A process outside of the confinement.
struct Stranger(Child);

impl Stranger {
    /// Starts one that would answer to everything that is about to be closed.
    fn start() -> Result<Self, String> {
        let mut command = Command::new(OURSELVES);
        command.args(["confine", "idle"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let stranger = Self(command.spawn().map_err(|error| error.to_string())?);
        if stranger.shows_itself() && stranger.takes_signals() {
            Ok(stranger)
        } else {
            Err("a process of ours does not answer us".into())
        }
    }

    fn shows_itself(&self) -> bool {
        fs::read(format!("/proc/{}/environ", self.0.id())).is_ok()
    }

    fn takes_signals(&self) -> bool {
        i32::try_from(self.0.id()).is_ok_and(|pid| kill(Pid::from_raw(pid), None).is_ok())
    }

    fn end(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait(); // it ends with its input
    }
}
