//! When a schedule comes up.

use vigie_core::Timestamp;
use vigie_workflow::{
    cron::{Schedule, zone},
    language::Triggers,
};

/// Times that are shown.
const MOST: usize = 5;
const UTC: &str = "UTC";

pub(super) fn zone_name(on: &Triggers) -> &str {
    on.timezone.as_deref().unwrap_or(UTC)
}

/// The next times of all its expressions together.
pub(super) fn times(on: &Triggers, now: Timestamp) -> Vec<Timestamp> {
    let read = |expr: &String| Schedule::parse(expr, zone_name(on)).ok();
    let schedules: Vec<Schedule> =
        on.cron.iter().filter_map(read).map(|(schedule, _)| schedule).collect();
    let mut times = Vec::new();
    let mut after = now;
    while times.len() < MOST {
        let Some(next) = schedules.iter().filter_map(|each| each.next_after(after)).min() else {
            break;
        };
        times.push(next);
        after = next;
    }
    times
}

/// In the schedule's own zone, each with what that is called then.
pub(super) fn shown(times: &[Timestamp], timezone: &str) -> String {
    let Ok(zone) = zone(timezone) else { return String::new() };
    let shown = |at: &Timestamp| at.with_timezone(&zone).format("%a %d %b %H:%M %Z").to_string();
    if times.is_empty() {
        return "never".into();
    }
    times.iter().map(shown).collect::<Vec<_>>().join(", ")
}
