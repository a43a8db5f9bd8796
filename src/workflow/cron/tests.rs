use super::*;
use chrono::{DateTime, FixedOffset, TimeDelta};
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    text.parse::<DateTime<FixedOffset>>().unwrap().to_utc()
}

fn schedule(expr: &str, zone: &str) -> Schedule {
    Schedule::parse(expr, zone).unwrap().0
}

/// The next `count` times, as a clock there shows them.
fn next(expr: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
    let schedule = schedule(expr, zone);
    let times = std::iter::successors(Some(at(from)), |time| schedule.next_after(*time));
    let times = times.skip(1).take(count);
    times.map(|time| time.with_timezone(&schedule.zone()).to_rfc3339()).collect()
}

/// Times in zones whose clocks are moved, in `cases/cron.csv`: `expr;zone;from;times …`, or a word out
/// of the sentence that refuses it.
#[test]
fn the_table_holds() {
    let table = include_str!("../cases/cron.csv");
    let rows: Vec<_> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rows.len() > 20);
    for row in rows {
        let [expr, zone, from, expected] = row.split(';').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        if let Some(words) = expected.strip_prefix("refused: ") {
            let error = Schedule::parse(expr, zone).unwrap_err();
            assert!(error.contains(words), "{row}: {error}");
            continue;
        }
        let (times, warned) = match expected.split_once(" warned: ") {
            Some((times, words)) => (times, Some(words)),
            None => (expected, None),
        };
        let times: Vec<_> = times.split(' ').collect();
        assert_eq!(next(expr, zone, from, times.len()), times, "{row}");
        let warnings = Schedule::parse(expr, zone).unwrap().1;
        assert_eq!(warnings.len(), usize::from(warned.is_some()), "{row}: {warnings:?}");
        assert!(warnings.iter().all(|it| it.what.contains(warned.unwrap_or(""))), "{row}");
    }
}

#[test]
fn the_end_of_the_calendar_is_no_panic() {
    let last = Timestamp::MAX_UTC;
    let first = Timestamp::MIN_UTC;
    for expr in ["* * * * *", "0 0 29 2 *", "0 */5 * * 1", "30 2 * * *"] {
        for zone in ["UTC", "Pacific/Apia", "Europe/Dublin"] {
            let schedule = schedule(expr, zone);
            assert_eq!(schedule.next_after(last), None);
            let _ = schedule.next_after(first);
            let _ = schedule.next_after(last - TimeDelta::days(3));
        }
    }
}

#[test]
fn zones_have_a_nearest() {
    for (wrong, right) in [
        ("Europe/Belrin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("europe/paris", "Europe/Paris"),
        ("America/New York", "America/New_York"),
    ] {
        assert!(zone(wrong).unwrap_err().contains(right), "{wrong}: {:?}", zone(wrong));
    }
    assert!(zone("").is_err());
    assert!(zone(&"x".repeat(10_000)).unwrap_err().len() < 200);
}

/// The slow and plain way for a time with `*` in its minute or hour: every minute there is.
fn plainly(schedule: &Schedule, after: Timestamp, minutes: i64) -> Option<Timestamp> {
    use chrono::{Datelike, Timelike};
    let start = after.timestamp().div_euclid(60) * 60;
    (1..=minutes).find_map(|minute| {
        let time = DateTime::from_timestamp(start + minute * 60, 0)?;
        let here = time.with_timezone(&schedule.zone());
        let day = schedule.day.has(here.day());
        let weekday = schedule.weekday.has(here.weekday().num_days_from_sunday());
        let is_day = if schedule.day.star || schedule.weekday.star {
            day && weekday
        } else {
            day || weekday
        };
        let fits = is_day
            && schedule.month.has(here.month())
            && schedule.hour.has(here.hour())
            && schedule.minute.has(here.minute());
        fits.then_some(time)
    })
}

fn expression() -> impl Strategy<Value = String> {
    let field = |most: u32| {
        let number = 0..=most;
        prop_oneof![
            3 => Just("*".to_owned()),
            2 => number.clone().prop_map(|n| n.to_string()),
            1 => (1..=most).prop_map(|n| format!("*/{n}")),
            1 => (number.clone(), number.clone(), 1..=9_u32).prop_map(|(a, b, s)| format!("{}-{}/{s}", a.min(b), a.max(b))),
            1 => (number.clone(), number).prop_map(|(a, b)| format!("{a},{b}")),
        ]
    };
    (field(59), field(23), field(31), field(12), field(7))
        .prop_map(|(a, b, c, d, e)| format!("{a} {b} {c} {d} {e}"))
}

fn any_zone() -> impl Strategy<Value = &'static str> {
    (0..chrono_tz::TZ_VARIANTS.len()).prop_map(|at| chrono_tz::TZ_VARIANTS[at].name())
}

proptest! {
    #[test]
    fn the_next_time_is_later_and_there_is_an_end(
        expr in expression(), zone in any_zone(), from in -2_000_000_000_i64..6_000_000_000,
    ) {
        if let Ok((schedule, _)) = Schedule::parse(&expr, zone) {
            let mut time = DateTime::from_timestamp(from, 0).unwrap();
            for _ in 0..3 {
                let Some(next) = schedule.next_after(time) else { break };
                prop_assert!(next > time, "{expr} {zone} {time}: {next}");
                time = next;
            }
        }
    }

    #[test]
    fn real_time_is_followed_to_the_minute(
        expr in "(\\*|\\*/[1-9]|[0-5]) (\\*|\\*/[1-9]|[0-9]|1[0-9]) (\\*|[1-9]) \\* (\\*|[0-6])",
        zone in prop_oneof![
            Just("Europe/Berlin"), Just("America/New_York"), Just("Australia/Lord_Howe"),
            Just("Pacific/Apia"), Just("Africa/Casablanca"), Just("America/Havana"),
            Just("Asia/Gaza"), Just("America/Asuncion"), Just("Antarctica/Troll"),
        ],
        from in 1_300_000_000_i64..2_000_000_000,
    ) {
        if let Ok((schedule, _)) = Schedule::parse(&expr, zone)
            && (schedule.minute.star || schedule.hour.star)
        {
            let from = DateTime::from_timestamp(from, 0).unwrap();
            let week = 7 * 24 * 60;
            if let Some(expected) = plainly(&schedule, from, week) {
                prop_assert_eq!(schedule.next_after(from), Some(expected));
            } else {
                let late = from + TimeDelta::minutes(week);
                prop_assert!(schedule.next_after(from).is_none_or(|time| time > late));
            }
        }
    }

    #[test]
    fn any_text_is_a_time_or_refused(text in "\\PC{0,30}", zone in "\\PC{0,20}") {
        let _ = Schedule::parse(&text, "UTC");
        let _ = Schedule::parse("* * * * *", &zone);
    }
}
