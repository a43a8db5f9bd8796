//! Starts a session's program: its folder, its worktree, its holder.

use std::{
    fs,
    path::{Path, PathBuf},
};
use tracing::warn;
use vigie_core::{
    decide::Event,
    id::AgentName,
    policy::Guard,
    session::{Launch, Session},
};

use super::{
    Ground, WorktreeError,
    confined::{NotConfined, WORKTREES},
    worktree,
};
use crate::{
    agents::{Conversation, Size, Spec},
    config::{Agent, Project, WorktreeMode},
    hold::client::{self, LinkError},
    hub::Hub,
};

/// A usual terminal; whoever attaches brings their own size.
const SIZE: Size = Size { columns: 120, rows: 40 };

pub(super) struct Plan {
    pub ground: Ground,
    pub session: Session,
    pub how: Launch,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    #[error("no agent is called `{0}` any more; the configuration has changed")]
    NoAgent(AgentName),
    #[error(transparent)]
    NotConfined(#[from] NotConfined),
    #[error("its folder {} does not exist", .0.display())]
    NoFolder(PathBuf),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    #[error("{0}")]
    Holder(#[from] LinkError),
}

impl Plan {
    /// Does nothing for a session that was started already: a daemon that died in between finds
    /// its holder, or what that left.
    pub(super) async fn carry_out(mut self, folder: &Path, hub: &Hub) -> Result<(), LaunchError> {
        if client::alive(folder) || client::was_started(folder) {
            return Ok(());
        }
        self.end_leftovers().await;
        self.prepare_folder(hub).await?;
        let cwd = PathBuf::from(&self.session.cwd);
        if !cwd.is_dir() {
            return Err(LaunchError::NoFolder(cwd));
        }
        let spec = self.spec(self.ground.mcp_url().await)?;
        match client::spawn(&self.ground.binary, folder, &spec).await {
            // Another start of ours got there first: its holder is the session's.
            Err(_) if client::alive(folder) => Ok(()),
            result => Ok(result?),
        }
    }

    /// A holder that was killed may have left processes of the run before; two of one session
    /// must not work side by side.
    async fn end_leftovers(&self) {
        let Some(before) = self.session.run.checked_sub(1).filter(|run| *run > 0) else { return };
        let folder = self.ground.folder(self.session.id, before);
        if let Err(error) = client::kill_folder(&folder).await {
            warn!(session = %self.session.id, reason = %error, "what an earlier run left could not be ended");
        }
    }

    async fn prepare_folder(&mut self, hub: &Hub) -> Result<(), LaunchError> {
        let project = self.project().filter(|p| p.worktree == WorktreeMode::PerStory);
        let Some(project) = project else { return Ok(()) };
        if let Some(made) = &self.session.worktree {
            return worktree::still_there(Path::new(&made.path)).map_err(LaunchError::from);
        }
        let root = self.ground.data.join(WORKTREES).join(project.name.as_str());
        fs::create_dir_all(&root).map_err(|_| LaunchError::NoFolder(root.clone()))?;
        // Git runs what the repository says, and that is what agents wrote.
        let confinement = self.ground.confinement(self.agent()?, &[&root, &project.path])?;
        if let Some(account) = confinement.as_ref().and_then(|it| it.account.as_ref()) {
            account.own(&root).map_err(|_| LaunchError::NoFolder(root.clone()))?;
        }
        let git =
            worktree::Git { binary: &self.ground.binary, repository: &project.path, confinement };
        let made = git.make(&root, &self.session.name).await?;
        self.session.cwd = made.path.to_string_lossy().into_owned();
        let event = Event::Prepared {
            session: self.session.id,
            run: self.session.run,
            cwd: self.session.cwd.clone(),
            branch: made.branch,
        };
        hub.tell(event).await;
        Ok(())
    }

    fn project(&self) -> Option<&Project> {
        self.ground.config.projects.iter().find(|p| p.name == self.session.project)
    }

    fn agent(&self) -> Result<&Agent, LaunchError> {
        let agent = self.ground.config.agents.iter().find(|a| a.name == self.session.agent);
        agent.ok_or_else(|| LaunchError::NoAgent(self.session.agent.clone()))
    }

    /// What the holder looks at before each tool.
    fn guard(&self) -> Guard {
        let project = self.project().map(|project| project.path.to_string_lossy().into_owned());
        Guard {
            policies: self.ground.config.policies.clone(),
            project: Some(self.session.project.to_string()),
            asker: self.session.name.to_string(),
            folders: std::iter::once(self.session.cwd.clone()).chain(project).collect(),
        }
    }

    fn spec(&self, mcp_url: String) -> Result<Spec, LaunchError> {
        let session = &self.session;
        let agent = self.agent()?;
        let cwd = PathBuf::from(&session.cwd);
        let project = self.project().map(|project| project.path.as_path());
        let folders: Vec<&Path> = project.into_iter().chain([cwd.as_path()]).collect();
        let confinement = self.ground.confinement(agent, &folders)?;
        let conversation = match self.how.clone() {
            Launch::New { conversation: id } => Conversation::New { id },
            Launch::Resume { conversation: id } => Conversation::Resume { id },
        };
        Ok(Spec {
            session: session.id,
            name: session.name.clone(),
            kind: agent.kind,
            program: agent.program.clone(),
            args: agent.args.clone(),
            env: agent.env.clone(),
            cwd,
            size: SIZE,
            permission_mode: agent.permission_mode.clone(),
            conversation,
            first_seq: session.last_seq + 1,
            shared: self.ground.memory(session.id),
            recording_limit: self.ground.config.recording.limit,
            prompt_ends: agent.prompt_ends.clone(),
            mcp_url: Some(mcp_url),
            role: session.role,
            confinement,
            guard: self.guard(),
        })
    }
}
