//! How long a text is, as a service counts, and what of it fits.

use vigie_core::bridge::TextUnit;

/// What stands where something was cut off.
const DOTS: &str = "…";

/// How long `text` is in that unit.
pub fn length(text: &str, unit: TextUnit) -> usize {
    match unit {
        TextUnit::Utf16 => utf16(text),
        TextUnit::Bytes => text.len(),
    }
}

/// In UTF-16 units. Of a character's bytes only the first is no continuation; those of four bytes are
/// two units.
fn utf16(text: &str) -> usize {
    text.bytes().map(|b| usize::from(b & 0xC0 != 0x80) + usize::from(b >= 0xF0)).sum()
}

/// The first `most` units of `text`, or fewer where a character would be cut.
pub fn beginning(text: &str, most: usize, unit: TextUnit) -> &str {
    let mut left = most;
    let end = text.char_indices().find(|(_, c)| {
        let taken = match unit {
            TextUnit::Utf16 => c.len_utf16(),
            TextUnit::Bytes => c.len_utf8(),
        };
        match left.checked_sub(taken) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        }
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// `text` in at most `most` units, with `…` where it was cut.
pub fn shortened(text: &str, most: usize, unit: TextUnit) -> String {
    if length(text, unit) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(length(DOTS, unit));
    format!("{}{DOTS}", beginning(text, room, unit).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_has_a_length_in_each_unit() {
        for (text, units, bytes) in
            [("", 0, 0), ("ab", 2, 2), ("é", 1, 2), ("漢", 1, 3), ("🟢", 2, 4), ("👨‍👩‍👧", 8, 18)]
        {
            assert_eq!(length(text, TextUnit::Utf16), units, "{text}");
            assert_eq!(length(text, TextUnit::Bytes), bytes, "{text}");
        }
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(shortened("north quay", 10, TextUnit::Utf16), "north quay");
        assert_eq!(shortened("north quay", 7, TextUnit::Utf16), "north…");
        assert_eq!(shortened("north quay", 7, TextUnit::Bytes), "nort…");
        assert_eq!(beginning("a🟢b", 2, TextUnit::Utf16), "a");
        assert_eq!(beginning("a🟢b", 5, TextUnit::Bytes), "a🟢");
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_it_may_be(text in "(\\PC|🟢|\n){0,40}", most in 3_usize..60, bytes: bool) {
            let unit = if bytes { TextUnit::Bytes } else { TextUnit::Utf16 };
            prop_assert_eq!(length(&text, TextUnit::Utf16), text.encode_utf16().count());
            let cut = shortened(&text, most, unit);
            prop_assert!(length(&cut, unit) <= most, "{:?}", cut);
            prop_assert!(cut == text || cut.ends_with('…'));
            prop_assert!(text.starts_with(beginning(&text, most, unit)));
        }
    }
}
