//! Whether the account can do its work: looked at when hearing begins, and once a day. What is wrong
//! with it stays said, however well the syncs go.

use futures_util::future;
use std::time::Duration;
use tracing::{debug, warn};

use super::Hearing;
use crate::account::{Trouble, check, doubled_keys};

/// What other clients do to the account is seen a day later, at most.
const DAILY: Duration = Duration::from_hours(24);

/// Signatures of a new device are known a moment after its first sync, so nothing is said at first.
const SOON: Duration = Duration::from_secs(15);

/// Somebody may be mending it.
const WHILE_IT_AILS: Duration = Duration::from_mins(5);

/// Watches for ever.
pub(super) async fn watch(hearing: Hearing<'_>) {
    let doubled = async {
        let trouble = doubled_keys(hearing.client).await;
        hearing.ails(Some(trouble.to_string()));
    };
    future::join(daily(hearing), doubled).await;
}

async fn daily(hearing: Hearing<'_>) {
    let mut failures = 0_u32;
    Box::pin(hearing.client.encryption().wait_for_e2ee_initialization_tasks()).await;
    loop {
        let found = Box::pin(check(hearing.client, &hearing.bridge.session)).await;
        let wait = match found {
            Ok(standing) => {
                debug!(device = %standing.device, backup = standing.backup, "the account is well");
                failures = 0;
                hearing.ails(None);
                DAILY
            }
            Err(Trouble::Unreached(why)) => {
                debug!(why, "the account was not looked at");
                WHILE_IT_AILS
            }
            Err(_) if failures == 0 => {
                failures = 1;
                SOON
            }
            Err(trouble) => {
                warn!(%trouble, "the account cannot do its work");
                hearing.ails(Some(trouble.to_string()));
                WHILE_IT_AILS
            }
        };
        tokio::time::sleep(wait).await;
    }
}

impl Hearing<'_> {
    fn ails(self, trouble: Option<String>) {
        if let Some(trouble) = &trouble {
            self.bridge.in_trouble(trouble.clone());
        }
        self.wake.set_ailment(trouble);
    }
}
