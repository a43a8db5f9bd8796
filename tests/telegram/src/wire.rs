//! Users, chats, members and messages as the Bot API writes them.

use serde_json::{Value, json};

use crate::{
    Moment,
    state::{ChatKind, Message, Sender, State},
    world::{ChatId, GENERAL, GroupKind, MessageId, RIGHTS, Status, UserId},
};

/// Whole seconds since 1970, as the Bot API gives times.
pub(crate) fn unix(at: Moment) -> u64 {
    at.as_secs()
}

impl State {
    pub(crate) fn bot_json(&self) -> Value {
        json!({
            "id": self.bot.id(), "is_bot": true, "first_name": self.bot.name, "username": self.bot.username,
        })
    }

    /// The bot or a person; none if nobody has that id.
    pub(crate) fn user_json(&self, id: UserId) -> Option<Value> {
        if id == self.bot.id() {
            return Some(self.bot_json());
        }
        let person = self.people.get(&id)?;
        Some(json!({
            "id": id, "is_bot": false, "first_name": person.name, "username": person.username, "language_code": "en",
        }))
    }

    pub(crate) fn chat_json(&self, id: ChatId) -> Value {
        match &self.chat(id).kind {
            ChatKind::Private { .. } => {
                let person = &self.people[&id];
                json!({"id": id, "type": "private", "first_name": person.name, "username": person.username})
            }
            ChatKind::Group { kind, title, .. } => {
                let name = if *kind == GroupKind::Basic { "group" } else { "supergroup" };
                let mut chat = json!({"id": id, "type": name, "title": title});
                if *kind == GroupKind::Forum {
                    chat["is_forum"] = true.into();
                }
                chat
            }
        }
    }

    pub(crate) fn member_json(&self, chat: ChatId, user: UserId) -> Value {
        let membership = self.chat(chat).member(user);
        let mut member = json!({"status": membership.status.name(), "user": self.user_json(user)});
        match membership.status {
            Status::Creator => member["is_anonymous"] = false.into(),
            Status::Administrator => {
                member["is_anonymous"] = false.into();
                member["can_be_edited"] = false.into();
                for right in RIGHTS {
                    member[right] = membership.may(right).into();
                }
            }
            Status::Kicked => member["until_date"] = 0.into(),
            Status::Member | Status::Restricted | Status::Left => {}
        }
        member
    }

    pub(crate) fn message_json(&self, chat: ChatId, id: MessageId) -> Value {
        self.write_message(chat, &self.chat(chat).messages[&id], Nesting::Outer)
    }

    /// A message inside of another, which tells nothing of what it replies to.
    pub(crate) fn inner_message_json(&self, chat: ChatId, id: MessageId) -> Value {
        self.write_message(chat, &self.chat(chat).messages[&id], Nesting::Inner)
    }

    fn write_message(&self, chat_id: ChatId, message: &Message, nesting: Nesting) -> Value {
        let chat = self.chat(chat_id);
        let mut out = json!({"message_id": message.id, "chat": self.chat_json(chat_id), "date": unix(message.at)});
        self.write_sender(&mut out, chat_id, &message.sender);
        if let Some(at) = message.edited {
            out["edit_date"] = unix(at).into();
        }
        let topic = message.topic.filter(|topic| !(chat.is_forum() && *topic == GENERAL));
        if let Some(topic) = topic {
            out["message_thread_id"] = topic.into();
            out["is_topic_message"] = true.into();
        } else if chat.is_supergroup() && message.reply_to.is_some() {
            // A thread of replies, which is no topic and of no use for sending.
            out["message_thread_id"] = self.thread_root(chat_id, message).into();
        }
        // Whatever stands in a forum's topic replies to the message that made it.
        let implicit = topic.filter(|topic| chat.is_supergroup() && *topic != message.id);
        let target = message.reply_to.or(implicit).and_then(|id| chat.message(id));
        if let Some(target) = target.filter(|_| nesting == Nesting::Outer) {
            out["reply_to_message"] = self.write_message(chat_id, target, Nesting::Inner);
        }
        let optional = [
            ("external_reply", &message.external_reply),
            ("quote", &message.quote),
            ("reply_markup", &message.markup),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                out[name] = value.clone();
            }
        }
        for (name, value) in message.extra.iter().chain(&message.body) {
            out[name] = value.clone();
        }
        out
    }

    fn thread_root(&self, chat: ChatId, message: &Message) -> MessageId {
        let chat = self.chat(chat);
        let mut root = message;
        while let Some(target) = root.reply_to.and_then(|id| chat.messages.get(&id)) {
            root = target;
        }
        root.id
    }

    /// `from` and `sender_chat`. The ids of the stand-ins are Telegram's own accounts.
    fn write_sender(&self, out: &mut Value, chat: ChatId, sender: &Sender) {
        match sender {
            Sender::Bot => out["from"] = self.bot_json(),
            Sender::Person(id) => out["from"] = self.user_json(*id).unwrap_or_default(),
            Sender::Anonymous => {
                out["from"] = json!({
                    "id": 1_087_968_824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot",
                });
                out["sender_chat"] = self.chat_json(chat);
            }
            Sender::Channel(id, title) => {
                out["from"] = json!({
                    "id": 136_817_688, "is_bot": true, "first_name": "Channel", "username": "Channel_Bot",
                });
                out["sender_chat"] = json!({"id": id, "type": "channel", "title": title});
            }
            Sender::LinkedPost(id, title) => {
                out["from"] = json!({"id": 777_000, "is_bot": false, "first_name": "Telegram"});
                out["sender_chat"] = json!({"id": id, "type": "channel", "title": title});
                out["is_automatic_forward"] = true.into();
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Outer,
    Inner,
}
