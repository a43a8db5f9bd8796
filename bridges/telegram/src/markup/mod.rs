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

pub use compose::{Composer, MESSAGE_UNITS, Text, lay_out};
pub use incoming::{Command, Words, command, words};

/// How long Telegram takes `text` to be: in UTF-16 units, which is what its limits and offsets
/// count.
pub fn utf16_len(text: &str) -> usize {
    // Of a character's bytes only the first is no continuation; those of four bytes are two units.
    text.bytes().map(|b| usize::from(b & 0xC0 != 0x80) + usize::from(b >= 0xF0)).sum()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn length_is_counted_as_telegram_does() {
        for (text, units) in [("", 0), ("ab", 2), ("é", 1), ("漢", 1), ("🟢", 2), ("👨‍👩‍👧", 8)]
        {
            assert_eq!(utf16_len(text), units, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_counts_like_the_standard_library(text in "\\PC*") {
            prop_assert_eq!(utf16_len(&text), text.encode_utf16().count());
        }
    }
}
