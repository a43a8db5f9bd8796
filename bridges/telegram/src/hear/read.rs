//! An update of Telegram as what it means to us. Plain functions: the same text always means the
//! same.

use chrono::DateTime;
use serde::Deserialize;
use serde_json::Value;
use vigie_core::{
    Timestamp,
    bridge::{Noted, Room, TextOrigin},
};

use super::{
    content::{self, Offered, Words},
    update::{Chat, Member, Membership, Message, Reacted, Tap, Update},
};
use crate::{
    api::{ChatKind, MemberStatus, TgChat, TgMessage, TgThread, TgUser},
    markup::{self, Command},
};

/// Who we are, as far as updates are about that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Me {
    pub(super) id: i64,
    /// Without the `@`.
    pub(super) username: Option<String>,
    /// Private chats have topics.
    pub(super) topics: bool,
}

/// What an update means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// A person said something.
    Said(Piece),
    /// A person changed what they said.
    Edited {
        piece: Piece,
        edited: i64,
    },
    Tapped(Tapped),
    Reacted(TgUser, Vec<Put>),
    /// The service says something about a chat.
    Noted(Noted),
    /// The group lives on under another id.
    Moved {
        from: TgChat,
        to: TgChat,
    },
    Topic {
        chat: TgChat,
        thread: TgThread,
        change: TopicChange,
    },
    /// Nothing that concerns us, and why.
    Nothing(&'static str),
}

/// One message of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) spot: Spot,
    pub(super) message: TgMessage,
    pub(super) at: Timestamp,
    pub(super) reply_to: Option<TgMessage>,
    pub(super) origin: TextOrigin,
    pub(super) text: String,
    pub(super) words: Words,
    pub(super) files: Vec<Offered>,
    pub(super) album: Option<String>,
    /// It is a command, which waits behind nothing.
    pub(super) command: bool,
}

/// Who did something, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) chat: TgChat,
    pub(super) thread: Option<TgThread>,
    pub(super) room: Room,
    pub(super) from: TgUser,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tapped {
    /// Telegram's own, for answering it.
    pub(super) query: String,
    pub(super) from: TgUser,
    /// `None`: a message Telegram does not tell us.
    pub(super) on: Option<(Spot, TgMessage)>,
    pub(super) data: String,
}

/// One emoji that a person put on a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Put {
    pub(super) spot: Spot,
    pub(super) message: TgMessage,
    pub(super) date: i64,
    pub(super) emoji: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TopicChange {
    Made { name: String, ours: bool },
    Named(String),
    Closed,
    Reopened,
}

/// Reads an update as it came.
///
/// # Errors
/// Why nothing can be made of it.
pub(super) fn read(json: &str, me: &Me) -> Result<Told, String> {
    let raw: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let update = Update::deserialize(&raw).map_err(|error| error.to_string())?;
    if let Some(message) = update.message {
        return said(&message, &raw["message"], me);
    }
    if let Some(message) = update.edited_message {
        return edited(&message, &raw["edited_message"], me);
    }
    if let Some(tap) = update.callback_query {
        return Ok(tapped(tap, me));
    }
    if let Some(reacted) = update.message_reaction {
        return Ok(reactions(&reacted, me));
    }
    if let Some(membership) = update.my_chat_member {
        return Ok(member(&membership, me));
    }
    Ok(Told::Nothing("a kind of update that is not acted on"))
}

fn said(message: &Message, raw: &Value, me: &Me) -> Result<Told, String> {
    if let Some(told) = service(message, me) {
        return Ok(told);
    }
    match piece(message, raw, me)? {
        Ok(piece) => Ok(Told::Said(piece)),
        Err(nothing) => Ok(Told::Nothing(nothing)),
    }
}

fn edited(message: &Message, raw: &Value, me: &Me) -> Result<Told, String> {
    if message.text.is_none() && message.caption.is_none() {
        return Ok(Told::Nothing("an edit without words, such as a moving location"));
    }
    let edited = message.edit_date.unwrap_or(message.date);
    match piece(message, raw, me)? {
        Ok(piece) => Ok(Told::Edited { piece, edited }),
        Err(nothing) => Ok(Told::Nothing(nothing)),
    }
}

/// What the service itself says with a message.
fn service(message: &Message, me: &Me) -> Option<Told> {
    let chat = message.chat.id;
    if let Some(to) = message.migrate_to_chat_id {
        return Some(Told::Moved { from: chat, to });
    }
    if let Some(from) = message.migrate_from_chat_id {
        return Some(Told::Moved { from, to: chat });
    }
    let ours = message.from.as_ref().is_some_and(|from| from.id.0 == me.id);
    let change = if let Some(topic) = &message.forum_topic_created {
        Some(TopicChange::Made { name: topic.name.clone().unwrap_or_default(), ours })
    } else if let Some(topic) = &message.forum_topic_edited {
        let name = topic.name.clone();
        Some(name.map(TopicChange::Named)?) // only its icon changed
    } else if message.forum_topic_closed.is_some() {
        Some(TopicChange::Closed)
    } else {
        message.forum_topic_reopened.as_ref().map(|_| TopicChange::Reopened)
    };
    let thread = TgThread::new(message.message_thread_id.unwrap_or(message.message_id.0));
    Some(Told::Topic { chat, thread: thread?, change: change? })
}

