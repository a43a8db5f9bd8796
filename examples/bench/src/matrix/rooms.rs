//! What it takes to be in many encrypted rooms, and how soon all of them are heard again.

use anyhow::{Context, Result, bail};
use matrix_lab::{Invitation, Membership, Tools};
use serde_json::Value;
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::time::sleep;

use super::{DEADLINE, Figure, Town};
use crate::{
    start::{Memory, SETTLED},
    table::median,
};

const ROOMS: usize = 50;
const STARTS: usize = 5;
/// Between two looks whether the first sync came back; each look is some work for the daemon.
const LOOK: Duration = Duration::from_millis(5);

pub(super) async fn measure(folder: &Path, vigie: &Path, tools: &Tools) -> Result<Vec<Figure>> {
    let mut town = Town::open(folder, vigie, tools, "threads", "").await?;
    let mut soon = starts(&mut town).await?;
    let one = memory(&town).await?;
    for number in 2..=ROOMS {
        let room = Invitation::of(&[&town.bot]).named(&format!("quay {number}"));
        let room = town.phone.create_room(&room).await;
        town.phone.wait_member(&room, &town.bot, Membership::Joined).await;
        // Both have the room's keys, as in a room that is used.
        asks_and_hears(&town, &room).await;
    }
    let mut late = starts(&mut town).await?;
    let all = memory(&town).await?;
    town.home.down().await?;
    let one_room = "in 1 room";
    let what = format!("daemon in {ROOMS} encrypted rooms");
    Ok(vec![
        Figure::new(format!("{what}, resident"), all.resident, "MB")
            .against(one_room, one.resident),
        Figure::new(format!("{what}, its own alone"), all.private, "MB")
            .against(one_room, one.private),
        Figure::new(format!("start → first sync, {ROOMS} rooms"), median(&mut late), "ms")
            .against(one_room, median(&mut soon)),
    ])
}

async fn memory(town: &Town) -> Result<Memory> {
    sleep(SETTLED).await;
    Memory::of(town.home.daemon_pid().context("the daemon is gone")?)
}

/// Milliseconds from a start to the end of its first sync, after `kill -9` each.
async fn starts(town: &mut Town) -> Result<Vec<f64>> {
    let mut all = Vec::new();
    for _ in 0..STARTS {
        town.home.kill();
        let start = Instant::now();
        town.home.up().await?;
        while !has_synced(town).await? {
            if start.elapsed() > DEADLINE {
                bail!("nothing is heard of Matrix:\n{}", town.home.log());
            }
            sleep(LOOK).await;
        }
        all.push(start.elapsed().as_secs_f64() * 1000.);
        // Something new each time: what it asked before is answered from memory.
        asks_and_hears(town, &town.room).await;
    }
    Ok(all)
}

async fn has_synced(town: &Town) -> Result<bool> {
    let account: Result<Value, _> = town.home.desk().get("/matrix").await;
    Ok(account.is_ok_and(|account| account["heard"].is_string()))
}

/// Ada asks something that is answered at once, and has the answer.
async fn asks_and_hears(town: &Town, room: &str) {
    let from_it = |view: &matrix_lab::View| {
        let messages = view.rooms.get(room).map_or(&[][..], |room| &room.messages);
        messages.iter().filter(|message| message.sender == town.bot).count()
    };
    let before = from_it(&town.phone.view());
    town.phone.say(room, "/status").await;
    let what = format!("an answer in {room}");
    town.phone.wait_for(&what, DEADLINE, |view| from_it(view) > before).await;
}
