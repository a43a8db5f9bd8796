//! What people do with their phones.

mod acts;
mod groups;

use serde_json::{Map, Value, json};

pub use acts::{Answer, Pressed};

use crate::{
    Emulator,
    files::Media,
    state::{ChatKind, Message, Sender, State},
    text::{Entity, formatted, units},
    wire::unix,
    world::{ChatId, GENERAL, MessageId, TopicId, UserId},
};

/// UTF-16 units after which the app begins another message. Source: Bot API, `sendMessage`.
const MESSAGE_UNITS: usize = 4096;

/// A message that is being written. [`Sending::now`] sends it.
#[must_use = "nothing is sent before `now`"]
pub struct Sending<'a> {
    emulator: &'a Emulator,
    chat: ChatId,
    sender: Sender,
    text: String,
    entities: Vec<Entity>,
    topic: Option<TopicId>,
    reply_to: Option<MessageId>,
    quote: Option<String>,
    extra: Map<String, Value>,
    media: Vec<Media>,
}

impl Emulator {
    /// A person writes into a chat. The text is cut as the app cuts what is pasted.
    pub fn send(&self, chat: ChatId, from: UserId, text: &str) -> Sending<'_> {
        Sending {
            emulator: self,
            chat,
            sender: Sender::Person(from),
            text: text.into(),
            entities: Vec::new(),
            topic: None,
            reply_to: None,
            quote: None,
            extra: Map::new(),
            media: Vec::new(),
        }
    }
}

impl Sending<'_> {
    /// In this topic, rather than in General or the plain chat.
    pub fn topic(mut self, topic: TopicId) -> Self {
        self.topic = Some(topic);
        self
    }

    /// As a reply.
    pub fn reply_to(mut self, message: MessageId) -> Self {
        self.reply_to = Some(message);
        self
    }

    /// With a part of the replied message marked.
    pub fn quote(mut self, part: &str) -> Self {
        self.quote = Some(part.into());
        self
    }

    /// With these entities, besides those that Telegram finds.
    pub fn entities(mut self, entities: Vec<Entity>) -> Self {
        self.entities = entities;
        self
    }

    /// Forwarded, first written by this person.
    pub fn forwarded_from(mut self, user: UserId) -> Self {
        let (at, origin) =
            self.emulator.shared.look(|state| (unix(state.now()), state.user_json(user)));
        let origin = json!({"type": "user", "date": at, "sender_user": origin});
        self.extra.insert("forward_origin".into(), origin);
        self
    }

    /// With a file; several are an album. The text is the first one's caption.
    pub fn media(mut self, media: Media) -> Self {
        self.media.push(media);
        self
    }

    /// As somebody else than a person by name.
    pub fn as_sender(mut self, sender: Sender) -> Self {
        self.sender = sender;
        self
    }

    /// With a field of the message as it is, such as `via_bot` or `is_topic_message`.
    pub fn field(mut self, name: &str, value: Value) -> Self {
        self.extra.insert(name.into(), value);
        self
    }

    /// Sends it, and gives the id of the first message.
    pub fn now(self) -> MessageId {
        self.all()[0]
    }

    /// Sends it, and gives the ids of all messages it became.
    pub fn all(self) -> Vec<MessageId> {
        let emulator = self.emulator;
        emulator.shared.act(|state| self.put(state))
    }

    fn put(self, state: &mut State) -> Vec<MessageId> {
        let bodies = self.bodies(state);
        let chat = state.chat_mut(self.chat);
        let topic = self.topic.or(chat.is_forum().then_some(GENERAL));
        if let Some(topic) = topic {
            let there = chat.topics.get(&topic).is_some_and(|topic| !topic.deleted);
            assert!(there, "there is no topic {topic} in chat {}", self.chat);
        }
        if let Some(target) = self.reply_to {
            assert!(
                chat.message(target).is_some(),
                "there is no message {target} in chat {}",
                self.chat
            );
        }
        if let ChatKind::Private { started, blocked, .. } = &mut chat.kind {
            (*started, *blocked) = (true, false); // who writes has pressed Start
        }
        let reply_topic = self.reply_to.and_then(|target| chat.messages[&target].topic);
        let quote = self.quote.as_ref().map(|part| {
            let body =
                self.reply_to.map(|target| chat.messages[&target].words()).unwrap_or_default();
            let position = body.find(part.as_str()).map_or(0, |at| units(&body[..at]));
            json!({"text": part, "position": position, "is_manual": true})
        });
        let mut ids = Vec::new();
        for body in bodies {
            let mut message =
                Message::new(self.sender.clone(), self.topic.or(reply_topic).or(topic), body);
            if ids.is_empty() {
                message.reply_to = self.reply_to;
                message.quote.clone_from(&quote);
            }
            message.extra.clone_from(&self.extra);
            ids.push(state.post(self.chat, message));
        }
        ids
    }

    /// What each of the messages holds.
    fn bodies(&self, state: &mut State) -> Vec<Map<String, Value>> {
        let words = |text: &str, field: &str, entities: &str| {
            let given = if text.len() == self.text.len() { self.entities.as_slice() } else { &[] };
            let given: Vec<Value> = given.iter().map(|entity| json!(entity)).collect();
            let done = formatted(text, &given)
                .unwrap_or_else(|error| panic!("the app would not send this: {error}"));
            let mut body = Map::new();
            if !done.text.is_empty() {
                body.insert(field.into(), done.text.into());
            }
            if !done.entities.is_empty() {
                body.insert(entities.into(), json!(done.entities));
            }
            body
        };
        if self.media.is_empty() {
            let mut bodies: Vec<_> =
                cut(&self.text).into_iter().map(|part| words(part, "text", "entities")).collect();
            bodies.retain(|body| !body.is_empty());
            // A message whose content is given with `field` needs no text.
            let bare = bodies.is_empty() && !self.extra.is_empty();
            return if bare { vec![Map::new()] } else { assert_some(bodies) };
        }
        let album =
            (self.media.len() > 1).then(|| format!("{}", 13_000_000_000_000_000 + state.serial()));
        let mut bodies = Vec::new();
        for media in &self.media {
            let mut body = if bodies.is_empty() {
                words(&self.text, "caption", "caption_entities")
            } else {
                Map::new()
            };
            let (field, part) = state.files.store(media.clone());
            body.insert(field.into(), part);
            if let Some(album) = &album {
                body.insert("media_group_id".into(), album.clone().into());
            }
            bodies.push(body);
        }
        bodies
    }
}

fn assert_some(bodies: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    assert!(!bodies.is_empty(), "the app does not send an empty message");
    bodies
}

/// Cuts a pasted text as the app does: after so many units, whatever stands there.
fn cut(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut length) = (0, 0);
    for (at, c) in text.char_indices() {
        if length + c.len_utf16() > MESSAGE_UNITS {
            parts.push(&text[begin..at]);
            (begin, length) = (at, 0);
        }
        length += c.len_utf16();
    }
    parts.push(&text[begin..]);
    parts
}
