use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{Method, TgChat, TgThread};

/// A topic's colour, one of the six that Telegram takes. Source: Bot API, `createForumTopic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "u32")]
pub enum IconColor {
    Blue,
    Yellow,
    Violet,
    Green,
    Rose,
    Red,
}

impl From<IconColor> for u32 {
    fn from(color: IconColor) -> Self {
        match color {
            IconColor::Blue => 0x006F_B9F0,
            IconColor::Yellow => 0x00FF_D67E,
            IconColor::Violet => 0x00CB_86DB,
            IconColor::Green => 0x008E_EE98,
            IconColor::Rose => 0x00FF_93B2,
            IconColor::Red => 0x00FB_6F5F,
        }
    }
}

/// Makes a topic. It counts as a message: Telegram posts one that says so.
#[derive(Clone, Debug, Serialize)]
pub struct CreateForumTopic {
    pub chat_id: TgChat,
    /// 1 to 128 characters.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_color: Option<IconColor>,
}

impl Method for CreateForumTopic {
    const NAME: &'static str = "createForumTopic";
    type Answer = ForumTopic;
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ForumTopic {
    #[serde(deserialize_with = "topic")]
    pub message_thread_id: TgThread,
    /// As Telegram kept it: cut, blanks collapsed.
    pub name: String,
}

fn topic<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TgThread, D::Error> {
    let number = i64::deserialize(deserializer)?;
    TgThread::new(number).ok_or_else(|| D::Error::custom("General is no new topic"))
}

/// Renames a topic.
#[derive(Clone, Debug, Serialize)]
pub struct EditForumTopic {
    pub chat_id: TgChat,
    pub message_thread_id: TgThread,
    /// 1 to 128 characters.
    pub name: String,
}

impl Method for EditForumTopic {
    const NAME: &'static str = "editForumTopic";
    type Answer = bool;
}

/// Keeps a topic readable; only administrators may go on writing.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CloseForumTopic {
    pub chat_id: TgChat,
    pub message_thread_id: TgThread,
}

impl Method for CloseForumTopic {
    const NAME: &'static str = "closeForumTopic";
    type Answer = bool;
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReopenForumTopic {
    pub chat_id: TgChat,
    pub message_thread_id: TgThread,
}

impl Method for ReopenForumTopic {
    const NAME: &'static str = "reopenForumTopic";
    type Answer = bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_bot_api() {
        let all = [
            IconColor::Blue,
            IconColor::Yellow,
            IconColor::Violet,
            IconColor::Green,
            IconColor::Rose,
            IconColor::Red,
        ];
        assert_eq!(
            all.map(u32::from),
            [7_322_096, 16_766_590, 13_338_331, 9_367_192, 16_749_490, 16_478_047]
        );
        let topic = CreateForumTopic {
            chat_id: TgChat(-1),
            name: "docs".into(),
            icon_color: Some(IconColor::Blue),
        };
        assert_eq!(
            serde_json::to_string(&topic).unwrap(),
            r#"{"chat_id":-1,"name":"docs","icon_color":7322096}"#
        );
    }

    #[test]
    fn a_new_topic_is_a_real_one() {
        let read = |text| serde_json::from_str::<ForumTopic>(text).ok();
        assert!(read(r#"{"message_thread_id":7,"name":"docs","icon_color":1}"#).is_some());
        assert!(read(r#"{"message_thread_id":1,"name":"General"}"#).is_none());
    }
}
