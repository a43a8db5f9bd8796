//! A room for each session, in one space. No server makes one of two rooms: so the key stands in the
//! room's own first event, and a room that nobody wrote down is found again by it.

use matrix_sdk::{
    Client, HttpError, RoomState,
    ruma::{
        OwnedRoomId, OwnedUserId, RoomId,
        api::client::{
            membership::joined_rooms,
            room::create_room::v3::{Request, RoomPreset},
            state::get_state_event_for_key,
        },
        events::StateEventType,
        serde::Raw,
    },
};
use serde_json::{Value, json};
use std::{
    future::{Future, IntoFuture as _},
    time::Duration,
};
use tracing::{info, warn};
use vigie_bridge_kit::measure::shortened;
use vigie_core::{
    bridge::{Said, SayError, SessionLook, TextUnit, ThreadState},
    id::{DeliveryId, ThreadId},
};

use super::{
    content,
    door::{Door, without_doubt},
    outcome::{self, Refusal},
    posts::admitted_there,
    threads::words_of,
};
use crate::{
    MatrixBridge,
    store::{
        Making,
        rooms::{Kind, Standing},
    },
};

/// Where the key stands in a room's first event.
const KEY: &str = "vigie.key";

/// The key of the space itself.
const SPACE: &str = "space";

const SPACE_NAME: &str = "Vigie";

/// Longest name of a room, in bytes: what a list of rooms shows, and far below what servers refuse.
const LONGEST_NAME: usize = 200;

/// For one call.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a sync will tell soon.
const UNTIL_IT_IS_TOLD: Duration = Duration::from_secs(2);

/// Makes the session's room.
pub(super) async fn make(
    bridge: &MatrixBridge,
    chat: &RoomId,
    state: &ThreadState,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let door = Door::open(bridge, chat).await?;
    let people = admitted_there(&door).await?;
    let maker = Maker { bridge, client: door.room.client() };
    let (space, mut calls) = maker.space(&people).await?;
    let name = name(state);
    let topic = topic(state);
    let request = maker.session_room(&name, topic, &space, &people);
    let (room, made) = maker.once(&key.to_string(), request).await?;
    calls += made;
    if made > 0 {
        maker.put_into(&space, &room).await?;
        calls += 1;
    }
    let kept = bridge.store.room_is(room.as_str(), Kind::Session, chat.as_str()).await;
    kept.map_err(outcome::unwritten)?;
    let kept = bridge.store.keep_shown(chat, room.as_str(), digest(&name, topic)).await;
    kept.map_err(outcome::unwritten)?;
    bridge.store.made(&key.to_string(), &room).await.map_err(outcome::unwritten)?;
    Ok(Said { message: None, thread: Some(ThreadId::new(room.as_str())), calls })
}

/// Brings name and topic of the session's room up to date.
pub(super) async fn update(
    bridge: &MatrixBridge,
    chat: &RoomId,
    room: &RoomId,
    state: &ThreadState,
) -> Result<Said, SayError> {
    let said = |calls| Said { message: None, thread: Some(ThreadId::new(room.as_str())), calls };
    let (name, topic) = (name(state), topic(state));
    let digest = digest(&name, topic);
    let shown = bridge.store.shown(chat, room.as_str()).await.map_err(outcome::unwritten)?;
    if shown.content == digest {
        return Ok(said(0));
    }
    let known = bridge.store.room(room.as_str()).await.map_err(outcome::unwritten)?;
    let client = bridge.client().await.map_err(|error| outcome::not_ready(bridge, &error))?;
    let there = client.get_room(room).filter(|room| room.state() == RoomState::Joined);
    let Some(there) = there.filter(|_| known.is_none_or(|known| known.standing == Standing::Open))
    else {
        return Err(SayError::NoThread);
    };
    let mut calls = 0;
    for (kind, now, content) in [
        ("m.room.name", there.name() == Some(name.clone()), json!({ "name": name })),
        ("m.room.topic", there.topic().as_deref() == Some(topic), json!({ "topic": topic })),
    ] {
        if now {
            continue;
        }
        calls += 1;
        let put = there.send_state_event_raw(kind, "", content);
        let put = async { put.await.map_err(|error| outcome::unsaid(bridge, &error)) };
        match within(put).await {
            Ok(_) => {}
            Err(SayError::Shut { .. }) => return Err(SayError::NoThread),
            Err(error) => return Err(settled(error)),
        }
    }
    bridge.store.keep_shown(chat, room.as_str(), digest).await.map_err(outcome::unwritten)?;
    Ok(said(calls))
}

