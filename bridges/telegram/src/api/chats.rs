use serde::{Deserialize, Serialize};

use super::{Method, TgChat, TgUser};

/// Who the bot is; also the cheapest way to learn whether its token is good.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GetMe {}

impl Method for GetMe {
    const NAME: &'static str = "getMe";
    type Answer = User;
}

/// A person or a bot, with what we need of it.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of Telegram's answer")]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct User {
    pub id: TgUser,
    #[serde(default)]
    pub is_bot: bool,
    #[serde(default)]
    pub first_name: String,
    /// Without the `@`.
    pub username: Option<String>,
    /// People may take it into groups. Of the bot itself only.
    #[serde(default)]
    pub can_join_groups: bool,
    /// It hears everything in groups, not only what is for it. Of the bot itself only.
    #[serde(default)]
    pub can_read_all_group_messages: bool,
    /// Private chats with it have topics. Of the bot itself only.
    #[serde(default)]
    pub has_topics_enabled: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct GetChat {
    pub chat_id: TgChat,
}

impl Method for GetChat {
    const NAME: &'static str = "getChat";
    type Answer = ChatInfo;
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ChatInfo {
    pub id: TgChat,
    #[serde(rename = "type")]
    pub kind: ChatKind,
    /// Of groups and channels.
    pub title: Option<String>,
    /// It has topics.
    #[serde(default)]
    pub is_forum: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    Private,
    Group,
    Supergroup,
    Channel,
    /// A kind that is newer than this.
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct GetChatMember {
    pub chat_id: TgChat,
    pub user_id: TgUser,
}

impl Method for GetChatMember {
    const NAME: &'static str = "getChatMember";
    type Answer = ChatMember;
}

/// What somebody may do in a group. A right that is not named is not there.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ChatMember {
    pub status: MemberStatus,
    pub user: User,
    #[serde(default)]
    pub can_manage_topics: bool,
    #[serde(default)]
    pub can_pin_messages: bool,
    #[serde(default)]
    pub can_delete_messages: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    Creator,
    Administrator,
    Member,
    Restricted,
    Left,
    Kicked,
    /// A status that is newer than this.
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct LeaveChat {
    pub chat_id: TgChat,
}

impl Method for LeaveChat {
    const NAME: &'static str = "leaveChat";
    type Answer = bool;
}

/// Replaces the list of commands that apps suggest.
#[derive(Clone, Debug, Serialize)]
pub struct SetMyCommands {
    /// At most 100.
    pub commands: Vec<BotCommand>,
    pub scope: CommandScope,
    /// Two letters; without it the list is for everybody who has none in their own language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_code: Option<String>,
}

impl Method for SetMyCommands {
    const NAME: &'static str = "setMyCommands";
    type Answer = bool;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BotCommand {
    /// 1 to 32 of `a-z`, `0-9` and `_`.
    pub command: String,
    /// 1 to 256 characters.
    pub description: String,
}

/// Who sees a list of commands; the narrowest that fits wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CommandScope {
    Default,
    AllPrivateChats,
    AllGroupChats,
    Chat { chat_id: TgChat },
    ChatMember { chat_id: TgChat, user_id: TgUser },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_newer_than_this_does_not_break_it() {
        let chat: ChatInfo =
            serde_json::from_str(r#"{"id":-5,"type":"community","new":[]}"#).unwrap();
        assert_eq!((chat.kind, chat.is_forum), (ChatKind::Other, false));
        let member: ChatMember =
            serde_json::from_str(r#"{"status":"guest","user":{"id":1}}"#).unwrap();
        assert_eq!((member.status, member.can_manage_topics), (MemberStatus::Other, false));
    }

    #[test]
    fn commands_name_whom_they_are_for() {
        let commands = SetMyCommands {
            commands: vec![BotCommand {
                command: "stop".into(),
                description: "Stop a turn".into(),
            }],
            scope: CommandScope::Chat { chat_id: TgChat(-5) },
            language_code: None,
        };
        assert_eq!(
            serde_json::to_string(&commands).unwrap(),
            r#"{"commands":[{"command":"stop","description":"Stop a turn"}],"scope":{"type":"chat","chat_id":-5}}"#
        );
    }
}
