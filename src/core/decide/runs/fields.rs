//! Texts as they are kept and shown.

use vigie_workflow::run::{Cut, KEPT_TEXT, Output};

use crate::text;

/// What a session said, as a log keeps it: masked, and marked where it is longer than a log takes.
pub(super) fn said(session: &str, words: &str) -> Output {
    let mut text = text::mask(words).text;
    let bytes = text.len();
    let cut = (bytes > KEPT_TEXT).then(|| {
        let end = (0..=KEPT_TEXT).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        let file = format!("the transcript of {session}");
        Cut { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), file }
    });
    Output { text, cut, ..Output::default() }
}
