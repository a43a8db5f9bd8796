//! When a sleep ends.

use chrono::{Days, NaiveTime, TimeDelta, TimeZone};
use chrono_tz::Tz;
use std::time::Duration;

use super::apply::later;
use crate::Timestamp;

/// Days looked through for one that has the time of day; a clock change takes it from one at most.
const DAYS: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    For(Duration),
    Until(Timestamp),
    /// The next time the clock there shows this.
    Clock(NaiveTime, Tz),
}

impl Wait {
    /// `text`: an instant, or a time of day in that zone; `Err`: a sentence without its full stop.
    pub(super) fn parse(text: &str, zone: Option<&str>) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(at) = chrono::DateTime::parse_from_rfc3339(text) {
            return Ok(Self::Until(at.to_utc()));
        }
        let time = NaiveTime::parse_from_str(text, "%H:%M").map_err(|_| {
            let shown: String = text.chars().take(60).collect();
            format!("it sleeps until `{shown}`, which is neither an instant (`2026-03-01T08:00:00Z`) nor a time of day (`08:00`)")
        })?;
        let zone = zone.unwrap_or("UTC");
        let zone = zone.parse().map_err(|_| format!("there is no time zone `{zone}`"))?;
        Ok(Self::Clock(time, zone))
    }

    pub(super) fn end(&self, now: Timestamp) -> Timestamp {
        match self {
            Self::For(wait) => later(now, *wait),
            Self::Until(at) => *at,
            Self::Clock(time, zone) => {
                let today = now.with_timezone(zone).date_naive();
                (0..DAYS)
                    .filter_map(|day| today.checked_add_days(Days::new(day)))
                    .filter_map(|day| instant(day.and_time(*time), *zone))
                    .find(|at| *at > now)
                    .unwrap_or(now)
            }
        }
    }
}

/// The first instant at which the clock shows that; where it jumps over it, the end of the jump.
fn instant(local: chrono::NaiveDateTime, zone: Tz) -> Option<Timestamp> {
    if let Some(at) = zone.from_local_datetime(&local).earliest() {
        return Some(at.to_utc());
    }
    // No clock jumps further than a day, which one island did once.
    let jump = (1..=24 * 60).find_map(|minutes| {
        zone.from_local_datetime(&(local + TimeDelta::minutes(minutes))).earliest()
    });
    jump.map(|at| at.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str, zone: &str, now: &str) -> String {
        let now = chrono::DateTime::parse_from_rfc3339(now).unwrap().to_utc();
        Wait::parse(text, Some(zone)).unwrap().end(now).to_rfc3339()
    }

    #[test]
    fn a_time_of_day_is_the_next_there_is() {
        let winter = "2026-01-10T06:59:00Z";
        assert_eq!(end("08:00", "Europe/Paris", winter), "2026-01-10T07:00:00+00:00");
        let at_it = "2026-01-10T07:00:00Z";
        assert_eq!(end("08:00", "Europe/Paris", at_it), "2026-01-11T07:00:00+00:00");
        assert_eq!(end("23:59", "UTC", winter), "2026-01-10T23:59:00+00:00");
    }

    #[test]
    fn a_time_the_clock_jumps_over_is_the_end_of_the_jump() {
        assert_eq!(
            end("02:30", "Europe/Paris", "2026-03-29T00:00:00Z"),
            "2026-03-29T01:00:00+00:00"
        );
        // Where it comes twice, the first of them; after that, the next day.
        assert_eq!(
            end("02:30", "Europe/Paris", "2026-10-24T23:00:00Z"),
            "2026-10-25T00:30:00+00:00"
        );
        assert_eq!(
            end("02:30", "Europe/Paris", "2026-10-25T00:30:00Z"),
            "2026-10-26T01:30:00+00:00"
        );
    }

    #[test]
    fn an_instant_stays_what_it_is() {
        assert_eq!(
            end("2020-01-01T00:00:00+01:00", "UTC", "2026-01-01T00:00:00Z"),
            "2019-12-31T23:00:00+00:00"
        );
        assert!(Wait::parse("tomorrow", None).is_err());
        assert!(Wait::parse("08:00", Some("Europe/Pairs")).is_err());
    }
}
