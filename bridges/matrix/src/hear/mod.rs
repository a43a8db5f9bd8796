//! From Matrix to the port. Syncing writes down; the desk hands in what is written.

#[cfg(test)]
mod cases;
mod desk;
mod event;
mod fetch;
mod gather;
mod hand;
mod invites;
mod lane;
mod once;
mod policy;
mod read;
mod readers;
pub(crate) mod replaced;
mod rooms;
mod sealed;
mod sync;
mod taps;
mod trouble;
mod watch;
mod welcome;

use futures_util::{FutureExt as _, future};
use matrix_sdk::Client;
use std::{
    collections::HashMap,
    fmt::Display,
    mem,
    panic::AssertUnwindSafe,
    sync::{Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};
use vigie_bridge_kit::{database::DatabaseError, handing::Handing, pause};
use vigie_core::{
    Timestamp,
    bridge::{Inbox, Lost},
};

use crate::{
    MatrixBridge, NAME,
    say::{owed, typing},
    store::{SetAside, heard, used},
};

/// Downloads at the same time; each is in memory as a whole.
const DOWNLOADS: usize = 2;

/// How long what was handed in is looked back at, by edits and by what is taken back; and how long
/// something sealed waits for its key.
const KEPT: chrono::TimeDelta = chrono::TimeDelta::days(30);

/// How often what is older is forgotten.
const PRUNE: Duration = Duration::from_hours(24);

/// Who waits for what a sync brought.
#[derive(Debug, Default)]
struct Wake {
    desk: Notify,
    rooms: Notify,
    ways: Notify,
    readers: Notify,
    sealed: Notify,
    /// Whoever hears goes on with another client.
    client: Notify,
    /// Rows that were sealed and are something else now.
    changed: Mutex<Vec<i64>>,
    /// What is wrong with the account, whether syncs come back or not.
    ailment: Mutex<Option<String>>,
    /// When somebody's keys were asked for last.
    keys_asked: Mutex<HashMap<String, Timestamp>>,
}

impl Wake {
    fn all(&self) {
        self.desk.notify_one();
        self.rooms.notify_one();
        self.ways.notify_one();
        self.readers.notify_one();
        self.sealed.notify_one();
    }

    fn row_changed(&self, id: i64) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.desk.notify_one();
    }

    fn set_ailment(&self, ailment: Option<String>) {
        *self.ailment.lock().unwrap_or_else(PoisonError::into_inner) = ailment;
    }

    fn ailment(&self) -> Option<String> {
        self.ailment.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keys_asked(&self, user: &str) -> Option<Timestamp> {
        self.keys_asked.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied()
    }

    /// Of at most so many people; where more come, all are forgotten.
    fn set_keys_asked(&self, user: &str, at: Timestamp, most: usize) {
        let mut asked = self.keys_asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= most {
            asked.clear();
        }
        asked.insert(user.to_owned(), at);
    }

    fn take_changed(&self) -> Vec<i64> {
        mem::take(&mut self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What hearing needs, in all its parts.
#[derive(Clone, Copy)]
struct Hearing<'a> {
    bridge: &'a MatrixBridge,
    client: &'a Client,
    handing: Handing<'a>,
    wake: &'a Wake,
    /// Downloads at a time.
    downloads: &'a Semaphore,
}

impl<'a> Hearing<'a> {
    fn me(self) -> &'a str {
        self.bridge.session.user.as_str()
    }

    /// Does something on our own disk, as often as it takes.
    async fn written<T: Send + 'static>(
        self,
        job: impl Fn(&mut rusqlite::Connection) -> rusqlite::Result<T> + Clone + Send + 'static,
    ) -> T {
        self.bridge.store.written(job).await
    }

    /// Asks our own disk, as often as it takes.
    async fn on_disk<T, E: Display, F>(self, ask: impl Fn() -> F) -> T
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut failures = 0_u32;
        loop {
            match ask().await {
                Ok(done) => return done,
                Err(error) => warn!(%error, "the Matrix bridge's disk fails; it tries again"),
            }
            tokio::time::sleep(pause::after(failures)).await;
            failures = failures.saturating_add(1);
        }
    }
}

