//! A step whose account is at its limit, or whose service has too much to do, waits and goes on: its
//! conversation is kept, and its own timeout holds.

use std::time::{Duration, Instant};
use vigie_core::limit::{clock_and_zone, named_reset};

use super::said::Answer;
use crate::{
    clock::Clock,
    runner::keep::{Event, Keeper},
};

/// What it is told when it may go on.
pub(super) const GO_ON: &str = "Go on where you were cut off.";

/// After the time that was named, so that not everybody's come in the same second.
const AFTER: Duration = Duration::from_secs(5);

const MINUTE: Duration = Duration::from_mins(1);

/// Pauses where no time is named; the last is repeated.
const LIMIT: [Duration; 5] = [
    MINUTE,
    Duration::from_mins(2),
    Duration::from_mins(5),
    Duration::from_mins(15),
    Duration::from_mins(30),
];
const OVERLOAD: [Duration; 5] = [
    Duration::from_secs(30),
    MINUTE,
    Duration::from_mins(2),
    Duration::from_mins(5),
    Duration::from_mins(10),
];

/// How it went on after a wait.
pub(super) enum Waited {
    /// It is time.
    Over,
    /// The run no longer wants it.
    Cancelled,
    /// We are to leave.
    BrokenOff,
}

/// A wait, and how it is told.
pub(super) struct Wait {
    pub pause: Duration,
    /// "at its usage limit until 04:11 (Europe/Paris)".
    pub words: String,
}

/// What to wait for after `tries` waits; `None`: it failed for another reason. Source of the two
/// numbers: the result's `api_error_status` in 2.1.332.
pub(super) fn wait_for(answer: &Answer, tries: usize) -> Option<Wait> {
    let (pauses, what) = match answer.refused()? {
        429 => (LIMIT, "at its usage limit"),
        529 => (OVERLOAD, "behind an overloaded service"),
        _ => return None,
    };
    let now = Clock::system().now();
    let zone = iana_time_zone::get_timezone().ok();
    let said = answer.result.as_deref().unwrap_or_default();
    let pause = pauses[tries.min(pauses.len() - 1)];
    let named = named_reset(said, now, zone.as_deref());
    let left = named.as_ref().and_then(|named| (named.at - now).to_std().ok());
    // A time that has come and changed nothing is not waited for again.
    let left = left.filter(|left| tries == 0 || *left > pause);
    let pause = left.map_or(pause, |left| left + AFTER);
    let at = now + chrono::TimeDelta::from_std(pause).unwrap_or_default();
    let named = named.filter(|_| left.is_some());
    let time = clock_and_zone(named.map_or(at, |named| named.at), zone.as_deref(), now);
    let words = match left {
        Some(_) => format!("{what} until {time}"),
        None => format!("{what}, next try {time}"),
    };
    Some(Wait { pause, words })
}

impl Keeper {
    /// Waits for so long; nothing of the step runs meanwhile.
    pub(super) fn rest(&self, pause: Duration) -> Waited {
        let until = Instant::now() + pause;
        while let Some(event) = self.next_until(until) {
            match event {
                Event::Cancel => return Waited::Cancelled,
                Event::Leave => return Waited::BrokenOff,
                // Of what ran before.
                Event::Exited(_)
                | Event::NoneLeft
                | Event::Closed
                | Event::TooMuch
                | Event::Broken(_)
                | Event::Answered(_) => {}
            }
        }
        Waited::Over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, words: &str) -> Answer {
        serde_json::from_value(serde_json::json!({
            "is_error": true, "terminal_reason": "api_error", "api_error_status": status, "result": words,
        }))
        .unwrap()
    }

    #[test]
    fn a_limit_is_waited_for_by_its_time_and_otherwise_longer_each_time() {
        let named = wait_for(&answer(429, "limit · resets in 2h 5m"), 0).unwrap();
        assert!(named.words.starts_with("at its usage limit until "), "{}", named.words);
        assert!(named.pause > Duration::from_mins(125) && named.pause < Duration::from_mins(126));
        let pauses = [0, 1, 2, 9].map(|tries| wait_for(&answer(429, "no"), tries).unwrap().pause);
        assert_eq!(pauses, [MINUTE, LIMIT[1], LIMIT[2], LIMIT[4]]);
        let stale = wait_for(&answer(429, "limit · resets in 10 seconds"), 1).unwrap();
        assert_eq!(stale.pause, LIMIT[1], "that time came and changed nothing");
        assert!(wait_for(&answer(529, "Overloaded"), 0).is_some());
    }

    #[test]
    fn whatever_else_fails_is_not_waited_for() {
        for status in [400, 401, 403, 413, 500] {
            assert!(wait_for(&answer(status, "limit · resets in 2h"), 0).is_none(), "{status}");
        }
        let words = r#"{"is_error":false,"terminal_reason":"completed","api_error_status":null,
            "result":"usage limit reached, resets 3am"}"#;
        assert!(wait_for(&serde_json::from_str(words).unwrap(), 0).is_none());
    }
}
