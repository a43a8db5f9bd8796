//! Texts as they are kept and shown.

use vigie_workflow::run::KEPT_TEXT;

use crate::text;

/// A text as a log keeps it: masked, and no longer than it takes.
pub(super) fn kept(words: &str) -> String {
    let mut text = text::mask(words).text;
    if text.len() > KEPT_TEXT {
        let end = (0..=KEPT_TEXT).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
    }
    text
}
