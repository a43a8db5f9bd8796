//! Handing in what people did: in order, each until it is taken or set aside.

use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use vigie_bridge_kit::handing::{ACCEPT, in_time};
use vigie_core::{
    bridge::{Accepted, Bridge as _, Heard, Inbox, Lost, NotAccepted},
    id::SessionName,
};

use crate::{
    PhoneBridge,
    store::{self, Refused, StoreError},
};

/// While Vigie cannot write, an update comes again as if it had been refused so often: rarely enough
/// to leave the disk alone, soon enough if nobody tells that it is well again.
const WHILE_ILL: u32 = 2;

/// Questions of pages that wait at a time.
pub(crate) const MOST_ASKS: usize = 64;

/// How long a page waits for the answer; what could not be asked makes its sound.
const ASK: Duration = Duration::from_secs(2);

/// Whether nothing about that session makes a sound for this person now.
pub(crate) struct Hushed {
    person: String,
    session: Option<SessionName>,
    answer: oneshot::Sender<bool>,
}

impl PhoneBridge {
    /// Asks whoever listens.
    pub(crate) async fn is_hushed(&self, person: &str, session: Option<&SessionName>) -> bool {
        let (answer, answered) = oneshot::channel();
        let ask = Hushed { person: person.into(), session: session.cloned(), answer };
        if self.asks.try_send(ask).is_err() {
            return false;
        }
        matches!(tokio::time::timeout(ASK, answered).await, Ok(Ok(true)))
    }

    /// Answers pages for as long as it is polled.
    pub(crate) async fn answer_pages(&self, inbox: &dyn Inbox) {
        let (bridge, mut asked) = (self.name(), self.asked.lock().await);
        while let Some(Hushed { person, session, answer }) = asked.recv().await {
            let hushed = inbox.is_hushed(&bridge, &person, session.as_ref());
            let hushed = in_time(hushed, ACCEPT).await.unwrap_or_default();
            let _ = answer.send(hushed); // the page may be gone
        }
        std::future::pending::<()>().await;
    }

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
