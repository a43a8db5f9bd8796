//! Noticing that the machine slept: the clock went on and the timers did not. Connections of before
//! lead nowhere, and nobody tells.

use std::time::Duration;

use crate::Clock;

/// How often to look.
const LOOK: Duration = Duration::from_secs(2);

/// The clock may go on by so much more than that without a sleep: a busy machine, a corrected clock.
const SLEPT: Duration = Duration::from_secs(15);

/// Returns once the machine was asleep meanwhile.
pub(super) async fn after_sleep(clock: &Clock) {
    loop {
        let before = clock();
        tokio::time::sleep(LOOK).await;
        if (clock() - before).to_std().is_ok_and(|passed| passed > LOOK + SLEPT) {
            return;
        }
    }
}
