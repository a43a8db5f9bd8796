use unicode_segmentation::UnicodeSegmentation;

use super::{Rich, Span};
use crate::bridge::{Limits, TextUnit};

/// Cuts `text` into parts of at most `limits.text` units and `limits.spans` spans, at the end of a
/// paragraph, else of a line, else of a word, else between two grapheme clusters. Joined again, the
/// parts are `text`, byte for byte; a span that is cut goes on in the next part. Empty text has no
/// parts.
///
/// A cluster that is longer than a part is cut between characters, and a single character is never
/// cut: only there can a part be longer than the limit. Where more spans lie on one spot than the
/// limit allows, the innermost are left out.
pub fn split(text: &Rich, limits: &Limits) -> Vec<Rich> {
    parts(text, limits).collect()
}

/// The parts of [`split`], each cut when it is asked for.
pub(super) fn parts(text: &Rich, limits: &Limits) -> impl Iterator<Item = Rich> {
    let mut from = 0;
    std::iter::from_fn(move || {
        if from >= text.text.len() {
            return None;
        }
        let to = from + cut(&text.text[from..], &text.spans, from, limits);
        let mut part = text.slice(from..to);
        part.spans.truncate(limits.spans);
        from = to;
        Some(part)
    })
}

/// How much room `text` takes in a message.
pub(super) fn units(text: &str, unit: TextUnit) -> usize {
    match unit {
        TextUnit::Utf16 => text.encode_utf16().count(),
        TextUnit::Bytes => text.len(),
    }
}

/// A place where a part may end: bytes from its start, and how full the part is there.
#[derive(Clone, Copy, Default)]
struct Place {
    at: usize,
    used: usize,
}

/// The length of the next part of `rest`, in bytes, at least one character.
fn cut(rest: &str, spans: &[Span], from: usize, limits: &Limits) -> usize {
    let mut styled = Styled::new(spans, from);
    let (mut here, mut paragraph, mut line, mut word) =
        (Place::default(), Place::default(), Place::default(), Place::default());
    let mut after_feed = false;
    for cluster in rest.graphemes(true) {
        let next =
            Place { at: here.at + cluster.len(), used: here.used + units(cluster, limits.unit) };
        let full = next.used > limits.text || styled.until(from + next.at) > limits.spans;
        if full && here.at == 0 {
            return inside(cluster, limits);
        }
        if full {
            // A place in the first quarter would make a part too small to be worth a message.
            let fair = |place: &Place| place.used * 4 >= here.used;
            return [paragraph, line, word].into_iter().find(fair).unwrap_or(here).at;
        }
        here = next;
        let feed = cluster == "\n" || cluster == "\r\n";
        if feed && after_feed {
            paragraph = here;
        }
        if feed {
            line = here;
        }
        if cluster.chars().all(char::is_whitespace) {
            word = here;
        }
        after_feed = feed;
    }
    rest.len()
}

/// As many characters of a cluster as fit, at least one.
fn inside(cluster: &str, limits: &Limits) -> usize {
    let mut used = 0;
    let mut at = 0;
    for c in cluster.chars() {
        let more = match limits.unit {
            TextUnit::Utf16 => c.len_utf16(),
            TextUnit::Bytes => c.len_utf8(),
        };
        if at > 0 && used + more > limits.text {
            break;
        }
        used += more;
        at += c.len_utf8();
    }
    at
}

/// Counts the spans a part would hold.
struct Styled<'a> {
    ahead: std::slice::Iter<'a, Span>,
    count: usize,
}

impl<'a> Styled<'a> {
    fn new(spans: &'a [Span], from: usize) -> Self {
        let before = spans.partition_point(|span| span.range.start < from);
        let count = spans[..before].iter().filter(|span| span.range.end > from).count();
        Self { ahead: spans[before..].iter(), count }
    }