/// A room's name and topic are never encrypted: so neither holds a word of the prompt's or the agent's.
fn name(state: &ThreadState) -> String {
    let over = if state.state == SessionLook::Ended { "✓ " } else { "" };
    shortened(&format!("{over}{}", state.session), LONGEST_NAME, TextUnit::Bytes)
}

fn topic(state: &ThreadState) -> &'static str {
    words_of(state.state)
}

fn digest(name: &str, topic: &str) -> String {
    content::digest(&json!([name, topic]))
}

struct Maker<'a> {
    bridge: &'a MatrixBridge,
    client: Client,
}

impl Maker<'_> {
    /// The one space, made if there is none; and the calls it took.
    async fn space(&self, people: &[OwnedUserId]) -> Result<(OwnedRoomId, usize), SayError> {
        let store = &self.bridge.store;
        let known = store.space().await.map_err(outcome::unwritten)?;
        let known = known.and_then(|room| OwnedRoomId::try_from(room).ok());
        let there = |room: &OwnedRoomId| {
            // A space that was just made comes down the sync a little later.
            self.client.get_room(room).is_none_or(|room| room.state() == RoomState::Joined)
        };
        if let Some(space) = known.filter(there) {
            let invited = self.invite(&space, people).await;
            return Ok((space, invited));
        }
        let mut request = request(SPACE_NAME, people);
        request.creation_content = Some(raw(&json!({ "type": "m.space", KEY: SPACE })));
        let (space, calls) = self.once(SPACE, request).await?;
        let kept = store.room_is(space.as_str(), Kind::Space, space.as_str()).await;
        kept.map_err(outcome::unwritten)?;
        store.made(SPACE, &space).await.map_err(outcome::unwritten)?;
        Ok((space, calls))
    }

    /// Whoever came later is invited as well; that it fails keeps no room from being made.
    async fn invite(&self, space: &RoomId, people: &[OwnedUserId]) -> usize {
        let Some(space) = self.client.get_room(space) else { return 0 };
        let mut calls = 0;
        for user in people {
            if matches!(space.get_member_no_sync(user).await, Ok(Some(_))) {
                continue;
            }
            calls += 1;
            let invite = async {
                space.invite_user_by_id(user).await.map_err(|e| outcome::unsaid(self.bridge, &e))
            };
            if let Err(error) = within(invite).await {
                warn!(%error, %user, "somebody is not invited to the space");
            }
        }
        calls
    }

    fn session_room(
        &self,
        name: &str,
        topic: &str,
        space: &RoomId,
        people: &[OwnedUserId],
    ) -> Request {
        let via = [self.bridge.session.user.server_name()];
        let mut request = request(name, people);
        request.topic = Some(topic.to_owned());
        request.initial_state = vec![
            raw(&json!({ "type": "m.room.encryption", "state_key": "",
                "content": { "algorithm": "m.megolm.v1.aes-sha2" } })),
            raw(&json!({ "type": "m.space.parent", "state_key": space,
                "content": { "via": via, "canonical": true } })),
        ];
        request
    }

    /// The room of that key: the one that is written down, or found, or made now. What is made stays
    /// in doubt until [`Store::made`](crate::store::Store::made).
    async fn once(
        &self,
        key: &str,
        mut request: Request,
    ) -> Result<(OwnedRoomId, usize), SayError> {
        match self.bridge.store.begin_room(key).await.map_err(outcome::unwritten)? {
            Making::Made(room) => return Ok((room, 0)),
            Making::First => {}
            Making::UnderWay => {
                if let Some(room) = self.find(key).await? {
                    info!(%key, %room, "a room that was in doubt is there");
                    return Ok((room, 1));
                }
            }
        }
        if request.creation_content.is_none() {
            request.creation_content = Some(raw(&json!({ KEY: key })));
        }
        let create = self.client.create_room(request);
        let create = async { create.await.map_err(|e| outcome::unsaid(self.bridge, &e)) };
        let room = within(create).await.map_err(|error| match error {
            SayError::Shut { reason } => SayError::NoThreads { reason: Some(reason) },
            error => error,
        })?;
        Ok((room.room_id().to_owned(), 1))
    }

    /// The room with that key in its first event, among those that are nobody's yet.
    async fn find(&self, key: &str) -> Result<Option<OwnedRoomId>, SayError> {
        let known = self.bridge.store.made_rooms().await.map_err(outcome::unwritten)?;
        let joined = self.ask(self.client.send(joined_rooms::v3::Request::new()).into_future());
        let joined = joined.await?.map(|answer| answer.joined_rooms).unwrap_or_default();
        for room in joined.into_iter().filter(|room| !known.contains(&room.to_string())) {
            let kind = StateEventType::RoomCreate;
            let first =
                get_state_event_for_key::v3::Request::new(room.clone(), kind, String::new());
            let first = self.ask(self.client.send(first).into_future()).await?;
            let first = first.map(get_state_event_for_key::v3::Response::into_content);
            let content = first.and_then(|raw| raw.deserialize_as_unchecked::<Value>().ok());
            if content.is_some_and(|content| content[KEY] == key) {
                return Ok(Some(room));
            }
        }
        Ok(None)
    }

    /// What a question came to; `None` where there is nothing.
    async fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, HttpError>>,
    ) -> Result<Option<T>, SayError> {
        let asked = async {
            match call.await {
                Ok(answer) => Ok(Some(answer)),
                Err(error) => match outcome::refusal(&error) {
                    Some(Refusal::NotFound | Refusal::Forbidden) => Ok(None),
                    _ => Err(outcome::unanswered(self.bridge, &error)),
                },
            }
        };
        within(asked).await.map_err(settled)
    }

    async fn put_into(&self, space: &RoomId, room: &RoomId) -> Result<(), SayError> {
        let Some(space) = self.client.get_room(space) else {
            return Err(SayError::Later { after: UNTIL_IT_IS_TOLD });
        };
        let via = [self.bridge.session.user.server_name()];
        let child = json!({ "via": via });
        let put = space.send_state_event_raw("m.space.child", room.as_str(), child);
        let put = async { put.await.map_err(|error| outcome::unsaid(self.bridge, &error)) };
        within(put).await.map(drop).map_err(settled)
    }
}

