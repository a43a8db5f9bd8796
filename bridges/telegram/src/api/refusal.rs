use super::TgChat;

/// What a refusal means for us. Read from Telegram's words, because the codes do not tell them
/// apart. A word that is not known is [`Refusal::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The message shows that already: as good as done.
    NotModified,
    /// The message to edit is gone, or never was.
    EditNotFound,
    /// It is there, and it is not ours to edit.
    CannotEdit,
    /// The message to mark, to answer or to delete is gone.
    MessageGone,
    CannotDelete,
    /// A message was sent to a topic that is gone.
    ThreadNotFound,
    /// A topic was to be changed that is gone.
    TopicIdInvalid,
    /// The topic has that name and state already: as good as done.
    TopicNotModified,
    TopicClosed,
    /// The group has no topics switched on.
    NotAForum,
    /// Topics in this person's private chat are refused by Telegram.
    ForumForbidden,
    /// The bot lacks a right in that group.
    NoRights,
    /// Blocked by the person, thrown out of the group, never started, or nobody is there any more.
    Blocked,
    ChatNotFound,
    /// The group became a supergroup and has another id.
    Migrated {
        to: TgChat,
    },
    /// The token is revoked: stop.
    Unauthorized,
    /// Somebody else asks for this bot's updates.
    Conflict,
    /// A webhook takes this bot's updates.
    WebhookActive,
    /// The token is malformed, or the server does not know the method.
    NotFound,
    /// The tap was answered too late, or twice.
    QueryTooOld,
    TooLong,
    /// A message without anything to see in it.
    Empty,
    EntitiesInvalid,
    FileTooBig,
    /// A photo that Telegram cannot show as one; as a document it can be sent.
    PhotoInvalid,
    /// Telegram has no such reaction, or the chat does not allow it.
    ReactionInvalid,
    /// Drafts exist in private chats only.
    NoDrafts,
    Other,
}

/// Words of an answer, in lower case, and what they mean. The first that is found counts, so what
/// is more exact stands further up.
/// Source: Bot API server 10.0 and TDLib, where these texts are written.
const WORDS: &[(&str, Refusal)] = &[
    ("message is not modified", Refusal::NotModified),
    ("message_not_modified", Refusal::NotModified),
    ("message to edit not found", Refusal::EditNotFound),
    ("message_id_invalid", Refusal::EditNotFound),
    ("message can't be edited", Refusal::CannotEdit),
    ("there is no text in the message to edit", Refusal::CannotEdit),
    ("there is no caption in the message to edit", Refusal::CannotEdit),
    ("message_author_required", Refusal::CannotEdit),
    ("message_edit_time_expired", Refusal::CannotEdit),
    ("message can't be deleted", Refusal::CannotDelete),
    ("message_delete_forbidden", Refusal::CannotDelete),
    ("message to be replied not found", Refusal::MessageGone),
    ("message to reply not found", Refusal::MessageGone),
    ("message to react not found", Refusal::MessageGone),
    ("message to delete not found", Refusal::MessageGone),
    ("message thread not found", Refusal::ThreadNotFound),
    ("topic_id_invalid", Refusal::TopicIdInvalid),
    ("topic_deleted", Refusal::TopicIdInvalid),
    ("topic_not_modified", Refusal::TopicNotModified),
    ("topic_closed", Refusal::TopicClosed),
    ("bot_forum_create_forbidden", Refusal::ForumForbidden),
    ("chat is not a forum", Refusal::NotAForum),
    ("channel_forum_missing", Refusal::NotAForum),
    ("terminated by other getupdates", Refusal::Conflict),
    ("webhook is active", Refusal::WebhookActive),
    ("query is too old", Refusal::QueryTooOld),
    ("query id is invalid", Refusal::QueryTooOld),
    ("query_id_invalid", Refusal::QueryTooOld),
    ("not enough rights", Refusal::NoRights),
    ("need administrator rights", Refusal::NoRights),
    ("have no rights", Refusal::NoRights),
    ("have no write access", Refusal::NoRights),
    ("chat_admin_required", Refusal::NoRights),
    ("chat_write_forbidden", Refusal::NoRights),
    ("bot was blocked", Refusal::Blocked),
    ("bot was kicked", Refusal::Blocked),
    ("bot is not a member", Refusal::Blocked),
    ("user is deactivated", Refusal::Blocked),
    ("bot can't initiate conversation", Refusal::Blocked),
    ("bot can't send messages to bots", Refusal::Blocked),
    ("group chat was deactivated", Refusal::Blocked),
    ("group chat was deleted", Refusal::Blocked),
    ("chat not found", Refusal::ChatNotFound),
    ("chat_id_invalid", Refusal::ChatNotFound),
    ("peer_id_invalid", Refusal::ChatNotFound),
    ("textdraft_peer_invalid", Refusal::NoDrafts),
    ("message is too long", Refusal::TooLong),
    ("message_too_long", Refusal::TooLong),
    ("text is too long", Refusal::TooLong),
    ("caption is too long", Refusal::TooLong),
    ("caption_too_long", Refusal::TooLong),
    ("text must be non-empty", Refusal::Empty),
    ("message must be non-empty", Refusal::Empty),
    ("message text is empty", Refusal::Empty),
    ("can't parse entities", Refusal::EntitiesInvalid),
    ("can't parse messageentity", Refusal::EntitiesInvalid),
    ("entity begin", Refusal::EntitiesInvalid),
    ("entity url", Refusal::EntitiesInvalid),
    ("an entity with incorrect", Refusal::EntitiesInvalid),
    ("entity_bounds_invalid", Refusal::EntitiesInvalid),
    ("file is too big", Refusal::FileTooBig),
    ("request entity too large", Refusal::FileTooBig),
    ("photo_invalid_dimensions", Refusal::PhotoInvalid),
    ("image_process_failed", Refusal::PhotoInvalid),
    ("reaction_invalid", Refusal::ReactionInvalid),
    ("reactions_too_many", Refusal::ReactionInvalid),
];

