//! A room for each person of the configuration who is in none with us: made once, whatever happens
//! while it is made.

use matrix_sdk::{
    Room as MatrixRoom,
    ruma::{
        OwnedRoomId, OwnedUserId, RoomId, UserId,
        api::client::{
            membership::joined_rooms,
            room::create_room::v3::{Request, RoomPreset},
            state::get_state_event_for_key::v3::Request as GetState,
        },
        assign,
        events::{
            EmptyStateKey, InitialStateEvent, StateEventType,
            room::{encryption::RoomEncryptionEventContent, member::MembershipState},
        },
        serde::Raw,
    },
};
use serde_json::{Value, json};
use std::time::Duration;
use tracing::{info, warn};

use super::{Hearing, sync::Missed};
use crate::store::rooms::{self, Kind, Standing, Welcome};

/// Where the room's first event names the person that it is for: nobody can change that later.
const KEY: &str = "vigie.welcome";

/// After this long a room is made or is not: what was asked for when the daemon died has arrived by
/// then, if it ever does. In milliseconds.
const SETTLED_MS: i64 = 30_000;

/// Looks after everybody once; says how soon somebody is to be looked after again.
pub(super) async fn everybody(hearing: Hearing<'_>) -> Option<Duration> {
    let mut due = None::<Duration>;
    for user in &hearing.bridge.people {
        let Ok(user) = UserId::parse(user.as_str()) else {
            warn!(user, "that is no user id");
            continue;
        };
        match Box::pin(one(hearing, &user)).await {
            Ok(wait) => due = due.into_iter().chain(wait).min(),
            Err(error) => warn!(%error, %user, "no room could be made for them yet"),
        }
    }
    due
}

async fn one(hearing: Hearing<'_>, user: &OwnedUserId) -> Result<Option<Duration>, Missed> {
    let name = user.to_string();
    let begun = hearing.written(move |db| rooms::welcome(db, &name)).await;
    let now = hearing.bridge.now().timestamp_millis();
    let room = match begun {
        Some(Welcome { room: Some(_), .. }) => return Ok(None),
        Some(Welcome { at, room: None }) => {
            let left = at + SETTLED_MS - now;
            if let Ok(left) = u64::try_from(left)
                && left > 0
            {
                return Ok(Some(Duration::from_millis(left)));
            }
            made_before(hearing, user).await?
        }
        None => shared(hearing, user).await?,
    };
    let room = match room {
        Some(room) => room,
        None => make(hearing, user, now).await?,
    };
    let (name, room) = (user.to_string(), room.to_string());
    hearing.written(move |db| rooms::welcomed(db, &name, &room, now)).await;
    Ok(None)
}

/// A room that the person is in with us, or asked to be.
async fn shared(hearing: Hearing<'_>, user: &UserId) -> Result<Option<OwnedRoomId>, Missed> {
    for known in hearing.written(rooms::all).await {
        if known.kind != Kind::Chat || known.standing != Standing::Open {
            continue;
        }
        let room = RoomId::parse(&known.room).ok().and_then(|id| hearing.client.get_room(&id));
        if let Some(room) = room
            && is_in(&room, user).await?
        {
            return Ok(Some(room.room_id().to_owned()));
        }
    }
    Ok(None)
}

async fn is_in(room: &MatrixRoom, user: &UserId) -> Result<bool, Missed> {
    let member = room.get_member(user).await?;
    let membership = member.map(|member| member.membership().clone());
    Ok(matches!(membership, Some(MembershipState::Join | MembershipState::Invite)))
}

/// The room that we made for the person when nobody could write it down: the homeserver knows, also
/// before a sync has told of it.
async fn made_before(hearing: Hearing<'_>, user: &UserId) -> Result<Option<OwnedRoomId>, Missed> {
    let joined = hearing.client.send(joined_rooms::v3::Request::new()).await;
    for room in joined.map_err(matrix_sdk::Error::from)?.joined_rooms {
        let ask = GetState::new(room.clone(), StateEventType::RoomCreate, String::new());
        let creation = hearing.client.send(ask).await.map_err(matrix_sdk::Error::from)?;
        let creation: Option<Value> = serde_json::from_str(creation.event_or_content.get()).ok();
        if creation.is_some_and(|creation| creation[KEY] == user.as_str()) {
            return Ok(Some(room));
        }
    }
    Ok(None)
}

/// Makes a room, encrypted from its first moment, and invites the person.
async fn make(hearing: Hearing<'_>, user: &UserId, now: i64) -> Result<OwnedRoomId, Missed> {
    let name = user.to_string();
    hearing.written(move |db| rooms::begin_welcome(db, &name, now)).await;
    let encryption = RoomEncryptionEventContent::with_recommended_defaults();
    let encryption = InitialStateEvent::new(EmptyStateKey, encryption);
    let creation = Raw::new(&json!({ KEY: user }));
    let request = assign!(Request::new(), {
        creation_content: creation.ok().map(Raw::cast_unchecked),
        initial_state: vec![encryption.to_raw_any()],
        invite: vec![user.to_owned()],
        is_direct: true,
        preset: Some(RoomPreset::TrustedPrivateChat),
    });
    let room = hearing.client.create_room(request).await?;
    info!(room = %room.room_id(), "made a room for somebody");
    Ok(room.room_id().to_owned())
}