/// Hears until `stop`. Whatever is under way then is dropped: it is on disk and comes again.
pub(crate) async fn hear(
    bridge: &MatrixBridge,
    inbox: &dyn Inbox,
    stop: CancellationToken,
) -> Result<(), Lost> {
    let Ok(_only) = bridge.hearing.try_lock() else {
        return Err(Lost { reason: "somebody else listens to Matrix already".into() });
    };
    let hearing = async {
        tokio::select! {
            () = stop.cancelled() => {}
            () = everything(bridge, inbox) => {} // it has no end
        }
    };
    future::join(hearing, bridge.verifying.serve(inbox, stop.clone())).await;
    Ok(())
}

async fn everything(bridge: &MatrixBridge, inbox: &dyn Inbox) {
    vigie_bridge_kit::fetch::sweep(&bridge.files).await;
    loop {
        if bridge.cut_off.load(Ordering::SeqCst) > 0 {
            bridge.leave_client().await;
        }
        let client = connected(bridge).await;
        with(bridge, inbox, &client).await;
    }
}

/// Hears with that client for as long as it is good.
async fn with(bridge: &MatrixBridge, inbox: &dyn Inbox, client: &Client) {
    let (wake, downloads) = (Wake::default(), Semaphore::new(DOWNLOADS));
    let handing = Handing { inbox, bridge: NAME };
    let hearing = Hearing { bridge, client, handing, wake: &wake, downloads: &downloads };
    let parts = async {
        tokio::join!(
            unbroken("sync", || sync::sync(hearing)),
            unbroken("desk", || desk::Desk::new(hearing).run()),
            unbroken("rooms", || rooms::keep_up(hearing)),
            unbroken("readers", || readers::keep(hearing)),
            unbroken("late keys", || sealed::open_late(hearing)),
            unbroken("account", || watch::watch(hearing)),
            unbroken("typing", || typing::keep(bridge)),
            unbroken("reactions", || owed::keep(bridge)),
            prune(hearing),
        )
    };
    tokio::select! {
        _ = parts => {} // they have no end
        () = wake.client.notified() => {}
    }
}

/// Begins anew after a mistake of ours that ends in a panic: all of them go on from what is on disk.
async fn unbroken<F: Future<Output = ()>>(part: &str, run: impl Fn() -> F) {
    let mut failures = 0_u32;
    while AssertUnwindSafe(Box::pin(run())).catch_unwind().await.is_err() {
        error!(part, failures, "a part of hearing panicked; it begins anew");
        tokio::time::sleep(pause::after(failures)).await;
        failures = failures.saturating_add(1);
    }
}

/// The client, as soon as there can be one.
async fn connected(bridge: &MatrixBridge) -> Client {
    let mut failures = 0_u32;
    loop {
        match Box::pin(bridge.client()).await {
            Ok(client) => return client,
            Err(error) => bridge.in_trouble(trouble::of_connecting(&error)),
        }
        tokio::time::sleep(pause::after(failures)).await;
        failures = failures.saturating_add(1);
    }
}

async fn prune(hearing: Hearing<'_>) {
    loop {
        let now = hearing.bridge.now();
        let (before, now) = ((now - KEPT).timestamp_millis(), now.timestamp_millis());
        hearing.written(move |db| heard::prune(db, before)).await;
        hearing.written(move |db| used::prune(db, now)).await;
        tokio::time::sleep(PRUNE).await;
    }
}

impl MatrixBridge {
    /// Events that could not be read and were set aside, newest first, at most `most`.
    ///
    /// # Errors
    /// When the bridge's file cannot be read, in words.
    pub async fn set_aside(&self, most: usize) -> Result<Vec<SetAside>, Unreadable> {
        Ok(self.store.run(move |db| heard::all_set_aside(db, most)).await?)
    }
}

/// The bridge's file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Unreadable(#[from] DatabaseError);
