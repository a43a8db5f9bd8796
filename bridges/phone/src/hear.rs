//! Handing in what people did: in order, each until it is taken or set aside.

use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use vigie_bridge_kit::handing::{ACCEPT, in_time};
use vigie_core::bridge::{Accepted, Heard, Inbox, Lost, NotAccepted};

use crate::{
    PhoneBridge,
    store::{self, Refused, StoreError},
};

/// While Vigie cannot write, an update comes again as if it had been refused so often: rarely enough
/// to leave the disk alone, soon enough if nobody tells that it is well again.
const WHILE_ILL: u32 = 2;

impl PhoneBridge {
    /// Runs until `stop`.
    pub(crate) async fn hand_in(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), Lost> {
        let Ok(_only) = self.hearing.try_lock() else {
            return Err(Lost { reason: "somebody else listens to the phone page already".into() });
        };
        let mut arrived = self.arrived.subscribe();
        loop {
            arrived.borrow_and_update(); // before looking, so that what comes meanwhile wakes us
            let Some((id, heard)) = self.next_waiting().await.map_err(|e| lost(&e))? else {
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    _ = arrived.changed() => continue,
                }
            };
            let taken = tokio::select! {
                () = stop.cancelled() => return Ok(()), // the same key comes again
                taken = in_time(inbox.accept(heard), ACCEPT) => taken,
            };
            if let Some(wait) = self.settle(id, taken).await.map_err(|e| lost(&e))? {
                let mut ill = self.ill.subscribe();
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = tokio::time::sleep(wait) => {}
                    _ = ill.changed() => {} // the disk has room again: no need to wait
                }
            }
        }
    }

    async fn next_waiting(&self) -> Result<Option<(i64, Heard)>, StoreError> {
        let (ids, now) = (self.store.ids().clone(), self.now_ms());
        self.store.run(move |db| store::next_waiting(db, &ids, now)).await
    }

    /// Writes down what became of it; returns how long to wait before it is handed in again.
    async fn settle(
        &self,
        id: i64,
        taken: Result<Accepted, NotAccepted>,
    ) -> Result<Option<Duration>, StoreError> {
        let wait = match taken {
            Ok(accepted) => {
                self.store.run(move |db| store::accepted(db, id, &accepted)).await?;
                None
            }
            // Not the update's fault, and nothing is written either: our own disk is likely the same.
            Err(NotAccepted { .. }) if self.ill.borrow().is_some() => {
                info!(update = id, "an update waits until Vigie can write again");
                Some(self.retry.after(WHILE_ILL))
            }
            Err(NotAccepted { reason }) => {
                let now = self.now_ms();
                match self.store.run(move |db| store::refused(db, id, &reason, now)).await {
                    Ok(Refused::Again(times)) => {
                        info!(update = id, times, "an update was refused and comes again");
                        Some(self.retry.after(times))
                    }
                    Ok(Refused::Aside) => {
                        warn!(update = id, "an update was refused too often and is set aside");
                        self.changed().await?;
                        None
                    }
                    // A full disk refuses the count too; the update itself is still there.
                    Err(failed) => {
                        error!(update = id, error = %failed, "a refusal was not counted");
                        Some(self.retry.after(WHILE_ILL))
                    }
                }
            }
        };
        self.settled.send_modify(|count| *count += 1);
        Ok(wait)
    }
}

fn lost(error: &StoreError) -> Lost {
    Lost { reason: error.to_string() }
}
