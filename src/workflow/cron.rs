//! Times of cron in a time zone, with what ISC cron does where clocks are moved: a fixed time that
//! falls into the gap comes once, at its end; one that occurs twice comes at its first occurrence; a
//! time with `*` in its minute or hour follows real time, through both.

mod field;
mod next;

#[cfg(test)]
mod tests;

/// A time zone, as `zone` reads it.
pub use chrono_tz::Tz;

use crate::{Timestamp, nearest::nearest, yaml::shortened};
use field::{Field, Kind};

/// Longest expression, in bytes.
const LONGEST: usize = 256;

/// Five fields, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
    zone: Tz,
}

/// Something that is allowed and probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub what: String,
    pub hint: String,
}

/// A zone by its IANA name.
///
/// # Errors
/// A sentence with the nearest name.
pub fn zone(name: &str) -> Result<Tz, String> {
    name.parse().map_err(|_| {
        let names = || chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
        let city = |name: &'static str| name.rsplit('/').next().unwrap_or(name);
        // `Berlin` and `Europe/Belrin` both mean the same.
        let near = nearest(name, names()).or_else(|| {
            let wanted = name.rsplit('/').next().unwrap_or(name).replace(' ', "_");
            let near = nearest(&wanted, names().map(city))?;
            names().find(|name| city(name) == near)
        });
        let hint = near.map_or_else(
            || "such as `Europe/Paris`".into(),
            |near| format!("did you mean `{near}`?"),
        );
        format!("there is no time zone `{}`; {hint}", shortened(name))
    })
}

impl Schedule {
    /// `30 2 * * MON-FRI` or `@daily`, in the zone of that name.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(expr: &str, zone_name: &str) -> Result<(Self, Vec<Warning>), String> {
        Self::in_zone(expr, zone(zone_name)?)
    }

    /// The same in a zone that is known.
    ///
    /// # Errors
    /// A sentence.
    pub fn in_zone(expr: &str, zone: Tz) -> Result<(Self, Vec<Warning>), String> {
        let expr = expr.trim();
        if expr.len() > LONGEST {
            return Err(format!("a time is longer than {LONGEST} bytes"));
        }
        let fields: Vec<&str> = match expr {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            _ if expr.starts_with('@') => {
                let shown = shortened(expr);
                return Err(format!(
                    "`{shown}` is no time; there are `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`, and five fields such as `*/10 * * * *`"
                ));
            }
            expr => expr,
        }
        .split_ascii_whitespace()
        .collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!(
                "a time has five fields (minute, hour, day, month, weekday), and this one has {}",
                fields.len()
            ));
        };
        let schedule = Self {
            minute: Field::parse(Kind::Minute, minute)?,
            hour: Field::parse(Kind::Hour, hour)?,
            day: Field::parse(Kind::Day, day)?,
            month: Field::parse(Kind::Month, month)?,
            weekday: Field::parse(Kind::Weekday, weekday)?,
            zone,
        };
        schedule.can_be()?;
        let mut warnings: Vec<Warning> =
            [schedule.minute.uneven(), schedule.hour.uneven(), schedule.day.uneven()]
                .into_iter()
                .flatten()
                .collect();
        if !schedule.day.star && !schedule.weekday.star {
            warnings.push(Warning {
                what: format!("`{day}` and `{weekday}`: it runs on either of these days"),
                hint: "as cron does: one of the two should be `*` unless that is meant".into(),
            });
        }
        Ok((schedule, warnings))
    }

    /// The 30th of February comes never, and nobody would notice.
    fn can_be(&self) -> Result<(), String> {
        let longest = |month: u32| match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let some_day = (1..=12)
            .filter(|month| self.month.has(*month))
            .any(|month| (1..=longest(month)).any(|day| self.day.has(day)));
        // With a weekday beside it either is enough.
        if some_day || (!self.day.star && !self.weekday.star) {
            Ok(())
        } else {
            Err("this day never comes: no such month has it".into())
        }
    }

    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// The first time after that instant; `None`: there is none that a calendar reaches.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        next::after(self, after)
    }
}
