//! Going into rooms and out of them: invitations, rooms that replace others, rooms without
//! encryption.

use chrono::TimeDelta;
use matrix_sdk::{
    Room as MatrixRoom, RoomState,
    ruma::{OwnedRoomId, RoomId, api::client::membership::leave_room, assign},
};
use serde_json::json;
use std::{collections::HashMap, future::IntoFuture as _, time::Duration};
use tracing::{debug, info, warn};
use vigie_core::{Timestamp, bridge::Noted, id::ChatId};

use super::{Hearing, policy, rooms::points_back};
use crate::{
    bridge::Rule,
    store::{
        heard,
        rooms::{self, Kind, KnownRoom, Standing},
    },
    why,
};

/// A homeserver may say for a moment that it knows of no invitation: how soon to try again, twice as
/// long after each failure, and when to give up.
const FIRST: Duration = Duration::from_secs(2);
const GIVE_UP: TimeDelta = TimeDelta::minutes(5);

/// Under what it is remembered that we went somewhere of our own accord.
const ENTERED: &str = "entered";
const FOLLOWED: &str = "followed";
const KNOCKED: &str = "knocked";

const NOT_ENCRYPTED: &str = "that room is not encrypted, so Vigie left it. Switch encryption on in the room's settings and invite Vigie again; or let such rooms in with `plain_rooms = \"accept\"` under [matrix] in Vigie's configuration";

/// What was tried of late.
#[derive(Debug, Default)]
pub(super) struct Ways {
    invitations: Attempts,
    successors: Attempts,
}

#[derive(Debug, Default)]
struct Attempts(HashMap<OwnedRoomId, Attempt>);

#[derive(Clone, Copy, Debug)]
struct Attempt {
    since: Timestamp,
    next: Timestamp,
    failures: u32,
    given_up: bool,
}

impl Ways {
    /// Looks at everything once; says how soon something is to be tried again.
    pub(super) async fn pass(&mut self, hearing: Hearing<'_>) -> Option<Duration> {
        let invited = hearing.client.invited_rooms();
        for room in &invited {
            Box::pin(self.invited(hearing, room)).await;
        }
        for known in hearing.written(rooms::all).await {
            if known.kind == Kind::Chat && known.standing != Standing::Moved {
                Box::pin(self.chat(hearing, &known)).await;
            }
        }
        // What is not open any more may be opened anew.
        let still = |state: RoomState| {
            move |id: &RoomId| hearing.client.get_room(id).is_some_and(|room| room.state() == state)
        };
        self.invitations.0.retain(|room, _| still(RoomState::Invited)(room));
        self.successors.0.retain(|room, _| !still(RoomState::Joined)(room));
        let now = hearing.bridge.now();
        self.invitations.due(now).into_iter().chain(self.successors.due(now)).min()
    }

    async fn invited(&mut self, hearing: Hearing<'_>, room: &MatrixRoom) {
        if room.is_space() || !self.invitations.is_due(room.room_id(), hearing.bridge.now()) {
            return;
        }
        let from = match room.invite_details().await {
            Ok(invite) => invite.inviter_id.to_string(),
            Err(error) => return warn!(%error, room = %room.room_id(), "who invites is not known"),
        };
        if !hearing.admits(&from).await {
            return knocked(hearing, from).await;
        }
        hearing.remember(room.room_id().as_str(), "", ENTERED).await;
        info!(room = %room.room_id(), "invited by somebody who is admitted");
        let joined = hearing.client.join_room_by_id(room.room_id()).await;
        let Err(error) = joined else { return };
        if self.invitations.failed(room.room_id(), hearing.bridge.now()) {
            let reason = format!(
                "Vigie was invited to that room and cannot go in: {}; invite it again",
                why::of_sdk(&error)
            );
            hearing.shut(room.room_id(), reason).await;
        }
    }

    async fn chat(&mut self, hearing: Hearing<'_>, known: &KnownRoom) {
        let Ok(id) = RoomId::parse(&known.room) else { return };
        let Some(room) = hearing.client.get_room(&id) else { return };
        if room.state() != RoomState::Joined {
            return;
        }
        if let Some(successor) = room.successor_room() {
            return self.follow(hearing, &room, &successor.room_id).await;
        }
        let refused = !known.encrypted && hearing.bridge.policy.plain_rooms == Rule::Refuse;
        let state = room.encryption_state();
        let plain = !state.is_encrypted() && !state.is_unknown();
        if known.introduced && refused && plain && hearing.remembers(&known.room, "", ENTERED).await
        {
            if known.standing == Standing::Open {
                hearing.shut(&id, NOT_ENCRYPTED.into()).await;
                hearing.stands(known, Standing::Left).await;
            }
            say_why(&room).await;
            leave(hearing, &id, NOT_ENCRYPTED).await;
        }
    }

