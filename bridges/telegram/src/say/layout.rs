//! A post as one message of Telegram: the words that every service says, as text and entities. Pure.

use vigie_bridge_kit::{
    layout::{self, Laid, Service, Where},
    sheet::{NOTHING, Sheet},
};
use vigie_core::{
    Timestamp,
    bridge::{Post, TextUnit},
    text::Rich,
};

use super::{Spot, keys};
use crate::markup::{self, MESSAGE_UNITS, Text, utf16_len};

/// Longest caption of a file, in UTF-16 units. Source: Bot API, `sendDocument`, field `caption`.
const CAPTION_UNITS: usize = 1024;

const TELEGRAM: Service = Service { name: "Telegram", details: keys::details };

/// Lays `post` out for that spot; `now` tells how long something has been going on.
pub(super) fn lay_out(post: &Post, spot: Spot, now: Timestamp) -> Laid {
    let place = if spot.thread.is_some() { Where::Thread } else { Where::Main };
    layout::lay_out(TELEGRAM, post, place, now)
}

/// Vigie's own words in one message.
pub(super) fn plain(words: &str) -> Text {
    message(&layout::plain(TELEGRAM, words))
}

pub(super) fn message(sheet: &Sheet) -> Text {
    fit(sheet, MESSAGE_UNITS)
}

pub(super) fn caption(sheet: &Sheet) -> Text {
    fit(sheet, CAPTION_UNITS)
}

fn fit(sheet: &Sheet, units: usize) -> Text {
    sheet.fit(units, TextUnit::Utf16, |text| text_of(text, units)).unwrap_or_else(nothing)
}

/// The message, if it is one of at most `units`.
fn text_of(text: &Rich, units: usize) -> Option<Text> {
    let mut all = markup::lay_out(text);
    match all.len() {
        0 => Some(nothing()),
        1 => all.pop().filter(|text| utf16_len(&text.text) <= units),
        _ => None,
    }
}

/// Telegram takes no empty message.
fn nothing() -> Text {
    Text { text: NOTHING.into(), entities: Vec::new() }
}

#[cfg(test)]
mod tests;
