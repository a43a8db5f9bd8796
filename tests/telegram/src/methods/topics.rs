//! Topics of forums, and of private chats where the bot has them.

use serde_json::{Value, json};

use super::{Access, chat, may};
use crate::{
    flood::Charge,
    params::Params,
    refusal::{Refusal, bad},
    state::{Message, Sender, State, Topic},
    world::{ChatId, GENERAL, TopicId, UserId},
};

/// Characters of a name; what is more is cut off. Source: Bot API, `createForumTopic`.
const NAME: usize = 128;

/// The colours of icons. Source: Bot API, `createForumTopic`.
const COLORS: [i64; 6] = [7_322_096, 16_766_590, 13_338_331, 9_367_192, 16_749_490, 16_478_047];

/// The chat of a call, if it has topics.
fn forum(state: &State, params: &Params) -> Result<ChatId, Refusal> {
    let chat = chat(state, params, Access::Write)?;
    let has = chat.is_forum() || (chat.is_private() && state.bot.has_topics_enabled);
    if has {
        return Ok(chat.id);
    }
    let creates = params.method == "createForumTopic";
    let text = if chat.is_private() && creates {
        "BOT_FORUM_CREATE_FORBIDDEN"
    } else {
        "the chat is not a forum"
    };
    Err(bad(text))
}

/// The topic of a call, if the bot may do this to it.
fn topic(
    state: &State,
    params: &Params,
    what: &str,
    right: &str,
) -> Result<(ChatId, TopicId), Refusal> {
    let id = forum(state, params)?;
    let chat = state.chat(id);
    let topic = params.int("message_thread_id").unwrap_or_default();
    if topic <= 0 {
        return Err(bad("invalid forum topic identifier specified"));
    }
    let there = chat
        .topics
        .get(&topic)
        .filter(|topic| !topic.deleted)
        .ok_or_else(|| bad("TOPIC_ID_INVALID"))?;
    let own = there.creator == Some(state.bot.id());
    if chat.is_private() || own || may(state, chat, right) {
        return Ok((id, topic));
    }
    Err(bad(format!("not enough rights to {what} the topic")))
}

/// Runs of white space become one space, and what is too long is cut off.
fn clean_name(name: &str) -> String {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    name.chars().take(NAME).collect::<String>().trim().to_owned()
}

pub(super) fn create(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let id = forum(state, params)?;
    let chat = state.chat(id);
    if !chat.is_private() && !may(state, chat, "can_manage_topics") {
        return Err(bad("not enough rights to create a topic"));
    }
    let name = clean_name(params.str("name"));
    if name.is_empty() {
        return Err(bad("name must be non-empty"));
    }
    let color = params.int("icon_color").unwrap_or(COLORS[0]);
    if !COLORS.contains(&color) {
        let possible = (0..=0xff_ffff).contains(&color);
        return Err(bad(if possible {
            "TOPIC_ICON_COLOR_INVALID"
        } else {
            "invalid icon color specified"
        }));
    }
    state.charge(id, params.method, Charge::Message)?; // it posts a service message
    let icon = Some(params.str("icon_custom_emoji_id").to_owned()).filter(|icon| !icon.is_empty());
    let bot = state.bot.id();
    let made = state.create_topic(id, Sender::Bot, bot, &name, color, icon.clone());
    let mut answer = json!({"message_thread_id": made, "name": name, "icon_color": color});
    if let Some(icon) = icon {
        answer["icon_custom_emoji_id"] = icon.into();
    }
    Ok(answer)
}

pub(super) fn edit(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let (chat, id) = topic(state, params, "edit", "can_manage_topics")?;
    let name = clean_name(params.str("name"));
    if !params.str("name").is_empty() && name.is_empty() {
        return Err(bad("name must be non-empty"));
    }
    let old = &state.chat(chat).topics[&id];
    let name = Some(name).filter(|name| !name.is_empty() && *name != old.name);
    let old_icon = old.icon.clone().unwrap_or_default();
    let icon = params.value("icon_custom_emoji_id").and_then(Value::as_str);
    let icon = icon.filter(|icon| *icon != old_icon).map(str::to_owned);
    if params.str("name").is_empty() && !params.has("icon_custom_emoji_id") {
        return Ok(true.into());
    }
    if name.is_none() && icon.is_none() {
        return Err(bad("TOPIC_NOT_MODIFIED"));
    }
    state.charge(chat, params.method, Charge::Message)?;
    state.change_topic(chat, Sender::Bot, id, name, icon);
    Ok(true.into())
}

