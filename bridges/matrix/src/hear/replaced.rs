//! Rooms that are replaced: whether the new one is the chat that the old one was. Whoever may say that
//! a room is replaced, the homeserver among them, could lead a chat to where nobody of it is.

use matrix_sdk::{
    Room as MatrixRoom, RoomMemberships, RoomState,
    ruma::{OwnedRoomId, OwnedUserId},
};
use std::collections::BTreeSet;
use tracing::warn;
use vigie_core::{bridge::Noted, id::ChatId};

use super::{Hearing, rooms::points_back};
use crate::store::{heard, rooms::KnownRoom};

/// Under what it is remembered that people were told of a room that is not followed.
pub(crate) const NOT_FOLLOWED: &str = "not followed";

/// What comes after a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    /// Another room, of which too little is known yet.
    Unknown,
    /// Another room, where the chat does not go: why, and what to do.
    Refused(OwnedRoomId, String),
    Room(OwnedRoomId),
}

/// Where the chat of that room goes on.
pub(super) async fn next(hearing: Hearing<'_>, room: &MatrixRoom) -> Next {
    let Some(successor) = room.successor_room() else { return Next::Nothing };
    let to = successor.room_id;
    let Some(next) = hearing.client.get_room(&to) else { return Next::Unknown };
    if next.state() != RoomState::Joined || !points_back(&next, room.room_id()) {
        return Next::Unknown;
    }
    let (Some(before), Some(now)) = (people(room).await, people(&next).await) else {
        return Next::Unknown;
    };
    let mut admitted = BTreeSet::new();
    for user in &now.joined {
        if hearing.admits(user.as_str()).await {
            admitted.insert(user.clone());
        }
    }
    match objection(&before, &now, &admitted) {
        Some(words) => Next::Refused(to, words),
        None => Next::Room(to),
    }
}

/// People of a room, without ourselves.
#[derive(Debug, Default)]
struct People {
    joined: BTreeSet<OwnedUserId>,
    invited: BTreeSet<OwnedUserId>,
}

async fn people(room: &MatrixRoom) -> Option<People> {
    let mut people = People::default();
    let all = Box::pin(async {
        let joined = room.members(RoomMemberships::JOIN).await?;
        let invited = room.members(RoomMemberships::INVITE).await?;
        Ok::<_, matrix_sdk::Error>((joined, invited))
    });
    let (joined, invited) = match all.await {
        Ok(all) => all,
        Err(error) => {
            warn!(%error, room = %room.room_id(), "its members are not known yet");
            return None;
        }
    };
    people.joined.extend(joined.iter().map(|member| member.user_id().to_owned()));
    people.invited.extend(invited.iter().map(|member| member.user_id().to_owned()));
    people.joined.remove(room.own_user_id());
    Some(people)
}

/// Why a chat does not go on in a room with these people.
fn objection(before: &People, now: &People, admitted: &BTreeSet<OwnedUserId>) -> Option<String> {
    let was_there = |user: &&OwnedUserId| before.joined.contains(*user);
    let strangers: Vec<_> =
        now.joined.iter().chain(&now.invited).filter(|user| !was_there(user)).collect();
    if let Some(stranger) = strangers.first() {
        return Some(format!(
            "the room was replaced by another one, and {stranger} is in that one and was not in this one. Remove them there, then Vigie goes on there; or connect that room by itself: vigie pair at the desk, then !pair and the code there"
        ));
    }
    if !now.joined.iter().any(|user| admitted.contains(user)) {
        return Some("the room was replaced by another one, and nobody whom Vigie knows is in that one yet. If you replaced it, join the new one, then Vigie goes on there; if you did not, do not follow: somebody wants to read along".into());
    }
    None
}

/// Shuts a chat that does not go on in its new room, once for each such room; looked at again with
/// each sync.
pub(super) async fn refuse(hearing: Hearing<'_>, known: &KnownRoom, to: &OwnedRoomId, why: String) {
    let key = (known.room.clone(), to.to_string());
    let told = {
        let (room, to) = key.clone();
        hearing.written(move |db| heard::told(db, &room, &to, NOT_FOLLOWED)).await
    };
    if told.is_some() {
        return;
    }
    warn!(room = known.room, %to, why, "a room is not followed");
    let chat = ChatId::new(&known.room);
    hearing.handing.noted(&Noted::Shut { chat, reason: why }).await;
    let now = hearing.bridge.now().timestamp_millis();
    hearing.written(move |db| heard::tell(db, &key.0, &key.1, NOT_FOLLOWED, now)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str]) -> BTreeSet<OwnedUserId> {
        let user = |name: &&str| format!("@{name}:example.org").try_into().unwrap();
        names.iter().map(user).collect()
    }

    fn room(joined: &[&str], invited: &[&str]) -> People {
        People { joined: all(joined), invited: all(invited) }
    }

    #[test]
    fn a_chat_goes_only_where_its_people_are_and_nobody_else() {
        let before = room(&["ines", "tom"], &["mallory"]);
        for (now, goes) in [
            (room(&["ines"], &["tom"]), true),
            (room(&["ines", "tom"], &[]), true),
            (room(&["tom"], &[]), false),
            (room(&[], &[]), false),
            (room(&[], &["ines"]), false),
            (room(&["ines", "eve"], &[]), false),
            (room(&["ines"], &["eve"]), false),
            (room(&["ines", "mallory"], &[]), false),
        ] {
            assert_eq!(objection(&before, &now, &all(&["ines"])).is_none(), goes, "{now:?}");
        }
    }
}
