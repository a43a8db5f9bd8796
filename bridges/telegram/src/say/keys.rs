//! Buttons: what stands on them, and in which rows.

use vigie_bridge_kit::{layout, measure::shortened};
use vigie_core::bridge::{Button, TextUnit, Weight};

use crate::{
    api::{CallbackData, Key, KeyStyle, Keyboard},
    markup::utf16_len,
};

/// Longest label that shares a row with another, in UTF-16 units: what half the width of a phone
/// shows whole.
const SHORT_LABEL: usize = 16;

/// Longest label, in UTF-16 units: what the whole width shows in one line.
const LONGEST_LABEL: usize = 40;

/// Most buttons of one message. Source: Bot API server, `InlineKeyboardMarkup`.
const MOST: usize = 100;

/// The buttons, at most two a row, long ones alone.
pub(super) fn keyboard(buttons: &[Button]) -> Option<Keyboard> {
    let mut rows: Vec<Vec<Key>> = Vec::new();
    let mut open = false;
    for key in buttons.iter().take(MOST).filter_map(key) {
        let short = utf16_len(&key.text) <= SHORT_LABEL;
        match rows.last_mut() {
            Some(row) if short && open => {
                row.push(key);
                open = false;
            }
            Some(_) | None => {
                rows.push(vec![key]);
                open = short;
            }
        }
    }
    (!rows.is_empty()).then_some(Keyboard { inline_keyboard: rows })
}

/// An action's text always fits, a test of the core says so.
fn key(button: &Button) -> Option<Key> {
    let callback_data = CallbackData::new(button.action.to_string()).ok()?;
    let style = match button.weight {
        Weight::Go => Some(KeyStyle::Success),
        Weight::Risk => Some(KeyStyle::Danger),
        Weight::Plain => None,
    };
    Some(Key { text: label(button), style, callback_data })
}

fn label(button: &Button) -> String {
    let words: Vec<&str> = button.label.split(is_blank).filter(|word| !word.is_empty()).collect();
    let label = words.join(" ");
    if label.is_empty() {
        return "(no words)".into(); // Telegram takes no button without a label
    }
    shortened(&label, LONGEST_LABEL, TextUnit::Utf16)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// What the buttons say beyond their labels and `shown` does not say already.
pub(super) fn details(buttons: &[Button], shown: &str) -> Vec<String> {
    let mut lines = layout::details(buttons, shown, |button| !label(button).ends_with('…'));
    if let Some(more) = buttons.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("{more} more have no button; write the answer."));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::{Timestamp, bridge::Action, id::SessionId};

    fn button(label: &str, weight: Weight) -> Button {
        let session = SessionId::from_parts(Timestamp::default(), 7);
        let action = Action::Resume { session };
        Button { label: label.into(), detail: None, weight, action }
    }

    fn rows(labels: &[&str]) -> Vec<Vec<String>> {
        let buttons: Vec<_> = labels.iter().map(|label| button(label, Weight::Plain)).collect();
        let keyboard = keyboard(&buttons).unwrap_or_default();
        let row = |row: Vec<Key>| row.into_iter().map(|key| key.text).collect();
        keyboard.inline_keyboard.into_iter().map(row).collect()
    }

    #[test]
    fn short_ones_share_a_row_and_long_ones_stand_alone() {
        assert_eq!(
            rows(&["Deny", "Approve", "Approve for this session"]),
            [vec!["Deny", "Approve"], vec!["Approve for this session"]]
        );
        assert_eq!(
            rows(&["Approve, and accept its edits", "Approve", "Keep planning"]),
            [vec!["Approve, and accept its edits"], vec!["Approve", "Keep planning"]]
        );
        assert_eq!(
            rows(&["One", "A label too long for half a row", "Two"]),
            [vec!["One"], vec!["A label too long for half a row"], vec!["Two"]]
        );
        assert_eq!(keyboard(&[]), None);
    }

    #[test]
    fn a_cut_label_is_said_in_the_text() {
        let long = "Keep the old timetable until every operator has confirmed the new one";
        assert_eq!(rows(&[long]), [["Keep the old timetable until every oper…"]]);
        let buttons = [button(long, Weight::Go)];
        assert_eq!(details(&buttons, "Which?"), [long]);
        assert_eq!(details(&buttons, &format!("1. {long}")), Vec::<String>::new());
        assert_eq!(rows(&[" \n", "a\tb\u{7}c"]), [["(no words)", "a b c"]]);
    }

    #[test]
    fn a_detail_is_said_once() {
        let mut sqlite = button("SQLite", Weight::Plain);
        sqlite.detail = Some("one file, no server".into());
        let buttons = [sqlite];
        assert_eq!(details(&buttons, "Which?"), ["SQLite: one file, no server"]);
        let shown = "1. SQLite: one file, no server";
        assert_eq!(details(&buttons, shown), Vec::<String>::new());
    }

    #[test]
    fn weights_are_colours_where_the_app_has_them() {
        let style = |weight| keyboard(&[button("x", weight)]).unwrap().inline_keyboard[0][0].style;
        assert_eq!(style(Weight::Go), Some(KeyStyle::Success));
        assert_eq!(style(Weight::Risk), Some(KeyStyle::Danger));
        assert_eq!(style(Weight::Plain), None);
    }

    #[test]
    fn buttons_beyond_the_most_are_said() {
        let buttons = vec![button("x", Weight::Plain); 103];
        let count: usize = keyboard(&buttons).unwrap().inline_keyboard.iter().map(Vec::len).sum();
        assert_eq!(count, 100);
        assert_eq!(details(&buttons, ""), ["3 more have no button; write the answer."]);
    }
}
