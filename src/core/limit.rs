//! When an agent's own error says that its limit is over, and how such a time is told. The words are
//! read only where they came as an error: whatever else an agent says of limits means nothing here.

use chrono::{
    Datelike as _, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone,
};

use crate::Timestamp;

/// Nobody's limit lasts longer (the longest known are weekly): a later time is misread.
const FURTHEST: TimeDelta = TimeDelta::days(8);

/// A time of day that passed so shortly before is that of today: the error was on its way.
const JUST_PASSED: TimeDelta = TimeDelta::minutes(15);

/// Within so long a time of day is plain without its day.
const PLAIN: TimeDelta = TimeDelta::hours(20);

/// So much is read after the word that announces the time.
const READ: usize = 80;

/// What stands before the time.
const BEFORE: [&str; 7] =
    ["resets", "reset", "try again", "retry after", "available again", "retry-after", "until"];

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A time that an error named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    pub at: Timestamp,
    /// IANA name, where the error said in which zone its time is.
    pub zone: Option<String>,
}

/// The time at which the limit is over, as `error` names it. `at`: when it came. `zone`: in which a
/// time is meant that names none; without, it is taken as UTC.
///
/// Read are `resets 3am (Europe/Paris)`, `resets Oct 9 at 5:30pm`, `resets 04:11`, `|1767225600`,
/// `try again in 2h 5m` and RFC 3339. `None`: nothing of that, or more than eight days ahead.
pub fn named_reset(error: &str, at: Timestamp, zone: Option<&str>) -> Option<Reset> {
    let found = epoch(error).map(|time| Reset { at: time, zone: None });
    let found = found.or_else(|| in_words(error, at, zone))?;
    (found.at > at - JUST_PASSED && found.at <= at + FURTHEST).then_some(found)
}

/// Seconds or milliseconds since 1970 behind a bar.
fn epoch(error: &str) -> Option<Timestamp> {
    let digits = error.split('|').skip(1).map(|rest| {
        let rest = rest.trim_start();
        &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()]
    });
    digits.into_iter().find_map(|digits| match digits.len() {
        10 => Timestamp::from_timestamp(digits.parse().ok()?, 0),
        13 => Timestamp::from_timestamp_millis(digits.parse().ok()?),
        _ => None,
    })
}

fn in_words(error: &str, at: Timestamp, zone: Option<&str>) -> Option<Reset> {
    let lower = error.to_ascii_lowercase(); // as long as it was, byte for byte
    BEFORE.iter().find_map(|before| {
        let mut from = 0;
        while let Some(found) = lower[from..].find(before) {
            from += found + before.len();
            if let Some(reset) = behind(&error[from..], at, zone) {
                return Some(reset);
            }
        }
        None
    })
}

/// The time that `rest` begins with.
fn behind(rest: &str, at: Timestamp, default: Option<&str>) -> Option<Reset> {
    let line = rest.lines().next()?;
    let end = line.char_indices().nth(READ).map_or(line.len(), |(end, _)| end);
    let line = &line[..end];
    if let Some(time) = line.split_whitespace().find_map(rfc3339) {
        return Some(Reset { at: time, zone: None });
    }
    let named = line.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let named = named.map(|(zone, _)| zone.trim()).filter(|zone| known(zone).is_some());
    let words = line.split_once('(').map_or(line, |(words, _)| words);
    let words: Vec<String> = words
        .split(|c: char| c.is_whitespace() || c == ',')
        .map(|word| word.trim_matches(|c: char| matches!(c, '.' | ';' | ':' | '·' | '∙' | '"')))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = match words.as_slice() {
        ["in" | "after", rest @ ..] => {
            return Some(Reset { at: at.checked_add_signed(span(rest)?)?, zone: None });
        }
        ["at" | "on" | "around", rest @ ..] | rest => rest,
    };
    if let Some(span) = span(words) {
        return Some(Reset { at: at.checked_add_signed(span)?, zone: None });
    }
    let zone = named.or(default).and_then(known);
    let time = match zone {
        Some(zone) => time_in(words, &zone, at)?,
        None => time_in(words, &chrono::Utc, at)?,
    };
    Some(Reset { at: time, zone: named.map(str::to_owned) })
}

