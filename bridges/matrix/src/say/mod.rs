//! From the port to Matrix.

use vigie_core::{
    bridge::{Place, Said, Say, SayError},
    id::DeliveryId,
};

use crate::MatrixBridge;

#[expect(clippy::unused_async, reason = "the contract; saying comes next")]
pub(crate) async fn say(
    bridge: &MatrixBridge,
    place: &Place,
    say: &Say,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let _ = (bridge, place, say, key);
    todo!()
}
