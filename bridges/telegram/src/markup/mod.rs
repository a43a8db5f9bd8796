//! Texts in Telegram's dialect: plain text with entities, in the form Telegram itself would bring it
//! into, so that what is computed here is what a phone shows; and the way back.
//!
//! Source of the rules: Bot API, "Formatting options", and `TDLib`'s `MessageEntity.cpp`, where they
//! are carried out.

mod clean;
mod compose;
mod entities;
mod guard;
mod incoming;
mod links;

pub use compose::{MESSAGE_UNITS, Text, lay_out};
pub use incoming::{Command, Words, command, words};

use vigie_bridge_kit::measure::length;
use vigie_core::bridge::TextUnit;

/// How long Telegram takes `text` to be: in UTF-16 units, which is what its limits and offsets
/// count.
pub fn utf16_len(text: &str) -> usize {
    length(text, TextUnit::Utf16)
}

/// Telegram takes a text without any other character for empty, and refuses it. Source: `TDLib`,
/// `strip_empty_characters`; the last rows are ours: nothing would be seen of them either.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(
            c,
            ' ' | '\n'
                | '\u{A0}'
                | '\u{1680}'
                | '\u{180E}'
                | '\u{2000}'..='\u{200F}'
                | '\u{202F}'
                | '\u{205F}'
                | '\u{2800}'
                | '\u{3000}'
                | '\u{FEFF}'
                | '\u{FFFC}'
                | '\u{E0000}'..='\u{E0FFF}'
                | '\u{AD}'
                | '\u{34F}'
                | '\u{61C}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{2060}'..='\u{206F}'
                | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FFA0}'
        )
    })
}
