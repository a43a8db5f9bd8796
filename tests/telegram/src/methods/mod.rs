//! The methods of the Bot API, each with the table of its parameters (of Bot API 10.3, without those
//! of business accounts, payments and the like), and what they share.

mod callbacks;
mod chats;
pub(crate) mod commands;
mod edit;
mod markup;
mod media;
pub(crate) mod receive;
mod send;
pub(crate) mod topics;

use serde_json::{Map, Value};

use crate::{
    params::{Params, Raw},
    refusal::{Refusal, bad, forbidden},
    state::{Chat, ChatKind, State},
    text::{Formatted, formatted, units},
    world::{ChatId, GENERAL, GroupKind, MessageId, Status, TopicId},
};

type Method = fn(&mut State, &Params) -> Result<Value, Refusal>;

/// A method.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// `name:type` for each, with `!` where it must be there.
    pub(crate) params: &'static str,
    pub(crate) run: Method,
}

const fn spec(name: &'static str, params: &'static str, run: Method) -> Spec {
    Spec { name, params, run }
}

/// What is emulated. `getUpdates` may wait, so it is carried out by [`receive`] and stands here for its
/// parameters.
const METHODS: [Spec; 39] = [
    spec("getMe", "", chats::get_me),
    spec(
        receive::GET_UPDATES,
        "offset:int limit:int timeout:int allowed_updates:array",
        receive::get_at_once,
    ),
    spec(
        "setWebhook",
        "url:str! certificate:file ip_address:str max_connections:int allowed_updates:array \
         drop_pending_updates:bool secret_token:str",
        receive::set_webhook,
    ),
    spec("deleteWebhook", "drop_pending_updates:bool", receive::delete_webhook),
    spec("getWebhookInfo", "", receive::webhook_info),
    spec(
        "sendMessage",
        "chat_id:id! text:str! message_thread_id:int entities:array parse_mode:str link_preview_options:object \
         disable_notification:bool protect_content:bool reply_parameters:object reply_markup:object",
        send::message,
    ),
    spec(
        "sendDocument",
        "chat_id:id! document:file! message_thread_id:int thumbnail:file caption:str caption_entities:array \
         parse_mode:str disable_content_type_detection:bool disable_notification:bool protect_content:bool \
         reply_parameters:object reply_markup:object",
        media::document,
    ),
    spec(
        "sendPhoto",
        "chat_id:id! photo:file! message_thread_id:int caption:str caption_entities:array parse_mode:str \
         show_caption_above_media:bool has_spoiler:bool disable_notification:bool protect_content:bool \
         reply_parameters:object reply_markup:object",
        media::photo,
    ),
    spec(
        "sendMessageDraft",
        "chat_id:int! draft_id:int! text:str message_thread_id:int entities:array parse_mode:str can_stop:bool \
         keep_on_stop:bool",
        send::draft,
    ),
    spec("sendChatAction", "chat_id:id! action:str! message_thread_id:int", send::action),
    spec(
        "editMessageText",
        "chat_id:id! message_id:int! text:str! entities:array parse_mode:str link_preview_options:object \
         reply_markup:object",
        edit::text,
    ),
    spec(
        "editMessageCaption",
        "chat_id:id! message_id:int! caption:str caption_entities:array parse_mode:str reply_markup:object",
        edit::caption,
    ),
    spec(
        "editMessageReplyMarkup",
        "chat_id:id! message_id:int! reply_markup:object",
        edit::reply_markup,
    ),
    spec("deleteMessage", "chat_id:id! message_id:int!", edit::delete),
    spec("pinChatMessage", "chat_id:id! message_id:int! disable_notification:bool", edit::pin),
    spec("unpinChatMessage", "chat_id:id! message_id:int", edit::unpin),
    spec(
        "setMessageReaction",
        "chat_id:id! message_id:int! reaction:array is_big:bool",
        callbacks::react,
    ),
    spec(
        "answerCallbackQuery",
        "callback_query_id:str! text:str show_alert:bool url:str cache_time:int",
        callbacks::answer,
    ),
    spec("getFile", "file_id:str!", media::get_file),
    spec(
        "createForumTopic",
        "chat_id:id! name:str! icon_color:int icon_custom_emoji_id:str",
        topics::create,
    ),
    spec(
        "editForumTopic",
        "chat_id:id! message_thread_id:int! name:str icon_custom_emoji_id:str",
        topics::edit,
    ),
    spec("closeForumTopic", "chat_id:id! message_thread_id:int!", topics::close),
    spec("reopenForumTopic", "chat_id:id! message_thread_id:int!", topics::reopen),
    spec("deleteForumTopic", "chat_id:id! message_thread_id:int!", topics::delete),
    spec("getChat", "chat_id:id!", chats::get_chat),
    spec("getChatMember", "chat_id:id! user_id:int!", chats::get_member),
    spec("getChatMemberCount", "chat_id:id!", chats::count_members),
    spec("getChatAdministrators", "chat_id:id! return_bots:bool", chats::get_administrators),
    spec("leaveChat", "chat_id:id!", chats::leave),
    spec("setMyCommands", "commands:array! scope:object language_code:str", commands::set),
    spec("getMyCommands", "scope:object language_code:str", commands::get),
    spec("deleteMyCommands", "scope:object language_code:str", commands::delete),
    spec("setMyName", "name:str language_code:str", commands::set_name),
    spec("getMyName", "language_code:str", commands::get_name),
    spec("setMyDescription", "description:str language_code:str", commands::set_description),
    spec("getMyDescription", "language_code:str", commands::get_description),
    spec(
        "setMyShortDescription",
        "short_description:str language_code:str",
        commands::set_short_description,
    ),
    spec("getMyShortDescription", "language_code:str", commands::get_short_description),
    spec("setChatMenuButton", "chat_id:int menu_button:object", commands::set_menu_button),
];

