//! A git worktree and a branch for a session.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{process::Command, time::timeout};
use vigie_core::id::SessionName;

use crate::confine::{Confinement, Task};

/// A checkout of a big repository takes its time.
const GIT: Duration = Duration::from_mins(5);

#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("its worktree {} is gone; make it again or end the session", .0.display())]
    Gone(PathBuf),
    #[error("git could not be started for its worktree: {0}")]
    NoGit(io::Error),
    #[error("git could not make its worktree: {0}")]
    Git(String),
    #[error("git took longer than {} s for its worktree", GIT.as_secs())]
    Slow,
}

#[derive(Debug)]
pub(super) struct Made {
    pub path: PathBuf,
    pub branch: String,
}

pub(super) fn still_there(path: &Path) -> Result<(), WorktreeError> {
    if path.is_dir() { Ok(()) } else { Err(WorktreeError::Gone(path.into())) }
}

/// Git, for one repository.
pub(super) struct Git<'a> {
    /// Our own program, which confines it.
    pub binary: &'a Path,
    pub repository: &'a Path,
    pub confinement: Option<Confinement>,
}

impl Git<'_> {
    /// Makes `root/NAME` on branch `vigie/NAME`; one that is there from before is taken as it is, with
    /// whatever work is in it. It is locked: another session does not see it, and its `git worktree
    /// prune` would take it for gone.
    pub(super) async fn make(self, root: &Path, name: &SessionName) -> Result<Made, WorktreeError> {
        let path = root.join(name.as_str());
        let branch = format!("vigie/{name}");
        if path.join(".git").exists() {
            return Ok(Made { path, branch });
        }
        let head = format!("refs/heads/{branch}");
        let exists = self.run(&["rev-parse", "--verify", "--quiet", &head]).await.is_ok();
        let folder = path.to_string_lossy().into_owned();
        let add = ["worktree", "add", "--lock"];
        if exists {
            self.run(&[&add[..], &["--", &folder, &branch]].concat()).await?;
        } else {
            self.run(&[&add[..], &["-b", &branch, "--", &folder]].concat()).await?;
        }
        Ok(Made { path, branch })
    }

    async fn run(&self, arguments: &[&str]) -> Result<(), WorktreeError> {
        let mut command = if let Some(confinement) = &self.confinement {
            let task = Task::new(confinement.clone(), self.repository, "git", arguments);
            let mut command = Command::new(self.binary);
            command.args(task.arguments());
            command
        } else {
            let mut command = Command::new("git");
            command.args(arguments).current_dir(self.repository);
            command
        };
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(GIT, command.output())
            .await
            .map_err(|_| WorktreeError::Slow)?
            .map_err(WorktreeError::NoGit)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(WorktreeError::Git(said.lines().last().unwrap_or("no reason given").trim().into()))
    }
}
