//! Closes Vigie, and the other sessions, to what runs in a session, by what the kernel offers. The
//! holder starts `vigie confine run` in the terminal; that confines itself and then becomes the
//! program, so the process id, its parents, signals and its exit stay what they were.

mod account;
#[cfg(target_os = "linux")]
mod domain;
mod door;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
mod probe;
mod protection;
mod wrapper;

pub use account::Account;
pub use door::{Door, EnterError, Starter};
pub use probe::probe;
pub use protection::{Lacking, Protection};
pub(crate) use wrapper::OURSELVES;
pub use wrapper::{ConfineArgs, Task, carried, main};

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How much an agent is confined, as the configuration says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// By what this machine offers.
    #[default]
    Auto,
    /// By everything, or its sessions do not start.
    Required,
    Off,
}

/// What is closed to one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// What this machine offers, found out by [`probe`]. What then fails keeps the session from
    /// starting.
    pub by: Vec<Protection>,
    /// Folders and files that are not there for it.
    pub hide: Vec<PathBuf>,
    /// Folders inside of those that are.
    pub keep: Vec<PathBuf>,
    /// As well, to be read alone.
    pub show: Vec<PathBuf>,
    /// Seen and not written to, with all that lies in them.
    #[serde(default)]
    pub read_only: Vec<PathBuf>,
    /// As whom it runs; `None`: as whoever Vigie runs as, and as nobody else where that is not root.
    pub account: Option<Account>,
}
