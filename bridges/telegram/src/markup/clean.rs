//! The characters Telegram drops or replaces, dropped and replaced before it does, so that offsets
//! count the same on both sides.

use std::{iter::Peekable, str::Chars};
use vigie_core::text::{Rich, Span, Style};

use super::links;

/// `rich` as Telegram would leave its characters, only kinder: tabs go to the next stop of `tab`
/// columns instead of becoming one blank, a line separator ends a line instead of vanishing. A link
/// Telegram would refuse is its label and, in brackets, its address.
pub(super) fn clean(rich: &Rich, tab: usize) -> Rich {
    let unlinked = unlinked(&rich.spans);
    let mut by_end: Vec<usize> = (0..rich.spans.len()).collect();
    by_end.sort_by_key(|at| rich.spans[*at].range.end);
    let mut moved: Vec<Span> = rich.spans.clone();
    let (mut starts, mut ends) = (0, 0);
    let mut out = Cleaner::new(rich.text.len(), tab);
    let mut chars = rich.text.chars().peekable();
    let mut at = 0;
    loop {
        let first = ends;
        while by_end.get(ends).is_some_and(|span| rich.spans[*span].range.end <= at) {
            moved[by_end[ends]].range.end = out.text.len();
            ends += 1;
        }
        for span in &by_end[first..ends] {
            if let (true, Style::Link { url }) = (unlinked[*span], &rich.spans[*span].style)
                && !links::says(&rich.text[rich.spans[*span].range.clone()], url)
            {
                out.all(&format!(" ({url})"));
            }
        }
        while rich.spans.get(starts).is_some_and(|span| span.range.start <= at) {
            moved[starts].range.start = out.text.len();
            starts += 1;
        }
        let Some(c) = chars.next() else { break };
        at += c.len_utf8() + out.take(c, &mut chars);
    }
    out.settle();
    let text = out.text;
    let mut index = 0..;
    moved.retain(|span| {
        let at = index.next().unwrap_or_default();
        !unlinked[at] && span.range.start < span.range.end
    });
    Rich { text, spans: moved }
}

/// Which spans are links that cannot be one here: their address is refused, or code lies around them.
fn unlinked(spans: &[Span]) -> Vec<bool> {
    let mut code_until = 0;
    let one = |span: &Span| match &span.style {
        Style::Link { url } => !links::is_taken(url) || span.range.start < code_until,
        Style::Code | Style::Pre { .. } => {
            code_until = code_until.max(span.range.end);
            false
        }
        Style::Bold
        | Style::Italic
        | Style::Strike
        | Style::Quote
        | Style::Heading
        | Style::Hidden
        | Style::LookAlike => false,
    };
    spans.iter().map(one).collect()
}

struct Cleaner {
    text: String,
    tab: usize,
    /// Characters since the line began.
    column: usize,
    /// A direction mark that is written with the next character: of several in a row, only the last
    /// is one.
    mark: Option<char>,
}

impl Cleaner {
    fn new(room: usize, tab: usize) -> Self {
        Self { text: String::with_capacity(room), tab: tab.max(1), column: 0, mark: None }
    }

    fn all(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            self.take(c, &mut chars);
        }
    }

    /// Writes what stands for `c`, and says how many bytes of what follows went with it.
    fn take(&mut self, c: char, rest: &mut Peekable<Chars<'_>>) -> usize {
        match c {
            '\t' => {
                for _ in 0..self.tab - self.column % self.tab {
                    self.push(' ');
                }
            }
            // A line end of its own, unless it is half of one.
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => self.push('\n'),
            _ if c.is_control() => self.push(' '),
            '\u{200E}' | '\u{200F}' => self.mark = Some(c),
            _ if is_dropped(c) => {}
            _ => match ringed(c) {
                Some(ringed) if rest.peek() == Some(&RING) => {
                    rest.next();
                    self.push(ringed);
                    return RING.len_utf8();
                }
                Some(_) | None => self.push(c),
            },
        }
        0
    }

    fn push(&mut self, c: char) {
        self.settle();
        self.text.push(c);
        self.column = if c == '\n' { 0 } else { self.column + 1 };
    }

    fn settle(&mut self) {
        self.text.extend(self.mark.take());
    }
}

const RING: char = '\u{30A}';

/// Embeddings and overrides of direction, and combining lines that reach over their neighbours.
/// Source: `TDLib`, `clean_input_string`.
fn is_dropped(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{333}' | '\u{33F}' | RING)
}

/// The one letter that is `c` with a ring. File names of macOS hold them apart, and Telegram drops
/// the ring.
fn ringed(c: char) -> Option<char> {
    match c {
        'a' => Some('å'),
        'A' => Some('Å'),
        'u' => Some('ů'),
        'U' => Some('Ů'),
        'w' => Some('ẘ'),
        'y' => Some('ẙ'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        clean(&Rich::plain(text), 4).text
    }

    #[test]
    fn characters_become_what_a_phone_shows() {
        for (text, expected) in [
            ("a\tb\n\tc\n12345\td", "a   b\n    c\n12345   d"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("a\u{2028}b\u{2029}c", "a\nb\nc"),
            ("a\u{0}b\u{1b}[1m\u{7f}\u{85}", "a b [1m  "),
            ("rm \u{202E}x\u{202C}", "rm x"),
            ("a\u{30A} U\u{30A} e\u{30A} x\u{333}", "å Ů e x"),
            ("a\u{200E}\u{200F}\u{202A}\u{200E}b\u{200F}", "a\u{200E}b\u{200F}"),
        ] {
            assert_eq!(cleaned(text), expected, "{text:?}");
        }
    }

    #[test]
    fn spans_stay_with_their_words() {
        let mut rich = Rich::plain("\t");
        rich.push("bo\u{202E}ld", Some(Style::Bold));
        rich.push("a", None);
        rich.push("\u{30A}x", Some(Style::Code));
        rich.push("\u{202E}", Some(Style::Italic));
        let rich = clean(&rich, 4);
        assert_eq!(rich.check(), Ok(()));
        let shown: Vec<&str> =
            rich.spans.iter().map(|span| &rich.text[span.range.clone()]).collect();
        assert_eq!((rich.text.as_str(), shown), ("    boldåx", vec!["bold", "x"]));
    }

    #[test]
    fn a_link_nobody_can_follow_says_where_it_leads() {
        let link = |url: &str| Some(Style::Link { url: url.into() });
        let mut rich = Rich::default();
        rich.push("the page", link("http://localhost:3000/x"));
        rich.push(", ", None);
        rich.push("ines@example.org", link("mailto:ines@example.org"));
        rich.push(", ", None);
        rich.push("mail", link("mailto:ines@example.org"));
        rich.push(", ", None);
        rich.push("site", link("https://example.org"));
        let rich = clean(&rich.wrapped(Style::Quote), 4);
        assert_eq!(
            rich.text,
            "the page (http://localhost:3000/x), ines@example.org, mail (ines@example.org), site"
                .replace("(ines", "(mailto:ines")
        );
        assert_eq!(rich.check(), Ok(()));
        assert_eq!(rich.spans.len(), 2);
        assert_eq!(rich.spans[0].range, 0..rich.text.len());
        assert_eq!(rich.spans[1].style, Style::Link { url: "https://example.org".into() });
    }

    #[test]
    fn a_link_inside_code_says_where_it_leads() {
        let mut rich = Rich::default();
        rich.push("x", Some(Style::Link { url: "https://example.org".into() }));
        let rich = clean(&rich.wrapped(Style::Code), 4);
        assert_eq!((rich.text.as_str(), rich.spans.len()), ("x (https://example.org)", 1));
    }
}
