use serde::{
    Deserialize, Serialize,
    ser::{SerializeMap, Serializer},
};

use super::{Keyboard, Method, TgChat, TgMessage, TgThread};

/// A styled part of a text. Offset and length count UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entity {
    pub offset: usize,
    pub length: usize,
    #[serde(flatten)]
    pub kind: EntityKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EntityKind {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Code,
    Pre {
        #[serde(skip_serializing_if = "Option::is_none")]
        language: Option<String>,
    },
    Blockquote,
    TextLink {
        url: String,
    },
}

/// No page is fetched to show a picture of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoPreview;

impl Serialize for NoPreview {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut options = serializer.serialize_map(Some(1))?;
        options.serialize_entry("is_disabled", &true)?;
        options.end()
    }
}

/// The message this one answers. If that is gone by then, this one is sent all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyTo(pub TgMessage);

impl Serialize for ReplyTo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut reply = serializer.serialize_map(Some(2))?;
        reply.serialize_entry("message_id", &self.0)?;
        reply.serialize_entry("allow_sending_without_reply", &true)?;
        reply.end()
    }
}

/// A message as Telegram gives it back, with what we need of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SentMessage {
    pub message_id: TgMessage,
    /// Its topic, or what it answers in a group without topics: [`SentMessage::topic`] tells.
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
}

impl SentMessage {
    /// The topic it stands in; `None` in General and where there are no topics.
    pub fn topic(&self) -> Option<TgThread> {
        self.message_thread_id.filter(|_| self.is_topic_message).and_then(TgThread::new)
    }
}

/// A new message.
#[derive(Clone, Debug, Serialize)]
pub struct SendMessage {
    pub chat_id: TgChat,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<TgThread>,
    /// 1 to 4096 UTF-16 units.
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
    pub link_preview_options: NoPreview,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disable_notification: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_parameters: Option<ReplyTo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard>,
}

impl Method for SendMessage {
    const NAME: &'static str = "sendMessage";
    type Answer = SentMessage;
}

/// Replaces a message's text, its styles and its buttons: without buttons it has none afterwards.
#[derive(Clone, Debug, Serialize)]
pub struct EditMessageText {
    pub chat_id: TgChat,
    pub message_id: TgMessage,
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
    pub link_preview_options: NoPreview,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard>,
}

impl Method for EditMessageText {
    const NAME: &'static str = "editMessageText";
    type Answer = SentMessage;
}

/// Replaces a message's buttons. With what it has already it only tells whether the message is
/// there and ours.
#[derive(Clone, Debug, Serialize)]
pub struct EditMessageReplyMarkup {
    pub chat_id: TgChat,
    pub message_id: TgMessage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard>,
}

impl Method for EditMessageReplyMarkup {
    const NAME: &'static str = "editMessageReplyMarkup";
    type Answer = SentMessage;
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeleteMessage {
    pub chat_id: TgChat,
    pub message_id: TgMessage,
}

impl Method for DeleteMessage {
    const NAME: &'static str = "deleteMessage";
    type Answer = bool;
}

/// Puts the bot's one reaction on a message; with none it takes it away.
#[derive(Clone, Debug, Serialize)]
pub struct SetMessageReaction {
    pub chat_id: TgChat,
    pub message_id: TgMessage,
    pub reaction: Vec<Reaction>,
}

impl Method for SetMessageReaction {
    const NAME: &'static str = "setMessageReaction";
    type Answer = bool;
}

/// One of the emoji Telegram has as reactions: 👍 👎 👀 👌 🤔 🎉 are, ✅ ❌ ⏳ are not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reaction {
    Emoji { emoji: String },
}

/// Ends a tap's spinner, within about 15 s.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerCallbackQuery {
    pub callback_query_id: String,
    /// Up to 200 UTF-16 units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// As a window that must be closed, instead of a line that goes away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub show_alert: bool,
}

