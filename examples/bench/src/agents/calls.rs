//! Calls of a tool a second, with a token each, in both eras of the protocol.

use anyhow::Result;
use serde_json::json;
use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

use super::{
    client::{Era, Tools},
    token,
};
use crate::{
    home::Home,
    page::Page,
    table::{Figure, percentile},
};

const WHILE: Duration = Duration::from_secs(3);

/// Clients at once.
pub(super) const CLIENTS: [usize; 2] = [1, 32];

pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let mut home = Home::new(folder, vigie, "")?;
    home.up().await?;
    let mut tokens = Vec::new();
    for number in 0..CLIENTS[1] {
        tokens.push(token(&home, &format!("client-{number}")).await?);
    }
    let mut figures = Vec::new();
    for clients in CLIENTS {
        let bare = trips(home.address, clients).await?;
        for era in Era::BOTH {
            let mut called = calls(home.address, &tokens[..clients], era).await?;
            let what = format!("whoami, {}, {}", words(clients), era.revision());
            let plainer = format!("GET /healthz, {}", words(clients));
            figures.push(Figure::new(&what, called.rate, "/s").against(plainer, bare));
            let [p50, p95] = [50, 95].map(|hundredth| percentile(&mut called.samples, hundredth));
            figures.push(Figure::new(format!("{what}, p50"), p50, "ms"));
            figures.push(Figure::new(format!("{what}, p95"), p95, "ms"));
        }
    }
    home.down().await?;
    Ok(figures)
}

pub(super) fn words(clients: usize) -> String {
    if clients == 1 { "1 client".into() } else { format!("{clients} clients") }
}

/// Bare round trips a second, over as many connections.
async fn trips(address: SocketAddr, clients: usize) -> Result<f64> {
    let mut all = JoinSet::new();
    let start = Instant::now();
    for _ in 0..clients {
        all.spawn(async move {
            let mut page = Page::of(address).await?;
            let mut count = 0_u32;
            while start.elapsed() < WHILE {
                page.get("/healthz").await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(done) = all.join_next().await {
        count += done??;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

struct Called {
    rate: f64,
    /// Milliseconds of each call.
    samples: Vec<f64>,
}

async fn calls(address: SocketAddr, tokens: &[String], era: Era) -> Result<Called> {
    let mut clients = Vec::new();
    for token in tokens {
        clients.push(Tools::open(address, token, era).await?);
    }
    let mut all = JoinSet::new();
    let start = Instant::now();
    for mut tools in clients {
        all.spawn(async move {
            let mut samples = Vec::new();
            while start.elapsed() < WHILE {
                let began = Instant::now();
                tools.call("whoami", json!({})).await?;
                samples.push(began.elapsed().as_secs_f64() * 1000.);
            }
            anyhow::Ok(samples)
        });
    }
    let mut samples = Vec::new();
    while let Some(done) = all.join_next().await {
        samples.extend(done??);
    }
    #[expect(clippy::cast_precision_loss, reason = "some ten thousand")]
    let rate = samples.len() as f64 / start.elapsed().as_secs_f64();
    Ok(Called { rate, samples })
}
