//! From Telegram to the port. Polling writes down and confirms; the desk hands in what is written.

mod content;
mod desk;
mod fetch;
mod hand;
mod lane;
mod poll;
mod read;
mod setup;
mod trouble;
mod update;

use futures_util::future;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use vigie_bridge_kit::{database::DatabaseError, fetch::sweep, handing::Handing};
use vigie_core::bridge::{Inbox, Lost};

use self::{desk::Desk, hand::Hearing};
use crate::{NAME, TelegramBridge, store::heard};

/// Downloads at the same time.
const DOWNLOADS: usize = 3;

/// Hears until `stop`. Whatever is under way then is dropped: it is on disk and comes again.
pub(crate) async fn hear(
    bridge: &TelegramBridge,
    inbox: &dyn Inbox,
    stop: CancellationToken,
) -> Result<(), Lost> {
    let Ok(_only) = bridge.hearing.try_lock() else {
        return Err(Lost { reason: "somebody else listens to Telegram already".into() });
    };
    let arrived = Notify::new();
    let downloads = Semaphore::new(DOWNLOADS);
    let (me, known) = watch::channel(None);
    let handing = Handing { inbox, bridge: NAME };
    let hearing = Hearing { bridge, handing, downloads: &downloads };
    let everything = future::join4(
        poll::poll(bridge, &arrived),
        hand_in(hearing, known, &arrived),
        setup::introduce(bridge, &me),
        setup::prune(bridge),
    );
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        _ = everything => Ok(()), // polling has no end
    }
}

/// Hands in once it is known who the bot is: a command may be for another one.
async fn hand_in(
    hearing: Hearing<'_>,
    mut known: watch::Receiver<Option<read::Me>>,
    arrived: &Notify,
) {
    sweep(&hearing.bridge.files).await;
    let me = known.wait_for(Option::is_some).await.ok().and_then(|me| me.clone());
    if let Some(me) = me {
        Desk::new(hearing, me, known).run(arrived).await;
    }
}

impl TelegramBridge {
    /// Updates that could not be read and were set aside, newest first, at most `most`.
    ///
    /// # Errors
    /// When the bridge's file cannot be read, in words.
    pub async fn set_aside(&self, most: usize) -> Result<Vec<heard::SetAside>, Unreadable> {
        Ok(self.store.run(move |db| heard::all_set_aside(db, most)).await?)
    }
}

/// The bridge's file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unreadable(#[from] DatabaseError);
