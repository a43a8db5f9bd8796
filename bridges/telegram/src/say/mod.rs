//! From the port to Telegram.

use vigie_core::{
    bridge::{Place, Said, Say, SayError},
    id::DeliveryId,
};

use crate::TelegramBridge;

pub(crate) async fn say(
    _bridge: &TelegramBridge,
    _place: &Place,
    _say: &Say,
    _key: DeliveryId,
) -> Result<Said, SayError> {
    Err(SayError::Never { reason: "not built yet".into() })
}