fn rfc3339(word: &str) -> Option<Timestamp> {
    let word = word.trim_end_matches(['.', ',', ')']).trim_start_matches('(');
    chrono::DateTime::parse_from_rfc3339(word).ok().map(|time| time.to_utc())
}

/// `2h 5m`, `3 days 4 hours`, `90 seconds`: at least one number with its unit.
fn span(words: &[&str]) -> Option<TimeDelta> {
    let mut sum = TimeDelta::zero();
    let mut counted = false;
    let mut words = words.iter().copied().filter(|word| *word != "and").peekable();
    while let Some(word) = words.peek().copied() {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = word[..digits].parse::<u32>() else { break };
        words.next();
        let unit = if digits < word.len() { Some(&word[digits..]) } else { words.next() };
        let unit = match unit?.trim_end_matches('s') {
            "d" | "day" => TimeDelta::days(1),
            "h" | "hr" | "hour" => TimeDelta::hours(1),
            "m" | "min" | "minute" => TimeDelta::minutes(1),
            "" | "sec" | "second" => TimeDelta::seconds(1),
            _ => return None,
        };
        sum = sum.checked_add(&unit.checked_mul(i32::try_from(number).ok()?)?)?;
        counted = true;
    }
    counted.then_some(sum)
}

/// A time of day, perhaps with a date before it, as a clock in that zone shows it.
fn time_in<Z: TimeZone>(words: &[&str], zone: &Z, at: Timestamp) -> Option<Timestamp> {
    let today = at.with_timezone(zone).date_naive();
    let (date, rest) = match words {
        [month, day, rest @ ..] if this_month(month).is_some() => {
            let day: u32 = day.trim_end_matches(['t', 'h', 's', 'n', 'd', 'r']).parse().ok()?;
            let (year, rest) = match rest {
                [year, rest @ ..] if year.len() == 4 && year.parse::<i32>().is_ok() => {
                    (year.parse().ok(), rest)
                }
                rest => (None, rest),
            };
            (Some(dated(this_month(month)?, day, year, today)?), rest)
        }
        rest => (None, rest),
    };
    let time = time_of_day(rest.strip_prefix(&["at"]).unwrap_or(rest));
    match (date, time) {
        (Some(date), time) => on_clock(zone, date.and_time(time.unwrap_or_default())),
        (None, Some(time)) => {
            let first = on_clock(zone, today.and_time(time))?;
            if first > at - JUST_PASSED {
                return Some(first);
            }
            on_clock(zone, today.succ_opt()?.and_time(time))
        }
        (None, None) => None,
    }
}

fn this_month(word: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|month| word.starts_with(month))?;
    u32::try_from(at + 1).ok()
}

/// The next day of that date; a day that has just passed is still meant.
fn dated(month: u32, day: u32, year: Option<i32>, today: NaiveDate) -> Option<NaiveDate> {
    if let Some(year) = year {
        return NaiveDate::from_ymd_opt(year, month, day);
    }
    let this = NaiveDate::from_ymd_opt(today.year(), month, day);
    this.filter(|date| *date >= today.pred_opt().unwrap_or(today))
        .or_else(|| NaiveDate::from_ymd_opt(today.year() + 1, month, day))
}

