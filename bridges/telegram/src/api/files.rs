use serde::{Deserialize, Serialize};
use vigie_bridge_kit::names;

use super::{Entity, Keyboard, Method, ReplyTo, SentMessage, TgChat, TgThread, Upload};

/// Most bytes a bot may send in one file. Source: Bot API, "Sending files".
pub const LARGEST_UPLOAD: u64 = 50_000_000;

/// Most bytes of a photo; larger ones go as documents. Source: Bot API, `sendPhoto`.
pub const LARGEST_PHOTO: u64 = 10_000_000;

/// Most bytes of a file that a bot may fetch. Source: Bot API, `getFile` ("20 MB"); its server counts
/// binary ones.
pub const LARGEST_DOWNLOAD: u64 = 20 << 20;

/// A file to send, whole in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    name: String,
    bytes: Vec<u8>,
}

impl Attachment {
    /// `name` is made safe: it ends up in a header and on other people's disks.
    pub fn new(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: names::safe(name), bytes: bytes.into() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Sends a file; the answer's message holds it.
#[derive(Clone, Debug, Serialize)]
pub struct SendDocument {
    pub chat_id: TgChat,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<TgThread>,
    /// Up to 1024 UTF-16 units.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub caption: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caption_entities: Vec<Entity>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disable_notification: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_parameters: Option<ReplyTo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard>,
}

impl Method for SendDocument {
    const NAME: &'static str = "sendDocument";
    type Answer = SentMessage;
}

impl Upload for SendDocument {
    const FIELD: &'static str = "document";
}

/// Sends a picture that Telegram shows in the chat.
#[derive(Clone, Debug, Serialize)]
pub struct SendPhoto {
    pub chat_id: TgChat,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<TgThread>,
    /// Up to 1024 UTF-16 units.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub caption: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caption_entities: Vec<Entity>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disable_notification: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_parameters: Option<ReplyTo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard>,
}

impl Method for SendPhoto {
    const NAME: &'static str = "sendPhoto";
    type Answer = SentMessage;
}

impl Upload for SendPhoto {
    const FIELD: &'static str = "photo";
}

/// Names a file for [`GetFile`], for this bot only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileId(String);

impl FileId {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Where a file can be fetched, for about an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Prepares a file for download.
#[derive(Clone, Debug, Serialize)]
pub struct GetFile {
    pub file_id: FileId,
}

impl Method for GetFile {
    const NAME: &'static str = "getFile";
    type Answer = StoredFile;
}

#[derive(Clone, Debug, Deserialize)]
pub struct StoredFile {
    pub file_id: FileId,
    /// In bytes; a first word, not a promise.
    pub file_size: Option<u64>,
    /// Missing where the file cannot be fetched.
    pub file_path: Option<FilePath>,
}