pub(super) fn close(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    toggle(state, params, Toggle::Close)
}

pub(super) fn reopen(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    toggle(state, params, Toggle::Reopen)
}

/// What is done to a topic that is open or closed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toggle {
    Close,
    Reopen,
}

fn toggle(state: &mut State, params: &Params, what: Toggle) -> Result<Value, Refusal> {
    let (chat, id) = topic(state, params, "close or open", "can_manage_topics")?;
    if state.chat(chat).is_private() {
        return Err(bad("the chat is not a supergroup forum"));
    }
    if state.chat(chat).topics[&id].closed == (what == Toggle::Close) {
        return Err(bad("TOPIC_NOT_MODIFIED"));
    }
    state.charge(chat, params.method, Charge::Message)?;
    state.toggle_topic(chat, Sender::Bot, id, what);
    Ok(true.into())
}

pub(super) fn delete(state: &mut State, params: &Params) -> Result<Value, Refusal> {
    let (chat, id) = topic(state, params, "delete", "can_delete_messages")?;
    if id == GENERAL {
        return Err(bad("TOPIC_ID_INVALID"));
    }
    state.delete_topic(chat, id);
    Ok(true.into())
}

/// What bots and people do alike.
impl State {
    pub(crate) fn create_topic(
        &mut self,
        chat: ChatId,
        sender: Sender,
        creator: UserId,
        name: &str,
        color: i64,
        icon: Option<String>,
    ) -> TopicId {
        let mut info = json!({"name": name, "icon_color": color});
        if let Some(icon) = &icon {
            info["icon_custom_emoji_id"] = icon.clone().into();
        }
        let mut message = Message::new(sender, None, serde_json::Map::new());
        message.body.insert("forum_topic_created".into(), info);
        let id = self.place(chat, message);
        let place = self.chat_mut(chat);
        place.messages.get_mut(&id).expect("just placed").topic = Some(id);
        let topic = Topic {
            name: name.into(),
            icon,
            creator: Some(creator),
            closed: false,
            deleted: false,
        };
        place.topics.insert(id, topic);
        self.tell(chat, id, "message");
        id
    }

    pub(crate) fn change_topic(
        &mut self,
        chat: ChatId,
        sender: Sender,
        id: TopicId,
        name: Option<String>,
        icon: Option<String>,
    ) {
        let topic = self.chat_mut(chat).topics.get_mut(&id).expect("looked up before");
        let mut change = json!({});
        if let Some(name) = name {
            change["name"] = name.clone().into();
            topic.name = name;
        }
        if let Some(icon) = icon {
            change["icon_custom_emoji_id"] = icon.clone().into();
            topic.icon = Some(icon).filter(|icon| !icon.is_empty());
        }
        self.post_service(chat, sender, Some(id), "forum_topic_edited", change);
    }

    pub(crate) fn toggle_topic(&mut self, chat: ChatId, sender: Sender, id: TopicId, what: Toggle) {
        self.chat_mut(chat).topics.get_mut(&id).expect("looked up before").closed =
            what == Toggle::Close;
        let name = match what {
            Toggle::Close => "forum_topic_closed",
            Toggle::Reopen => "forum_topic_reopened",
        };
        self.post_service(chat, sender, Some(id), name, json!({}));
    }

    /// Deletes a topic with all that is in it. Bots are not told.
    pub(crate) fn delete_topic(&mut self, chat: ChatId, id: TopicId) {
        let chat = self.chat_mut(chat);
        chat.topics.get_mut(&id).expect("looked up before").deleted = true;
        let gone = chat.messages.values_mut().filter(|message| message.topic == Some(id));
        gone.for_each(|message| message.deleted = true);
        let messages = &chat.messages;
        chat.pinned.retain(|pinned| !messages[pinned].deleted);
    }
}
