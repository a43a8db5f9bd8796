//! Updates as Telegram writes them: only what is acted on, and the names of the rest, so that
//! what is newer than this is at least noticed.
//!
//! Source of names and fields: Bot API 10.3, <https://core.telegram.org/bots/api>.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use crate::api::{ChatKind, FileId, MemberStatus, TgChat, TgMessage, TgUser};

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    pub(super) message: Option<Box<Message>>,
    pub(super) edited_message: Option<Box<Message>>,
    pub(super) callback_query: Option<Tap>,
    pub(super) message_reaction: Option<Reacted>,
    pub(super) my_chat_member: Option<Membership>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Person {
    pub(super) id: TgUser,
    #[serde(default)]
    pub(super) is_bot: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Chat {
    pub(super) id: TgChat,
    #[serde(rename = "type")]
    pub(super) kind: ChatKind,
    #[serde(default)]
    pub(super) is_forum: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) message_id: TgMessage,
    pub(super) chat: Chat,
    /// Seconds since 1970.
    pub(super) date: i64,
    pub(super) edit_date: Option<i64>,
    pub(super) from: Option<Person>,
    /// Somebody speaks as a chat: an anonymous administrator, a channel.
    pub(super) sender_chat: Option<IgnoredAny>,
    pub(super) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(super) is_topic_message: bool,
    pub(super) reply_to_message: Option<Box<Answered>>,
    pub(super) forward_origin: Option<IgnoredAny>,
    /// Another bot wrote it, and the person chose it.
    pub(super) via_bot: Option<IgnoredAny>,
    pub(super) media_group_id: Option<String>,

    pub(super) text: Option<String>,
    pub(super) caption: Option<String>,

    pub(super) document: Option<SentFile>,
    #[serde(default)]
    pub(super) photo: Vec<PhotoSize>,
    pub(super) audio: Option<SentFile>,
    pub(super) voice: Option<SentFile>,
    pub(super) video: Option<SentFile>,
    pub(super) video_note: Option<SentFile>,
    pub(super) animation: Option<SentFile>,
    pub(super) sticker: Option<Sticker>,

    pub(super) location: Option<Location>,
    pub(super) venue: Option<Venue>,
    pub(super) contact: Option<Contact>,
    pub(super) poll: Option<Poll>,
    pub(super) dice: Option<Dice>,

    pub(super) migrate_to_chat_id: Option<TgChat>,
    pub(super) migrate_from_chat_id: Option<TgChat>,
    pub(super) forum_topic_created: Option<TopicName>,
    pub(super) forum_topic_edited: Option<TopicName>,
    pub(super) forum_topic_closed: Option<IgnoredAny>,
    pub(super) forum_topic_reopened: Option<IgnoredAny>,

    /// Everything else.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// The message that another one answers.
#[derive(Debug, Deserialize)]
pub(super) struct Answered {
    pub(super) message_id: TgMessage,
    pub(super) chat: Chat,
    pub(super) forum_topic_created: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SentFile {
    pub(super) file_id: FileId,
    pub(super) file_name: Option<String>,
    /// In bytes.
    pub(super) file_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PhotoSize {
    pub(super) file_id: FileId,
    pub(super) file_size: Option<u64>,
    pub(super) width: u64,
    pub(super) height: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sticker {
    pub(super) file_id: FileId,
    pub(super) file_size: Option<u64>,
    pub(super) emoji: Option<String>,
    #[serde(default)]
    pub(super) is_animated: bool,
    #[serde(default)]
    pub(super) is_video: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Location {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Venue {
    pub(super) title: String,
    pub(super) address: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Contact {
    pub(super) phone_number: String,
    pub(super) first_name: String,
    pub(super) last_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Poll {
    pub(super) question: String,
    pub(super) options: Vec<PollOption>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PollOption {
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Dice {
    pub(super) emoji: String,
    pub(super) value: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct TopicName {
    pub(super) name: Option<String>,
}

/// Somebody tapped a button.
#[derive(Debug, Deserialize)]
pub(super) struct Tap {
    pub(super) id: String,
    pub(super) from: Person,
    pub(super) message: Option<Tapped>,
    pub(super) data: Option<String>,
}

/// The message with the button. Telegram may not have it any more; then only this much is there.
#[derive(Debug, Deserialize)]
pub(super) struct Tapped {
    pub(super) message_id: TgMessage,
    pub(super) chat: Chat,
    pub(super) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(super) is_topic_message: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reacted {
    pub(super) chat: Chat,
    pub(super) message_id: TgMessage,
    /// Nobody where the person is anonymous.
    pub(super) user: Option<Person>,
    pub(super) date: i64,
    pub(super) old_reaction: Vec<Reaction>,
    pub(super) new_reaction: Vec<Reaction>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reaction {
    /// `None` for pictures of a pack and for stars.
    pub(super) emoji: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Membership {
    pub(super) chat: Chat,
    pub(super) new_chat_member: Member,
}

#[derive(Debug, Deserialize)]
pub(super) struct Member {
    pub(super) status: MemberStatus,
    #[serde(default)]
    pub(super) can_manage_topics: bool,
    /// Named for the restricted only.
    pub(super) can_send_messages: Option<bool>,
}
