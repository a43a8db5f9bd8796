//! JSON as programs really write it.

use serde::de::DeserializeOwned;
use serde_json::Error;

/// Reads JSON of an agent. JavaScript writes half of a surrogate pair as an escape of its own, and
/// what tools print need not be UTF-8: strict parsers refuse both, and a request nobody could read
/// would never reach a person. Such halves and bytes become U+FFFD; nothing else is forgiven.
///
/// # Errors
/// When it is no JSON, or not of that shape.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).or_else(|strict| {
        let mended = whole_characters(&String::from_utf8_lossy(bytes));
        serde_json::from_str(&mended).map_err(|_| strict)
    })
}

/// Escapes of halves that have no other half are written as the escape of U+FFFD.
fn whole_characters(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (escaped_unit(rest), rest.get(6..).and_then(escaped_unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str("\\uFFFD");
                rest = &rest[6..];
                continue;
            }
            // Two, so that an escaped backslash begins no escape.
            (Some(_) | None, _) => rest.chars().take(2).map(char::len_utf8).sum(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The UTF-16 unit of a `\uXXXX` that `text` begins with.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::fmt::Write as _;

    #[test]
    fn halves_of_characters_are_shown_as_lost_and_whole_ones_stay() {
        for (json, text) in [
            (&br#""ok \uD83D end""#[..], "ok \u{FFFD} end"),
            (br#""ok \uDE00\uD83D""#, "ok \u{FFFD}\u{FFFD}"),
            (br#""\uD83D\uDE00 \uD83D\uD83D\uDE00""#, "😀 \u{FFFD}😀"),
            (br#""\\uD83D \uD83D""#, "\\uD83D \u{FFFD}"),
            (b"\"cut \xF0\x9F off \xC3\"", "cut \u{FFFD} off \u{FFFD}"),
            (br#""plain \u00e9""#, "plain é"),
        ] {
            assert_eq!(read::<Value>(json).unwrap(), text);
        }
        for nonsense in [&br#"{"a":"\uD83D""#[..], br#""\uD8""#, b"", b"\\", "\"\\é\"".as_bytes()]
        {
            assert!(read::<Value>(nonsense).is_err());
        }
    }

    proptest! {
        #[test]
        fn whatever_javascript_writes_is_read(units in proptest::collection::vec(any::<u16>(), 0..40)) {
            let json = units.iter().fold(String::new(), |mut json, unit| {
                let _ = write!(json, "\\u{unit:04X}");
                json
            });
            let text: String = read(format!("\"{json}\"").as_bytes()).unwrap();
            prop_assert_eq!(text, String::from_utf16_lossy(&units));
        }

        #[test]
        fn nothing_panics(text in "(\\\\|u|D83D|DE00|\"|[0-9a-f]|\\PC){0,30}") {
            let _ = read::<Value>(text.as_bytes());
        }
    }
}
