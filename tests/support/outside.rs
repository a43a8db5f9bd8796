//! What the web part reaches, where a test is about something else: nothing.

use async_trait::async_trait;
use axum::Router;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use vigie::{
    config::PriceList,
    hub::Hub,
    web::{Fetched, Ledger, Outside, Peer, Printed, Reel, Sight},
    workflows::{self, Workflows},
};
use vigie_core::{ledger::Zone, session::Session};
use vigie_dashboard::{
    session::{Changes, Recorded, Talk},
    term::Screen,
};

/// All of it, to be replaced where a test has something.
pub(crate) fn nothing_outside(hub: Hub) -> Outside {
    Outside {
        hub,
        newest: watch::channel(0).1,
        events: Arc::new(|_, _| Box::pin(async { Ok(Vec::new()) })),
        history: Arc::new(|_, _, _, _| Box::pin(async { Ok(Vec::new()) })),
        mail: Arc::new(|_| Box::pin(async { Ok(Vec::new()) })),
        ledger: Ledger {
            usage: Arc::new(|_| Box::pin(async { Ok(Vec::new()) })),
            delegations: Arc::new(|_, _| Box::pin(async { Ok(Vec::new()) })),
            prices: watch::channel(Arc::new(PriceList::shipped())).1,
            zone: Zone::UTC,
            day_limit: None,
        },
        workflows: Workflows::fixed(workflows::build([])),
        secret: Arc::new(|_, _| Box::pin(async { Err("nobody knows it".into()) })),
        output: Arc::new(|_, _, _, _, _, _| Box::pin(async { Ok(None) })),
        folder: Arc::new(|_| "/nowhere".into()),
        screen: Arc::new(|_| Box::pin(async { Err("nobody draws it".into()) })),
        sight: Arc::new(Blind),
        invite: Arc::new(|_| Box::pin(async { None })),
        whose: |_| Peer::Ours,
        programs: None,
        matrix: None,
        protections: Arc::new([]),
        versions: Arc::new([]),
        doctor: Arc::new(|| Box::pin(async { Err("nobody looks".into()) })),
        host: Arc::new(vigie_dashboard::system::Host::default),
        assets: Router::new(),
        projects: Arc::new([]),
        agents: Arc::new([]),
        phone: None,
    }
}

/// Nothing is to be seen of any session.
struct Blind;

fn unseen<T>() -> Result<T, String> {
    Err("nobody sees it".into())
}

#[async_trait]
impl Sight for Blind {
    async fn screen(&self, _: &Session) -> Result<(Screen, u64), String> {
        unseen()
    }

    async fn printed(&self, _: &Session, _: u64) -> Result<Box<dyn Printed>, String> {
        unseen()
    }

    async fn keys(&self, _: &Session, _: Vec<u8>) -> Result<(), String> {
        unseen()
    }

    async fn last_screen(&self, _: &Session) -> Result<Screen, String> {
        unseen()
    }

    async fn above(&self, _: &Session) -> Result<Screen, String> {
        unseen()
    }

    async fn recorded(&self, _: &Session) -> Result<Recorded, String> {
        unseen()
    }

    async fn frames(&self, _: &Session, _: Duration) -> Result<Reel, String> {
        unseen()
    }

    async fn talk(&self, _: &Session, _: Option<usize>) -> Result<Talk, String> {
        unseen()
    }

    async fn changes(&self, _: &Session) -> Result<Changes, String> {
        unseen()
    }

    async fn file(&self, _: &Session, _: String) -> Result<Fetched, String> {
        unseen()
    }
}