/// The method of that name, in whatever case.
pub(crate) fn find(name: &str) -> Option<&'static Spec> {
    METHODS.iter().find(|spec| spec.name.eq_ignore_ascii_case(name))
}

/// Looks at the token and finds the method.
pub(crate) fn admit(
    state: &mut State,
    token: &str,
    method: &str,
) -> Result<&'static Spec, Refusal> {
    if token != state.bot.token || state.revoked {
        let (id, secret) = token.split_once(':').unwrap_or_default();
        let formed = id.parse::<u64>().is_ok_and(|id| id > 0)
            && !secret.is_empty()
            && secret.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        return Err(if formed {
            Refusal::new(401, "Unauthorized")
        } else {
            Refusal::new(404, "Not Found")
        });
    }
    find(method).ok_or_else(|| {
        state.records.defect("unknown method", format!("{method} is no method that is emulated"));
        Refusal::new(404, "Not Found: method not found")
    })
}

/// Carries out a call.
pub(crate) fn run(state: &mut State, spec: &Spec, raw: &Raw) -> Result<Value, Refusal> {
    let params = Params::check(spec, raw, &mut state.records)?;
    (spec.run)(state, &params)
}

/// What a method wants to do in a chat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Put something there.
    Write,
    /// Change what is there.
    Edit,
    /// Only look.
    Read,
}

/// The chat a call is about, if the bot may do that there.
fn chat<'a>(state: &'a State, params: &Params, access: Access) -> Result<&'a Chat, Refusal> {
    let chat = params
        .int("chat_id")
        .and_then(|id| state.chats.get(&id))
        .ok_or_else(|| bad("chat not found"))?;
    match &chat.kind {
        ChatKind::Private { .. } if access == Access::Read => Ok(chat),
        ChatKind::Private { deactivated: true, .. } => Err(forbidden("user is deactivated")),
        ChatKind::Private { started: false, .. } => {
            Err(forbidden("bot can't initiate conversation with a user"))
        }
        ChatKind::Private { blocked: true, .. } => Err(forbidden("bot was blocked by the user")),
        ChatKind::Private { .. } => Ok(chat),
        ChatKind::Group { migrated_to: Some(to), .. } if access == Access::Write => {
            Err(Refusal::migrated(*to))
        }
        ChatKind::Group { kind, .. } => {
            let kind = if *kind == GroupKind::Basic { "group" } else { "supergroup" };
            match chat.member(state.bot.id()).status {
                Status::Kicked => Err(forbidden(format!("bot was kicked from the {kind} chat"))),
                Status::Left => Err(forbidden(format!("bot is not a member of the {kind} chat"))),
                Status::Creator | Status::Administrator | Status::Member | Status::Restricted => {
                    Ok(chat)
                }
            }
        }
    }
}

