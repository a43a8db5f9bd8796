//! What is typed for a prompt.

use vigie_core::text::prompt_text;

/// Stands before every person's words: whatever they begin with, the program then reads text,
/// neither a command (`/`) nor a shell line (`!`), and the model learns where they come from.
pub(in crate::agents) const PHONE: &str = "[phone] ";
/// The same before words of other sessions and programs, which are no person's.
pub(in crate::agents) const MAIL: &str = "[mail] ";

/// Before Vigie's own words.
pub(super) const VIGIE: &str = "[vigie] ";

/// Words as they are typed: cleaned, and marked with whose they are; blank when nothing is left.
pub(super) fn typed_text(mark: &str, text: &str) -> String {
    let clean = cleaned(text);
    if clean.is_empty() { clean } else { format!("{mark}{clean}") }
}

/// One of the program's own commands, meant as such.
///
/// # Errors
/// A sentence when it is none: then nothing is typed.
pub(super) fn command_text(text: &str) -> Result<String, String> {
    let clean = cleaned(text);
    let named = clean.strip_prefix('/').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    if named && !clean.contains('\n') {
        Ok(clean)
    } else {
        Err("a command of Claude Code is one line and begins with `/`".into())
    }
}

/// Cleaned, and without blanks around it: a blank in front would not hide a `/`.
fn cleaned(text: &str) -> String {
    prompt_text(prompt_text(text).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_somebody_writes_begins_with_whose_it_is() {
        for mark in [PHONE, MAIL, VIGIE] {
            for text in ["!ls", "/clear", "  /clear", "#x", "@x", "-x", "\u{200b}!ls", "\n!ls"] {
                assert!(typed_text(mark, text).starts_with(mark), "{text:?}");
            }
        }
        assert_eq!(typed_text(PHONE, "\u{200b} \n"), "");
        assert_eq!(typed_text(PHONE, "a\\"), "[phone] a\\ ");
        assert_eq!(typed_text(MAIL, "[phone] yes"), "[mail] [phone] yes");
    }

    #[test]
    fn a_command_is_one_line_with_a_name() {
        assert_eq!(command_text("/model opus").as_deref(), Ok("/model opus"));
        for no in ["model", "/", "/ x", "/a\nb", "!ls", ""] {
            assert!(command_text(no).is_err(), "{no:?}");
        }
    }
}
