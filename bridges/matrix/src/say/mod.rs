//! From the port to Matrix.

mod content;
mod door;
mod files;
mod layout;
mod marks;
mod once;
mod outcome;
pub(crate) mod owed;
mod posts;
mod quick;
mod space;
mod threads;
pub(crate) mod typing;

use matrix_sdk::{
    RoomState,
    ruma::{EventId, OwnedEventId, OwnedRoomId, RoomId},
};
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tokio::sync::Notify;
use tracing::error;
use vigie_core::{
    bridge::{Place, Said, Say, SayError},
    id::{DeliveryId, MessageId},
};

use crate::{Layout, MatrixBridge, store::Part};
use door::Door;
use owed::Owed;
use typing::Typing;

/// Until a person has looked after a session's room that refuses what is said there.
const AFTER_A_REFUSAL: Duration = Duration::from_secs(30);

/// What saying remembers while the daemon runs.
#[derive(Debug, Default)]
pub(crate) struct Saying {
    /// How often in a row the homeserver was not reached.
    unreached: AtomicU32,
    typing: Typing,
    owed: Owed,
    /// What became of something said is known.
    pub(crate) settled: Notify,
}

impl Saying {
    fn reached(&self) {
        self.unreached.store(0, Ordering::Relaxed);
    }

    /// How often it was not reached before this time.
    fn not_reached(&self) -> u32 {
        self.unreached.fetch_add(1, Ordering::Relaxed)
    }
}

pub(crate) async fn say(
    bridge: &MatrixBridge,
    place: &Place,
    say: &Say,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let said = say_it(bridge, place, say, key).await;
    if !matches!(said, Err(SayError::InDoubt | SayError::Later { .. })) {
        // People's taps wait for that, and not for ever: a disk that fails is no reason to fail here.
        if let Err(error) = bridge.store.settle(key).await {
            error!(%error, %key, "could not keep that it is known what became of something");
        }
    }
    bridge.saying.owed.spoke();
    bridge.saying.settled.notify_one();
    said
}

async fn say_it(
    bridge: &MatrixBridge,
    place: &Place,
    say: &Say,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let chat = RoomId::parse(place.chat.as_str());
    let never = |_| SayError::Never { reason: format!("{} is no room", place.chat) };
    let chat = chat.map_err(never)?;
    if let Say::Thread { thread } = say {
        return Box::pin(threads::show(bridge, &chat, place.thread.as_ref(), thread, key)).await;
    }
    let spot = Spot::of(bridge.layout, chat, place)?;
    let door = match spot.open(bridge).await {
        Err(SayError::Moved { to }) => {
            let before = said_before(bridge, &spot, say, key).await?;
            return before.ok_or(SayError::Moved { to });
        }
        opened => opened?,
    };
    let said = match say {
        Say::Post { post, reply_to } => {
            Box::pin(posts::post(&door, &spot, post, reply_to.as_ref(), key)).await
        }
        Say::Edit { message, post } => {
            Box::pin(posts::edit(&door, &spot, &event(message)?, post, key)).await
        }
        Say::Mark { message, mark } => {
            Box::pin(marks::mark(&door, &spot, &event(message)?, mark, key)).await
        }
        Say::Thread { .. } => unreachable!("it was shown above"),
    };
    said.map_err(|error| spot.own_matter(bridge, error))
}

/// What came into a room right before that was replaced, and whose answer was lost: the syncs that told
/// of the new room told of it as well. In the new room it would be there twice.
async fn said_before(
    bridge: &MatrixBridge,
    spot: &Spot,
    say: &Say,
    key: DeliveryId,
) -> Result<Option<Said>, SayError> {
    let Say::Post { .. } = say else { return Ok(None) };
    let event = bridge.store.said_in(Part::first(key), &spot.room).await;
    let event = event.map_err(outcome::unwritten)?;
    let message = |event: OwnedEventId| Some(MessageId::new(event.as_str()));
    Ok(event.map(|event| Said { message: message(event), thread: None, calls: 0 }))
}

