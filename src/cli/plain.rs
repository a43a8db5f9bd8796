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

/// What a terminal printed, without colours and movements: for reading, not for playing.
/// A carriage return begins its line anew, as programs that draw progress mean it.
pub(super) fn without_escapes(raw: &str) -> String {
    let mut text = String::new();
    let mut rest = raw.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => text.truncate(text.rfind('\n').map_or(0, |at| at + 1)),
            '\u{8}' if !text.ends_with('\n') => {
                text.pop();
            }
            '\n' | '\t' => text.push(c),
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    lines(&text)
}

/// Source of the forms: ECMA-48, sections 5.3 (two characters), 5.4 (control sequences) and 5.6
/// (control strings).
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => while rest.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(c) = rest.next() {
                if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some('\u{20}'..='\u{2f}') => {
            while rest.next().is_some_and(|c| ('\u{20}'..='\u{2f}').contains(&c)) {}
        }
        Some(_) | None => {}
    }
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

    #[test]
    fn what_was_printed_reads_without_its_escapes() {
        let raw = "\u{1b}[1;32mok\u{1b}[0m\r\n\u{1b}]0;title\u{7}10%\r20%\r\n\u{1b}]8;;x\u{1b}\\link\u{1b}(Babc\u{8}d";
        assert_eq!(without_escapes(raw), "ok\n20%\nlinkabd");
    }
}