    /// A room was replaced: into the new one, and out of it again where it does not say the same.
    async fn follow(&mut self, hearing: Hearing<'_>, room: &MatrixRoom, to: &RoomId) {
        let old = room.room_id().as_str();
        let next = hearing.client.get_room(to);
        if let Some(next) = next.filter(|next| next.state() == RoomState::Joined) {
            let synced = next.create_content().is_some();
            if synced
                && !points_back(&next, room.room_id())
                && hearing.remembers(old, to.as_str(), FOLLOWED).await
            {
                warn!(room = old, "a room says it is replaced by one that knows nothing of it");
                leave(hearing, to, "this room does not replace the one that points to it").await;
                hearing.forget_that(old, to.as_str(), FOLLOWED).await;
                self.successors.give_up(to, hearing.bridge.now());
            }
            return;
        }
        if !self.successors.is_due(to, hearing.bridge.now()) {
            return;
        }
        hearing.remember(old, to.as_str(), FOLLOWED).await;
        let via = room.route().await.unwrap_or_default();
        let joined = hearing.client.join_room_by_id_or_alias(to.into(), &via).await;
        let Err(error) = joined else { return };
        debug!(%error, room = old, "the room that replaces it does not let us in");
        if self.successors.failed(to, hearing.bridge.now()) {
            let reason = format!(
                "that room was replaced by another one, and Vigie cannot go in there: {}; invite it there",
                why::of_sdk(&error)
            );
            hearing.shut(room.room_id(), reason).await;
        }
    }
}

impl Attempts {
    /// How soon something is to be tried again.
    fn due(&self, now: Timestamp) -> Option<Duration> {
        let open = self.0.values().filter(|attempt| !attempt.given_up);
        open.map(|attempt| (attempt.next - now).to_std().unwrap_or_default()).min()
    }

    fn is_due(&self, room: &RoomId, now: Timestamp) -> bool {
        self.0.get(room).is_none_or(|attempt| !attempt.given_up && attempt.next <= now)
    }

    /// Counts a failure; says whether it was the last try.
    fn failed(&mut self, room: &RoomId, now: Timestamp) -> bool {
        let first = Attempt { since: now, next: now, failures: 0, given_up: false };
        let attempt = self.0.entry(room.to_owned()).or_insert(first);
        let wait = FIRST.saturating_mul(1 << attempt.failures.min(6));
        attempt.failures += 1;
        attempt.next = now + wait;
        attempt.given_up = now - attempt.since >= GIVE_UP;
        attempt.given_up
    }

    fn give_up(&mut self, room: &RoomId, now: Timestamp) {
        self.failed(room, now);
        if let Some(attempt) = self.0.get_mut(room) {
            attempt.given_up = true;
        }
    }
}

/// Somebody who is not admitted wants us in a room; said once in a while, whatever rooms they make.
async fn knocked(hearing: Hearing<'_>, from: String) {
    let now = hearing.bridge.now();
    let told = {
        let from = from.clone();
        hearing.written(move |db| heard::told(db, "", &from, KNOCKED)).await
    };
    let told = told.and_then(Timestamp::from_timestamp_millis);
    if told.is_some_and(|told| now - told < policy::AGAIN) {
        return;
    }
    hearing.handing.noted(&Noted::Knocked { from: from.clone() }).await;
    hearing.remember("", &from, KNOCKED).await;
}

/// Says in a room without encryption why we do not stay, since few apps show the reason of whoever
/// leaves. Nothing else is ever written in the clear. Best effort, and said once however often it is
/// tried: the homeserver knows the transaction.
async fn say_why(room: &MatrixRoom) {
    let why = capitalized(NOT_ENCRYPTED);
    let content = json!({ "msgtype": "m.notice", "body": why, "m.mentions": {} });
    let transaction = format!("vigie.left.{}", room.room_id().as_str().trim_start_matches('!'));
    let said =
        room.send_raw("m.room.message", content).with_transaction_id(transaction.as_str().into());
    if let Err(error) = Box::pin(said.into_future()).await {
        debug!(%error, room = %room.room_id(), "could not say why a room is left");
    }
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Best effort: if it fails, it is tried again with the next look.
async fn leave(hearing: Hearing<'_>, room: &RoomId, reason: &str) {
    let request = leave_room::v3::Request::new(room.to_owned());
    let request = assign!(request, { reason: Some(reason.to_owned()) });
    if let Err(error) = hearing.client.send(request).await {
        warn!(%error, room = %room, "could not leave a room");
    }
}

impl Hearing<'_> {
    async fn shut(self, room: &RoomId, reason: String) {
        let chat = ChatId::new(room.as_str());
        self.handing.noted(&Noted::Shut { chat, reason }).await;
    }

    async fn remember(self, room: &str, who: &str, about: &'static str) {
        let (room, who, now) =
            (room.to_owned(), who.to_owned(), self.bridge.now().timestamp_millis());
        self.written(move |db| heard::tell(db, &room, &who, about, now)).await;
    }

    async fn remembers(self, room: &str, who: &str, about: &'static str) -> bool {
        let (room, who) = (room.to_owned(), who.to_owned());
        self.written(move |db| heard::told(db, &room, &who, about)).await.is_some()
    }

    async fn forget_that(self, room: &str, who: &str, about: &'static str) {
        let (room, who) = (room.to_owned(), who.to_owned());
        self.written(move |db| heard::forget(db, &room, &who, about)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk::ruma::room_id;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_796_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn a_door_that_stays_shut_is_tried_more_and_more_rarely_and_then_no_more() {
        let (mut ways, room) = (Attempts::default(), room_id!("!room"));
        let mut tried = Vec::new();
        for second in 0..1_000 {
            if ways.is_due(room, at(second)) {
                tried.push(second);
                ways.failed(room, at(second));
            }
        }
        assert_eq!(tried, [0, 2, 6, 14, 30, 62, 126, 254, 382]);
    }
}
