//! Bytes from the terminal, as keys.

/// Longest paste, in bytes; the rest of a longer one is dropped with it.
const PASTE: usize = 4 << 20;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Text(String),
    Paste(String),
    Enter,
    Escape,
    Backspace,
    /// Ctrl and this letter.
    Ctrl(char),
}

/// Collects bytes until they make keys.
#[derive(Default)]
pub(super) struct Keyboard(Vec<u8>);

impl Keyboard {
    /// Takes bytes in and gives the keys they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.0.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, used)) = first(&self.0) {
            keys.extend(key);
            self.0.drain(..used);
        }
        if self.0.len() > PASTE {
            self.0.clear();
        }
        keys
    }

    /// An Esc waits for what may follow it.
    pub(super) fn holds_escape(&self) -> bool {
        self.0 == b"\x1b"
    }

    /// Nothing followed: it was the key.
    pub(super) fn escape(&mut self) -> Option<Key> {
        self.holds_escape().then(|| {
            self.0.clear();
            Key::Escape
        })
    }
}

/// The first key and its length; `None` when bytes are missing. A sequence that is no key of ours
/// is used up and gives none.
fn first(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    match bytes {
        [] | [0x1b] | [0x1b, b'O'] => None,
        [0x1b, b'[', ..] => sequence(bytes),
        [0x1b, b'O', _, ..] => Some((None, 3)),
        [0x1b, ..] => Some((Some(Key::Escape), 1)),
        [b'\r' | b'\n', ..] => Some((Some(Key::Enter), 1)),
        [0x7f | 8, ..] => Some((Some(Key::Backspace), 1)),
        [b'\t', ..] => Some((Some(Key::Text("    ".into())), 1)),
        [control @ 1..=26, ..] => Some((Some(Key::Ctrl(char::from(control + b'a' - 1))), 1)),
        [0..=31, ..] => Some((None, 1)),
        _ => text(bytes),
    }
}

fn sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    if bytes.starts_with(PASTE_BEGINS) {
        let inside = &bytes[PASTE_BEGINS.len()..];
        let end = inside.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS)?;
        let pasted =
            String::from_utf8_lossy(&inside[..end]).replace("\r\n", "\n").replace('\r', "\n");
        return Some((Some(Key::Paste(pasted)), PASTE_BEGINS.len() + end + PASTE_ENDS.len()));
    }
    // ECMA-48: a control sequence ends with a byte from `@` to `~`.
    let end = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))?;
    Some((None, end + 3))
}

/// As much text as there is, up to the next control byte.
fn text(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let end = bytes.iter().position(|byte| *byte < 32 || *byte == 0x7f).unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => Some((Some(Key::Text(text.into())), end)),
        Err(error) if error.valid_up_to() > 0 => {
            let good = error.valid_up_to();
            Some((Some(Key::Text(String::from_utf8_lossy(&bytes[..good]).into_owned())), good))
        }
        // A character that is still arriving; or none at all.
        Err(error) => error.error_len().map(|bad| (None, bad)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(parts: &[&[u8]]) -> Vec<Key> {
        let mut keyboard = Keyboard::default();
        parts.iter().flat_map(|part| keyboard.take(part)).collect()
    }

    #[test]
    fn a_paste_is_one_key_however_it_arrives() {
        let parts: [&[u8]; 4] = [b"\x1b[2", b"00~a\r\nb\x1b[20", b"1~", b"\r"];
        assert_eq!(keys(&parts), [Key::Paste("a\nb".into()), Key::Enter]);
    }

    #[test]
    fn an_arrow_is_no_escape() {
        assert_eq!(keys(&[b"\x1b[A\x1bOPx"]), [Key::Text("x".into())]);
        let mut keyboard = Keyboard::default();
        assert_eq!(keyboard.take(b"\x1b"), []);
        assert_eq!(keyboard.escape(), Some(Key::Escape));
        assert_eq!(keyboard.escape(), None);
    }

    proptest! {
        #[test]
        fn text_survives_any_cut(text in "\\PC{1,30}", cut in 0_usize..60) {
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            let typed: String = keys(&[&bytes[..cut], &bytes[cut..]])
                .into_iter()
                .filter_map(|key| match key { Key::Text(text) => Some(text), _ => None })
                .collect();
            prop_assert_eq!(typed, text);
        }
    }
}
