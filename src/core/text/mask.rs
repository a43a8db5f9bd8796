use super::secret::{self, Found};

/// No mark of Markdown, so that it shows as it is in whatever an agent writes around it.
pub(super) const MASK: &str = "•••";

/// A text from which secrets are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    pub text: String,
    /// How many secrets are gone.
    pub masked: usize,
}

/// Takes secrets out of what an agent says, before it leaves the machine: keys of well-known
/// services, bearer tokens, passwords in addresses, private keys, and values that look random after
/// a name such as `PASSWORD=`. A recognisable start stays, the rest becomes `•••`. Git hashes, UUIDs
/// and ordinary words stay. One pass, forward only; masking again changes nothing.
pub fn mask(text: &str) -> Masked {
    let mut out = String::with_capacity(text.len());
    let mut masked = 0;
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        if let Some(Found { start, end }) = secret::at(text, at) {
            out.push_str(&text[from..start]);
            out.push_str(MASK);
            masked += 1;
            from = end;
            at = end;
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    out.push_str(&text[from..]);
    Masked { text: out, masked }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn masking_twice_is_masking_once(text in "(PASSWORD=|token: |sk-ant-|://a:|@|[a-zA-Z0-9]{1,24}|\"| |\n|-----BEGIN PRIVATE KEY-----|eyJ|\\.|\\PC){0,30}") {
            let once = mask(&text);
            prop_assert_eq!(&mask(&once.text).text, &once.text);
        }
    }

    #[test]
    fn a_long_text_of_beginnings_takes_no_time() {
        for piece in
            ["token ", "://", "sk-", "eyJ", "-----BEGIN ", "authorization ", "1234567890:", "a.b"]
        {
            let text = piece.repeat(10_000);
            assert!(mask(&text).text.starts_with(piece.trim_end()), "{piece}");
        }
    }
}