/// A room, or a thread of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    room: OwnedRoomId,
    /// The first event of the thread.
    thread: Option<OwnedEventId>,
    /// The room is one session's own.
    of_session: bool,
}

impl Spot {
    /// A thread of another layout was never one here, so another is needed.
    fn of(layout: Layout, chat: OwnedRoomId, place: &Place) -> Result<Self, SayError> {
        let Some(thread) = &place.thread else {
            return Ok(Self { room: chat, thread: None, of_session: false });
        };
        let no_thread = |_| SayError::NoThread;
        match layout {
            Layout::Threads => {
                let root = EventId::parse(thread.as_str()).map_err(no_thread)?;
                Ok(Self { room: chat, thread: Some(root), of_session: false })
            }
            Layout::Space => {
                let room = RoomId::parse(thread.as_str()).map_err(no_thread)?;
                Ok(Self { room, thread: None, of_session: true })
            }
            Layout::Direct => Err(SayError::NoThread),
        }
    }

    fn is_thread(&self) -> bool {
        self.of_session || self.thread.is_some()
    }

    async fn open<'a>(&self, bridge: &'a MatrixBridge) -> Result<Door<'a>, SayError> {
        let opened = Door::open(bridge, &self.room).await;
        let gone = matches!(opened, Err(SayError::Shut { .. } | SayError::Moved { .. }));
        if !self.of_session || !gone {
            return opened;
        }
        let client = bridge.client().await.map_err(|error| outcome::not_ready(bridge, &error))?;
        let room = client.get_room(&self.room);
        if room.is_none_or(|room| room.state() != RoomState::Joined || room.is_tombstoned()) {
            return Err(SayError::NoThread);
        }
        opened.map_err(|error| self.own_matter(bridge, error))
    }

    /// That one session's room takes nothing shuts neither its chat nor makes it another room.
    fn own_matter(&self, bridge: &MatrixBridge, error: SayError) -> SayError {
        match error {
            SayError::Shut { reason } if self.of_session => {
                bridge.in_trouble(format!("a session's room takes nothing: {reason}"));
                SayError::Later { after: AFTER_A_REFUSAL }
            }
            error => error,
        }
    }
}

fn event(message: &MessageId) -> Result<OwnedEventId, SayError> {
    EventId::parse(message.as_str()).map_err(|_| SayError::NoMessage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NAME;
    use vigie_core::id::{BridgeName, ChatId, ThreadId};

    fn spot(layout: Layout, thread: Option<&str>) -> Result<Spot, SayError> {
        let place = Place {
            bridge: BridgeName::new(NAME),
            chat: ChatId::new("!chat"),
            thread: thread.map(ThreadId::new),
        };
        Spot::of(layout, RoomId::parse("!chat").unwrap(), &place)
    }

    #[test]
    fn a_thread_of_another_layout_is_none() {
        for layout in [Layout::Direct, Layout::Threads, Layout::Space] {
            assert_eq!(spot(layout, None).unwrap().room, "!chat");
            assert_eq!(spot(layout, Some("77")), Err(SayError::NoThread));
        }
        assert_eq!(spot(Layout::Direct, Some("$root")), Err(SayError::NoThread));
        assert_eq!(spot(Layout::Space, Some("$root")), Err(SayError::NoThread));
        assert_eq!(spot(Layout::Threads, Some("!room")), Err(SayError::NoThread));
        assert_eq!(spot(Layout::Threads, Some("$root")).unwrap().thread.unwrap(), "$root");
        assert_eq!(spot(Layout::Space, Some("!room")).unwrap().room, "!room");
    }

    #[test]
    fn what_is_no_event_is_gone() {
        assert_eq!(event(&MessageId::new("12")), Err(SayError::NoMessage));
        assert!(event(&MessageId::new("$a")).is_ok());
    }
}
