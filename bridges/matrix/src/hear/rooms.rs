//! Rooms: what each of them is, and what the daemon is told of them.

use futures_util::future;
use matrix_sdk::{
    EncryptionState, Room as MatrixRoom, RoomMemberships, RoomState,
    ruma::{RoomId, events::room::create::RoomCreateEventContent},
};
use serde_json::Value;
use std::{collections::HashSet, time::Duration};
use tracing::{debug, warn};
use vigie_bridge_kit::pause;
use vigie_core::{
    bridge::{Noted, Room},
    id::{ChatId, ThreadId},
};

use super::{
    Hearing,
    invites::Ways,
    replaced::{self, Next},
    sync::Missed,
    welcome,
};
use crate::{
    bridge::{Layout, Rule},
    readers,
    store::{
        heard,
        rooms::{self, Kind, KnownRoom, Standing},
    },
};

/// Whatever happens, rooms are looked at again after this long.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// Among so many members of a room somebody is looked for whom we know; who invites us stands first in
/// most rooms, and in larger ones they hear of us when they write.
const LOOKED_AT: usize = 50;
/// How often a homeserver is asked who is in a room while words from there wait.
const TRIES: u32 = 4;

/// Under what it is remembered that a person was met in a room.
const MET: &str = "met";

/// Where a session's room has its key, in its first event, which nobody can change later.
const SESSION: &str = "vigie.key";

/// What sort of chat a room is, by who is in it or asked to be; one that we are not in is nobody's own.
pub(super) async fn sort(hearing: Hearing<'_>, chat: &RoomId) -> Result<Room, Missed> {
    let others = match hearing.client.get_room(chat) {
        Some(room) => readers::there(&room).await?.len(),
        None => usize::MAX,
    };
    Ok(of_sort(others, hearing.bridge.layout))
}

/// The same without an error: a room of which nobody says who is in it is read by others.
pub(super) async fn sort_surely(hearing: Hearing<'_>, chat: &RoomId) -> Room {
    for failures in 0..TRIES {
        match Box::pin(sort(hearing, chat)).await {
            Ok(sort) => return sort,
            Err(error) => warn!(%error, room = %chat, "who is in a room is not known yet"),
        }
        tokio::time::sleep(pause::after(failures)).await;
    }
    of_sort(usize::MAX, hearing.bridge.layout)
}

fn of_sort(others: usize, layout: Layout) -> Room {
    match (others > 1, layout) {
        (false, Layout::Direct) => Room::Direct,
        (false, Layout::Threads | Layout::Space) => Room::DirectThreads,
        (true, Layout::Direct) => Room::Group,
        (true, Layout::Threads | Layout::Space) => Room::Forum,
    }
}

/// Whether messages of the room are encrypted; the homeserver is asked where that is not known yet.
pub(super) async fn is_encrypted(room: &MatrixRoom) -> Result<bool, Missed> {
    match room.encryption_state() {
        EncryptionState::Encrypted => Ok(true),
        EncryptionState::Unknown if room.state() == RoomState::Joined => {
            Ok(Box::pin(room.latest_encryption_state()).await?.is_encrypted())
        }
        EncryptionState::NotEncrypted | EncryptionState::Unknown => Ok(false),
    }
}

/// What a room is that was not seen before, and the chat it belongs to: of a session's room, only who
/// makes it knows, and says it in a moment.
pub(super) async fn kind(room: &MatrixRoom) -> Result<(Kind, String), Missed> {
    let own = room.room_id().to_string();
    if room.is_space() {
        return Ok((Kind::Space, own));
    }
    let created = room.get_state_event_static::<RoomCreateEventContent>().await?;
    let creation = created.and_then(|raw| {
        use matrix_sdk::deserialized_responses::RawSyncOrStrippedState::{Stripped, Sync};
        let json = match &raw {
            Sync(raw) => raw.json(),
            Stripped(raw) => raw.json(),
        };
        serde_json::from_str::<Value>(json.get()).ok()
    });
    let ours = creation.filter(|creation| {
        creation.get("sender").and_then(Value::as_str) == Some(room.own_user_id().as_str())
    });
    let is_a_session = ours.is_some_and(|creation| creation["content"].get(SESSION).is_some());
    Ok((if is_a_session { Kind::Session } else { Kind::Chat }, own))
}

