//! Sending: messages, previews, "typing…".

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    Access, MESSAGE, TextOf, chat, check_fields, markup, may_post, put_words, thread, words,
};
use crate::{
    flood::Charge,
    params::Params,
    refusal::{Refusal, bad},
    state::{Action, Draft, Message, Sender, State},
    text::{formatted, units},
    wire::unix,
    world::{ChatId, GENERAL, MessageId, TopicId},
};

/// How long a preview is shown. Source: Bot API, `sendMessageDraft`.
const DRAFT_SHOWN: Duration = Duration::from_secs(30);

/// A preview may be empty: it shows "Thinking…".
const DRAFT: TextOf = TextOf { may_be_empty: true, ..MESSAGE };

/// Source: Bot API, `sendChatAction`.
const ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

pub(super) fn message(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let words = words(state, params, &MESSAGE)?;
    let mut body = Map::new();
    put_words(&mut body, &words, &MESSAGE);
    preview_options(state, params, &mut body)?;
    send(state, params, body)
}

/// How links in the text are previewed.
pub(super) fn preview_options(
    state: &mut State,
    params: &Params,
    body: &mut Map<String, Value>,
) -> Result<(), Refusal> {
    if let Some(options) = params.object("link_preview_options") {
        let known =
            ["is_disabled", "url", "prefer_small_media", "prefer_large_media", "show_above_text"];
        check_fields(state, "LinkPreviewOptions", options, &known)?;
        body.insert("link_preview_options".into(), options.clone().into());
    }
    Ok(())
}

/// What every sending method does once its content is read.
pub(super) fn send(
    state: &mut State,
    params: &Params,
    body: Map<String, Value>,
) -> Result<Value, Refusal> {
    let place = chat(state, params, Access::Write)?;
    let (id, private, forum) = (place.id, place.is_private(), place.is_forum());
    let topic = thread(state, id, params)?;
    let mut message = Message::new(Sender::Bot, topic, body);
    reply(state, id, params, &mut message)?;
    let keyboard = markup::read(state, params, private)?;
    message.keyboard = matches!(keyboard, markup::Markup::Other);
    message.markup = keyboard.inline();
    message.topic = message.topic.or(forum.then_some(GENERAL));
    may_post(state, id, message.topic)?;
    state.charge(id, params.method, Charge::Message)?;
    message.silent = params.flag("disable_notification");
    if params.flag("protect_content") {
        message.extra.insert("has_protected_content".into(), true.into());
    }
    let sent = state.post(id, message);
    Ok(state.message_json(id, sent))
}

/// Reads `reply_parameters` into the message: a reply goes to the topic of what it replies to.
fn reply(
    state: &mut State,
    chat: ChatId,
    params: &Params,
    message: &mut Message,
) -> Result<(), Refusal> {
    let Some(wanted) = params.object("reply_parameters").cloned() else { return Ok(()) };
    let known = [
        "message_id",
        "chat_id",
        "allow_sending_without_reply",
        "quote",
        "quote_entities",
        "quote_position",
    ];
    check_fields(state, "ReplyParameters", &wanted, &known)?;
    let number = |name: &str| wanted.get(name).and_then(Value::as_i64);
    let from = number("chat_id").unwrap_or(chat);
    let source = state.chats.get(&from).ok_or_else(|| bad("chat not found"))?;
    let id = number("message_id").unwrap_or_default();
    let Some(target) = source.message(id) else {
        let without =
            wanted.get("allow_sending_without_reply").and_then(Value::as_bool).unwrap_or_default();
        return if without && from == chat {
            Ok(())
        } else {
            Err(bad("message to be replied not found"))
        };
    };
    let (topic, body, at) = (target.topic, target.words().to_owned(), target.at);
    if let Some(quote) = wanted.get("quote").and_then(Value::as_str) {
        message.quote = Some(quoted(quote, wanted.get("quote_entities"), &body)?);
    }
    let elsewhere =
        from != chat || message.topic.is_some_and(|mine| mine != topic.unwrap_or(GENERAL));
    if elsewhere {
        let sender = state.inner_message_json(from, id)["from"].clone();
        message.external_reply = Some(json!({
            "origin": {"type": "user", "date": unix(at), "sender_user": sender},
            "chat": state.chat_json(from), "message_id": id,
        }));
    } else {
        message.reply_to = Some(id);
        message.topic = message.topic.or(topic);
    }
    Ok(())
}

/// A quote must stand in the quoted message word by word.
fn quoted(quote: &str, entities: Option<&Value>, body: &str) -> Result<Value, Refusal> {
    let given = entities.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let quote = formatted(quote, given).map_err(bad)?.text;
    let at = body.find(&quote).ok_or_else(|| bad("QUOTE_TEXT_INVALID"))?;
    Ok(json!({"text": quote, "position": units(&body[..at]), "is_manual": true}))
}

pub(super) fn draft(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let words = words(state, params, &DRAFT)?;
    let place = chat(state, params, Access::Write)?;
    let id = place.id;
    if !place.is_private() {
        return Err(bad("TEXTDRAFT_PEER_INVALID"));
    }
    let draft = params.int("draft_id").unwrap_or_default();
    if draft == 0 {
        return Err(bad("draft_id must be non-zero"));
    }
    let topic = thread(state, id, params)?;
    state.charge(id, params.method, Charge::Draft)?;
    let now = state.now();
    let drafts = &mut state.chat_mut(id).drafts;
    if drafts
        .iter()
        .any(|old| old.id == draft && old.topic == topic && old.stopped && now < old.until)
    {
        return Err(bad("MESSAGE_DRAFT_STOPPED"));
    }
    drafts.retain(|old| old.topic != topic);
    drafts.push(Draft {
        id: draft,
        topic,
        text: words.text,
        entities: words.entities,
        until: now + DRAFT_SHOWN,
        can_stop: params.flag("can_stop"),
        keep_on_stop: params.flag("keep_on_stop"),
        stopped: false,
    });
    Ok(true.into())
}

pub(super) fn action(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let id = chat(state, params, Access::Write)?.id;
    let name = params.str("action").to_lowercase();
    if !ACTIONS.contains(&name.as_str()) {
        return Err(bad("wrong parameter action in request"));
    }
    // General may be named here, other than in sends.
    let topic = match params.int("message_thread_id") {
        Some(GENERAL) => None,
        Some(_) | None => thread(state, id, params)?,
    };
    let at = state.now();
    state.chat_mut(id).actions.push(Action { name, topic, at });
    Ok(true.into())
}

impl State {
    /// Puts a service message of the bot or a person into a topic.
    pub(crate) fn post_service(
        &mut self,
        chat: ChatId,
        sender: Sender,
        topic: Option<TopicId>,
        name: &str,
        content: Value,
    ) -> MessageId {
        let mut body = Map::new();
        body.insert(name.into(), content);
        self.post(chat, Message::new(sender, topic, body))
    }
}
