//! From Telegram to the port.

use tokio_util::sync::CancellationToken;
use vigie_core::bridge::{Inbox, Lost};

use crate::TelegramBridge;

pub(crate) async fn hear(
    _bridge: &TelegramBridge,
    _inbox: &dyn Inbox,
    stop: CancellationToken,
) -> Result<(), Lost> {
    stop.cancelled().await;
    Ok(())
}
