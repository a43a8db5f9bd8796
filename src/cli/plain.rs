//! Text of agents on a person's terminal: nothing in it may move the cursor, colour the line or
//! hide what stands there.

use std::fmt::Write;

/// `text` with everything that a terminal would obey, or an eye would miss, made visible.
/// Line feeds stay.
pub(super) fn lines(text: &str) -> String {
    clean(text, |c| c == '\n' || c == '\t')
}

/// The same on one line: line feeds become blanks.
pub(super) fn line(text: &str) -> String {
    clean(&text.replace(['\n', '\t'], " "), |_| false)
}

fn clean(text: &str, keep: fn(char) -> bool) -> String {
    text.chars().fold(String::new(), |mut clean, c| {
        if keep(c) || !(c.is_control() || hidden(c)) {
            clean.push(c);
        } else {
            let _ = write!(clean, "⟦U+{:04X}⟧", u32::from(c)); // a String takes everything
        }
        clean
    })
}

/// Zero-width and direction characters. The zero-width joiner stays: emoji are made of it.
fn hidden(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_of_it() {
        assert_eq!(line("a\u{1b}[2J\nb"), "a⟦U+001B⟧[2J b");
        assert_eq!(lines("safe\u{202e}evil\n"), "safe⟦U+202E⟧evil\n");
        assert_eq!(line("👩\u{200d}👩 é"), "👩\u{200d}👩 é");
    }
}
