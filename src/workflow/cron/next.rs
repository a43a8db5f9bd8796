//! The next time of a schedule. Every search has an end: days are counted, and so are minutes.

use chrono::{
    DateTime, Datelike, Days, MappedLocalTime, NaiveDate, NaiveDateTime, Offset, TimeDelta,
    TimeZone, Timelike, Utc,
};
use chrono_tz::Tz;

use super::Schedule;
use crate::Timestamp;

/// Days that are looked through: a weekday on the 29th of February may be 40 years away.
const MOST_DAYS: usize = 366 * 41;
/// Steps of one search in real time: a step for each of those days, and every minute of the days on
/// which clocks are moved.
const MOST_STEPS: usize = 500_000;
/// No clock was ever moved by more.
const LARGEST_MOVE: TimeDelta = TimeDelta::hours(26);

pub(super) fn after(schedule: &Schedule, after: Timestamp) -> Option<Timestamp> {
    if schedule.minute.star || schedule.hour.star {
        in_real_time(schedule, after)
    } else {
        fixed(schedule, after)
    }
}

impl Schedule {
    fn is_day(&self, date: NaiveDate) -> bool {
        let day = self.day.has(date.day());
        let weekday = self.weekday.has(date.weekday().num_days_from_sunday());
        // POSIX: if both are given, either will do.
        let fits = if self.day.star || self.weekday.star { day && weekday } else { day || weekday };
        fits && self.month.has(date.month())
    }
}

/// Through the calendar: each time of it is one instant.
fn fixed(schedule: &Schedule, after: Timestamp) -> Option<Timestamp> {
    let zone = schedule.zone;
    // A day back, for where the date itself is repeated.
    let mut date = local(zone, after)?.date().checked_sub_days(Days::new(1))?;
    for _ in 0..MOST_DAYS {
        if schedule.is_day(date) {
            for hour in schedule.hour.values() {
                for minute in schedule.minute.values() {
                    let time = instant(zone, date.and_hms_opt(hour, minute, 0)?)?;
                    if time > after {
                        return Some(time);
                    }
                }
            }
        }
        date = date.checked_add_days(Days::new(1))?;
    }
    None
}

/// Minute after minute, past days and hours that do not fit.
fn in_real_time(schedule: &Schedule, after: Timestamp) -> Option<Timestamp> {
    let zone = schedule.zone;
    let mut time = after.checked_add_signed(TimeDelta::seconds(1))?.with_nanosecond(0)?;
    let last = after.checked_add_signed(TimeDelta::days(i64::try_from(MOST_DAYS).ok()?))?;
    for _ in 0..MOST_STEPS {
        if time > last {
            return None;
        }
        let here = local(zone, time)?;
        let second = i64::from(here.second());
        if second != 0 {
            time = time.checked_add_signed(TimeDelta::seconds(60 - second))?;
            continue;
        }
        let next = if !schedule.is_day(here.date()) {
            let midnight = here.date().succ_opt()?.and_hms_opt(0, 0, 0)?;
            unmoved(zone, time, midnight - here)
        } else if !schedule.hour.has(here.hour()) {
            unmoved(zone, time, TimeDelta::minutes(60 - i64::from(here.minute())))
        } else if schedule.minute.has(here.minute()) {
            return Some(time);
        } else {
            None
        };
        time = match next {
            Some(next) => next,
            None => time.checked_add_signed(TimeDelta::minutes(1))?,
        };
    }
    None
}

/// That much later, if no clock is moved in between.
fn unmoved(zone: Tz, time: Timestamp, by: TimeDelta) -> Option<Timestamp> {
    let later = time.checked_add_signed(by)?;
    let offset = |time: Timestamp| zone.offset_from_utc_datetime(&time.naive_utc()).fix();
    (offset(time) == offset(later) && later > time).then_some(later)
}

fn local(zone: Tz, time: Timestamp) -> Option<NaiveDateTime> {
    let offset = zone.offset_from_utc_datetime(&time.naive_utc()).fix();
    time.naive_utc().checked_add_offset(offset)
}

/// When a clock there first shows that time, or first shows a later one where it never does.
fn instant(zone: Tz, wanted: NaiveDateTime) -> Option<Timestamp> {
    match zone.from_local_datetime(&wanted) {
        MappedLocalTime::Single(time) | MappedLocalTime::Ambiguous(time, _) => {
            Some(time.with_timezone(&Utc))
        }
        MappedLocalTime::None => {
            let around = DateTime::<Utc>::from_naive_utc_and_offset(wanted, Utc);
            let mut before = around.checked_sub_signed(LARGEST_MOVE)?;
            let mut behind = around.checked_add_signed(LARGEST_MOVE)?;
            // Halved until they are a second apart, some twenty times.
            while (behind - before).num_seconds() > 1 {
                let middle = before + TimeDelta::seconds((behind - before).num_seconds() / 2);
                if local(zone, middle)? < wanted { before = middle } else { behind = middle }
            }
            Some(behind)
        }
    }
}
