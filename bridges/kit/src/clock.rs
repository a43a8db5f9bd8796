//! Where the time comes from, and noticing that the machine slept.

use std::{sync::Arc, time::Duration};
use vigie_core::Timestamp;

/// How often to look.
const LOOK: Duration = Duration::from_secs(2);

/// The clock may go on by so much more than that without a sleep: a busy machine, a corrected clock.
const SLEPT: Duration = Duration::from_secs(15);

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Returns once the machine was asleep meanwhile: the clock went on and the timers did not.
/// Connections of before lead nowhere then, and nobody tells.
pub async fn after_sleep(clock: &Clock) {
    loop {
        let before = clock();
        tokio::time::sleep(LOOK).await;
        if (clock() - before).to_std().is_ok_and(|passed| passed > LOOK + SLEPT) {
            return;
        }
    }
}
