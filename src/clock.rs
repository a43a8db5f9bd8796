//! The one place that asks what time it is.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use vigie_core::Timestamp;

/// Hands out `now`: the system's, or one that a test sets.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    System,
    Fixed(Arc<Mutex<Timestamp>>),
}

impl Clock {
    pub fn system() -> Self {
        Self(Kind::System)
    }

    /// Stands still at `at` until [`Clock::advance`]; clones share its time.
    pub fn fixed(at: Timestamp) -> Self {
        Self(Kind::Fixed(Arc::new(Mutex::new(at))))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock everybody else takes it from")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Kind::System => chrono::Utc::now(),
            Kind::Fixed(at) => *at.lock().expect("nothing panics while it holds the time"),
        }
    }

    /// Moves a fixed clock forward. The system's clock is nobody's to move, so there it does nothing.
    pub fn advance(&self, by: Duration) {
        match &self.0 {
            Kind::System => {}
            Kind::Fixed(at) => {
                *at.lock().expect("nothing panics while it holds the time") += by;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_fixed_clock_share_its_time() {
        let clock = Clock::fixed(Timestamp::default());
        let other = clock.clone();
        clock.advance(Duration::from_secs(90));
        assert_eq!(other.now().timestamp(), 90);
    }
}
