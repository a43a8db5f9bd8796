//! The phone page without the rest of Vigie: `cargo run -p vigie-phone --example playground`.
//!
//! It tells an invented story and plays the part of the core: taps decide cards, texts get their
//! receipts. What you see is what the page makes of [`Bridge::say`]; what you do arrives here
//! through [`Inbox::accept`]. The log is `playground.db` in the current folder, or the file named
//! as the first argument; delete it to start over.

mod story;

use async_trait::async_trait;
use axum::{Extension, Router, response::Redirect, routing::get};
use std::{error::Error, path::Path, sync::Arc};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;
use vigie_core::{
    Timestamp,
    bridge::{Accepted, Action, Bridge, Heard, HeardKind, Inbox, NotAccepted, Noted},
    id::BridgeName,
};
use vigie_phone::{Link, Options, Person, PhoneBridge, Retry, assets_router};

/// Where it listens, on this machine only.
const ADDRESS: &str = "127.0.0.1:7286";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "playground.db".into());
    let begins = !Path::new(&file).exists();
    let phone = PhoneBridge::open(Path::new(&file), options())?;
    let mut story = story::Story::new(Arc::clone(&phone), now());
    if begins {
        story.begin().await?;
    }

    let (heard, mut todo) = mpsc::channel(16);
    let inbox = Table { heard };
    let person = Person { id: "ines".into(), name: "Inès Caradec".into() };
    let pages = Router::new()
        .nest_service("/phone", phone.router().layer(Extension(person)))
        .nest("/assets", assets_router(&[]))
        .route("/", get(|| async { Redirect::to("/phone") }));
    let server = TcpListener::bind(ADDRESS).await?;
    println(&format!("The phone page is at http://{ADDRESS}/phone"));
    let stop = CancellationToken::new();
    tokio::select! {
        ended = async { axum::serve(server, pages).await } => ended?,
        heard = phone.hear(&inbox, stop.clone()) => heard?,
        told = async {
            while let Some(heard) = todo.recv().await {
                story.go_on(&heard, now()).await?;
            }
            Ok::<_, Box<dyn Error>>(())
        } => told?,
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(())
}

/// Where what people do lands; a real inbox writes it to disk first.
struct Table {
    heard: mpsc::Sender<Heard>,
}

#[async_trait]
impl Inbox for Table {
    async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted> {
        let notice = match &heard.what {
            HeardKind::Tap { action: Action::Interrupt { .. }, .. } => Some("Stopping.".into()),
            HeardKind::Tap { .. } => Some("Noted.".into()),
            HeardKind::Text { .. }
            | HeardKind::Edited { .. }
            | HeardKind::Reaction { .. }
            | HeardKind::Withdrawn { .. }
            | HeardKind::TakenBack { .. } => None,
        };
        let full = |_| NotAccepted { reason: "the story is over".into() };
        self.heard.send(heard).await.map_err(full)?;
        Ok(Accepted { notice })
    }

    async fn note(&self, _bridge: &BridgeName, _noted: Noted) -> Result<(), NotAccepted> {
        Ok(())
    }

    async fn admits(&self, _bridge: &BridgeName, _from: &str) -> Result<bool, NotAccepted> {
        Ok(true)
    }
}

fn options() -> Options {
    Options {
        clock: Arc::new(now),
        retry: Retry::default(),
        stop: CancellationToken::new(),
        links: vec![Link { name: "Board", path: "/", icon: "i-board" }],
    }
}

#[expect(clippy::disallowed_methods, reason = "the outermost shell of this program")]
fn now() -> Timestamp {
    std::time::SystemTime::now().into()
}

#[expect(clippy::print_stdout, reason = "tells where to look")]
fn println(text: &str) {
    println!("{text}");
}
