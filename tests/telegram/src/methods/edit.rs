//! Changing, deleting and pinning what is there.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{
    Access, CAPTION, MESSAGE, TextOf, markup, may, message, put_words, send::preview_options, words,
};
use crate::{
    files::MediaKind,
    flood::Charge,
    params::Params,
    refusal::{Refusal, bad},
    state::{Message, Sender, State},
    world::{ChatId, MessageId},
};

/// How long others' and most own messages can be deleted. Source: Bot API, `deleteMessage`.
const DELETABLE: Duration = Duration::from_hours(48);

/// An edit has another word for the same limit.
const EDITED: TextOf = TextOf { too_long: "MESSAGE_TOO_LONG", ..MESSAGE };

/// The message to edit, if the bot can edit it.
fn editable(state: &State, params: &Params) -> Result<(ChatId, MessageId), Refusal> {
    let (chat, id) = message(state, params, Access::Edit, "message to edit")?;
    let target = &state.chat(chat).messages[&id];
    let fixed = target.sender != Sender::Bot || target.service().is_some() || target.keyboard;
    if fixed { Err(bad("message can't be edited")) } else { Ok((chat, id)) }
}

/// Puts the new content in place. One that changes nothing is charged too.
fn commit(
    state: &mut State,
    params: &Params,
    (chat, id): (ChatId, MessageId),
    body: Map<String, Value>,
) -> Result<Value, Refusal> {
    let private = state.chat(chat).is_private();
    let keyboard = match markup::read(state, params, private)? {
        markup::Markup::Other => return Err(bad("inline keyboard expected")),
        other @ (markup::Markup::None | markup::Markup::Inline(_)) => other.inline(),
    };
    state.charge(chat, params.method, Charge::Message)?;
    let now = state.now();
    let target = state.chat_mut(chat).message_mut(id).expect("looked up above");
    if body == target.body && keyboard == target.markup {
        return Err(bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        ));
    }
    target.change(now, body, keyboard);
    Ok(state.message_json(chat, id))
}

pub(super) fn text(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let words = words(state, params, &EDITED)?;
    let place = editable(state, params)?;
    if !state.chat(place.0).messages[&place.1].body.contains_key("text") {
        return Err(bad("there is no text in the message to edit"));
    }
    let mut body = Map::new();
    put_words(&mut body, &words, &MESSAGE);
    preview_options(state, params, &mut body)?;
    commit(state, params, place, body)
}

pub(super) fn caption(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let words = words(state, params, &CAPTION)?;
    let place = editable(state, params)?;
    let mut body = state.chat(place.0).messages[&place.1].body.clone();
    if !MediaKind::ALL.iter().any(|kind| body.contains_key(kind.field())) {
        return Err(bad("there is no caption in the message to edit"));
    }
    body.remove(CAPTION.field);
    body.remove(CAPTION.entities);
    put_words(&mut body, &words, &CAPTION);
    commit(state, params, place, body)
}

pub(super) fn reply_markup(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let place = editable(state, params)?;
    let body = state.chat(place.0).messages[&place.1].body.clone();
    commit(state, params, place, body)
}

pub(super) fn delete(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let (chat, id) = message(state, params, Access::Write, "message to delete")?;
    let now = state.now();
    let place = state.chat(chat);
    let target = &place.messages[&id];
    let old = now > target.at + DELETABLE;
    let own = target.sender == Sender::Bot;
    let allowed = if place.is_private() {
        !old
    } else {
        may(state, place, "can_delete_messages") || (own && !old)
    };
    if !allowed || target.service() == Some("forum_topic_created") {
        return Err(bad("message can't be deleted"));
    }
    let place = state.chat_mut(chat);
    place.messages.get_mut(&id).expect("looked up above").deleted = true;
    place.pinned.retain(|pinned| *pinned != id);
    Ok(true.into())
}

pub(super) fn pin(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let (chat, id) = message(state, params, Access::Write, "message to pin")?;
    may_pin(state, chat)?;
    let target = &state.chat(chat).messages[&id];
    let topic = target.topic;
    if target.service().is_some() {
        return Err(bad("service messages can't be pinned"));
    }
    state.charge(chat, params.method, Charge::Message)?;
    let pinned = &mut state.chat_mut(chat).pinned;
    pinned.retain(|other| *other != id);
    pinned.push(id);
    let mut body = Map::new();
    body.insert("pinned_message".into(), state.inner_message_json(chat, id));
    state.post(chat, Message::new(Sender::Bot, topic, body));
    Ok(true.into())
}

pub(super) fn unpin(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let chat = super::chat(state, params, Access::Write)?.id;
    may_pin(state, chat)?;
    let pinned = &mut state.chat_mut(chat).pinned;
    let at = match params.int("message_id") {
        Some(id) => pinned.iter().position(|pinned| *pinned == id),
        None => pinned.len().checked_sub(1),
    };
    pinned.remove(at.ok_or_else(|| bad("message to unpin not found"))?);
    Ok(true.into())
}

fn may_pin(state: &State, chat: ChatId) -> Result<(), Refusal> {
    let chat = state.chat(chat);
    let good = chat.is_private() || may(state, chat, "can_pin_messages");
    if good { Ok(()) } else { Err(bad("not enough rights to manage pinned messages in the chat")) }
}