/// `3am`, `3:45 pm`, `15:45`.
fn time_of_day(words: &[&str]) -> Option<NaiveTime> {
    let first = words.first()?;
    let (digits, half) = match first.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => (&first[..at], Some(&first[at..])),
        None => (*first, words.get(1).copied().filter(|word| matches!(*word, "am" | "pm"))),
    };
    let (hour, minute) = digits.split_once(':').map_or((digits, None), |(h, m)| (h, Some(m)));
    let hour: u32 = hour.parse().ok()?;
    // A bare number is no time.
    let minute: u32 = match (minute, half) {
        (Some(minute), _) => minute.get(..2)?.parse().ok()?,
        (None, Some(_)) => 0,
        (None, None) => return None,
    };
    let hour = match half {
        Some("am" | "pm") if !(1..=12).contains(&hour) => return None,
        Some("am") => hour % 12,
        Some("pm") => hour % 12 + 12,
        Some(_) => return None,
        None => hour,
    };
    NaiveTime::from_hms_opt(hour, minute, 0)
}

/// Of a time that occurs twice the later is taken, so that nothing begins too early; one that does not
/// occur is what the clocks are moved on to.
fn on_clock<Z: TimeZone>(zone: &Z, time: NaiveDateTime) -> Option<Timestamp> {
    match zone.from_local_datetime(&time) {
        LocalResult::Single(at) | LocalResult::Ambiguous(_, at) => Some(at.to_utc()),
        LocalResult::None => {
            let later = time.checked_add_signed(TimeDelta::hours(1))?;
            zone.from_local_datetime(&later).latest().map(|at| at.to_utc())
        }
    }
}

fn known(zone: &str) -> Option<impl TimeZone<Offset: std::fmt::Display> + use<>> {
    vigie_workflow::cron::zone(zone).ok()
}

/// "04:11", with its day where that is not plain, as seen from `from`: "Thu 04:11". In that zone, else
/// in UTC, which is said.
pub fn clock(at: Timestamp, zone: Option<&str>, from: Timestamp) -> String {
    let form = if (at - from).abs() < PLAIN { "%H:%M" } else { "%a %H:%M" };
    match zone.and_then(known) {
        Some(zone) => at.with_timezone(&zone).format(form).to_string(),
        None => format!("{} UTC", at.format(form)),
    }
}

