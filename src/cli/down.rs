//! `vigie down`.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use super::{Desk, failure::Failure};
use crate::web::{
    client::ClientError,
    shapes::{DaemonShape, Done},
};

/// Longer than the daemon gives its own tasks.
const STOP_DEADLINE: Duration = Duration::from_secs(15);

/// Between two looks whether it is gone.
const LOOK: Duration = Duration::from_millis(50);

/// Asks the daemon to stop and waits until it has.
pub(super) async fn run(desk: &Desk) -> Result<(), Failure> {
    let done: Done = desk.client.post("/down", &serde_json::json!({})).await?;
    let gone = tokio::time::timeout(STOP_DEADLINE, gone(desk)).await;
    if gone.is_err() {
        let failure = Failure::outside("Vigie does not stop");
        return Err(
            failure.hint("`vigie status` shows its process id; a second SIGTERM stops it at once.")
        );
    }
    desk.out.show(&done, |_, done| done.words.clone())
}

async fn gone(desk: &Desk) {
    while !matches!(desk.client.get::<DaemonShape>("/daemon").await, Err(ClientError::NotRunning)) {
        tokio::time::sleep(LOOK).await;
    }
    // Its doors are shut before its process is gone, and another cannot start until then.
    while is_held(&desk.around.data.join("vigie.lock")) {
        tokio::time::sleep(LOOK).await;
    }
}

fn is_held(lock: &Path) -> bool {
    File::open(lock)
        .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
