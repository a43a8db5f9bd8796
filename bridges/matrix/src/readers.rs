//! Who gets the keys of what is said in a room, and whether the daemon was told of all of them. Decided by
//! the very list that matrix-sdk encrypts for, never by the homeserver's counts.

use matrix_sdk::{
    Error, Room, RoomMemberships,
    ruma::{OwnedUserId, UserId},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tracing::warn;

use crate::{
    MatrixBridge,
    verify::{Unread, stands},
};

/// People beyond whom nobody can say any more who reads along.
pub(crate) const MOST: usize = 500;

/// Who is in a chat, in all of its rooms: by their ids, and people of ours by their master keys too.
pub(crate) type Present = BTreeMap<OwnedUserId, Option<String>>;

/// What the daemon was told of who is where. In memory: it is told again after each start.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    chats: Mutex<HashMap<String, Told>>,
    /// Whoever hears looks at once who is where.
    pub(crate) look: Notify,
}

/// What the daemon was told of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// These, and nothing is on its way there that was decided before.
    Present(Present),
    /// It cannot be told, and why, with what to do.
    Unknown(String),
}

/// Why nothing may be said in a room now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The daemon was not told of somebody there; it is in a moment.
    Untold,
    /// Nobody knows who is there.
    Unknown(String),
}

impl Readers {
    pub(crate) fn told(&self, chat: &str) -> Option<Told> {
        self.chats().get(chat).cloned()
    }

    pub(crate) fn tell(&self, chat: &str, told: Told) {
        self.chats().insert(chat.to_owned(), told);
    }

    /// Forgets chats that we are not in any more.
    pub(crate) fn keep(&self, is_there: impl Fn(&str) -> bool) {
        self.chats().retain(|chat, _| is_there(chat));
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<String, Told>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who is in a room besides us or asked to be: whoever knocks or is banned gets nothing.
pub(crate) async fn there(room: &Room) -> Result<BTreeSet<OwnedUserId>, Error> {
    Box::pin(room.sync_members()).await?;
    let client = room.client();
    let store = client.state_store();
    let all = store.get_user_ids(room.room_id(), RoomMemberships::ACTIVE).await?;
    Ok(all.into_iter().filter(|user| user != room.own_user_id()).collect())
}

/// The master key by which somebody was told of, looked at anew.
async fn is_the_same(
    bridge: &MatrixBridge,
    room: &Room,
    user: &UserId,
    told: Option<&String>,
) -> Result<bool, Unread> {
    let Some(told) = told else { return Ok(true) };
    let now = stands(&room.client(), &bridge.store, user).await?;
    Ok(now.identity.as_ref() == Some(told))
}

/// Whether what is said now in a room of that chat reaches nobody whom the daemon was not told of.
pub(crate) async fn may_speak(
    bridge: &MatrixBridge,
    room: &Room,
    chat: &str,
) -> Result<Result<(), Hold>, Error> {
    let present = match bridge.readers.told(chat) {
        Some(Told::Present(present)) => present,
        Some(Told::Unknown(why)) => return Ok(Err(Hold::Unknown(why))),
        None => return Ok(Err(Hold::Untold)),
    };
    for user in there(room).await? {
        let Some(told) = present.get(&user) else { return Ok(Err(Hold::Untold)) };
        match is_the_same(bridge, room, &user, told.as_ref()).await {
            Ok(true) => {}
            Ok(false) => return Ok(Err(Hold::Untold)),
            Err(error) => {
                warn!(%error, %user, "who somebody is cannot be read");
                return Ok(Err(Hold::Untold));
            }
        }
    }
    Ok(Ok(()))
}
