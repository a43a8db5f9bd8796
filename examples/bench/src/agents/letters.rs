//! Messages that are accepted a second, each on disk before its sender hears so, against what the disk
//! can do.

use anyhow::Result;
use serde_json::json;
use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

use super::{
    calls::{CLIENTS, words},
    client::{Era, Tools},
    rows, token,
};
use crate::{commits::syncs_a_second, home::Home, table::Figure};

const WHILE: Duration = Duration::from_secs(3);

/// As many as it takes: one sender may write to one session ten times a minute, and two hundred
/// messages may wait for it.
const SESSIONS: usize = 1500;

pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let mut home = Home::new(folder, vigie, "[[agent]]\nname = \"demo\"\nkind = \"demo\"\n")?;
    fs::create_dir_all(home.data())?;
    let sessions = Arc::new(rows::ended_sessions(&home.data(), SESSIONS).await?);
    home.up().await?;
    let before = syncs_a_second(folder, WHILE)?;
    let mut rates = Vec::new();
    for writers in CLIENTS {
        let mut clients = Vec::new();
        for number in 0..writers {
            clients.push(token(&home, &format!("writer-{writers}-{number}")).await?);
        }
        rates.push((writers, letters(home.address, &clients, &sessions).await?));
    }
    let disk = f64::midpoint(before, syncs_a_second(folder, WHILE)?);
    home.down().await?;
    let figure = |(writers, rate)| {
        let what = format!("send_message, {}", words(writers));
        Figure::new(what, rate, "/s").against("4 kB and fdatasync", disk)
    };
    Ok(rates.into_iter().map(figure).collect())
}

async fn letters(address: SocketAddr, tokens: &[String], to: &Arc<Vec<String>>) -> Result<f64> {
    let mut clients = Vec::new();
    for token in tokens {
        clients.push(Tools::open(address, token, Era::Calls).await?);
    }
    let writers = clients.len();
    let mut all = JoinSet::new();
    let start = Instant::now();
    for (number, mut tools) in clients.into_iter().enumerate() {
        let to = Arc::clone(to);
        all.spawn(async move {
            let mut count = 0_u32;
            // Each begins elsewhere, so that no session gets more than the others.
            let from = to.len() * number / writers;
            for name in to.iter().cycle().skip(from) {
                if start.elapsed() >= WHILE {
                    break;
                }
                let text = format!("The tests of part {count} pass.");
                tools.call("send_message", json!({ "to": name, "text": text })).await?;
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
