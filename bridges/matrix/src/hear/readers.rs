//! Tells the daemon who is where, each time that it changes. Nothing is said in a room before the daemon
//! was told of everybody in it, and before what it decided without knowing them has come back.

use matrix_sdk::{
    Room as MatrixRoom, RoomState,
    ruma::{OwnedUserId, RoomId, UserId, events::room::member::MembershipState},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};
use tracing::{info, warn};
use vigie_core::{
    bridge::{Changed, Entry, Noted, Reader},
    id::{ChatId, ThreadId},
};

use super::{Hearing, rooms};
use crate::{
    Rule,
    readers::{self, MOST, Present, Told},
    store::rooms::{Kind, KnownRoom, Standing as At},
    verify::{Standing, Stands, in_fours, stands},
};

/// Whatever happens, everybody is looked for again after this long.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// While something is on its way that was decided before, or the homeserver does not answer.
const SOON: Duration = Duration::from_millis(200);
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);

/// Failures in a row after which a chat counts as one of which nobody knows who is in it. Before that,
/// whatever is said there fails by itself.
const FAILURES: u32 = 12;

/// For the members of one room.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the daemon was told of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    rooms: BTreeMap<String, BTreeSet<OwnedUserId>>,
    /// People of ours in it, and how they stand.
    people: BTreeMap<OwnedUserId, Stands>,
}

/// What the daemon was told, and how often in a row it could not be.
#[derive(Debug, Default)]
struct Chats {
    told: HashMap<String, Seen>,
    failed: HashMap<String, u32>,
}

/// Tells for ever.
pub(super) async fn keep(hearing: Hearing<'_>) {
    let mut told = Chats::default();
    loop {
        let again = pass(hearing, &mut told).await;
        tokio::select! {
            () = hearing.wake.readers.notified() => {}
            () = hearing.bridge.readers.look.notified() => {}
            () = tokio::time::sleep(again) => {}
        }
    }
}

/// Looks at every chat once; says how soon to look again.
async fn pass(hearing: Hearing<'_>, told: &mut Chats) -> Duration {
    let mut chats: BTreeMap<String, Vec<(KnownRoom, MatrixRoom)>> = BTreeMap::new();
    for known in hearing.written(crate::store::rooms::all).await {
        let being_made = known.kind == Kind::Session && known.chat == known.room;
        let id = RoomId::parse(&known.room).ok();
        let room = id.and_then(|id| hearing.client.get_room(&id));
        let room = room.filter(|room| room.state() == RoomState::Joined);
        match room {
            Some(room)
                if known.kind != Kind::Space && known.standing != At::Moved && !being_made =>
            {
                chats.entry(known.chat.clone()).or_default().push((known, room));
            }
            Some(_) | None => {}
        }
    }
    told.told.retain(|chat, _| chats.contains_key(chat));
    told.failed.retain(|chat, _| chats.contains_key(chat));
    hearing.bridge.readers.keep(|chat| chats.contains_key(chat));
    let people = people(hearing).await;
    let mut again = LOOK_AGAIN;
    for (chat, rooms) in &chats {
        again = again.min(one(hearing, chat, rooms, &people, told).await);
    }
    again
}

/// Whom we know, as far as this side of the port can tell.
async fn people(hearing: Hearing<'_>) -> BTreeSet<OwnedUserId> {
    let admitted = hearing.on_disk(|| hearing.bridge.store.admitted()).await;
    let configured = hearing.bridge.people.iter();
    let configured = configured.filter_map(|user| UserId::parse(user.as_str()).ok());
    admitted.into_iter().chain(configured).collect()
}

async fn one(
    hearing: Hearing<'_>,
    chat: &str,
    rooms: &[(KnownRoom, MatrixRoom)],
    people: &BTreeSet<OwnedUserId>,
    told: &mut Chats,
) -> Duration {
    let (readers, id) = (&hearing.bridge.readers, ChatId::new(chat));
    let seen = match seen(hearing, rooms, people).await {
        Ok(seen) => seen,
        Err(why) => {
            warn!(chat, why, "who is in a chat is not known");
            let failures = told.failed.entry(chat.to_owned()).or_default();
            *failures = failures.saturating_add(1);
            if *failures >= FAILURES {
                readers.tell(chat, Told::Unknown(why));
                told.told.remove(chat);
            }
            return AFTER_A_FAILURE;
        }
    };
    told.failed.remove(chat);
    if told.told.get(chat) != Some(&seen) {
        for (user, stands) in &seen.people {
            take(hearing, user, stands).await;
        }
        let note = Noted::Readers { chat: id.clone(), readers: all(hearing, rooms, &seen).await };
        hearing.handing.noted(&note).await;
        told.told.insert(chat.to_owned(), seen.clone());
    }
    let present = seen.present();
    let before = readers.told(chat);
    if before == Some(Told::Present(present.clone())) {
        return LOOK_AGAIN;
    }
    if !hearing.handing.is_still(&id).await {
        return SOON;
    }
    readers.tell(chat, Told::Present(present));
    if let Some(Told::Unknown(_)) = before
        && let Some((_, room)) = rooms.iter().find(|(known, _)| known.room == chat)
        && let Ok(sort) = rooms::sort(hearing, room.room_id()).await
    {
        // What was said meanwhile found the chat shut.
        hearing.handing.noted(&Noted::Open { chat: id, room: sort }).await;
    }
    LOOK_AGAIN
}

