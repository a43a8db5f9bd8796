use serde::Serialize;

/// Most bytes a button carries back. Source: Bot API, `InlineKeyboardButton.callback_data`.
const MOST_DATA: usize = 64;

/// Buttons below a message, in rows. Empty: no buttons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Keyboard {
    pub inline_keyboard: Vec<Vec<Key>>,
}

/// A button that says something to the bot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<KeyStyle>,
    pub callback_data: CallbackData,
}

/// A button's colour; older apps show none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyStyle {
    Danger,
    Success,
    Primary,
}

/// What a button carries back: 1 to 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct CallbackData(String);

/// A button cannot carry that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a button carries 1 to {MOST_DATA} bytes, not {bytes}")]
pub struct TooMuchData {
    pub bytes: usize,
}

impl CallbackData {
    pub fn new(text: impl Into<String>) -> Result<Self, TooMuchData> {
        let text = text.into();
        match text.len() {
            1..=MOST_DATA => Ok(Self(text)),
            bytes => Err(TooMuchData { bytes }),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_counted_in_bytes() {
        assert!(CallbackData::new("x".repeat(64)).is_ok());
        assert_eq!(CallbackData::new("é".repeat(33)), Err(TooMuchData { bytes: 66 }));
        assert_eq!(CallbackData::new(""), Err(TooMuchData { bytes: 0 }));
    }
}
