//! Telegram's numbers. The port carries them as text; [`FromStr`] is the way back.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use vigie_core::id::{ChatId, MessageId, ThreadId};

/// A text that is no number of this kind: not one of ours, or of another bridge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the number of a {kind} in Telegram")]
pub struct NoNumber {
    pub text: String,
    pub kind: &'static str,
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NoNumber;
            fn from_str(text: &str) -> Result<Self, NoNumber> {
                let number = text.parse().map(Self);
                number.map_err(|_| NoNumber { text: text.into(), kind: $kind })
            }
        }
    };
}

number!(/// A chat: a person's own is positive, groups are negative.
    TgChat, "chat");
number!(/// A message, within its chat only: each supergroup counts for itself.
    TgMessage, "message");
number!(/// A person or a bot.
    TgUser, "person");
number!(/// One update; they grow by one, and start anew at random after a quiet week.
    UpdateId, "update");

impl TgChat {
    /// One person and the bot. Source: Bot API, groups and channels have negative numbers.
    pub fn is_private(self) -> bool {
        self.0 > 0
    }
}

/// A topic of a forum: the number of the message that made it. General is not one, it is written to
/// by naming no topic, so 1 and below do not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TgThread(i64);

impl TgThread {
    /// `None` for General and for what is no topic at all.
    pub fn new(number: i64) -> Option<Self> {
        (number > 1).then_some(Self(number))
    }

    pub fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for TgThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TgThread {
    type Err = NoNumber;
    fn from_str(text: &str) -> Result<Self, NoNumber> {
        let number = text.parse().ok().and_then(Self::new);
        number.ok_or_else(|| NoNumber { text: text.into(), kind: "topic" })
    }
}

impl From<TgChat> for ChatId {
    fn from(chat: TgChat) -> Self {
        Self::new(chat.to_string())
    }
}

impl From<TgMessage> for MessageId {
    fn from(message: TgMessage) -> Self {
        Self::new(message.to_string())
    }
}

impl From<TgThread> for ThreadId {
    fn from(thread: TgThread) -> Self {
        Self::new(thread.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_to_the_port_and_back() {
        let chat = TgChat(-1_001_234_567_890);
        assert_eq!(ChatId::from(chat).as_str().parse(), Ok(chat));
        let thread = TgThread::new(4).unwrap();
        assert_eq!(ThreadId::from(thread).as_str().parse(), Ok(thread));
        assert_eq!(MessageId::from(TgMessage(7)).as_str(), "7");
        assert_eq!(
            "main".parse::<TgChat>().unwrap_err().to_string(),
            "`main` is not the number of a chat in Telegram"
        );
    }

    #[test]
    fn general_is_no_topic() {
        for number in [1, 0, -5] {
            assert_eq!(TgThread::new(number), None);
        }
        assert!("1".parse::<TgThread>().is_err());
    }
}
