//! A room as it is written in. Everything that goes to a room goes through here, and nothing goes in
//! clear to a room that is, was or should be encrypted.

use matrix_sdk::{
    Room, RoomState,
    ruma::{
        EventId, OwnedEventId, RoomId,
        api::client::{room::get_room_event, state::get_state_event_for_key},
        events::StateEventType,
    },
};
use serde_json::Value;
use std::{
    future::{Future, IntoFuture as _},
    time::Duration,
};
use tracing::{error, warn};
use vigie_core::{
    Timestamp,
    bridge::{Bridge as _, SayError},
    id::ChatId,
};

use super::outcome::{self, Refusal};
use crate::{
    MatrixBridge, Rule,
    hear::replaced::NOT_FOLLOWED,
    readers::{self, Hold},
    store::{
        heard,
        rooms::{KnownRoom, Standing},
    },
};

/// For one call with all it needs: sharing keys with many devices takes some calls of its own.
const PATIENCE: Duration = Duration::from_mins(1);

/// For the account's own keys, right after the start.
const UNTIL_KEYS_ARE_READY: Duration = Duration::from_secs(15);

/// What a sync will tell soon.
const UNTIL_IT_IS_TOLD: Duration = Duration::from_secs(2);

const NOT_ENCRYPTED: &str = "this room is not encrypted, and nothing is written in the clear; switch encryption on in the room's settings, or allow plain rooms in the configuration";

const NO_MORE: &str = "this room was encrypted and the homeserver says that it is not any more; nothing is written there in the clear. Make a new room and invite the account";

const LEAKED: &str = "a message went out without encryption; look at the room, and report this";

const REPLACED: &str = "this room was replaced, and its chat did not go along: join the new room and invite the account there, and let nobody else in";

/// Why a call was of no use, for those who do something about it.
#[derive(Debug)]
pub(super) struct Failed {
    pub refusal: Option<Refusal>,
    pub error: SayError,
}

impl From<Failed> for SayError {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// A room that we may write in now.
pub(super) struct Door<'a> {
    pub bridge: &'a MatrixBridge,
    pub room: Room,
    /// The chat that the room is or belongs to.
    chat: String,
    sealed: bool,
}

impl<'a> Door<'a> {
    /// Looks whether we are in the room, whether it is encrypted, and who reads along.
    pub(super) async fn open(bridge: &'a MatrixBridge, id: &RoomId) -> Result<Self, SayError> {
        let client = bridge.client().await;
        let client = client.map_err(|error| outcome::not_ready(bridge, &error))?;
        let keys = client.encryption();
        let ready = Box::pin(keys.wait_for_e2ee_initialization_tasks());
        let later = || SayError::Later { after: UNTIL_IT_IS_TOLD };
        tokio::time::timeout(UNTIL_KEYS_ARE_READY, ready).await.map_err(|_| later())?;
        let known = bridge.store.room(id.as_str()).await.map_err(outcome::unwritten)?;
        let moved = known.as_ref().filter(|room| room.standing == Standing::Moved);
        if let Some(to) = moved.and_then(|room| room.successor.as_deref()) {
            return Err(SayError::Moved { to: ChatId::new(to) });
        }
        let room = match client.get_room(id) {
            Some(room) => room,
            // It is there once a sync has told of it.
            None if bridge.health().heard.is_none() => return Err(later()),
            None => return Err(outcome::not_there()),
        };
        if room.state() != RoomState::Joined {
            return Err(outcome::not_there());
        }
        if let Some(next) = room.successor_room() {
            return Err(replaced(bridge, &room, &next.room_id).await);
        }
        let sealed = is_sealed(bridge, &room, known.as_ref()).await?;
        let chat = known.map_or_else(|| id.to_string(), |known| known.chat);
        let door = Self { bridge, room, chat, sealed };
        door.may_speak().await?; // before anything is uploaded or made
        Ok(door)
    }

    /// Sends an event, encrypted wherever the room is; reactions never are, on Matrix. Nothing goes to
    /// anybody whom the daemon was not told of.
    pub(super) async fn send(
        &self,
        kind: &str,
        content: &Value,
        transaction: &str,
    ) -> Result<OwnedEventId, Failed> {
        self.may_speak().await?;
        let call =
            self.room.send_raw(kind, content.clone()).with_transaction_id(transaction.into());
        let sent = self.within(async { call.await }).await?;
        self.bridge.saying.reached();
        let event = sent.response.event_id;
        if self.sealed && kind != "m.reaction" && self.may_speak().await.is_err() {
            // Somebody came in that moment, and may have got its key; they get none of what follows.
            warn!(room = %self.room.room_id(), "somebody came in while a message went out");
            let dropped = Box::pin(self.room.discard_room_key()).await;
            if let Err(error) = dropped {
                warn!(%error, "the room's key could not be dropped");
            }
        }
        if self.sealed && sent.encryption_info.is_none() && kind != "m.reaction" {
            error!(room = %self.room.room_id(), %event, "a message went out without encryption");
            self.bridge.in_trouble(LEAKED.into());
            // It was seen; at least it does not stay.
            let _ = self.redact(&event, &format!("{transaction}.r")).await;
        }
        Ok(event)
    }

