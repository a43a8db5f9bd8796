//! From Matrix to the port. Syncing writes down; the desk hands in what is written.

use tokio_util::sync::CancellationToken;
use vigie_core::bridge::{Inbox, Lost};

use crate::MatrixBridge;

/// Hears until `stop`. Whatever is under way then is dropped: it is on disk and comes again.
#[expect(clippy::unused_async, reason = "the contract; hearing comes next")]
pub(crate) async fn hear(
    bridge: &MatrixBridge,
    inbox: &dyn Inbox,
    stop: CancellationToken,
) -> Result<(), Lost> {
    let _ = (bridge, inbox, stop);
    todo!()
}