    /// The spans that begin before `end`, with those that came in from earlier parts.
    fn until(&mut self, end: usize) -> usize {
        while self.ahead.as_slice().first().is_some_and(|span| span.range.start < end) {
            self.ahead.next();
            self.count += 1;
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;
    use proptest::prelude::*;

    fn limits(unit: TextUnit, text: usize, spans: usize) -> Limits {
        Limits::of_text(unit, text, spans, 3)
    }

    fn cut_up(text: &str, limit: usize) -> Vec<String> {
        let parts = split(&Rich::plain(text), &limits(TextUnit::Utf16, limit, 100));
        parts.into_iter().map(|part| part.text).collect()
    }

    #[test]
    fn the_best_place_wins() {
        assert_eq!(cut_up("one two\n\nthree\nfour", 15), ["one two\n\n", "three\nfour"]);
        assert_eq!(cut_up("one two\nthree four", 15), ["one two\n", "three four"]);
        assert_eq!(cut_up("one two three", 9), ["one two ", "three"]);
        assert_eq!(cut_up("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(
            cut_up("a\n\nbcdefghijklmno", 13),
            ["a\n\nbcdefghijk", "lmno"],
            "no part of a letter"
        );
        assert!(cut_up("", 9).is_empty());
    }

    #[test]
    fn emoji_count_twice_and_stay_whole() {
        let text = "🟢".repeat(2_500);
        let parts = cut_up(&text, 4096);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].encode_utf16().count(), 4096);
        assert_eq!(cut_up("a👨‍👩‍👧b", 9), ["a👨‍👩‍👧", "b"]);
        assert_eq!(cut_up("a👨‍👩‍👧b", 8), ["a", "👨‍👩‍👧", "b"]);
        assert_eq!(cut_up("👨‍👩‍👧", 3), ["👨‍", "👩‍", "👧"], "longer than a part");
        assert_eq!(cut_up("🟢🟢", 1), ["🟢", "🟢"], "no room at all");
    }

    #[test]
    fn a_block_goes_on_in_the_next_part() {
        let mut text = Rich::plain("so:\n");
        let style = Style::Pre { language: Some("sh".into()) };
        text.push(&"line\n".repeat(20), Some(style.clone()));
        text.push("end", None);
        let parts = split(&text, &limits(TextUnit::Bytes, 50, 100));
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.spans.len() == 1 && part.spans[0].style == style));
        assert_eq!(parts[2].spans[0].range, 0..5);
    }

    #[test]
    fn too_many_spans_make_more_parts() {
        let mut text = Rich::default();
        for _ in 0..10 {
            text.push("a", Some(Style::Bold));
            text.push(" ", None);
        }
        let parts = split(&text, &limits(TextUnit::Bytes, 4096, 3));
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|part| part.spans.len() <= 3));
    }

    fn a_rich() -> impl Strategy<Value = Rich> {
        let piece = ("([a-c ]|\n|\\PC|👨‍👩‍👧|🇫🇷|e\u{301}|漢){0,12}", 0_u8..4);
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| {
            let mut rich = Rich::default();
            for (text, kind) in pieces {
                let style = match kind {
                    0 => None,
                    1 => Some(Style::Bold),
                    2 => Some(Style::Code),
                    _ => Some(Style::Pre { language: None }),
                };
                rich.push(&text, style);
            }
            rich.wrapped(Style::Quote)
        })
    }

    proptest! {
        #[test]
        fn parts_fit_and_lose_nothing(text in a_rich(), limit in 1_usize..40, spans in 0_usize..6, bytes in any::<bool>()) {
            let unit = if bytes { TextUnit::Bytes } else { TextUnit::Utf16 };
            prop_assert_eq!(text.check(), Ok(()));
            let parts = split(&text, &limits(unit, limit, spans));
            let joined: String = parts.iter().map(|part| part.text.as_str()).collect();
            prop_assert_eq!(&joined, &text.text);
            let whole: Vec<usize> = text.text.grapheme_indices(true).map(|(at, _)| at).collect();
            let mut at = 0;
            for part in &parts {
                prop_assert_eq!(part.check(), Ok(()));
                prop_assert!(!part.is_empty() && part.spans.len() <= spans);
                prop_assert!(units(&part.text, unit) <= limit || part.text.chars().count() == 1);
                if limit >= 32 {
                    prop_assert!(whole.contains(&at), "inside a cluster at {}", at);
                }
                at += part.text.len();
            }
        }
    }
}
