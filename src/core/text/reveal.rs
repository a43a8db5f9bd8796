use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};
use unicode_width::UnicodeWidthChar as _;

use super::{
    Rich, Span, Style,
    invisible::is_invisible,
    look_alike::{is_of_a_mixed_up_script, plain_letter},
};

/// A text in which everything can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revealed {
    pub text: Rich,
    /// Characters that nobody would have seen.
    pub hidden: usize,
    /// Letters that look like others.
    pub look_alikes: usize,
    /// Marks over and under the letter that was shown last.
    stacked: usize,
}

/// Marks over and under one letter; more than any script writes would paint over the lines around it.
/// Source: Unicode, Stream-Safe Text Format allows 30; what people write has four at most (Tibetan, five).
const MOST_STACKED: usize = 6;

/// Makes visible what a reader would miss: `⟦U+202E⟧` for a character that leaves no mark,
/// `⟦а Cyrillic⟧` for a letter that passes for a Latin one. The brackets stand in the text, so it
/// reads the same where a service has no styles.
///
/// The one variation selector behind an emoji and the joiner between two are seen as part of the
/// picture, so they stay.
///
/// A letter is odd when its word is otherwise ASCII, or when the whole word would pass for ASCII
/// and nothing else in the text is of that script: Russian prose stays as it is.
pub fn reveal(text: &str) -> Revealed {
    let prose = text.chars().any(|c| is_of_a_mixed_up_script(c) && plain_letter(c).is_none());
    let mut shown = Revealed::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let length = if word == 0 { first.len_utf8() } else { word };
        let (piece, after) = rest.split_at(length);
        if word > 0 {
            shown.word(piece, prose);
        } else {
            let before = text[..text.len() - rest.len()].chars().next_back();
            shown.mark(first, before, after.chars().next());
        }
        rest = after;
    }
    shown.end_stack();
    shown
}

/// The same of a text with styles. A link becomes plain text with its address behind it: its words
/// are no promise of where it leads.
pub fn reveal_styled(rich: &Rich) -> Rich {
    let ends = rich.spans.iter().flat_map(|span| [span.range.start, span.range.end]);
    let ends: BTreeSet<usize> = ends.chain([rich.text.len()]).collect();
    let mut shown = Rich::default();
    // Where each end comes to lie: as the end of a span, and as the start of one.
    let mut moved: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut from = 0;
    for at in ends {
        shown.text.push_str(&reveal(&rich.text[from..at]).text.text);
        let end = shown.text.len();
        for span in rich.spans.iter().filter(|span| span.range.end == at) {
            if let Style::Link { url } = &span.style
                && *url != rich.text[span.range.clone()]
            {
                let _ = write!(shown.text, " ({})", reveal(url).text.text); // a String takes it all
            }
        }
        moved.insert(at, (end, shown.text.len()));
        from = at;
    }
    let spans = rich.spans.iter().filter(|span| !matches!(span.style, Style::Link { .. }));
    shown.spans = spans
        .map(|span| Span {
            range: moved[&span.range.start].1..moved[&span.range.end].0,
            style: span.style.clone(),
        })
        .collect();
    shown
}

impl Revealed {
    /// What several texts held together.
    pub(crate) fn counted(hidden: usize, look_alikes: usize) -> Self {
        Self { hidden, look_alikes, ..Self::default() }
    }

    fn mark(&mut self, c: char, before: Option<char>, after: Option<char>) {
        if is_invisible(c) && !shapes_an_emoji(c, before, after) {
            self.end_stack();
            self.hidden += 1;
            self.text.push(&format!("⟦U+{:04X}⟧", u32::from(c)), Some(Style::Hidden));
            return;
        }
        let stacks = !is_invisible(c) && !c.is_ascii() && c.width() == Some(0);
        if !stacks {
            self.end_stack();
        }
        self.stacked += usize::from(stacks);
        if self.stacked <= MOST_STACKED {
            self.text.text.push(c);
        }
    }

    /// Says how many marks were left out of the stack that ends here.
    fn end_stack(&mut self) {
        let more = self.stacked.saturating_sub(MOST_STACKED);
        self.stacked = 0;
        if more > 0 {
            self.hidden += more;
            self.text.push(&format!("⟦{more} more marks⟧"), Some(Style::Hidden));
        }
    }

    fn word(&mut self, word: &str, prose: bool) {
        let ascii = word.chars().any(|c| c.is_ascii_alphabetic());
        let passes = word.chars().all(|c| c.is_ascii() || plain_letter(c).is_some());
        let suspect = !word.is_ascii() && (ascii || (passes && !prose));
        for c in word.chars() {
            match plain_letter(c) {
                Some((_, script)) if suspect => {
                    self.end_stack();
                    self.look_alikes += 1;
                    self.text.push(&format!("⟦{c} {script}⟧"), Some(Style::LookAlike));
                }
                Some(_) | None => self.mark(c, None, None),
            }
        }
    }
}