fn request(name: &str, people: &[OwnedUserId]) -> Request {
    let mut request = Request::new();
    request.preset = Some(RoomPreset::PrivateChat);
    request.name = Some(name.to_owned());
    request.invite = people.to_vec();
    request
}

/// A value that we made ourselves is written without an error.
fn raw<T>(value: &Value) -> Raw<T> {
    Raw::from_json(serde_json::value::to_raw_value(value).expect("a value is JSON"))
}

async fn within<T>(call: impl Future<Output = Result<T, SayError>>) -> Result<T, SayError> {
    tokio::time::timeout(PATIENCE, Box::pin(call)).await.unwrap_or(Err(SayError::InDoubt))
}

/// What is asked, or is the same when it is done twice, is in no doubt.
fn settled(error: SayError) -> SayError {
    without_doubt(super::door::Failed { refusal: None, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::Timestamp;

    /// Room state is readable for the homeserver, whatever the room's encryption is.
    #[test]
    fn a_rooms_name_and_topic_hold_nothing_of_the_prompts_and_the_agents() {
        let of = |look| ThreadState {
            session: "PD-285".parse().unwrap(),
            title: "rotate the key".into(),
            state: look,
            detail: Some("I found the key in the vault".into()),
            since: Timestamp::from_timestamp(1_796_000_000, 0).unwrap(),
        };
        let shown = |look| (name(&of(look)), topic(&of(look)));
        assert_eq!(shown(SessionLook::Working), ("PD-285".into(), "Working"));
        assert_eq!(shown(SessionLook::Waiting), ("PD-285".into(), "◆ Waits for you"));
        assert_eq!(shown(SessionLook::Lost), ("PD-285".into(), "✕ Lost"));
        assert_eq!(shown(SessionLook::Ended), ("✓ PD-285".into(), "Ended"));
    }
}
