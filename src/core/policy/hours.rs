use chrono::{Datelike as _, NaiveTime, Weekday};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::Timestamp;

/// When a policy holds: from one time of day to another, over midnight where the second is the earlier,
/// on some days of the week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours {
    pub from: NaiveTime,
    /// The first instant at which it holds no more.
    pub to: NaiveTime,
    /// A span over midnight belongs to the day it begins on.
    pub days: Days,
    #[serde(with = "by_name")]
    pub zone: Tz,
}

/// Days of the week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Days(Vec<Weekday>);

impl Hours {
    /// `09:00-18:00`, `22:00-06:00`, `00:00-24:00`.
    pub fn span(text: &str) -> Option<(NaiveTime, NaiveTime)> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (time(from.trim())?, time(to.trim())?);
        (from != to || from == NaiveTime::MIN).then_some((from, to))
    }

    /// A zone by its name in the IANA database: `Europe/Paris`.
    pub fn zone(text: &str) -> Option<Tz> {
        text.parse().ok()
    }

    pub(super) fn hold(&self, now: Timestamp) -> bool {
        let local = now.with_timezone(&self.zone);
        let (time, day) = (local.time(), local.weekday());
        if self.from < self.to {
            return time >= self.from && time < self.to && self.days.has(day);
        }
        (time >= self.from && self.days.has(day)) || (time < self.to && self.days.has(day.pred()))
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.to == NaiveTime::MIN {
            "24:00".into()
        } else {
            self.to.format("%H:%M").to_string()
        };
        write!(f, "{}-{to}", self.from.format("%H:%M"))?;
        if self.days.0.len() < 7 {
            let names: Vec<String> = self.days.0.iter().map(ToString::to_string).collect();
            write!(f, " {}", names.join(" "))?;
        }
        write!(f, " {}", self.zone)
    }
}

/// `24:00` is the midnight that ends the day.
fn time(text: &str) -> Option<NaiveTime> {
    if text == "24:00" {
        return Some(NaiveTime::MIN);
    }
    let (hour, minute) = text.split_once(':')?;
    let digits = |part: &str| (part.len() == 2).then(|| part.parse().ok()).flatten();
    NaiveTime::from_hms_opt(digits(hour)?, digits(minute)?, 0)
}

impl Days {
    pub fn all() -> Self {
        Self(week().collect())
    }

    /// Those of each `mon`, `sat`, `mon-fri` in the list, in the order of the week.
    pub fn parse(word: &str) -> Option<Self> {
        let day = |name: &str| week().find(|day| name_of(*day) == name);
        let Some((first, last)) = word.split_once('-') else { return Some(Self(vec![day(word)?])) };
        let (first, last) = (day(first)?, day(last)?);
        let mut days = vec![first];
        while let Some(next) = days.last().filter(|at| **at != last) {
            days.push(next.succ());
        }
        Some(Self(days))
    }

    /// All that stand in one of them.
    #[must_use]
    pub fn union(parts: &[Self]) -> Self {
        Self(week().filter(|day| parts.iter().any(|part| part.has(*day))).collect())
    }

    fn has(&self, day: Weekday) -> bool {
        self.0.contains(&day)
    }
}

/// A zone as it is written down.
mod by_name {
    use chrono_tz::Tz;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub(super) fn serialize<S: Serializer>(zone: &Tz, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(zone.name())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Tz, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

fn week() -> impl Iterator<Item = Weekday> {
    std::iter::successors(Some(Weekday::Mon), |day| Some(day.succ())).take(7)
}

fn name_of(day: Weekday) -> String {
    day.to_string().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(span: &str, days: &str) -> Hours {
        let (from, to) = Hours::span(span).unwrap();
        let zone = Hours::zone("Europe/Paris").unwrap();
        Hours { from, to, days: Days::parse(days).unwrap(), zone }
    }

    #[test]
    fn hours_are_those_of_their_zone_and_of_the_day_they_begin_on() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let day = hours("09:00-18:00", "mon-fri");
        assert!(day.hold(at("2026-11-30T08:00:00Z")), "nine in Paris, a Monday");
        assert!(!day.hold(at("2026-11-30T07:59:59Z")));
        assert!(!day.hold(at("2026-11-30T17:00:00Z")), "the end is no part of it");
        assert!(!day.hold(at("2026-11-29T10:00:00Z")), "a Sunday");
        assert!(day.hold(at("2026-07-01T07:00:00Z")), "summer time");
        let night = hours("22:00-06:00", "fri");
        assert!(night.hold(at("2026-11-27T21:30:00Z")) && night.hold(at("2026-11-28T04:59:00Z")));
        assert!(!night.hold(at("2026-11-27T04:00:00Z")), "that night began on a Thursday");
        assert!(hours("00:00-24:00", "sat-sun").hold(at("2026-11-29T12:00:00Z")));
        assert_eq!(
            hours("22:00-24:00", "fri-sun").to_string(),
            "22:00-24:00 Fri Sat Sun Europe/Paris"
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in ["9-18", "09:00", "09:00-25:00", "09:00-09:00", "9:00-18:00", "09:60-10:00", ""]
        {
            assert_eq!(Hours::span(bad), None, "{bad}");
        }
        for bad in ["monday", "mon-", "", "mon fri"] {
            assert_eq!(Days::parse(bad), None, "{bad}");
        }
    }
}
