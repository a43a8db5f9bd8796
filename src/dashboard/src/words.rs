//! How numbers, times and foreign text are written.

use chrono::SecondsFormat;
use maud::{Markup, html};
use vigie_core::{Timestamp, money, text};

/// Text from outside: characters that would not be seen, or that would turn the text around, are
/// written out in boxes.
pub fn said(text: &str) -> Markup {
    crate::rich::inline(&text::reveal(text).text)
}

/// "just now", "4 min", "1 h 07", "3 days".
pub fn age(from: Timestamp, now: Timestamp) -> String {
    let minutes = (now - from).num_minutes().max(0);
    match (minutes, minutes / 60, minutes / (24 * 60)) {
        (0, ..) => "just now".into(),
        (_, 0, _) => format!("{minutes} min"),
        (_, hours, 0) => format!("{hours} h {:02}", minutes % 60),
        (_, _, 1) => "1 day".into(),
        (_, _, days) => format!("{days} days"),
    }
}

/// "just now", "4 min ago".
pub fn since(from: Timestamp, now: Timestamp) -> String {
    let age = age(from, now);
    if age == "just now" { age } else { format!("{age} ago") }
}

/// A moment, which the page's script puts into the reader's own time zone: "09:02".
pub fn clock(at: Timestamp) -> Markup {
    moment(at, "clock", "%H:%M")
}

/// With its day where that is not today.
pub fn day_and_clock(at: Timestamp) -> Markup {
    moment(at, "day", "%Y-%m-%d %H:%M")
}

fn moment(at: Timestamp, form: &str, written: &str) -> Markup {
    html! {
        time datetime=(at.to_rfc3339_opts(SecondsFormat::Millis, true)) data-as=(form) {
            (at.format(written)) " UTC"
        }
    }
}

/// What was spent, as it is written everywhere; nothing is a dash.
pub fn money(micro_usd: u64) -> String {
    match micro_usd {
        0 => "–".into(),
        more => money::spent(more),
    }
}

/// "950", "61 k", "1.2 M".
pub fn tokens(count: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = count.saturating_mul(10) / unit;
        if tenths < 100 && !tenths.is_multiple_of(10) {
            format!("{}.{}", tenths / 10, tenths % 10)
        } else {
            (tenths / 10).to_string()
        }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{} k", tenths(1_000)),
        _ => format!("{} M", tenths(1_000_000)),
    }
}

/// What begins a sentence elsewhere, within one.
pub fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// "1 file", "3 files".
pub fn many(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn ages_are_read_at_a_glance() {
        let now = Timestamp::default() + Duration::from_hours(24 * 100);
        for (seconds, words) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 min"),
            (3599, "59 min"),
            (4020, "1 h 07"),
            (86_400, "1 day"),
            (200_000, "2 days"),
        ] {
            assert_eq!(age(now - Duration::from_secs(seconds), now), words);
        }
        assert_eq!(age(now + Duration::from_secs(90), now), "just now");
    }

    #[test]
    fn money_and_tokens_are_never_shown_as_nothing_when_they_are_something() {
        for (micro, words) in [
            (0, "–"),
            (1, "under $0.01"),
            (10_001, "$0.02"),
            (1_856_000, "$1.86"),
            (112_720_000, "$112.72"),
        ] {
            assert_eq!(money(micro), words);
        }
        for (count, words) in
            [(0, "0"), (999, "999"), (1_200, "1.2 k"), (61_400, "61 k"), (1_240_000, "1.2 M")]
        {
            assert_eq!(tokens(count), words);
        }
    }

    #[test]
    fn foreign_text_is_text() {
        let shown = said("a<b>\u{202e}c").into_string();
        assert!(shown.contains("a&lt;b&gt;") && !shown.contains('\u{202e}'), "{shown}");
    }
}
