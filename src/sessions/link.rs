//! One connection to one holder, for as long as its session's program runs.

use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use vigie_core::{
    agent::AgentEvent,
    decide::Event,
    id::SessionId,
    ledger::{MOST_AT_ONCE, Used},
};

use super::{ToHolder, launch::Plan};
use crate::{
    agents::{AgentKind, Conversation, claude},
    config::Config,
    hold::client::{self, LinkError},
    hub::Hub,
};

/// Between two tries to reach a holder that lives and does not answer.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) struct Link {
    pub session: SessionId,
    pub run: u32,
    /// The number of the first report that is not written down yet.
    pub next: u64,
    pub folder: PathBuf,
    pub hub: Hub,
    pub config: Arc<Config>,
    pub orders: mpsc::Receiver<ToHolder>,
    pub stop: CancellationToken,
}

/// Why a connection ended.
enum End {
    /// The session is over and every report was handed in.
    Over,
    Broken,
    Stopped,
}

impl Link {
    pub(super) async fn run(mut self, plan: Option<Plan>) {
        let (session, run) = (self.session, self.run);
        if let Some(plan) = plan
            && let Err(error) = plan.carry_out(&self.folder, &self.hub).await
        {
            let why = error.to_string();
            return self.hub.tell(Event::LaunchFailed { session, run, why }).await;
        }
        loop {
            let end = match client::connect(&self.folder, self.next).await {
                Ok(link) => self.stay(link).await,
                Err(LinkError::Gone { .. }) if !client::alive(&self.folder) => {
                    self.read_what_is_left().await
                }
                Err(error) => {
                    warn!(%session, reason = %error, "a holder could not be reached");
                    End::Broken
                }
            };
            match end {
                End::Over => return self.hub.tell(Event::HolderGone { session, run }).await,
                End::Stopped => return,
                End::Broken => {
                    tokio::select! {
                        () = self.stop.cancelled() => return,
                        () = tokio::time::sleep(AGAIN) => {}
                    }
                }
            }
        }
    }

    async fn stay(&mut self, mut link: client::Link) -> End {
        let (session, run) = (self.session, self.run);
        info!(%session, from = self.next, "linked");
        let sender = link.orders();
        // Before anything else: the configuration may be another than when the session began.
        let policies = &self.config.policies;
        if !link.guards() {
            if !policies.is_empty() {
                warn!(%session, "its holder is of an older Vigie: until it is ended and resumed, policies see only what it asks about");
            }
        } else if sender.policies(policies).await.is_err() {
            return End::Broken;
        }
        self.hub.tell(Event::Linked { session, run }).await;
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return End::Stopped,
                report = link.next() => match report {
                    Ok(Some(report)) => {
                        self.next = report.seq + 1;
                        self.hub.tell(Event::Report { session, run, report }).await;
                    }
                    Ok(None) => return End::Over,
                    Err(_) => return End::Broken,
                },
                Some(what) = self.orders.recv() => {
                    let sent = match what {
                        ToHolder::Order(order) => sender.send(order).await,
                        ToHolder::Acknowledge(seq) => sender.ack(seq).await,
                    };
                    if sent.is_err() {
                        return End::Broken; // told again under the same id
                    }
                }
            }
        }
    }

    /// What its agent's records have that the holder did not live to tell; what it told counts once.
    async fn tell_usage_left(&self, conversation: Option<String>) {
        let Ok(spec) = client::spec(&self.folder) else { return };
        match spec.kind {
            AgentKind::Claude => {}
            AgentKind::Shell | AgentKind::Demo => return,
        }
        let (Conversation::New { id } | Conversation::Resume { id }) = spec.conversation;
        let both = [Some(id), conversation];
        let since = self.session.made();
        let read = move || -> Vec<Used> {
            let ids = both.into_iter().flatten();
            ids.flat_map(|id| claude::read_usage(&spec.env, &id, since)).collect()
        };
        // It panics or it is there: no work that was begun is taken back.
        let Ok(used) = tokio::task::spawn_blocking(read).await else { return };
        for entries in used.chunks(MOST_AT_ONCE) {
            let (session, entries) = (self.session, entries.to_vec());
            self.hub.tell(Event::Used { session, entries }).await;
        }
    }

    /// The holder is dead; its journal is not.
    async fn read_what_is_left(&mut self) -> End {
        let (session, run) = (self.session, self.run);
        let mut conversation = None;
        match client::read_journal(&self.folder, self.next) {
            Ok(reports) => {
                for report in reports {
                    self.next = report.seq + 1;
                    if let AgentEvent::Conversation { id, .. } = &report.what {
                        conversation = Some(id.clone());
                    }
                    self.hub.tell(Event::Report { session, run, report }).await;
                }
            }
            Err(error) => {
                warn!(%session, reason = %error, "a dead session's journal does not read");
            }
        }
        self.tell_usage_left(conversation).await;
        End::Over
    }
}