impl Refusal {
    /// Reads Telegram's answer: its code, its words, and where the chat went, if it says so.
    pub(super) fn read(code: u16, description: &str, migrated: Option<TgChat>) -> Self {
        if let Some(to) = migrated {
            return Self::Migrated { to };
        }
        if code == 401 {
            return Self::Unauthorized;
        }
        let said = description.to_lowercase();
        let known = WORDS.iter().find(|(words, _)| said.contains(words));
        match (known, code) {
            (Some((_, refusal)), _) => *refusal,
            (None, 403) => Self::Blocked,
            (None, 404) => Self::NotFound,
            (None, 409) => Self::Conflict,
            (None, 413) => Self::FileTooBig,
            (None, _) => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: u16, words: &str) -> Refusal {
        Refusal::read(code, words, None)
    }

    #[test]
    fn every_text_we_know_has_its_meaning() {
        for (code, words, meaning) in [
            (
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
                Refusal::NotModified,
            ),
            (400, "Bad Request: message to edit not found", Refusal::EditNotFound),
            (400, "Bad Request: message can't be edited", Refusal::CannotEdit),
            (400, "Bad Request: there is no text in the message to edit", Refusal::CannotEdit),
            (400, "Bad Request: message can't be deleted", Refusal::CannotDelete),
            (400, "Bad Request: message to be replied not found", Refusal::MessageGone),
            (400, "Bad Request: message thread not found", Refusal::ThreadNotFound),
            (400, "Bad Request: TOPIC_ID_INVALID", Refusal::TopicIdInvalid),
            (400, "Bad Request: TOPIC_NOT_MODIFIED", Refusal::TopicNotModified),
            (400, "Bad Request: TOPIC_CLOSED", Refusal::TopicClosed),
            (400, "Bad Request: BOT_FORUM_CREATE_FORBIDDEN", Refusal::ForumForbidden),
            (400, "Bad Request: the chat is not a forum", Refusal::NotAForum),
            (400, "Bad Request: not enough rights to create a topic", Refusal::NoRights),
            (
                403,
                "Forbidden: not enough rights to send text messages to the chat",
                Refusal::NoRights,
            ),
            (403, "Forbidden: bot was blocked by the user", Refusal::Blocked),
            (403, "Forbidden: bot was kicked from the supergroup chat", Refusal::Blocked),
            (403, "Forbidden: bot is not a member of the supergroup chat", Refusal::Blocked),
            (403, "Forbidden: user is deactivated", Refusal::Blocked),
            (403, "Forbidden: bot can't initiate conversation with a user", Refusal::Blocked),
            (403, "Forbidden: something new", Refusal::Blocked),
            (400, "Bad Request: chat not found", Refusal::ChatNotFound),
            (401, "Unauthorized", Refusal::Unauthorized),
            (404, "Not Found", Refusal::NotFound),
            (
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                Refusal::Conflict,
            ),
            (
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
                Refusal::WebhookActive,
            ),
            (
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
                Refusal::QueryTooOld,
            ),
            (400, "Bad Request: message is too long", Refusal::TooLong),
            (400, "Bad Request: MESSAGE_TOO_LONG", Refusal::TooLong),
            (400, "Bad Request: text is too long", Refusal::TooLong),
            (400, "Bad Request: message caption is too long", Refusal::TooLong),
            (400, "Bad Request: text must be non-empty", Refusal::Empty),
            (
                400,
                "Bad Request: can't parse entities: Unsupported start tag \"\" at byte offset 2",
                Refusal::EntitiesInvalid,
            ),
            (
                400,
                "Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'",
                Refusal::EntitiesInvalid,
            ),
            (
                400,
                "Bad Request: Entity begins in a middle of a UTF-16 symbol at byte offset 3",
                Refusal::EntitiesInvalid,
            ),
            (
                400,
                "Bad Request: entity URL 'http://localhost' is invalid: Wrong HTTP URL",
                Refusal::EntitiesInvalid,
            ),
            (413, "Request Entity Too Large", Refusal::FileTooBig),
            (400, "Bad Request: file is too big", Refusal::FileTooBig),
            (400, "Bad Request: PHOTO_INVALID_DIMENSIONS", Refusal::PhotoInvalid),
            (400, "Bad Request: IMAGE_PROCESS_FAILED", Refusal::PhotoInvalid),
            (400, "Bad Request: REACTION_INVALID", Refusal::ReactionInvalid),
            (400, "Bad Request: REACTIONS_TOO_MANY", Refusal::ReactionInvalid),
            (400, "Bad Request: TEXTDRAFT_PEER_INVALID", Refusal::NoDrafts),
            (400, "Bad Request: BUTTON_DATA_INVALID", Refusal::Other),
            (400, "Bad Request: BOT_COMMAND_INVALID", Refusal::Other),
            (400, "", Refusal::Other),
        ] {
            assert_eq!(read(code, words), meaning, "{code} {words}");
        }
    }

    #[test]
    fn a_group_that_moved_says_where_to() {
        let to = TgChat(-1_001_234_567_890);
        let words = "Bad Request: group chat was upgraded to a supergroup chat";
        assert_eq!(Refusal::read(400, words, Some(to)), Refusal::Migrated { to });
        assert_eq!(read(400, words), Refusal::Other);
    }
}
