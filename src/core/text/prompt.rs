use super::invisible::is_format;

/// What may be typed into an agent's box out of a person's words: line feeds, tabs and what can be
/// seen, and the zero-width joiner and variation selectors that emoji are made of. Control and
/// format characters go, because a terminal obeys the first and hides the second; line feeds at the
/// end go, because Enter is ours to press. A backslash at the end gets a blank after it: before
/// Enter it would mean "new line".
pub fn prompt_text(text: &str) -> String {
    const ZERO_WIDTH_JOINER: char = '\u{200D}';
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut kept: String = lines
        .chars()
        .filter(|c| match c {
            '\n' | '\t' | &ZERO_WIDTH_JOINER => true,
            c => !c.is_control() && !is_format(*c),
        })
        .collect();
    kept.truncate(kept.trim_end_matches('\n').len());
    if kept.ends_with('\\') {
        kept.push(' ');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_text_is_typed() {
        let cases = [
            ("a\r\nb\rc\n\n", "a\nb\nc"),
            ("\u{1b}[201~!rm\u{7}\u{9b}x", "[201~!rmx"),
            ("tab\tstays", "tab\tstays"),
            ("dir\\", "dir\\ "),
            ("dir\\\n", "dir\\ "),
            ("👩\u{200D}💻 ❤\u{FE0F}", "👩\u{200D}💻 ❤\u{FE0F}"),
            ("a\u{202E}b\u{200B}c\u{E0041}\u{FEFF}", "abc"),
            ("\u{200B}\n", ""),
        ];
        for (said, typed) in cases {
            assert_eq!(prompt_text(said), typed, "{said:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_a_terminal_obeys_is_left(text in "(\\PC|\\p{C}|\n|\r|\\\\){0,60}") {
            let typed = prompt_text(&text);
            prop_assert!(!typed.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(!typed.ends_with(['\n', '\\']));
            prop_assert_eq!(prompt_text(&typed), typed);
        }
    }
}