impl Method for AnswerCallbackQuery {
    const NAME: &'static str = "answerCallbackQuery";
    type Answer = bool;
}

/// Shows a text that is still being written, in a private chat only, for 30 s or until the next
/// message.
#[derive(Clone, Debug, Serialize)]
pub struct SendMessageDraft {
    pub chat_id: TgChat,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<TgThread>,
    /// Not 0; the same number again changes the same draft.
    pub draft_id: i64,
    /// 0 to 4096 UTF-16 units.
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
}

impl Method for SendMessageDraft {
    const NAME: &'static str = "sendMessageDraft";
    type Answer = bool;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{CallbackData, Key, KeyStyle};
    use serde_json::json;

    #[test]
    fn a_message_goes_out_with_all_it_needs_and_nothing_else() {
        let mut message = SendMessage {
            chat_id: TgChat(-100),
            message_thread_id: None,
            text: "hi".into(),
            entities: Vec::new(),
            link_preview_options: NoPreview,
            disable_notification: false,
            reply_parameters: None,
            reply_markup: None,
        };
        let bare =
            json!({"chat_id": -100, "text": "hi", "link_preview_options": {"is_disabled": true}});
        assert_eq!(serde_json::to_value(&message).unwrap(), bare);

        message.message_thread_id = TgThread::new(4);
        message.disable_notification = true;
        message.reply_parameters = Some(ReplyTo(TgMessage(9)));
        message.entities = vec![
            Entity { offset: 0, length: 2, kind: EntityKind::Bold },
            Entity {
                offset: 0,
                length: 1,
                kind: EntityKind::Pre { language: Some("rust".into()) },
            },
            Entity {
                offset: 1,
                length: 1,
                kind: EntityKind::TextLink { url: "https://example.org/".into() },
            },
        ];
        message.reply_markup = Some(Keyboard {
            inline_keyboard: vec![vec![Key {
                text: "Deny".into(),
                style: Some(KeyStyle::Danger),
                callback_data: CallbackData::new("1.deny").unwrap(),
            }]],
        });
        let full = json!({
            "chat_id": -100, "message_thread_id": 4, "text": "hi",
            "entities": [
                {"type": "bold", "offset": 0, "length": 2},
                {"type": "pre", "offset": 0, "length": 1, "language": "rust"},
                {"type": "text_link", "offset": 1, "length": 1, "url": "https://example.org/"},
            ],
            "link_preview_options": {"is_disabled": true},
            "disable_notification": true,
            "reply_parameters": {"message_id": 9, "allow_sending_without_reply": true},
            "reply_markup": {"inline_keyboard": [[
                {"text": "Deny", "style": "danger", "callback_data": "1.deny"},
            ]]},
        });
        assert_eq!(serde_json::to_value(&message).unwrap(), full);
    }

    #[test]
    fn a_message_tells_its_topic_and_no_other_thread() {
        let topic = |text| serde_json::from_str::<SentMessage>(text).unwrap().topic();
        assert_eq!(topic(r#"{"message_id":9}"#), None);
        assert_eq!(topic(r#"{"message_id":9,"message_thread_id":4}"#), None);
        let inside = r#"{"message_id":9,"message_thread_id":4,"is_topic_message":true,"date":1}"#;
        assert_eq!(topic(inside), TgThread::new(4));
    }

    #[test]
    fn a_reaction_is_put_and_taken_away() {
        let mut mark = SetMessageReaction {
            chat_id: TgChat(1),
            message_id: TgMessage(2),
            reaction: vec![Reaction::Emoji { emoji: "👀".into() }],
        };
        let put =
            json!({"chat_id": 1, "message_id": 2, "reaction": [{"type": "emoji", "emoji": "👀"}]});
        assert_eq!(serde_json::to_value(&mark).unwrap(), put);
        mark.reaction.clear();
        assert_eq!(serde_json::to_value(&mark).unwrap()["reaction"], json!([]));
    }
}
