//! Builds every part and joins them; the only file that knows all.

use std::{path::PathBuf, time::Duration};
use tokio::sync::oneshot;

use crate::{
    config::{Config, Surroundings},
    home::HomeError,
    tasks::{Finish, Panicked},
    web,
};

/// How long tasks may take to finish what they accepted after the first signal.
pub const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// What a daemon is started from.
pub struct Options {
    pub config: Config,
    pub around: Surroundings,
    /// Our own binary, which is also the holder's.
    pub binary: PathBuf,
    /// Told once both doors are open.
    pub ready: oneshot::Sender<web::Started>,
}

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Web(#[from] web::StartError),
    #[error("signals cannot be heard: {0}")]
    Signals(std::io::Error),
    #[error(transparent)]
    Panicked(#[from] Panicked),
}

/// What a run comes to.
pub type Ended = Result<Finish, DaemonError>;