/// Tells the daemon of rooms, and goes into them and out of them, for ever.
pub(super) async fn keep_up(hearing: Hearing<'_>) {
    future::join(introduce(hearing), go(hearing)).await;
}

async fn introduce(hearing: Hearing<'_>) {
    let mut met = HashSet::new();
    loop {
        for room in hearing.written(rooms::all).await {
            // One that replaces another is introduced with that one.
            let id = room.room;
            if let Some(known) = hearing.written(move |db| rooms::one(db, &id)).await {
                one(hearing, &known, &mut met).await;
            }
        }
        hearing.wake.desk.notify_one();
        tokio::select! {
            () = hearing.wake.rooms.notified() => {}
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
}

/// What only works where the homeserver answers, which may take its time.
async fn go(hearing: Hearing<'_>) {
    let mut ways = Ways::default();
    let mut wait = LOOK_AGAIN;
    loop {
        // Before the first sync nobody knows who is where.
        tokio::select! {
            () = hearing.wake.ways.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
        let due = ways.pass(hearing).await;
        let welcomed = Box::pin(welcome::everybody(hearing)).await;
        wait = due.into_iter().chain(welcomed).min().unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
    }
}

async fn one(hearing: Hearing<'_>, known: &KnownRoom, met: &mut HashSet<String>) {
    let room = RoomId::parse(&known.room).ok().and_then(|id| hearing.client.get_room(&id));
    let joined = room.as_ref().is_some_and(|room| room.state() == RoomState::Joined);
    match (known.kind, known.standing, joined) {
        (_, Standing::Moved, _) | (Kind::Space, Standing::Open, _) => {
            if !known.introduced {
                hearing.stands(known, known.standing).await;
            }
        }
        (Kind::Space, Standing::Left, _) | (_, Standing::Left, false) => {}
        (Kind::Session, Standing::Open, false) => {
            let (chat, thread) = (ChatId::new(&known.chat), ThreadId::new(&known.room));
            hearing.handing.noted(&Noted::ThreadGone { chat, thread }).await;
            hearing.stands(known, Standing::Left).await;
        }
        (Kind::Session, Standing::Open | Standing::Left, true) => {
            if known.chat == known.room {
                return; // it is being made
            }
            if !known.introduced || known.standing == Standing::Left {
                hearing.stands(known, Standing::Open).await;
            }
        }
        (Kind::Chat, Standing::Open, false) => {
            let chat = ChatId::new(&known.room);
            let reason = OUT.to_owned();
            hearing.handing.noted(&Noted::Shut { chat, reason }).await;
            hearing.stands(known, Standing::Left).await;
        }
        (Kind::Chat, Standing::Open | Standing::Left, true) => {
            if let Some(room) = &room {
                chat(hearing, known, room, met).await;
            }
        }
    }
}

const OUT: &str = "Vigie is not in that room any more: it was taken out, or the room is closed. Invite it again to go on there";

/// A chat that we are in.
async fn chat(
    hearing: Hearing<'_>,
    known: &KnownRoom,
    room: &MatrixRoom,
    met: &mut HashSet<String>,
) {
    match Box::pin(replaced::next(hearing, room)).await {
        Next::Room(to) => {
            let (from, to_id) = (ChatId::new(&known.room), ChatId::new(to.as_str()));
            hearing.handing.noted(&Noted::Moved { from, to: to_id }).await;
            let (from, to) = (known.room.clone(), to.to_string());
            return hearing.written(move |db| rooms::moved(db, &from, &to)).await;
        }
        Next::Refused(to, why) => {
            replaced::refuse(hearing, known, &to, why).await;
            if !known.introduced {
                hearing.stands(known, Standing::Open).await;
            }
            return;
        }
        Next::Nothing | Next::Unknown => {}
    }
    let is_new = !known.introduced || known.standing == Standing::Left;
    if is_new && replaces_a_chat(hearing, room).await {
        return; // it is introduced as what it replaces
    }
    let refused = !known.encrypted && hearing.bridge.policy.plain_rooms == Rule::Refuse;
    if refused {
        // Nobody is heard there; they are told when they write.
        if !known.introduced {
            hearing.stands(known, Standing::Open).await;
        }
        return;
    }
    let sort = match Box::pin(sort(hearing, room.room_id())).await {
        Ok(sort) => sort,
        Err(error) => return warn!(%error, room = known.room, "its members are not known yet"),
    };
    if is_new {
        let chat = ChatId::new(&known.room);
        hearing.handing.noted(&Noted::Open { chat, room: sort }).await;
    }
    meet(hearing, known, room, sort, met).await;
    if is_new {
        hearing.stands(known, Standing::Open).await;
    }
}

pub(super) fn points_back(next: &MatrixRoom, before: &RoomId) -> bool {
    next.predecessor_room().is_some_and(|predecessor| predecessor.room_id == before)
}

/// Whether the room replaces a chat of ours, which will be told when that one is looked at.
async fn replaces_a_chat(hearing: Hearing<'_>, room: &MatrixRoom) -> bool {
    let Some(before) = room.predecessor_room() else { return false };
    let old = before.room_id.to_string();
    let known = hearing.written(move |db| rooms::one(db, &old)).await;
    let open = known.is_some_and(|it| it.kind == Kind::Chat && it.standing == Standing::Open);
    let old = hearing.client.get_room(&before.room_id).filter(|_| open);
    let Some(old) = old else { return false };
    let to = old.successor_room().is_some_and(|to| to.room_id == room.room_id());
    match Box::pin(replaced::next(hearing, &old)).await {
        Next::Room(_) | Next::Unknown => to,
        Next::Nothing | Next::Refused(..) => false,
    }
}

/// Tells, once, of the person who is alone with us there, or of one of several whom we know.
async fn meet(
    hearing: Hearing<'_>,
    known: &KnownRoom,
    room: &MatrixRoom,
    sort: Room,
    met: &mut HashSet<String>,
) {
    if met.contains(&known.room) || room.joined_members_count() < 2 {
        return;
    }
    let members = match Box::pin(room.members(RoomMemberships::JOIN)).await {
        Ok(members) => members,
        Err(error) => return warn!(%error, room = known.room, "its members are not known yet"),
    };
    let others = members.iter().map(|member| member.user_id());
    let others = others.filter(|user| *user != room.own_user_id()).take(LOOKED_AT);
    let mut from = None;
    for other in others {
        if hearing.admits(other.as_str()).await {
            from = Some(other.to_string());
            break;
        }
    }
    let Some(from) = from else { return };
    let key = (known.room.clone(), from.clone());
    let told = {
        let (room, from) = key.clone();
        hearing.written(move |db| heard::told(db, &room, &from, MET)).await
    };
    if told.is_none() {
        let chat = ChatId::new(&known.room);
        hearing.handing.noted(&Noted::Met { chat, room: sort, from }).await;
        let now = hearing.bridge.now().timestamp_millis();
        hearing.written(move |db| heard::tell(db, &key.0, &key.1, MET, now)).await;
    }
    met.insert(known.room.clone());
}

impl Hearing<'_> {
    pub(super) async fn stands(self, known: &KnownRoom, standing: Standing) {
        debug!(room = known.room, ?standing, "a room");
        let room = known.room.clone();
        self.written(move |db| rooms::stands(db, &room, standing)).await;
    }
}