/// The message a call is about.
fn message(
    state: &State,
    params: &Params,
    access: Access,
    what: &str,
) -> Result<(ChatId, MessageId), Refusal> {
    let chat = chat(state, params, access)?;
    let id = params.int("message_id").unwrap_or_default();
    chat.message(id).ok_or_else(|| bad(format!("{what} not found")))?;
    Ok((chat.id, id))
}

/// Whether the bot has a right in a chat.
fn may(state: &State, chat: &Chat, right: &str) -> bool {
    chat.member(state.bot.id()).may(right)
}

/// The topic that a call names. General is meant by naming none.
fn thread(state: &mut State, chat: ChatId, params: &Params) -> Result<Option<TopicId>, Refusal> {
    let Some(id) = params.int("message_thread_id").filter(|id| *id > 0) else { return Ok(None) };
    let place = state.chat(chat);
    if place.is_private() || place.is_forum() {
        let there = place.topics.get(&id).is_some_and(|topic| !topic.deleted);
        return if there && id != GENERAL {
            Ok(Some(id))
        } else {
            Err(bad("message thread not found"))
        };
    }
    let text = format!("message_thread_id {id} has no effect in chat {chat}");
    state.records.defect("thread without effect", text);
    Ok(None)
}

/// Whether the bot may put something into a topic.
fn may_post(state: &State, chat: ChatId, topic: Option<TopicId>) -> Result<(), Refusal> {
    let chat = state.chat(chat);
    let bot = state.bot.id();
    if let Some(topic) = chat.topics.get(&topic.unwrap_or(GENERAL)) {
        let own = topic.creator == Some(bot);
        if topic.closed && !own && !chat.is_private() && !may(state, chat, "can_manage_topics") {
            return Err(bad("TOPIC_CLOSED"));
        }
    }
    if chat.member(bot).status == Status::Restricted {
        return Err(bad("not enough rights to send text messages to the chat"));
    }
    Ok(())
}

/// Where a text stands in a call, and its limits.
struct TextOf {
    field: &'static str,
    entities: &'static str,
    /// UTF-16 units. The real server counts in a way that is not public; this is the safe reading.
    limit: usize,
    too_long: &'static str,
    may_be_empty: bool,
}

/// A message's text. Source of the limit: Bot API, `sendMessage`.
const MESSAGE: TextOf = TextOf {
    field: "text",
    entities: "entities",
    limit: 4096,
    too_long: "message is too long",
    may_be_empty: false,
};

/// A caption. Source of the limit: Bot API, `sendDocument`.
const CAPTION: TextOf = TextOf {
    field: "caption",
    entities: "caption_entities",
    limit: 1024,
    too_long: "message caption is too long",
    may_be_empty: true,
};

/// The text of a call as Telegram stores it.
fn words(state: &mut State, params: &Params, of: &TextOf) -> Result<Formatted, Refusal> {
    let raw = params.str(of.field);
    if raw.is_empty() && !of.may_be_empty {
        return Err(bad("message text is empty"));
    }
    let done = formatted(raw, params.list(of.entities)).map_err(bad)?;
    if done.text.is_empty() && !of.may_be_empty {
        return Err(bad("text must be non-empty"));
    }
    if done.dropped > 0 {
        state.records.defect(
            "entities dropped",
            format!(
                "{}: {} entities past the first {} are lost",
                params.method,
                done.dropped,
                crate::text::ENTITIES
            ),
        );
    }
    if units(&done.text) > of.limit {
        return Err(bad(of.too_long));
    }
    Ok(done)
}

/// A text as a part of a message.
fn put_words(body: &mut Map<String, Value>, words: &Formatted, of: &TextOf) {
    if words.text.is_empty() {
        return;
    }
    body.insert(of.field.into(), words.text.clone().into());
    if !words.entities.is_empty() {
        let entities = serde_json::to_value(&words.entities).expect("entities are plain data");
        body.insert(of.entities.into(), entities);
    }
}

/// Refuses fields of an object that Telegram does not know.
fn check_fields(
    state: &mut State,
    what: &str,
    value: &Map<String, Value>,
    known: &[&str],
) -> Result<(), Refusal> {
    match value.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let text = format!("unknown field \"{name}\" in {what}");
            state.records.defect("unknown field", &text);
            Err(bad(format!("emulator: {text}")))
        }
    }
}