/// Who is in these rooms; or why nobody knows, with what to do.
async fn seen(
    hearing: Hearing<'_>,
    rooms: &[(KnownRoom, MatrixRoom)],
    people: &BTreeSet<OwnedUserId>,
) -> Result<Seen, String> {
    let mut seen = Seen { rooms: BTreeMap::new(), people: BTreeMap::new() };
    for (known, room) in rooms {
        let there = tokio::time::timeout(PATIENCE, readers::there(room)).await;
        let there = match there {
            Ok(Ok(there)) if there.len() <= MOST => there,
            Ok(Ok(there)) => {
                return Err(format!(
                    "{} people are in it, and nobody can say any more who reads along; make a room with fewer",
                    there.len()
                ));
            }
            Ok(Err(error)) => {
                return Err(format!(
                    "the homeserver does not say who is in it ({error}); it is asked again"
                ));
            }
            Err(_) => {
                return Err(
                    "the homeserver does not say in time who is in it; it is asked again".into()
                );
            }
        };
        for user in there.intersection(people) {
            let stands = stands(hearing.client, &hearing.bridge.store, user).await;
            let stands = stands.map_err(|error| format!("{user} cannot be looked up ({error})"))?;
            seen.people.insert(user.clone(), stands);
        }
        seen.rooms.insert(known.room.clone(), there);
    }
    Ok(seen)
}

impl Seen {
    fn present(&self) -> Present {
        let all = self.rooms.values().flatten();
        let key = |user: &OwnedUserId| self.people.get(user).and_then(|it| it.identity.clone());
        all.map(|user| (user.clone(), key(user))).collect()
    }
}

/// The first identity that was seen is taken for theirs, and by the policy a later one as well, which is
/// said first: a crash in between says it twice rather than never.
async fn take(hearing: Hearing<'_>, user: &UserId, stands: &Stands) {
    let accepted = stands.standing == Standing::Renewed
        && hearing.bridge.policy.new_identities == Rule::Accept;
    let key = match &stands.identity {
        Some(key) if accepted || stands.to_take().is_some() => key.clone(),
        Some(_) | None => return,
    };
    if accepted {
        let words = format!(
            "{} Vigie goes on with them, as its configuration says.",
            renewed_words(user, stands)
        );
        hearing.handing.noted(&Noted::NeedsDesk { words }).await;
    }
    info!(%user, key, "taken for the owner of that identity from now on");
    hearing.on_disk(|| hearing.bridge.store.take_for(user.as_str(), &key)).await;
}

async fn all(hearing: Hearing<'_>, rooms: &[(KnownRoom, MatrixRoom)], seen: &Seen) -> Vec<Reader> {
    let mut all: BTreeMap<&OwnedUserId, Reader> = BTreeMap::new();
    // The chat itself first: whoever is in it as well is told of as being there.
    let mut rooms: Vec<_> = rooms.iter().collect();
    rooms.sort_by_key(|(known, _)| known.kind != Kind::Chat);
    for (known, room) in rooms {
        for user in seen.rooms.get(&known.room).into_iter().flatten() {
            if all.contains_key(user) {
                continue;
            }
            let thread = (known.kind == Kind::Session).then(|| ThreadId::new(&known.room));
            let (entry, by) = came(room, user).await;
            let stands = seen.people.get(user);
            let changed = stands.and_then(|stands| changed(hearing, user, stands));
            let who = user.to_string();
            all.insert(user, Reader { who, by, entry, thread, changed });
        }
    }
    all.into_values().collect()
}

/// How somebody came there, and by whom, as the homeserver says. Only words depend on it.
async fn came(room: &MatrixRoom, user: &UserId) -> (Entry, Option<String>) {
    let Ok(Some(member)) = room.get_member_no_sync(user).await else {
        return (Entry::Joined, None);
    };
    let invited = *member.membership() == MembershipState::Invite;
    let entry = if invited { Entry::Invited } else { Entry::Joined };
    let by = member.event().sender().to_string();
    (entry, Some(by).filter(|by| by != user.as_str()))
}

fn changed(hearing: Hearing<'_>, user: &UserId, stands: &Stands) -> Option<Changed> {
    let words = match stands.standing {
        Standing::Renewed if hearing.bridge.policy.new_identities == Rule::Accept => return None,
        Standing::Renewed => renewed_words(user, stands),
        Standing::Changed => format!(
            "{user} was verified and has another identity now. Ask them in person; then at the desk: vigie matrix verify {user}."
        ),
        Standing::Verified | Standing::Unverified | Standing::NoIdentity => return None,
    };
    Some(Changed { to: stands.identity.clone().unwrap_or_default(), words })
}

fn renewed_words(user: &UserId, stands: &Stands) -> String {
    let key = |key: &Option<String>| key.as_deref().map(in_fours).unwrap_or_default();
    format!(
        "The identity of {user} on Matrix is another one than before: {} until now, {} from now on. They set their encryption up anew, or somebody else speaks and reads as them. Ask them in person; then at the desk: vigie matrix accept {user}, or better vigie matrix verify {user}.",
        key(&stands.known),
        key(&stands.identity)
    )
}
