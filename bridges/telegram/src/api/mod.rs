//! A thin client of the Bot API: one payload per method, one generic call, and errors that carry
//! the decision what to do next. Nothing here retries, waits its turn or remembers: that is for
//! those who call.
//!
//! Source of names and fields: Bot API 10.3, <https://core.telegram.org/bots/api>.

mod answer;
mod base;
mod chats;
mod client;
mod download;
mod error;
mod files;
mod ids;
mod keyboard;
mod messages;
mod refusal;
mod token;
mod topics;
mod updates;

pub use base::{BaseUrl, NoBaseUrl};
pub use chats::{
    BotCommand, ChatInfo, ChatKind, ChatMember, CommandScope, GetChat, GetChatMember, GetMe,
    LeaveChat, MemberStatus, SetMyCommands, User,
};
pub use client::{Api, ClientError, Method, Patience, Upload};
pub use download::DownloadError;
pub use error::CallError;
pub use files::{
    Attachment, FileId, FilePath, GetFile, LARGEST_DOWNLOAD, LARGEST_PHOTO, LARGEST_UPLOAD,
    SendDocument, SendPhoto, StoredFile,
};
pub use ids::{NoNumber, TgChat, TgMessage, TgThread, TgUser, UpdateId};
pub use keyboard::{CallbackData, Key, KeyStyle, Keyboard, TooMuchData};
pub use messages::{
    AnswerCallbackQuery, DeleteMessage, EditMessageReplyMarkup, EditMessageText, Entity,
    EntityKind, NoPreview, Reaction, ReplyTo, SendMessage, SendMessageDraft, SentMessage,
    SetMessageReaction,
};
pub use refusal::Refusal;
pub use token::{NoToken, Token};
pub use topics::{
    CloseForumTopic, CreateForumTopic, EditForumTopic, ForumTopic, IconColor, ReopenForumTopic,
};
pub use updates::{DeleteWebhook, GetUpdates, GetWebhookInfo, RawUpdate, WebhookInfo};
