//! How many calls one webhook takes: a burst, and then a steady trickle.

use std::{collections::HashMap, sync::Mutex, time::Duration};
use tokio::time::Instant;

/// Calls of one webhook at once: a push to many branches, a batch of a ticket system.
const BURST: u32 = 60;
/// After that, one each second: a run takes longer than that.
const ONE_EACH: Duration = Duration::from_secs(1);
/// Webhooks that are remembered; those that rest are forgotten first.
const MOST_REMEMBERED: usize = 1000;

/// When each webhook would be at rest again, had nobody called it since.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<String, Instant>>);

impl Rates {
    /// Takes one call in; `Err`: not now, and how long to wait.
    pub(super) fn take(&self, name: &str, now: Instant) -> Result<(), Duration> {
        let mut rests = self.0.lock().expect("nothing panics while it holds the times");
        if rests.len() >= MOST_REMEMBERED {
            rests.retain(|_, rest| *rest > now);
        }
        let rest = rests.get(name).copied().unwrap_or(now).max(now) + ONE_EACH;
        let most = now + ONE_EACH * BURST;
        if rest > most {
            return Err(rest - most);
        }
        rests.insert(name.into(), rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_taken_then_one_each_second() {
        let (rates, now) = (Rates::default(), Instant::now());
        let taken = (0..200).filter(|_| rates.take("release", now).is_ok()).count();
        assert_eq!(taken, 60);
        assert_eq!(rates.take("release", now), Err(ONE_EACH));
        assert!(rates.take("another", now).is_ok());
        assert!(rates.take("release", now + ONE_EACH).is_ok());
        assert!(rates.take("release", now + ONE_EACH).is_err());
    }
}
