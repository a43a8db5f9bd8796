//! The daemon's side of sessions: makes their folders, starts their holders, stays connected to
//! them, and carries orders down and reports up. Decides nothing.

mod confined;
mod launch;
mod link;
mod look;
mod worktree;

pub use look::{changes, copy, tidy};
pub use worktree::WorktreeError;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use vigie_core::{
    agent::Order,
    id::SessionId,
    session::{Launch, Session},
};

use crate::{config::Config, confine::Lacking, hub::Hub, tasks::Tasks};

/// Orders and acknowledgements that may wait for one holder. Prompts come one at a time; a person
/// cannot tap this fast.
const TO_HOLDER: usize = 256;

/// Where sessions keep their files, and what their programs are started from.
#[derive(Clone, Debug)]
pub struct Ground {
    pub config: Arc<Config>,
    /// The data folder.
    pub data: PathBuf,
    /// Our own binary, which is also the holder's.
    pub binary: PathBuf,
    /// Where agents reach us, once we listen.
    pub address: watch::Receiver<Option<SocketAddr>>,
    /// What confines no session here.
    pub lacking: Arc<[Lacking]>,
    /// What no agent sees: Vigie's folders and files, the data folder among them.
    pub hidden: Vec<PathBuf>,
}

impl Ground {
    /// What all starts of a session share.
    pub fn shared(&self, session: SessionId) -> PathBuf {
        self.data.join("sessions").join(session.to_string())
    }

    /// What an agent of ours remembers of a session over its starts.
    fn memory(&self, session: SessionId) -> PathBuf {
        self.shared(session).join("memory")
    }

    /// Where files lie that are about to be sent.
    pub fn outgoing(&self) -> PathBuf {
        self.data.join("outgoing")
    }

    /// The folder of one start of a session.
    pub fn folder(&self, session: SessionId, run: u32) -> PathBuf {
        self.shared(session).join(run.to_string())
    }

    /// Where agents find our tools. A daemon that never listens starts nothing: the next one
    /// repeats its launches.
    async fn mcp_url(&self) -> String {
        let mut address = self.address.clone();
        match address.wait_for(Option::is_some).await.map(|address| *address) {
            Ok(Some(address)) => format!("http://{}/mcp", from_here(address)),
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

/// Whoever listens everywhere listens on this machine too.
fn from_here(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// All links to holders. Owned by the effects' task, which must not wait.
pub struct Sessions {
    ground: Ground,
    tasks: Tasks,
    hub: Hub,
    links: HashMap<SessionId, Handle>,
}

struct Handle {
    run: u32,
    to_holder: mpsc::Sender<ToHolder>,
    stop: CancellationToken,
}

/// What goes down a link.
#[derive(Clone, Debug)]
enum ToHolder {
    Order(Order),
    Acknowledge(u64),
}

impl Sessions {
    pub fn new(ground: Ground, tasks: Tasks, hub: Hub) -> Self {
        Self { ground, tasks, hub, links: HashMap::new() }
    }

    /// Starts the session's program, unless it was started before.
    pub fn launch(&mut self, session: Session, how: Launch) {
        let (id, run, after) = (session.id, session.run, session.last_seq);
        let ground = self.ground.clone();
        self.link(id, run, after, move |link| {
            link.run(Some(launch::Plan { ground, session, how }))
        });
    }

    /// Connects to the session's holder, or reads what a dead one left.
    pub fn reconnect(&mut self, session: SessionId, run: u32, after: u64) {
        self.link(session, run, after, |link| link.run(None));
    }

    fn link<F>(
        &mut self,
        session: SessionId,
        run: u32,
        after: u64,
        body: impl FnOnce(link::Link) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (to_holder, orders) = mpsc::channel(TO_HOLDER);
        let stop = self.tasks.stopping().child_token();
        if let Some(old) = self.links.insert(session, Handle { run, to_holder, stop: stop.clone() })
        {
            old.stop.cancel();
        }
        let folder = self.ground.folder(session, run);
        let link = link::Link {
            session,
            run,
            next: after + 1,
            folder,
            hub: self.hub.clone(),
            config: self.ground.config.clone(),
            orders,
            stop,
        };
        let body = body(link);
        self.tasks.start("link", move |_| body);
    }

    pub fn order(&self, session: SessionId, run: u32, order: Order) {
        self.send(session, run, ToHolder::Order(order));
    }

    pub fn acknowledge(&self, session: SessionId, run: u32, seq: u64) {
        self.send(session, run, ToHolder::Acknowledge(seq));
    }

    /// What cannot be handed over is told again when the holder is linked anew.
    fn send(&self, session: SessionId, run: u32, what: ToHolder) {
        let Some(handle) = self.links.get(&session).filter(|handle| handle.run == run) else {
            return;
        };
        if let Err(mpsc::error::TrySendError::Full(_)) = handle.to_holder.try_send(what) {
            warn!(%session, "a holder does not take its orders; they are told again when it answers");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::from_here;

    #[test]
    fn agents_reach_us_over_an_address_that_can_be_called() {
        for (listening, called) in [
            ("127.0.0.1:7285", "127.0.0.1:7285"),
            ("0.0.0.0:7285", "127.0.0.1:7285"),
            ("[::]:7285", "[::1]:7285"),
            ("192.0.2.7:80", "192.0.2.7:80"),
        ] {
            assert_eq!(from_here(listening.parse().unwrap()).to_string(), called);
        }
    }
}
