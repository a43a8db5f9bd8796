//! How many accepted events a second are on disk, against what the disk can do.

use anyhow::Result;
use serde_json::json;
use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use vigie::{clock::Clock, store::Store};
use vigie_core::state::{JournalEntry, Row};

use super::table::Figure;

/// Long enough for some checkpoints of the write-ahead log.
const WHILE: Duration = Duration::from_secs(4);

pub(crate) async fn measure(folder: &Path) -> Result<Vec<Figure>> {
    let disk = syncs_a_second(folder, WHILE)?;
    let store = Store::open(folder)?;
    let alone = events_a_second(&store, 1).await?;
    let many = events_a_second(&store, 32).await?;
    let again = syncs_a_second(folder, WHILE)?;
    // The disk is shared with whoever else is on the machine, so it is asked before and after.
    let disk = f64::midpoint(disk, again);
    let against = "4 kB and fdatasync";
    Ok(vec![
        Figure::new("events on disk, 1 writer", alone, "/s").against(against, disk),
        Figure::new("events on disk, 32 writers", many, "/s").against(against, disk),
    ])
}

/// Appends 4 kB and waits for the disk, again and again.
pub(crate) fn syncs_a_second(folder: &Path, time: Duration) -> Result<f64> {
    let mut file = File::create(folder.join("syncs"))?;
    let start = Instant::now();
    let mut count = 0_u32;
    while start.elapsed() < time {
        sync_once(&mut file)?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

pub(crate) fn sync_once(file: &mut File) -> io::Result<()> {
    file.write_all(&[b'x'; 4096])?;
    file.sync_data()
}

async fn events_a_second(store: &Store, writers: u32) -> Result<f64> {
    let start = Instant::now();
    let mut all = JoinSet::new();
    for writer in 0..writers {
        let store = store.clone();
        all.spawn(async move {
            let mut count = 0_u32;
            while start.elapsed() < WHILE {
                store.write(vec![event(writer, count)]).await.await??;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(written) = all.join_next().await {
        count += written??;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// One line of the journal, as large as most are.
pub(crate) fn event(writer: u32, number: u32) -> Row {
    Row::Journal(JournalEntry {
        at: Clock::system().now(),
        kind: "progress".into(),
        session: None,
        gate: None,
        human: None,
        detail: json!({ "writer": writer, "line": format!("Bash: cargo test --workspace tides_{number}") }),
    })
}
