//! "… is typing", while a session works. It is no event and no budget counts it.

use chrono::TimeDelta;
use matrix_sdk::ruma::{
    OwnedRoomId, RoomId,
    api::client::typing::create_typing_event::v3::{Request, Typing as Shown, TypingInfo},
};
use std::{
    collections::BTreeMap,
    future::IntoFuture as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;
use tracing::debug;
use vigie_core::{
    Timestamp,
    bridge::{Body, Post},
};

use crate::MatrixBridge;

/// How long the server shows it without hearing more. Source: Matrix specification, "Typing
/// Notifications", which gives half a minute as an example.
const SHOWN: Duration = Duration::from_secs(30);

/// Before that it is said again.
const AGAIN: Duration = Duration::from_secs(20);

/// For one call: it matters now, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session of which no more is heard does not type for ever.
const LONGEST: TimeDelta = TimeDelta::minutes(10);

/// Sessions that are at work at once; beyond that nobody looks who types.
const SESSIONS: usize = 64;

/// Who is at work in which room, and until when that is believed.
#[derive(Debug, Default)]
pub(super) struct Typing {
    working: Mutex<BTreeMap<(OwnedRoomId, String), Timestamp>>,
    changed: Notify,
}

impl Typing {
    /// What is said tells who is at work: progress that goes on begins it, and whatever else a
    /// session says ends it.
    pub(super) fn note(&self, room: &RoomId, post: &Post, now: Timestamp) {
        let Some(session) = &post.from else { return };
        let key = (room.to_owned(), session.as_str().to_owned());
        let mut working = self.working();
        let changed = match &post.body {
            Body::Progress(progress) if progress.ended.is_none() => {
                working.len() < SESSIONS && working.insert(key, now + LONGEST).is_none()
            }
            Body::Progress(_)
            | Body::Text { .. }
            | Body::Card(_)
            | Body::Document(_)
            | Body::File(_) => working.remove(&key).is_some(),
        };
        drop(working);
        if changed {
            self.changed.notify_one();
        }
    }

    /// The rooms in which somebody is at work.
    fn rooms(&self, now: Timestamp) -> Vec<OwnedRoomId> {
        let mut working = self.working();
        working.retain(|_, until| *until > now);
        let mut rooms: Vec<OwnedRoomId> = working.keys().map(|(room, _)| room.clone()).collect();
        rooms.dedup();
        rooms
    }

    fn working(&self) -> MutexGuard<'_, BTreeMap<(OwnedRoomId, String), Timestamp>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows it for as long as it is so. Never ends; whoever hears joins it.
pub(crate) async fn keep(bridge: &MatrixBridge) {
    let typing = &bridge.saying.typing;
    let mut shown: Vec<OwnedRoomId> = Vec::new();
    loop {
        let rooms = typing.rooms(bridge.now());
        for over in shown.iter().filter(|room| !rooms.contains(room)) {
            show(bridge, over, Shown::No).await;
        }
        for room in &rooms {
            show(bridge, room, Shown::Yes(TypingInfo::new(SHOWN))).await;
        }
        shown = rooms;
        let wait = typing.changed.notified();
        if shown.is_empty() {
            wait.await;
        } else {
            let _ = tokio::time::timeout(AGAIN, wait).await; // it is time, or something changed
        }
    }
}

/// That it fails is nobody's loss.
async fn show(bridge: &MatrixBridge, room: &RoomId, shown: Shown) {
    let Ok(client) = bridge.client().await else { return };
    let request = Request::new(bridge.session.user.clone(), room.to_owned(), shown);
    let call = Box::pin(client.send(request).into_future());
    if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, call).await {
        debug!(%error, %room, "it is not shown who types");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk::ruma::room_id;
    use vigie_core::{
        bridge::{Level, Progress},
        text::Rich,
    };

    fn post(body: Body) -> Post {
        Post { from: Some("PD-285".parse().unwrap()), level: Level::Log, body }
    }

    fn progress(ended: Option<&str>) -> Post {
        post(Body::Progress(Progress {
            lines: vec!["reads".into()],
            since: Timestamp::default(),
            ended: ended.map(str::to_owned),
            buttons: Vec::new(),
        }))
    }

    #[test]
    fn a_session_types_from_its_first_progress_to_its_answer() {
        let (typing, room, now) = (Typing::default(), room_id!("!room"), Timestamp::default());
        typing.note(room, &progress(None), now);
        assert_eq!(typing.rooms(now), [room]);
        let answer = Body::Text { text: Rich::plain("Done."), part: None, buttons: Vec::new() };
        typing.note(room, &post(answer), now);
        assert!(typing.rooms(now).is_empty());
        typing.note(room, &progress(None), now);
        typing.note(room, &progress(Some("3 min")), now);
        assert!(typing.rooms(now).is_empty());
    }

    #[test]
    fn what_is_not_heard_of_again_stops_and_there_is_a_most() {
        let (typing, now) = (Typing::default(), Timestamp::default());
        typing.note(room_id!("!room"), &progress(None), now);
        assert!(typing.rooms(now + LONGEST).is_empty());
        for number in 0..100 {
            let room: OwnedRoomId = format!("!room{number}").try_into().unwrap();
            typing.note(&room, &progress(None), now);
        }
        assert_eq!(typing.rooms(now).len(), SESSIONS);
    }
}
