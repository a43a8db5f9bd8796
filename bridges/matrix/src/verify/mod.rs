//! Verification by emoji: a person at the desk compares them, nothing is confirmed by itself. What
//! strangers ask is not answered. Nothing of it outlives the process: who asked is told that it is
//! over when Vigie stops, and begins again.

mod ask;
mod desk;
mod flows;
mod follow;
mod known;
mod look;
mod model;
mod read;
mod standing;
#[cfg(test)]
mod tests;

pub use look::{Backup, Look, PersonLook, RoomKind, RoomLook};
pub use model::{
    Begun, Emoji, NoVerificationId, NotDone, Outcome, PeerDevice, Shown, Side, State, Step,
    Verification, VerificationId,
};
pub use standing::{Standing, Stands, Unread};
pub(crate) use standing::{in_fours, stands};

use futures_util::FutureExt as _;
use matrix_sdk::Client;
use std::{
    fmt,
    future::Future,
    mem,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};
use vigie_core::{
    bridge::{Inbox, Noted},
    id::BridgeName,
};

use self::{flows::Flows, model::Outcome as Ended};
use crate::{Clock, NAME, store::Store};

/// What somebody asked waits for as long. Source: Matrix specification, "Key verification framework".
const LAPSE: Duration = Duration::from_mins(10);

/// What is under way at once: verifications, and requests that are being looked at.
const MOST_TASKS: usize = 16;

/// Notes that wait for the daemon; more are not worth a ring.
const MOST_NOTES: usize = 8;

/// Between two tries to hand a note in.
const NOTE_AGAIN: Duration = Duration::from_secs(2);

/// For the other ends to be told that it is over, when Vigie stops.
const TAKING_BACK: Duration = Duration::from_secs(3);

/// What goes on with verification in this process. Dropping the last handle ends all of it.
#[derive(Clone)]
pub(crate) struct Verifying(Arc<Shared>);

/// What its tasks share; they do not keep it alive.
pub(crate) struct Shared {
    /// Whom the configuration knows, by their full user ids.
    people: Vec<String>,
    store: Store,
    clock: Clock,
    lapse: Duration,
    flows: Mutex<Flows>,
    tasks: Mutex<JoinSet<()>>,
    notes: mpsc::Sender<Noted>,
    to_tell: tokio::sync::Mutex<mpsc::Receiver<Noted>>,
    stop: CancellationToken,
}

impl fmt::Debug for Verifying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Verifying").finish_non_exhaustive()
    }
}

impl Verifying {
    pub(crate) fn new(people: Vec<String>, store: Store, clock: Clock) -> Self {
        Self::lapsing(people, store, clock, LAPSE)
    }

    fn lapsing(people: Vec<String>, store: Store, clock: Clock, lapse: Duration) -> Self {
        let (notes, to_tell) = mpsc::channel(MOST_NOTES);
        Self(Arc::new(Shared {
            people,
            store,
            clock,
            lapse,
            flows: Mutex::default(),
            tasks: Mutex::default(),
            notes,
            to_tell: tokio::sync::Mutex::new(to_tell),
            stop: CancellationToken::new(),
        }))
    }

    /// Listens to requests from now on; once for each client.
    pub(crate) fn attach(&self, client: &Client) {
        ask::listen(client, &self.0);
    }

    /// Tells through `inbox` who asks to be verified, until `stop`; then it takes back what is under
    /// way, so that no phone waits for us, and returns within seconds. Runs beside the syncs:
    /// `tokio::join!(sync, bridge.verifying.serve(inbox, stop))`.
    pub(crate) async fn serve(&self, inbox: &dyn Inbox, stop: CancellationToken) {
        let mut notes = self.0.to_tell.lock().await;
        loop {
            let note = tokio::select! {
                () = stop.cancelled() => break,
                Some(note) = notes.recv() => note,
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = hand_in(inbox, note) => {}
            }
        }
        self.end().await;
    }

    async fn end(&self) {
        self.0.stop.cancel();
        let mut tasks = mem::take(&mut *self.0.tasks());
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(TAKING_BACK, all).await.is_err() {
            warn!("a phone was not told that its verification is over");
        }
        self.0.flows().end_all(&Ended::Stopped);
    }
}

/// Until it is taken: what is rung for once is not rung for again soon.
async fn hand_in(inbox: &dyn Inbox, note: Noted) {
    let bridge = BridgeName::new(NAME);
    while let Err(error) = inbox.note(&bridge, note.clone()).await {
        warn!(reason = %error, "a note of Matrix was not taken; it is handed in again");
        tokio::time::sleep(NOTE_AGAIN).await;
    }
}

impl Shared {
    fn flows(&self) -> MutexGuard<'_, Flows> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` beside everything else, if there is room; a panic in it is said and ends only that.
    fn start(&self, work: impl Future<Output = ()> + Send + 'static) -> Result<(), NoRoom> {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        if tasks.len() >= MOST_TASKS || self.stop.is_cancelled() {
            return Err(NoRoom);
        }
        let work = AssertUnwindSafe(work).catch_unwind();
        tasks.spawn(Box::pin(async move {
            if work.await.is_err() {
                error!("a task of a verification panicked");
            }
        }));
        Ok(())
    }
}

/// As much as may be is under way, or Vigie stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoRoom;
