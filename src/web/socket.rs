//! The desk's socket: its path, and who is at the other end.

use std::{
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
};
use tokio::net::{UnixListener, UnixStream};

/// The socket's name in the data folder.
pub const SOCKET_NAME: &str = "vigie.sock";

/// Longest path of a socket. Source: `sun_path` of `sockaddr_un`, 108 bytes on Linux and 104 on
/// macOS, one of them for the closing zero.
const LONGEST_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the path {} is too long for a socket; set VIGIE_HOME to a folder with a shorter one",
    .0.display()
)]
pub struct PathTooLong(pub PathBuf);

/// A path that fits, and what must stay open while it is used.
struct Short {
    path: PathBuf,
    _folder: Option<File>,
}

/// Linux reaches a folder under a short name through a descriptor; elsewhere the path must do.
fn short(data: &Path) -> io::Result<Short> {
    let path = data.join(SOCKET_NAME);
    if path.as_os_str().len() <= LONGEST_PATH {
        return Ok(Short { path, _folder: None });
    }
    if !cfg!(target_os = "linux") {
        return Err(io::Error::other(PathTooLong(path)));
    }
    let folder = File::open(data)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_NAME}", folder.as_raw_fd()));
    Ok(Short { path, _folder: Some(folder) })
}

/// Binds the socket for this user alone. The caller holds the data folder's lock, so a socket that
/// is there already belongs to a daemon that is gone.
pub(super) fn bind(data: &Path) -> io::Result<UnixListener> {
    let short = short(data)?;
    match std::fs::remove_file(&short.path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(&short.path)?;
    // The folder is 0700, so nobody came in before this line either.
    std::fs::set_permissions(&short.path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

pub(super) async fn connect(data: &Path) -> io::Result<UnixStream> {
    let short = short(data)?;
    UnixStream::connect(&short.path).await
}

/// Who is at the other end of a connection; every request carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The person this Vigie belongs to.
    Ours,
    /// Another user, or nobody knows who.
    Stranger,
    /// A process inside one of our sessions: an agent, or what it started.
    Agent {
        /// The folder of the run it lives in, as the kernel's tree of processes tells; `None` when
        /// it may be in any.
        folder: Option<PathBuf>,
    },
}

pub(super) fn peer(stream: &UnixStream, whose: fn(u32) -> Peer) -> Peer {
    let Ok(credentials) = stream.peer_cred() else { return Peer::Stranger };
    let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok());
    match pid {
        Some(_) if credentials.uid() != nix::unistd::geteuid().as_raw() => Peer::Stranger,
        Some(pid) => whose(pid),
        None => Peer::Stranger,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_folder_deeper_than_a_socket_may_lie_still_works() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("a".repeat(60)).join("b".repeat(60));
        std::fs::create_dir_all(&deep).unwrap();
        let listener = bind(&deep).unwrap();
        let (client, server) = tokio::join!(connect(&deep), listener.accept());
        client.unwrap();
        let (stream, _) = server.unwrap();
        assert_eq!(peer(&stream, |_| Peer::Ours), Peer::Ours);
        let agent = Peer::Agent { folder: Some(format!("/{}", std::process::id()).into()) };
        let whose = |pid: u32| Peer::Agent { folder: Some(format!("/{pid}").into()) };
        assert_eq!(peer(&stream, whose), agent);
        let mode = deep.join(SOCKET_NAME).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
