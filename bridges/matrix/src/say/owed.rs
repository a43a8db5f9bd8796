//! Reactions to tap on that the homeserver did not let through at once: put there when its wait is over and
//! nothing else needs what it lets through, also when the daemon was started anew meanwhile.

use matrix_sdk::ruma::{EventId, OwnedEventId, OwnedRoomId, RoomId};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{MutexGuard, Notify},
    time::Instant,
};
use tracing::{debug, warn};
use vigie_core::bridge::SayError;

use super::{door::Door, quick};
use crate::{MatrixBridge, Pace};

/// After a call whose end nobody saw.
const AFTER_DOUBT: Duration = Duration::from_secs(2);

/// Messages that are looked at in one go: more cards are not open at a time.
const MOST: usize = 64;

/// Events that come free before what is owed takes any: words and cards are not to wait for it.
const FREE: u32 = 2;

/// When what is owed may be put.
#[derive(Debug, Default)]
pub(super) struct Owed {
    not_before: Mutex<Option<Instant>>,
    /// When something else was said last, or tried to be.
    spoke: Mutex<Option<Instant>>,
    changed: Notify,
    one: tokio::sync::Mutex<()>,
}

impl Owed {
    /// What stands below messages is changed by one at a time: no reaction may come to a card that is
    /// being decided.
    pub(super) async fn alone(&self) -> MutexGuard<'_, ()> {
        self.one.lock().await
    }

    /// Something was cut off by `error`; where that passes, the rest is put when it has.
    pub(super) fn after(&self, error: &SayError) {
        let Some(wait) = passes(error) else { return };
        *locked(&self.not_before) = Some(Instant::now() + wait);
        self.changed.notify_one();
    }

    /// Something else was said, or has to wait.
    pub(super) fn spoke(&self) {
        *locked(&self.spoke) = Some(Instant::now());
    }

    /// How long what is owed still has to wait.
    fn wait(&self, pace: Pace, now: Instant) -> Duration {
        let events = u32::try_from(pace.events_a_minute.get()).unwrap_or(u32::MAX);
        let free = Duration::from_mins(1) * FREE / events;
        let silent = locked(&self.spoke).map(|spoke| spoke + free);
        let until = (*locked(&self.not_before)).max(silent);
        until.map(|until| until.saturating_duration_since(now)).unwrap_or_default()
    }
}

fn locked(time: &Mutex<Option<Instant>>) -> std::sync::MutexGuard<'_, Option<Instant>> {
    time.lock().unwrap_or_else(PoisonError::into_inner)
}

fn passes(error: &SayError) -> Option<Duration> {
    match error {
        SayError::Later { after } => Some(*after),
        SayError::InDoubt => Some(AFTER_DOUBT),
        SayError::Never { .. }
        | SayError::NoThread
        | SayError::NoThreads { .. }
        | SayError::NoMessage
        | SayError::Moved { .. }
        | SayError::Shut { .. } => None,
    }
}

/// Puts what is owed, whenever something is. Never ends; whoever hears joins it.
pub(crate) async fn keep(bridge: &MatrixBridge) {
    let owed = &bridge.saying.owed;
    loop {
        match all(bridge).await {
            Ok(()) => owed.changed.notified().await,
            Err(wait) => tokio::time::sleep(wait).await,
        }
    }
}

/// Looks after every message once; says when to go on where something has to wait.
async fn all(bridge: &MatrixBridge) -> Result<(), Duration> {
    let owed = match bridge.store.owed(MOST).await {
        Ok(owed) => owed,
        Err(error) => {
            warn!(%error, "which reactions are owed cannot be read");
            return Err(AFTER_DOUBT);
        }
    };
    for (room, message) in owed {
        let wait = bridge.saying.owed.wait(bridge.pace, Instant::now());
        if wait > Duration::ZERO {
            return Err(wait);
        }
        if let Err(error) = one(bridge, &room, &message).await {
            if let Some(wait) = passes(&error) {
                debug!(%error, "reactions to tap on have to wait on");
                return Err(wait);
            }
            forget(bridge, room, message).await;
        }
    }
    Ok(())
}

async fn one(bridge: &MatrixBridge, room: &RoomId, message: &EventId) -> Result<(), SayError> {
    let put = async {
        let door = Door::open(bridge, room).await?;
        let _alone = bridge.saying.owed.alone().await;
        quick::put_begun(&door, message, &mut 0).await
    };
    bridge.with_one_client(put).await
}

/// It will not be put, and is not tried for ever.
async fn forget(bridge: &MatrixBridge, room: OwnedRoomId, message: OwnedEventId) {
    if let Err(error) = bridge.store.owe_no_more(&room, &message).await {
        warn!(%error, "reactions that cannot be put are still owed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroUsize;

    #[test]
    fn what_is_owed_waits_while_something_else_is_said() {
        let pace = Pace { events_a_minute: NonZeroUsize::new(12).unwrap() };
        let (owed, now) = (Owed::default(), Instant::now());
        let seconds = Duration::from_secs;
        assert_eq!(owed.wait(pace, now), Duration::ZERO);
        *locked(&owed.not_before) = Some(now + seconds(5));
        assert_eq!(owed.wait(pace, now), seconds(5));
        *locked(&owed.spoke) = Some(now + seconds(4));
        assert_eq!(owed.wait(pace, now + seconds(4)), seconds(10), "two events are free by then");
        assert_eq!(owed.wait(pace, now + seconds(14)), Duration::ZERO);
    }
}