/// It makes one picture of its neighbours and hides nothing.
fn shapes_an_emoji(c: char, before: Option<char>, after: Option<char>) -> bool {
    let picture = |c: Option<char>| {
        c.is_some_and(|c| matches!(c, '©' | '®' | '\u{203C}'..='\u{2049}' | '\u{2122}'..='\u{2BFF}' | '〰' | '〽' | '㊗' | '㊙' | '\u{1F000}'..='\u{1FAFF}') && c != '\u{2800}')
    };
    match c {
        '\u{FE0F}' if after == Some('\u{20E3}') => {
            before.is_some_and(|c| c.is_ascii_digit() || matches!(c, '#' | '*'))
        }
        '\u{FE0F}' => picture(before),
        '\u{200D}' => (picture(before) || before == Some('\u{FE0F}')) && picture(after),
        _ => false,
    }
}

/// What a card says about a text that held something back; `None` when it held nothing.
pub fn warning(revealed: &Revealed) -> Option<String> {
    let count = |n: usize, what: &str| match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    };
    let said: Vec<String> = [
        count(revealed.hidden, "hidden character"),
        count(revealed.look_alikes, "look-alike letter"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!said.is_empty()).then(|| format!("{}. It runs exactly as shown.", said.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> (String, usize, usize) {
        let revealed = reveal(text);
        (revealed.text.text, revealed.hidden, revealed.look_alikes)
    }

    #[test]
    fn a_link_says_where_it_leads() {
        let source = "**see [`quay.example`](https://mole.example/x)** \u{202E}now <https://a.example>&#x202e;";
        let shown = reveal_styled(&crate::text::markdown(source));
        assert_eq!(
            shown.text,
            "see quay.example (https://mole.example/x) ⟦U+202E⟧now https://a.example⟦U+202E⟧"
        );
        assert_eq!(shown.check(), Ok(()));
        assert!(shown.spans.iter().all(|span| !matches!(span.style, Style::Link { .. })));
        let bold = shown.spans.iter().find(|span| span.style == Style::Bold).unwrap();
        assert!(shown.text[bold.range.clone()].starts_with("see quay.example"));
    }

    #[test]
    fn hidden_and_odd_letters_are_said() {
        let revealed = reveal("rm \u{202E}аrchive/");
        assert_eq!(revealed.text.text, "rm ⟦U+202E⟧⟦а Cyrillic⟧rchive/");
        assert_eq!(revealed.text.spans.len(), 2);
        assert_eq!(
            warning(&revealed).as_deref(),
            Some("1 hidden character, 1 look-alike letter. It runs exactly as shown.")
        );
        assert_eq!(warning(&reveal("ls -l")), None);
        let three = reveal("a\u{200B}\u{2060}\u{FE0F}");
        assert_eq!(
            warning(&three).as_deref(),
            Some("3 hidden characters. It runs exactly as shown.")
        );
    }

    #[test]
    fn marks_that_pile_up_are_counted_and_not_painted_over_other_lines() {
        let piled = format!("a{}b", "\u{0301}".repeat(206));
        let a = format!("a{}⟦200 more marks⟧b", "\u{0301}".repeat(6));
        assert_eq!(shown(&piled), (a.clone(), 200, 0));
        assert_eq!(shown(&piled[..piled.len() - 1]).0, a[..a.len() - 1]);
        for text in ["Vie\u{0302}\u{0323}t Nam", "\u{1112}\u{1161}\u{11AB}", "בְּרֵאשִׁית", "ที่นี่"]
        {
            assert_eq!(shown(text), (text.into(), 0, 0), "as it is written");
        }
    }

    #[test]
    fn every_kind_of_invisible_character_is_shown() {
        for c in "\r\u{0}\u{7f}\u{85}\u{ad}\u{115F}\u{1160}\u{3164}\u{FFA0}\u{2800}\u{FE0F}\u{E0101}\u{E0041}\u{2066}\u{61C}\u{FEFF}\u{2028}".chars() {
            assert_eq!(shown(&c.to_string()), (format!("⟦U+{:04X}⟧", u32::from(c)), 1, 0));
        }
        for text in ["⚠\u{FE0F} ❤\u{FE0F}", "1\u{FE0F}\u{20E3}", "👩\u{200D}💻 🏳\u{FE0F}\u{200D}🌈"]
        {
            assert_eq!(shown(text), (text.into(), 0, 0), "a picture");
        }
        assert_eq!(shown("⚠\u{FE0F}\u{FE0F}a\u{200D}b").1, 2, "more than the picture takes");
        assert_eq!(shown("a\n\tb c\u{A0}!"), ("a\n\tb c\u{A0}!".into(), 0, 0));
    }

    #[test]
    fn other_languages_are_left_alone() {
        for text in ["привет, как дела, сор", "γειά σου", "naïve café", "漢字 kanji", "5 µs, Δt"]
        {
            assert_eq!(shown(text).2, 0, "{text}");
        }
        assert_eq!(shown("сору a b").2, 4, "a command of nothing but Cyrillic letters");
        assert_eq!(shown("git push orіgin").0, "git push or⟦і Cyrillic⟧gin");
        assert_eq!(shown("РD-285").2, 1);
    }

    proptest! {
        #[test]
        fn nothing_stays_hidden(text in "(\\PC|\\p{Cf}|\\p{Cc}|[a-zа-я]){0,60}") {
            let revealed = reveal(&text);
            prop_assert_eq!(revealed.text.check(), Ok(()));
            let hides = |c| is_invisible(c) && c != '\u{FE0F}' && c != '\u{200D}';
            prop_assert!(!revealed.text.text.chars().any(hides));
            prop_assert_eq!(revealed.text.spans.len(), revealed.hidden + revealed.look_alikes);
        }
    }
}
