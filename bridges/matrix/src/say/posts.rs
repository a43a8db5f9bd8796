//! New messages, and messages that change.

use matrix_sdk::{
    RoomMemberships,
    ruma::{EventId, OwnedEventId, OwnedUserId},
};
use vigie_bridge_kit::{
    layout::{Laid, Written},
    sheet::Sheet,
};
use vigie_core::{
    bridge::{Body, Card, Document, Post, Said, SayError},
    id::{DeliveryId, MessageId},
};

use super::{
    Spot,
    content::{self, Standing},
    door::{Door, Failed, without_doubt},
    files,
    layout::{self, fit, fit_in},
    once::{Arrived, Changes, MESSAGE, Outgoing},
    outcome::{self, Refusal},
    quick,
};
use crate::{
    markup::{Kind, Text},
    store::Part,
};

/// Most changes of one message while something goes on: each is an event that every client loads with
/// the room. After that it stands still until its end.
const MOST_CHANGES: usize = 40;

/// What surely fits, where the server finds too large what should fit, in bytes.
const SURELY_SMALL: usize = 4_000;

pub(super) async fn post(
    door: &Door<'_>,
    spot: &Spot,
    post: &Post,
    reply_to: Option<&MessageId>,
    key: DeliveryId,
) -> Result<Said, SayError> {
    // An id that is none is no reason to keep back the words.
    let reply_to = reply_to.and_then(|message| EventId::parse(message.as_str()).ok());
    let standing = standing(door, spot, reply_to).await?;
    let laid = layout::lay_out(post, spot.is_thread(), door.bridge.reactions(), door.bridge.now());
    let part = Part::first(key);
    let (arrived, buttons) = match laid {
        Laid::Written(written) => {
            let calls = called(door, written.silent).await?;
            let message = Message { door, standing: &standing, calls: calls.as_deref(), part };
            (message.say(&written.sheet).await?, written.buttons)
        }
        Laid::Enclosed(enclosed) => {
            let calls = called(door, enclosed.silent).await?;
            let arrived =
                Box::pin(files::send(door, &standing, enclosed, calls.as_deref(), part)).await?;
            (arrived, Vec::new())
        }
    };
    let Arrived { event, mut calls } = arrived;
    if let Some(root) = &spot.thread {
        let newest = door.bridge.store.newest_in_thread(&spot.room, root.as_str(), event.as_str());
        newest.await.map_err(outcome::unwritten)?;
    }
    if !buttons.is_empty() {
        calls += quick::offer(door, &event, &buttons, None).await?;
    }
    if let Body::Card(card) = &post.body {
        calls += quick::open_poll(door, &standing, &event, card, key).await?;
    }
    door.bridge.saying.typing.note(&spot.room, post, door.bridge.now());
    Ok(Said { message: Some(MessageId::new(event.as_str())), thread: None, calls })
}

/// Where it stands: in a thread it falls back to the newest event known there.
pub(super) async fn standing(
    door: &Door<'_>,
    spot: &Spot,
    reply_to: Option<OwnedEventId>,
) -> Result<Standing, SayError> {
    let Some(root) = &spot.thread else { return Ok(Standing { thread: None, reply_to }) };
    if !door.shows(root).await? {
        return Err(SayError::NoThread);
    }
    let shown = door.bridge.store.shown(&spot.room, root.as_str()).await;
    let last = shown.map_err(outcome::unwritten)?.last.unwrap_or_else(|| root.clone());
    Ok(Standing { thread: Some((root.clone(), last)), reply_to })
}

/// Whom what rings calls: the people of this room who are admitted. `None`: it does not ring.
async fn called(door: &Door<'_>, silent: bool) -> Result<Option<Vec<OwnedUserId>>, SayError> {
    if silent {
        return Ok(None);
    }
    admitted_there(door).await.map(Some)
}

/// The people in the room who are admitted.
pub(super) async fn admitted_there(door: &Door<'_>) -> Result<Vec<OwnedUserId>, SayError> {
    let bridge = door.bridge;
    let admitted = bridge.store.admitted().await.map_err(outcome::unwritten)?;
    let members = door.within(door.room.members(RoomMemberships::JOIN)).await;
    let members = members.map_err(without_doubt)?;
    let is_admitted = |user: &OwnedUserId| {
        admitted.contains(user) || bridge.people.iter().any(|known| user == known.as_str())
    };
    let users = members.into_iter().map(|member| member.user_id().to_owned());
    Ok(users.filter(is_admitted).collect())
}

/// A message of words on its way.
struct Message<'a> {
    door: &'a Door<'a>,
    standing: &'a Standing,
    calls: Option<&'a [OwnedUserId]>,
    part: Part,
}

