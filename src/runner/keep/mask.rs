//! Takes the values of secrets out of whatever is kept: as they are, and as programs write them.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::{collections::BTreeSet, fmt::Write as _};

/// What stands in the place of a value.
pub(super) const MASK: &str = "***";

/// A shorter value would take half of every log with it.
pub(crate) const SHORTEST: usize = 8;

/// The forms of some values. Half a value, or one that a program spells out or counts back, passes:
/// nothing can know it.
pub(super) struct Mask {
    forms: Vec<Vec<u8>>,
    finder: Option<AhoCorasick>,
    longest: usize,
}

impl Mask {
    pub(super) fn new(secrets: &[String]) -> Self {
        let forms: BTreeSet<Vec<u8>> = secrets.iter().flat_map(|secret| forms(secret)).collect();
        let forms: Vec<Vec<u8>> = forms.into_iter().collect();
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        // It fails for more bytes than a task can have.
        let finder = finder.ok().filter(|_| !forms.is_empty());
        let longest = forms.iter().map(Vec::len).max().unwrap_or_default();
        Self { forms, finder, longest }
    }

    /// A whole text.
    pub(super) fn text(&self, text: &str) -> String {
        let Some(finder) = &self.finder else { return text.to_owned() };
        let masks = vec![MASK; self.forms.len()];
        finder.replace_all(text, &masks)
    }

    pub(super) fn json(&self, value: &mut serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(entries) => {
                let masked = std::mem::take(entries).into_iter().map(|(key, mut value)| {
                    self.json(&mut value);
                    (self.text(&key), value)
                });
                *entries = masked.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn stream(&self) -> Stream<'_> {
        Stream { mask: self, held: Vec::new() }
    }

    /// Where the longest end of `bytes` begins that a form could go on from.
    fn open_end(&self, bytes: &[u8]) -> usize {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let goes_on = |at: &usize| self.forms.iter().any(|form| form.starts_with(&bytes[*at..]));
        (first..bytes.len()).find(goes_on).unwrap_or(bytes.len())
    }
}

/// Masks what comes in pieces, wherever the pieces are cut.
pub(super) struct Stream<'a> {
    mask: &'a Mask,
    /// What may be the beginning of a value.
    held: Vec<u8>,
}

impl Stream<'_> {
    /// What of it can go on, into `out`.
    pub(super) fn take(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let Some(finder) = &self.mask.finder else { return out.extend_from_slice(piece) };
        self.held.extend_from_slice(piece);
        let open = self.mask.open_end(&self.held);
        let mut done = 0;
        for found in finder.find_iter(&self.held) {
            if found.start() >= open {
                break; // it may become a longer one
            }
            out.extend_from_slice(&self.held[done..found.start()]);
            out.extend_from_slice(MASK.as_bytes());
            done = found.end();
        }
        let end = open.max(done);
        out.extend_from_slice(&self.held[done..end]);
        self.held.drain(..end);
    }

    /// What is left when nothing more comes.
    pub(super) fn end(self, out: &mut Vec<u8>) {
        match &self.mask.finder {
            Some(finder) => {
                let masks = vec![MASK; self.mask.forms.len()];
                out.extend(finder.replace_all_bytes(&self.held, &masks));
            }
            None => out.extend(self.held),
        }
    }
}

/// A value as it is, each long line of it, and what they look like in addresses, in JSON, in base64
/// (whatever stands before and behind it there) and in hex.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let trimmed = secret.trim();
    let lines = trimmed.lines().map(str::trim).filter(|line| line.len() >= SHORTEST);
    let texts: BTreeSet<String> =
        [secret.to_owned(), trimmed.to_owned(), trimmed.replace('\n', "\r\n")]
            .into_iter()
            .chain(lines.map(str::to_owned))
            .filter(|text| text.len() >= SHORTEST)
            .collect();
    texts.iter().flat_map(|text| spelled(text)).map(String::into_bytes).collect()
}

fn spelled(text: &str) -> Vec<String> {
    let json = serde_json::Value::from(text).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let ascii = escaped_json(text);
    // JSON that is a text in JSON, such as a body that is quoted in an answer.
    let twice = [escaped_json(&json), json.replace('\\', "\\\\").replace('"', "\\\"")];
    let mut all = vec![text.to_owned(), json.replace('/', "\\/"), json, ascii];
    all.extend(twice);
    // RFC 3986 without and with paths, `encodeURIComponent`, `encodeURI`, forms.
    for kept in ["-_.~", "-_.~/", "-_.!~*'()", "-_.!~*'();/?:@&=+$,#", "-_.*"] {
        let upper = in_address(text, kept);
        all.push(upper.replace("%20", "+"));
        all.push(lower_escapes(&upper));
        all.push(upper);
    }
    for start in 0..3 {
        let inner = base64_inside(text.as_bytes(), start);
        all.push(inner.replace('+', "-").replace('/', "_"));
        all.push(inner);
    }
    let hex: String = text.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    all.push(hex.to_uppercase());
    all.push(hex);
    // A form that is too short is no secret's any more.
    all.retain(|form| form.len() >= SHORTEST);
    all
}

