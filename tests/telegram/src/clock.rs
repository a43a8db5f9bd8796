//! What time it is at Telegram: a value, so that a day passes when a test says so.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;

/// A point in time: how long after 1970-01-01 00:00 UTC.
pub type Moment = Duration;

/// Where a manual clock begins: 2026-01-05 08:00 UTC, a Monday morning.
const MANUAL_START: Moment = Duration::from_hours(491_000);

/// Telegram's clock. Clones show the same time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    start: Moment,
    /// When it was started, if it runs by itself.
    running: Option<Instant>,
    jumped: Mutex<Duration>,
    /// Changes with every jump, for whoever sleeps.
    jumps: watch::Sender<u64>,
}

impl Clock {
    /// Runs with real time, from what this machine takes for now.
    pub fn real() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that asks; all else takes it from here"
        )]
        let now = std::time::SystemTime::now();
        let start = now.duration_since(std::time::UNIX_EPOCH).unwrap_or(MANUAL_START);
        Self::new(start, Some(Instant::now()))
    }

    /// Stands still until somebody calls [`Clock::advance`].
    pub fn manual() -> Self {
        Self::new(MANUAL_START, None)
    }

    fn new(start: Moment, running: Option<Instant>) -> Self {
        let jumps = watch::Sender::new(0);
        Self(Arc::new(Inner { start, running, jumped: Mutex::default(), jumps }))
    }

    /// The time.
    pub fn now(&self) -> Moment {
        let ran = self.0.running.map_or(Duration::ZERO, |began| began.elapsed());
        let jumped = *self.0.jumped.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.start + ran + jumped
    }

    /// Jumps ahead; whoever sleeps past the new time wakes.
    pub fn advance(&self, by: Duration) {
        *self.0.jumped.lock().unwrap_or_else(PoisonError::into_inner) += by;
        self.0.jumps.send_modify(|jump| *jump += 1);
    }

    /// Returns once the clock shows `until` or later.
    pub async fn sleep_until(&self, until: Moment) {
        let mut jumps = self.0.jumps.subscribe();
        loop {
            jumps.borrow_and_update();
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return;
            }
            let ring = async {
                match self.0.running {
                    Some(_) => tokio::time::sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ring => {}
                // The sender lives in `self`, so this cannot fail.
                _ = jumps.changed() => {}
            }
        }
    }
}
