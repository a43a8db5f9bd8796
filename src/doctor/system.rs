//! What the machine has to give: terminals, open files, loopback.

use nix::sys::resource::{Resource, getrlimit};
use portable_pty::{PtySize, native_pty_system};
use std::{env, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::Finding;

/// A session takes about ten descriptors in the daemon, a page some more.
const FEW_FILES: u64 = 1024;

/// Loopback answers at once or not at all.
const LOOPBACK_DEADLINE: Duration = Duration::from_secs(2);

pub(super) fn terminal() -> Finding {
    const TOPIC: &str = "terminal";
    match native_pty_system().openpty(PtySize::default()) {
        Ok(_) => Finding::ok(TOPIC, "pseudo-terminals can be opened"),
        Err(error) => {
            let todo =
                "In a container, mount /dev/pts; else look at the limit in /proc/sys/kernel/pty.";
            Finding::fail(TOPIC, format!("no pseudo-terminal can be opened: {error}"), todo)
        }
    }
}

pub(super) fn open_files() -> Finding {
    const TOPIC: &str = "open files";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((now, _)) if now >= FEW_FILES => Finding::ok(TOPIC, format!("{now} at once")),
        Ok((now, most)) => {
            let todo = format!("`ulimit -n {}` before `vigie up`.", most.min(65536));
            Finding::warn(TOPIC, format!("only {now} at once"), todo)
        }
        Err(error) => {
            Finding::warn(TOPIC, format!("the limit is not known: {error}"), "Look: ulimit -n")
        }
    }
}

/// The way of an agent's hooks: a small request over loopback TCP, there and back.
pub(super) async fn hooks() -> Finding {
    const TOPIC: &str = "hooks";
    match tokio::time::timeout(LOOPBACK_DEADLINE, there_and_back()).await {
        Ok(Ok(())) => Finding::ok(TOPIC, "loopback carries them"),
        Ok(Err(error)) => {
            let todo = "Let programs connect to 127.0.0.1: agents tell us there what they do.";
            Finding::fail(TOPIC, format!("loopback does not work: {error}"), todo)
        }
        Err(_) => {
            let todo = "Look for a firewall on the loopback interface.";
            Finding::fail(TOPIC, "loopback takes no connections", todo)
        }
    }
}

async fn there_and_back() -> std::io::Result<()> {
    const ASK: &[u8] = b"POST /hook HTTP/1.1\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let to = listener.local_addr()?;
    let agent = async {
        let mut stream = TcpStream::connect(to).await?;
        stream.write_all(ASK).await?;
        stream.read_u8().await
    };
    let holder = async {
        let (mut stream, _) = listener.accept().await?;
        let mut asked = [0; ASK.len()];
        stream.read_exact(&mut asked).await?;
        stream.write_u8(asked[0]).await
    };
    let (answer, held) = tokio::join!(agent, holder);
    held?;
    answer.map(|_| ())
}

/// A proxy that is asked for loopback addresses swallows hooks.
pub(super) fn proxy() -> Option<Finding> {
    let set = |name: &str| env::var(name).is_ok_and(|value| !value.is_empty());
    let proxied = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        .into_iter()
        .find(|name| set(name))?;
    let exempt = ["no_proxy", "NO_PROXY"].iter().filter_map(|name| env::var(name).ok());
    swallows(&exempt.collect::<Vec<_>>().join(",")).then(|| {
        let words = format!("{proxied} is set and does not spare 127.0.0.1");
        Finding::warn("proxy", words, "Add 127.0.0.1 and localhost to no_proxy and NO_PROXY.")
    })
}

fn swallows(exempt: &str) -> bool {
    !exempt.split(',').any(|host| matches!(host.trim(), "127.0.0.1" | "*" | "127.0.0.0/8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[tokio::test]
    async fn loopback_is_tried_for_real() {
        assert_eq!(hooks().await.level, Level::Ok);
    }

    #[test]
    fn a_proxy_must_spare_loopback() {
        assert!(swallows("localhost, example.org"));
        assert!(!swallows("localhost, 127.0.0.1"));
        assert!(!swallows("*"));
    }
}