/// With every character that is none of ASCII as `\u…`.
fn escaped_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let mut escaped = String::new();
    for letter in quoted[1..quoted.len() - 1].chars() {
        if letter.is_ascii() {
            escaped.push(letter);
        } else {
            for half in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{half:04x}");
            }
        }
    }
    escaped
}

fn in_address(text: &str, kept: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

fn lower_escapes(upper: &str) -> String {
    let mut out = String::new();
    let mut letters = upper.chars();
    while let Some(letter) = letters.next() {
        out.push(letter);
        if letter == '%' {
            out.extend(letters.by_ref().take(2).map(|digit| digit.to_ascii_lowercase()));
        }
    }
    out
}

/// The letters of base64 that depend on `bytes` alone when `before` others (0 to 2) stand ahead.
fn base64_inside(bytes: &[u8], before: usize) -> String {
    let padded = [&[0; 2][..before], bytes].concat();
    let encoded = STANDARD.encode(&padded);
    let first = (before * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    encoded[first..last].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "s3cr3t/with+signs=and \"quotes\" é1234567890";

    fn masked(text: &str) -> String {
        Mask::new(&[SECRET.into()]).text(text)
    }

    #[test]
    fn every_spelling_is_masked() {
        let url = in_address(SECRET, "-_.~");
        let hex = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let spellings = [
            SECRET.to_owned(),
            url.clone(),
            url.replace("%20", "+"),
            lower_escapes(&url),
            serde_json::to_string(SECRET).unwrap(),
            serde_json::to_string(&serde_json::to_string(SECRET).unwrap()).unwrap(),
            escaped_json(SECRET),
            hex,
        ];
        for spelling in spellings {
            let text = masked(&format!("before {spelling} after"));
            assert!(text.contains("before ") && text.contains("***"), "{spelling}: {text}");
            assert!(!text.contains("s3cr3t") && !text.contains("12345"), "{text}");
        }
    }

    #[test]
    fn base64_is_masked_whatever_stands_around_it() {
        for (before, after) in [("", ""), ("u", ":"), ("us", "::"), ("user:", "!"), ("user", "")] {
            let encoded = STANDARD.encode(format!("{before}{SECRET}{after}"));
            let text = masked(&encoded);
            assert!(text.contains("***"), "{before}: {text}");
            assert!(text.len() < 3 + 4 * 4, "{before}: {text}");
        }
    }

    #[test]
    fn a_value_of_several_lines_is_masked_line_by_line() {
        let key = "-----BEGIN-----\nabcdefghijkl\nmnopqrstuvwx\n-----END-----\n".to_owned();
        let mask = Mask::new(&[key]);
        assert_eq!(mask.text("> abcdefghijkl\n> mnopqrstuvwx"), "> ***\n> ***");
        assert_eq!(mask.text("abcdefghijkl\r\nmnopqrstuvwx"), "***\r\n***");
    }

    #[test]
    fn json_is_masked_in_its_keys_too() {
        let mask = Mask::new(&["hunter2-hunter2".into()]);
        let mut value = serde_json::json!({"a": ["hunter2-hunter2"], "hunter2-hunter2": 1});
        mask.json(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["***"], "***": 1}));
    }

    proptest! {
        #[test]
        fn pieces_are_masked_as_the_whole(
            parts in proptest::collection::vec(prop_oneof![
                Just("abcdefghij".to_owned()), Just("abcdefgh".to_owned()), Just("efghijklmnop".to_owned()),
                "[a-p]{0,12}", Just("YWJjZGVmZ2hpag==".to_owned()),
            ], 0..12),
            cuts in proptest::collection::vec(1_usize..9, 0..60),
        ) {
            let mask = Mask::new(&["abcdefghij".into(), "efghijklmnop".into()]);
            let whole = parts.concat();
            let (mut stream, mut out, mut rest) = (mask.stream(), Vec::new(), whole.as_bytes());
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                stream.take(piece, &mut out);
                rest = more;
            }
            stream.take(rest, &mut out);
            stream.end(&mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), mask.text(&whole));
        }

        #[test]
        fn nothing_is_lost_without_secrets(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mask = Mask::new(&[]);
            let (mut stream, mut out) = (mask.stream(), Vec::new());
            stream.take(&bytes, &mut out);
            stream.end(&mut out);
            prop_assert_eq!(out, bytes);
        }
    }
}