/// The same with the zone's name, where it is known.
pub fn clock_and_zone(at: Timestamp, zone: Option<&str>, from: Timestamp) -> String {
    let time = clock(at, zone, from);
    match zone.filter(|zone| known(zone).is_some()) {
        Some(zone) => format!("{time} ({zone})"),
        None => time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARIS: Option<&str> = Some("Europe/Paris");

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn reset(error: &str, at: &str, zone: Option<&str>) -> Option<String> {
        let found = named_reset(error, time(at), zone)?;
        Some(found.at.format("%Y-%m-%dT%H:%MZ").to_string())
    }

    #[test]
    fn every_form_in_which_agents_name_the_end_of_a_limit_is_read() {
        let at = "2026-01-05T22:00:00Z"; // a Monday, 23:00 in Paris
        for (error, expected) in [
            ("You've hit your session limit · resets 3am (Europe/Paris)", "2026-01-06T02:00Z"),
            ("You've hit your limit · resets 4:11am (Europe/Paris)", "2026-01-06T03:11Z"),
            ("5-hour limit reached ∙ resets 11:30pm (Europe/Paris)", "2026-01-05T22:30Z"),
            ("usage limit reached, resets 04:11", "2026-01-06T03:11Z"),
            ("Weekly limit reached ∙ resets Jan 9, 5pm (Europe/Paris)", "2026-01-09T16:00Z"),
            ("Weekly limit · resets Jan 9 at 12:30am (UTC)", "2026-01-09T00:30Z"),
            ("limit · resets Jan 9, 2026, 12pm (UTC)", "2026-01-09T12:00Z"),
            ("Claude AI usage limit reached|1767668400", "2026-01-06T03:00Z"),
            ("usage limit reached|1767668400000", "2026-01-06T03:00Z"),
            ("Try again in 3 hours 11 minutes.", "2026-01-06T01:11Z"),
            ("Please try again in 2h5m or 2 days", "none"),
            ("try again in 2h 5m", "2026-01-06T00:05Z"),
            ("retry after 90 seconds", "2026-01-05T22:01Z"),
            ("quota exceeded, try again at 2026-01-06T01:00:00Z.", "2026-01-06T01:00Z"),
            ("The limit is reset daily; resets 1am (America/New_York)", "2026-01-06T06:00Z"),
            ("resets 23:59", "2026-01-05T22:59Z"),
            // Nothing that could be meant.
            ("Number of requests has exceeded your limit", "none"),
            ("resets 25:00", "none"),
            ("resets 13pm (Europe/Paris)", "none"),
            ("resets soon", "none"),
            ("resets 7", "none"),
            ("usage limit reached|17676684", "none"),
            ("usage limit reached|1799999999", "none"), // a year ahead
            ("resets Feb 30, 5pm", "none"),
            ("resets Mar 9, 5pm", "none"),             // two months
            ("resets Jan 3, 2026, 9am (UTC)", "none"), // over for days
            ("try again in 99999999999999 days", "none"),
            ("try again in 999999999 days", "none"),
        ] {
            let found = reset(error, at, PARIS);
            assert_eq!(found.as_deref().unwrap_or("none"), expected, "{error}");
        }
    }

    #[test]
    fn a_time_of_day_is_the_next_one_and_the_zone_of_the_error_wins() {
        let named = named_reset("resets 3am (Asia/Tokyo)", time("2026-01-05T22:00:00Z"), PARIS);
        let named = named.unwrap();
        assert_eq!(
            (named.at, named.zone.as_deref()),
            (time("2026-01-06T18:00:00Z"), Some("Asia/Tokyo"))
        );
        // It came a moment after the time it names: that time is meant, not tomorrow's.
        let late = named_reset("resets 3am", time("2026-01-06T03:00:40Z"), None).unwrap();
        assert_eq!(late.at, time("2026-01-06T03:00:00Z"));
        assert_eq!(reset("resets 3am", "2026-01-06T03:20:00Z", None).unwrap(), "2026-01-07T03:00Z");
        assert_eq!(
            reset("resets Jan 2, 1am", "2026-12-30T09:00:00Z", None).unwrap(),
            "2027-01-02T01:00Z"
        );
    }

    #[test]
    fn where_clocks_are_moved_nothing_begins_too_early() {
        // Paris, 29 March 2026: 02:30 does not occur.
        let gap = reset("resets 2:30am (Europe/Paris)", "2026-03-28T23:00:00Z", None);
        assert_eq!(gap.unwrap(), "2026-03-29T01:30Z");
        // 25 October 2026: 02:30 occurs twice.
        let twice = reset("resets 2:30am (Europe/Paris)", "2026-10-24T22:30:00Z", None);
        assert_eq!(twice.unwrap(), "2026-10-25T01:30Z");
        let after = reset("resets 9am (Europe/Paris)", "2026-03-28T20:00:00Z", None);
        assert_eq!(after.unwrap(), "2026-03-29T07:00Z");
    }

    #[test]
    fn a_time_is_told_in_the_zone_of_whoever_reads_it() {
        let now = time("2026-01-05T22:00:00Z");
        let at = time("2026-01-06T03:11:00Z");
        assert_eq!(clock_and_zone(at, PARIS, now), "04:11 (Europe/Paris)");
        assert_eq!(clock(at, PARIS, time("2026-01-04T23:30:00Z")), "Tue 04:11");
        assert_eq!(clock(at, None, now), "03:11 UTC");
        assert_eq!(clock_and_zone(at, Some("Nowhere/Land"), at), "03:11 UTC");
    }

    proptest! {
        #[test]
        fn whatever_an_error_says_is_read_within_bounds(error in "(resets |try again in |\\|)?\\PC{0,60}") {
            let at = time("2026-01-05T22:00:00Z");
            if let Some(found) = named_reset(&error, at, PARIS) {
                prop_assert!(found.at >= at && found.at <= at + FURTHEST);
            }
        }
    }
}