    async fn may_speak(&self) -> Result<(), Failed> {
        let asked = Box::pin(readers::may_speak(self.bridge, &self.room, &self.chat));
        let error = match self.within(asked).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(Hold::Untold)) => {
                self.bridge.readers.look.notify_one();
                SayError::Later { after: UNTIL_IT_IS_TOLD }
            }
            Ok(Err(Hold::Unknown(reason))) => SayError::Shut { reason },
            Err(failed) => without_doubt(failed),
        };
        Err(Failed { refusal: None, error })
    }

    /// Takes an event of ours back. One that is gone already is.
    pub(super) async fn redact(&self, event: &EventId, transaction: &str) -> Result<(), Failed> {
        let redact = self.room.redact(event, None, Some(transaction.into()));
        let done = self.within(async { redact.await.map_err(matrix_sdk::Error::from) }).await;
        match done {
            Err(Failed { refusal: Some(Refusal::NotFound), .. }) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Whether an event is there and shows something. It is asked for before every word in a thread, so
    /// it is not opened: that it was taken back stands outside of the seal.
    pub(super) async fn shows(&self, event: &EventId) -> Result<bool, SayError> {
        let (room, event) = (self.room.room_id().to_owned(), event.to_owned());
        let ask = self.room.client().send(get_room_event::v3::Request::new(room, event));
        let found = match self.within(async { Ok(ask.await?) }).await {
            Ok(found) => found,
            Err(Failed { refusal: Some(Refusal::NotFound), .. }) => return Ok(false),
            Err(failed) => return Err(without_doubt(failed)),
        };
        let raw = found.event.deserialize_as_unchecked::<Value>().unwrap_or_default();
        Ok(raw["unsigned"].get("redacted_because").is_none())
    }

    /// When an event of ours was sent, by the clock that reactions on it are dated by. `None`: the
    /// homeserver does not say.
    pub(super) async fn sent_at(&self, event: &EventId) -> Option<Timestamp> {
        let found = self.within(self.room.event(event, None)).await.ok()?;
        let raw = found.raw().deserialize_as_unchecked::<Value>().ok()?;
        Timestamp::from_timestamp_millis(raw["origin_server_ts"].as_i64()?)
    }

    /// A call with a deadline: beyond it, nobody knows.
    pub(super) async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, matrix_sdk::Error>>,
    ) -> Result<T, Failed> {
        match tokio::time::timeout(PATIENCE, Box::pin(call)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(Failed {
                refusal: outcome::refusal_in(&error),
                error: outcome::unsaid(self.bridge, &error),
            }),
            Err(_) => Err(Failed { refusal: None, error: SayError::InDoubt }),
        }
    }

    /// Whether files are encrypted before they go out.
    pub(super) fn is_sealed(&self) -> bool {
        self.sealed
    }
}

/// A room was replaced, and hearing has not said that its chat went along: only hearing looks who is
/// there.
async fn replaced(bridge: &MatrixBridge, room: &Room, to: &RoomId) -> SayError {
    let key = (room.room_id().to_string(), to.to_string());
    let told = move |db: &mut _| heard::told(db, &key.0, &key.1, NOT_FOLLOWED);
    let refused = match bridge.store.run(told).await {
        Ok(told) => told.is_some(),
        Err(error) => return outcome::unwritten(error),
    };
    let next = room.client().get_room(to);
    if next.is_some_and(|next| next.state() == RoomState::Joined) && !refused {
        return SayError::Later { after: UNTIL_IT_IS_TOLD };
    }
    SayError::Shut { reason: REPLACED.into() }
}

/// Of a call that changes nothing there is no doubt.
pub(super) fn without_doubt(failed: Failed) -> SayError {
    match failed.error {
        SayError::InDoubt => SayError::Later { after: UNTIL_IT_IS_TOLD },
        error => error,
    }
}

/// Whether the room is encrypted. What is not is asked of the server each time: that it is switched
/// on comes down the sync later than a message would go out.
async fn is_sealed(
    bridge: &MatrixBridge,
    room: &Room,
    known: Option<&KnownRoom>,
) -> Result<bool, SayError> {
    let state = Box::pin(room.latest_encryption_state()).await;
    let state = state.map_err(|error| {
        without_doubt(Failed { refusal: None, error: outcome::unsaid(bridge, &error) })
    })?;
    let was_sealed = known.is_some_and(|room| room.encrypted);
    if state.is_encrypted() {
        if !was_sealed {
            let kept = bridge.store.is_sealed_now(room.room_id()).await;
            kept.map_err(outcome::unwritten)?;
        }
        return Ok(true);
    }
    if was_sealed {
        return Err(SayError::Shut { reason: NO_MORE.into() });
    }
    let kind = StateEventType::RoomEncryption;
    let ask =
        get_state_event_for_key::v3::Request::new(room.room_id().to_owned(), kind, String::new());
    match Box::pin(room.client().send(ask).into_future()).await {
        Ok(_) => Err(SayError::Later { after: UNTIL_IT_IS_TOLD }),
        Err(error) if outcome::refusal(&error) == Some(Refusal::NotFound) => {
            match bridge.policy.plain_rooms {
                Rule::Accept => Ok(false),
                Rule::Refuse => Err(SayError::Shut { reason: NOT_ENCRYPTED.into() }),
            }
        }
        Err(error) => {
            Err(without_doubt(Failed { refusal: None, error: outcome::unanswered(bridge, &error) }))
        }
    }
}
