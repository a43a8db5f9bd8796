//! What is typed for a prompt.

/// Stands before every person's words: whatever they begin with, the program then reads text,
/// neither a command (`/`) nor a shell line (`!`), and the model learns where they come from.
pub(super) const MARK: &str = "[phone] ";

/// A person's words, cleaned and marked; blank when nothing is left of them.
pub(super) fn typed_text(text: &str) -> String {
    let clean = cleaned(text);
    if clean.is_empty() { clean } else { format!("{MARK}{clean}") }
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

/// Without what a terminal would take for keys or the program would stumble over: control and
/// invisible characters (a joiner within an emoji stays), and a backslash at the end, which would
/// make Enter a new line.
fn cleaned(text: &str) -> String {
    const JOINER: char = '\u{200d}';
    let kept: String = text
        .replace("\r\n", "\n")
        .replace('\r', "\n")
        .chars()
        .filter(|&c| matches!(c, '\n' | '\t' | JOINER) || !(c.is_control() || invisible(c)))
        .collect();
    let trimmed = kept.trim();
    if trimmed.ends_with('\\') { format!("{trimmed} ") } else { trimmed.into() }
}

/// Unicode's format characters (category Cf) and what else has no shape.
/// Source: `DerivedGeneralCategory.txt`, Unicode 16.
fn invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
        | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
