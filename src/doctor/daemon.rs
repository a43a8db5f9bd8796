//! The daemon: does it run, is it this program's, is its port free.

use std::{io, net::SocketAddr, path::Path};
use tokio::net::TcpListener;

use super::Finding;
use crate::web::{
    client::{Client, ClientError},
    shapes::DaemonShape,
};

const TOPIC: &str = "daemon";

pub(super) async fn look(data: &Path, listen: SocketAddr) -> Vec<Finding> {
    match Client::new(data).get::<DaemonShape>("/daemon").await {
        Ok(daemon) => vec![version(&daemon)],
        Err(ClientError::NotRunning) => {
            vec![Finding::ok(TOPIC, "not running; `vigie up` starts it"), port(listen).await]
        }
        Err(error) => {
            let todo = error.hint().unwrap_or_else(|| "Start it anew: vigie down, vigie up".into());
            vec![Finding::fail(TOPIC, error, todo)]
        }
    }
}

fn version(daemon: &DaemonShape) -> Finding {
    let ours = env!("CARGO_PKG_VERSION");
    if daemon.version == ours {
        return Finding::ok(
            TOPIC,
            format!("{ours} runs at {}, process {}", daemon.url, daemon.pid),
        );
    }
    let words = format!("{} runs, and this program is {ours}", daemon.version);
    Finding::warn(TOPIC, words, "Start the new one: vigie down, then vigie up. Sessions go on.")
}

async fn port(listen: SocketAddr) -> Finding {
    const TOPIC: &str = "port";
    match TcpListener::bind(listen).await {
        Ok(_) => Finding::ok(TOPIC, format!("{listen} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let todo = "Choose another: `vigie up --listen`, or `listen` under [web].";
            Finding::fail(TOPIC, format!("{listen} is taken by another program"), todo)
        }
        Err(error) => {
            let todo = "Set `listen` under [web] to an address of this machine.";
            Finding::fail(TOPIC, format!("cannot listen on {listen}: {error}"), todo)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[tokio::test]
    async fn a_port_of_another_program_is_said() {
        let data = tempfile::tempdir().unwrap();
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let findings = look(data.path(), other.local_addr().unwrap()).await;
        assert_eq!((findings[0].level, findings[1].level), (Level::Ok, Level::Fail));
        assert!(findings[1].words.contains("is taken"), "{}", findings[1].words);
    }
}
