//! One of the five fields.

use super::Warning;
use crate::yaml::shortened;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Minute,
    Hour,
    Day,
    Month,
    Weekday,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    kind: Kind,
    /// A bit for each value.
    bits: u64,
    /// Whether it begins with `*`.
    pub(super) star: bool,
    /// Of `*/33`.
    step: u32,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
            Self::Weekday => "weekday",
        }
    }

    /// The least and the most that may be written; 7 is Sunday too.
    fn range(self) -> (u32, u32) {
        match self {
            Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::Day => (1, 31),
            Self::Month => (1, 12),
            Self::Weekday => (0, 7),
        }
    }

    fn value(self, text: &str) -> Result<u32, String> {
        let names: &[&str] = match self {
            Self::Month => &MONTHS,
            Self::Weekday => &WEEKDAYS,
            Self::Minute | Self::Hour | Self::Day => &[],
        };
        let (least, most) = self.range();
        let by_name = names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let first = u32::from(self == Self::Month);
        let number = match by_name {
            Some(at) => u32::try_from(at).ok().map(|at| at + first),
            None if text.bytes().all(|c| c.is_ascii_digit()) => text.parse().ok(),
            None => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            format!("{} `{}` is not in {least} to {most}", self.word(), shortened(text))
        })
    }
}

impl Field {
    pub(super) fn parse(kind: Kind, text: &str) -> Result<Self, String> {
        let mut field = Self { kind, bits: 0, star: text.starts_with('*'), step: 1 };
        for part in text.split(',') {
            field.add(part)?;
        }
        if kind == Kind::Weekday && field.bits & (1 << 7) != 0 {
            field.bits = (field.bits | 1) & !(1 << 7);
        }
        Ok(field)
    }

    fn add(&mut self, part: &str) -> Result<(), String> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let (least, most) = self.kind.range();
        let word = self.kind.word();
        let (from, to) = if range == "*" {
            // Sunday is in it once.
            (least, if self.kind == Kind::Weekday { 6 } else { most })
        } else if let Some((from, to)) = range.split_once('-') {
            (self.kind.value(from)?, self.kind.value(to)?)
        } else {
            let value = self.kind.value(range)?;
            if step.is_some() {
                return Err(format!(
                    "{word} `{part}`: write `{value}-{most}/…` for steps from {value} on"
                ));
            }
            (value, value)
        };
        if from > to {
            return Err(format!("{word} `{range}` ends before it begins"));
        }
        let step = match step {
            None => 1,
            Some(text) => {
                let step = text.parse::<u32>().ok().filter(|step| (1..=most).contains(step));
                step.ok_or_else(|| {
                    format!("{word} `{}`: a step is a number from 1 to {most}", shortened(part))
                })?
            }
        };
        if range == "*" {
            self.step = step;
        }
        let mut value = from;
        while value <= to {
            self.bits |= 1 << value;
            value += step;
        }
        Ok(())
    }

    pub(super) fn has(&self, value: u32) -> bool {
        value < 64 && self.bits & (1 << value) != 0
    }

    /// Its values, from the least.
    pub(super) fn values(&self) -> impl Iterator<Item = u32> + '_ {
        (0..64).filter(|value| self.has(*value))
    }

    /// `*/33` is not every 33 minutes: it begins anew with each hour.
    pub(super) fn uneven(&self) -> Option<Warning> {
        let (count, anew) = match self.kind {
            Kind::Minute => (60, "each hour"),
            Kind::Hour => (24, "each day"),
            Kind::Day => (0, "each month"),
            Kind::Month | Kind::Weekday => return None,
        };
        let even = self.step == 1 || (count > 0 && count % self.step == 0);
        let word = self.kind.word();
        (!even).then(|| Warning {
            what: format!(
                "`*/{0}` is not every {0} {word}s: it begins anew with {anew}",
                self.step
            ),
            hint: if count > 0 {
                format!("a step that divides {count} is even")
            } else {
                "name the days, or use a weekday".into()
            },
        })
    }
}
