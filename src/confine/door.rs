//! The holder's side: hands the task to the process in the terminal, and hears what became of it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    time::timeout,
};

use super::wrapper::{OURSELVES, Task};

/// In the run's folder, for a moment.
pub(super) const SOCKET: &str = "confine.sock";

/// It takes some milliseconds; whoever starts the holder waits ten seconds for all of it.
const DEADLINE: Duration = Duration::from_secs(8);

/// Longest reason that is read.
const REASON: u64 = 4096;

/// Why a program was not started confined.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    #[error("{0}")]
    Refused(String),
    #[error("it was not confined in time")]
    Slow,
    #[error("the process that confines it cannot be spoken to: {0}")]
    Broken(#[from] io::Error),
}

/// Waits for the one process that is to be confined.
pub struct Door {
    listener: UnixListener,
    task: Task,
}

/// What to start in the terminal instead of the program.
pub struct Starter {
    pub program: PathBuf,
    pub args: Vec<String>,
}

impl Door {
    /// Binds in the working directory, which is `folder`.
    pub fn open(folder: &Path, task: Task) -> io::Result<(Self, Starter)> {
        let _ = fs::remove_file(SOCKET); // usually there is none
        let listener = UnixListener::bind(SOCKET)?;
        let args = vec!["confine".into(), "run".into(), folder.to_string_lossy().into_owned()];
        Ok((Self { listener, task }, Starter { program: OURSELVES.into(), args }))
    }

    /// Returns when process `pid` has become the program.
    pub async fn let_in(self, pid: u32) -> Result<(), EnterError> {
        let entered = timeout(DEADLINE, self.hand_over(pid)).await;
        let _ = fs::remove_file(SOCKET); // nobody else comes
        entered.unwrap_or(Err(EnterError::Slow))
    }

    async fn hand_over(&self, pid: u32) -> Result<(), EnterError> {
        let mut stream = self.accept(pid).await?;
        stream.write_all(&serde_json::to_vec(&self.task).map_err(io::Error::from)?).await?;
        stream.shutdown().await?;
        // The other end closes by itself when the program takes its place.
        let mut reason = String::new();
        stream.take(REASON).read_to_string(&mut reason).await?;
        if reason.is_empty() { Ok(()) } else { Err(EnterError::Refused(reason)) }
    }

    async fn accept(&self, pid: u32) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let peer = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
            if peer == Some(pid) {
                return Ok(stream);
            }
        }
    }
}
