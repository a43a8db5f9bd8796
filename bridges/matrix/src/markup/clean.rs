//! The characters that are not for an event, replaced or left out.

use vigie_core::text::{Rich, Span};

/// `rich` with line ends of one sort, without control characters, and without those that turn the
/// direction of what follows them.
pub(super) fn clean(rich: &Rich) -> Rich {
    let mut text = String::with_capacity(rich.text.len());
    let mut moved = vec![0; rich.text.len() + 1];
    let mut chars = rich.text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        moved[at] = text.len();
        let before_line_end = chars.peek().is_some_and(|(_, next)| *next == '\n');
        text.extend(kept(c, before_line_end));
    }
    moved[rich.text.len()] = text.len();
    let place = |span: &Span| {
        let range = moved[span.range.start]..moved[span.range.end];
        (!range.is_empty()).then(|| Span { range, style: span.style.clone() })
    };
    Rich { spans: rich.spans.iter().filter_map(place).collect(), text }
}

/// The same for a text without looks.
pub(super) fn clean_text(text: &str) -> String {
    clean(&Rich::plain(text)).text
}

fn kept(c: char, before_line_end: bool) -> Option<char> {
    match c {
        '\r' if before_line_end => None,
        '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\n' | '\t' => Some(c),
        // Some servers keep events where no NUL can be, and no client shows the others.
        _ if c.is_control() => Some(' '),
        // Embeddings, overrides and isolates.
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => None,
        _ => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::text::Style;

    #[test]
    fn line_ends_are_one_and_controls_are_blanks() {
        assert_eq!(clean_text("a\r\nb\rc\u{2028}d\u{85}e\tf\u{0}g\u{1b}"), "a\nb\nc\nd\ne\tf g ");
    }

    #[test]
    fn nothing_turns_the_words_that_follow() {
        assert_eq!(clean_text("rm \u{202E}txt.exe\u{202C} \u{2067}x\u{2069}"), "rm txt.exe x");
        assert_eq!(clean_text("שלום\u{200F} مرحبا"), "שלום\u{200F} مرحبا");
    }

    #[test]
    fn looks_move_with_their_words() {
        let mut rich = Rich::plain("a\r\n\u{202E}");
        rich.push("\u{202D}", Some(Style::Bold));
        rich.push("b\r\n", Some(Style::Bold));
        let cleaned = clean(&rich);
        assert_eq!(cleaned.text, "a\nb\n");
        assert_eq!(cleaned.spans, [Span { range: 2..4, style: Style::Bold }]);
    }
}
