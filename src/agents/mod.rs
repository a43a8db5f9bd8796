//! A file per coding agent. An agent's adapter runs inside the holder, beside the PTY: it turns
//! orders into keys and the agent's own signals into reports. The holder gives it an [`AgentIo`]
//! and knows nothing of any agent.

pub mod claude;
pub mod demo;
pub mod guard;
pub mod hook_call;
pub mod hooks;
mod io;
pub(crate) mod json;
mod requests;
mod shell;

pub use io::{
    AgentIo, Desk, DeskKey, DeskLine, HookCall, HookReply, Keys, Printed, Reporter, Screen,
};

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    io::Error,
    path::{Path, PathBuf},
};
use vigie_core::{
    id::{SessionId, SessionName},
    policy::Guard,
    session::Role,
};

use crate::confine::Confinement;

/// Which adapter runs a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    Claude,
    Shell,
    Demo,
}

impl AgentKind {
    /// Whether messages of other sessions may reach it. A shell runs what is typed into it, whoever
    /// wrote it.
    pub fn takes_mail(self) -> bool {
        match self {
            Self::Claude | Self::Demo => true,
            Self::Shell => false,
        }
    }
}

/// Everything a holder needs to start a session's program; written to the session's folder before
/// the holder is, mode 0600.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub session: SessionId,
    pub name: SessionName,
    pub kind: AgentKind,
    /// The program to run; for `Demo` the holder's own binary is used.
    pub program: PathBuf,
    /// Arguments from the configuration, before the adapter's own.
    pub args: Vec<String>,
    /// Environment from the configuration, on top of a cleaned copy of the daemon's.
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub size: Size,
    /// The agent's permission mode where it has one (Claude Code: `default`, `acceptEdits`, `plan`).
    pub permission_mode: Option<String>,
    pub conversation: Conversation,
    /// The first report's number: 1, or one after the last of the run this one resumes.
    pub first_seq: u64,
    /// A folder that all runs of the session share, for what an agent of ours remembers.
    pub shared: PathBuf,
    /// Longest recording, in bytes; then a marker ends it.
    pub recording_limit: u64,
    /// What shows in a plain shell that it waits for input: the end of its last line.
    /// `None`: it is idle once nothing was printed for a while.
    pub prompt_ends: Option<String>,
    /// Where the program reaches Vigie's tools (MCP). `None`: nowhere.
    #[serde(default)]
    pub mcp_url: Option<String>,
    #[serde(default)]
    pub role: Role,
    /// What is closed to the program; `None`: nothing.
    #[serde(default)]
    pub confinement: Option<Confinement>,
    /// What is looked at before each of its tools.
    #[serde(default)]
    pub guard: Guard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// With which conversation of the agent the program starts. `id` is a UUID for Claude Code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "conversation", rename_all = "snake_case")]
pub enum Conversation {
    New { id: String },
    Resume { id: String },
}

/// Where the holder takes hook calls: HTTP on loopback, with the session's own bearer token.
#[derive(Clone, Debug)]
pub struct HookAddress {
    pub url: String,
    pub token: String,
}

/// What to execute: the adapter's part of starting a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// The whole environment of the program.
    pub env: BTreeMap<String, String>,
}

/// What starts this session's program. `env` is the cleaned environment, `folder` the run's own for
/// its agent: an adapter may write settings there before the program reads them, and of Vigie's
/// folders the program sees this one alone.
///
/// # Errors
/// A sentence for a person: what of the session's folder could not be written, or that this build
/// does not know the agent.
pub fn command_line(
    kind: AgentKind,
    spec: &Spec,
    folder: &Path,
    hooks: &HookAddress,
    env: BTreeMap<String, String>,
) -> Result<CommandLine, Error> {
    match kind {
        AgentKind::Shell => Ok(shell::command_line(spec, env)),
        AgentKind::Claude => claude::command_line(spec, folder, hooks, env).map_err(Error::other),
        AgentKind::Demo => demo::command_line(spec, hooks, env),
    }
}

/// What of [`Spec`] besides its working folder the program itself reads and writes.
pub fn used_folders(spec: &Spec) -> Vec<PathBuf> {
    match spec.kind {
        AgentKind::Demo => vec![spec.shared.clone()],
        AgentKind::Claude | AgentKind::Shell => Vec::new(),
    }
}

/// Runs the session's adapter until the program is gone and everything it knows is reported.
/// The adapter says `Started`, refuses the prompts that are left when the program goes, and leaves
/// `Exited` to the holder, which also kills what does not leave by itself.
pub async fn run(kind: AgentKind, io: AgentIo) {
    match kind {
        AgentKind::Shell => shell::run(io).await,
        AgentKind::Claude => claude::run(io).await,
        AgentKind::Demo => demo::run(io).await,
    }
}