impl Message<'_> {
    /// Says it; what the server finds too large once more in few words, and then as a document. That
    /// must not happen, and half an answer is better than none.
    async fn say(&self, sheet: &Sheet) -> Result<Arrived, SayError> {
        match self.once(fit(sheet, Kind::New)).await {
            Err(Failed { refusal: Some(Refusal::TooLarge), .. }) => {}
            done => return Ok(done?),
        }
        tracing::error!("the homeserver finds a text too large that should fit");
        let short = Text { html: None, ..fit_in(sheet, Kind::New, SURELY_SMALL) };
        match self.once(short).await {
            Err(Failed { refusal: Some(Refusal::TooLarge), .. }) => {}
            done => return Ok(done?),
        }
        let document = Document {
            name: "message.txt".into(),
            text: sheet.composed().text,
            about: String::new(),
        };
        let enclosed = files::enclosed(document);
        Box::pin(files::send(self.door, self.standing, enclosed, self.calls, self.part)).await
    }

    async fn once(&self, text: Text) -> Result<Arrived, Failed> {
        let words = content::words(&text, self.calls);
        let message = Outgoing {
            kind: MESSAGE,
            digest: content::digest(&words),
            content: content::placed(words, self.standing, self.part),
            changes: Changes::ByEdit,
            door: self.door,
        };
        message.once(self.part).await
    }
}

pub(super) async fn edit(
    door: &Door<'_>,
    spot: &Spot,
    message: &EventId,
    post: &Post,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let bridge = door.bridge;
    let written = match layout::lay_out(post, spot.is_thread(), bridge.reactions(), bridge.now()) {
        Laid::Written(written) => written,
        Laid::Enclosed(enclosed) => {
            let name = enclosed.name;
            let reason = format!("{name} is a file, and a file is not changed once it is sent");
            return Err(SayError::Never { reason });
        }
    };
    bridge.saying.typing.note(&spot.room, post, bridge.now());
    let Written { sheet, buttons, silent } = written;
    let goes_on = matches!(&post.body, Body::Progress(progress) if progress.ended.is_none());
    let calls = called(door, silent).await?;
    let content = content::words(&fit(&sheet, Kind::Edit), calls.as_deref());
    let room = door.room.room_id();
    let mut calls = if matches!(post.body, Body::Card(_)) {
        change_card(door, message, &content, key).await?
    } else {
        change(door, message, &content, key, goes_on).await?
    };
    let edited = bridge.store.edited(room, message).await.map_err(outcome::unwritten)?;
    calls += quick::offer(door, message, &buttons, Some(edited.at)).await?;
    if matches!(&post.body, Body::Card(Card { buttons, .. }) if buttons.is_empty()) {
        calls += quick::end_poll(door, message).await?;
    }
    Ok(Said { message: Some(MessageId::new(message.as_str())), thread: None, calls })
}

/// The same as [`change`] for what people tap on. Whatever they tap meanwhile waits until it is clear
/// which version they saw.
async fn change_card(
    door: &Door<'_>,
    message: &EventId,
    content: &serde_json::Value,
    key: DeliveryId,
) -> Result<usize, SayError> {
    let store = &door.bridge.store;
    let begun = store.begin_change(key, door.room.room_id(), message, door.bridge.now()).await;
    let is_first = begun.map_err(outcome::unwritten)?;
    let changed = change(door, message, content, key, false).await;
    if is_first && changed.as_ref().is_err_and(|error| *error != SayError::InDoubt) {
        store.not_changed(key).await.map_err(outcome::unwritten)?;
    }
    changed
}

/// Makes a message of ours show `content` from now on. Returns the calls it took.
pub(super) async fn change(
    door: &Door<'_>,
    message: &EventId,
    content: &serde_json::Value,
    key: DeliveryId,
    goes_on: bool,
) -> Result<usize, SayError> {
    let bridge = door.bridge;
    let digest = content::digest(content);
    let room = door.room.room_id();
    let known = bridge.store.edited(room, message).await.map_err(outcome::unwritten)?;
    if known.content == digest || (goes_on && known.times >= MOST_CHANGES) {
        return Ok(0);
    }
    // The server takes changes of what is gone; what goes on is told when it is over.
    if !goes_on && !door.shows(message).await? {
        return Err(SayError::NoMessage);
    }
    let change = content::replacement(message, content);
    let edit = door.send(MESSAGE, &change, &format!("vigie.e.{key}.{digest}")).await?;
    let at = if goes_on { None } else { door.sent_at(&edit).await };
    let at = at.unwrap_or_else(|| bridge.now());
    let kept = bridge.store.keep_edit(room, message, digest, at).await;
    kept.map_err(outcome::unwritten)?;
    Ok(1)
}