/// A person's message, or why it is none.
fn piece(message: &Message, raw: &Value, me: &Me) -> Result<Result<Piece, &'static str>, String> {
    let Some(from) = message.from.as_ref().filter(|_| message.sender_chat.is_none()) else {
        return Ok(Err("nobody's: a channel, or somebody who hides behind a chat"));
    };
    if from.is_bot {
        return Ok(Err("a bot's"));
    }
    if message.forum_topic_edited.is_some() {
        return Ok(Err("the service's own"));
    }
    let Some(content) = content::content(message, raw) else {
        return Ok(Err("the service's own"));
    };
    let thread = thread(message.message_thread_id, message.is_topic_message);
    let typed = content.words == Words::Typed;
    let us = me.username.as_deref().unwrap_or_default();
    let (text, command) = match markup::command(&content.text, us) {
        Command::Other { .. } => return Ok(Err("a command for another bot")),
        Command::Ours { text } => (text, typed),
        Command::Anybody => (content.text, typed),
        Command::None => (content.text, false),
    };
    let passed_on = message.forward_origin.is_some() || message.via_bot.is_some();
    Ok(Ok(Piece {
        spot: Spot {
            chat: message.chat.id,
            thread,
            room: room(&message.chat, thread, me),
            from: from.id,
        },
        message: message.message_id,
        at: time(message.date)?,
        reply_to: reply_to(message),
        origin: if passed_on { TextOrigin::Forwarded } else { TextOrigin::Typed },
        text,
        words: content.words,
        files: content.files,
        album: message.media_group_id.clone(),
        command: command && !passed_on,
    }))
}

fn time(seconds: i64) -> Result<Timestamp, String> {
    DateTime::from_timestamp(seconds, 0).ok_or_else(|| format!("{seconds} is no time"))
}

/// In groups without topics, and in General, replies carry such a number too: it leads nowhere.
fn thread(number: Option<i64>, is_topic: bool) -> Option<TgThread> {
    number.filter(|_| is_topic).and_then(TgThread::new)
}

fn room(chat: &Chat, thread: Option<TgThread>, me: &Me) -> Room {
    match chat.kind {
        ChatKind::Private if me.topics || thread.is_some() => Room::DirectThreads,
        ChatKind::Private => Room::Direct,
        ChatKind::Supergroup if chat.is_forum => Room::Forum,
        ChatKind::Group | ChatKind::Supergroup | ChatKind::Channel | ChatKind::Other => Room::Group,
    }
}

/// What the person answers. In a topic every message formally answers the one that made the topic.
fn reply_to(message: &Message) -> Option<TgMessage> {
    let answered = message.reply_to_message.as_ref()?;
    let root = message.is_topic_message && message.message_thread_id == Some(answered.message_id.0);
    let here = answered.chat.id == message.chat.id;
    (here && !root && answered.forum_topic_created.is_none()).then_some(answered.message_id)
}

fn tapped(tap: Tap, me: &Me) -> Told {
    let on = tap.message.map(|message| {
        let thread = thread(message.message_thread_id, message.is_topic_message);
        let room = room(&message.chat, thread, me);
        (Spot { chat: message.chat.id, thread, room, from: tap.from.id }, message.message_id)
    });
    let data = tap.data.unwrap_or_default();
    Told::Tapped(Tapped { query: tap.id, from: tap.from.id, on, data })
}

/// Only what was put on counts: taking an emoji off takes nothing back.
fn reactions(reacted: &Reacted, me: &Me) -> Told {
    let Some(user) = reacted.user.as_ref().filter(|user| !user.is_bot) else {
        return Told::Nothing("a reaction of nobody in particular");
    };
    let spot = Spot {
        chat: reacted.chat.id,
        thread: None,
        room: room(&reacted.chat, None, me),
        from: user.id,
    };
    let old: Vec<_> = reacted.old_reaction.iter().filter_map(|old| old.emoji.as_ref()).collect();
    let new = reacted.new_reaction.iter().filter_map(|new| new.emoji.as_ref());
    let added: Vec<_> = new
        .filter(|emoji| !old.contains(emoji))
        .map(|emoji| Put {
            spot,
            message: reacted.message_id,
            date: reacted.date,
            emoji: emoji.clone(),
        })
        .collect();
    if added.is_empty() {
        Told::Nothing("no emoji was added")
    } else {
        Told::Reacted(user.id, added)
    }
}

/// What we may do in a chat has changed.
fn member(membership: &Membership, me: &Me) -> Told {
    let Member { status, can_manage_topics, can_send_messages } = membership.new_chat_member;
    let chat = membership.chat.id.into();
    let private = membership.chat.kind == ChatKind::Private;
    let shut = |reason: &str| {
        Told::Noted(Noted::Shut { chat: membership.chat.id.into(), reason: reason.into() })
    };
    if membership.chat.kind == ChatKind::Channel {
        return Told::Nothing("a channel");
    }
    match status {
        MemberStatus::Kicked if private => shut("the bot is blocked there; unblock it in Telegram"),
        MemberStatus::Kicked => {
            shut("the bot was thrown out of the group; an administrator can add it again")
        }
        MemberStatus::Left => shut("the bot is no member of the group any more; add it again"),
        MemberStatus::Restricted if can_send_messages == Some(false) => {
            shut("the bot may not write in the group; an administrator can allow it")
        }
        MemberStatus::Restricted
        | MemberStatus::Member
        | MemberStatus::Administrator
        | MemberStatus::Creator => {
            let room = match room(&membership.chat, None, me) {
                Room::Forum if !can_manage_topics => Room::Group,
                room @ (Room::Direct | Room::DirectThreads | Room::Group | Room::Forum) => room,
            };
            Told::Noted(Noted::Open { chat, room })
        }
        MemberStatus::Other => Told::Nothing("a membership that is newer than this"),
    }
}
