//! Verification by emoji: a person at the desk compares them, nothing is confirmed by itself.

mod standing;

pub use standing::{Standing, standing};

use matrix_sdk::Client;
use tokio_util::sync::CancellationToken;
use vigie_core::bridge::Inbox;

/// What goes on with verification in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verifying {}

impl Verifying {
    /// Listens to requests from now on; once for each client.
    #[expect(clippy::unused_self, reason = "the contract; verification comes next")]
    pub(crate) fn attach(&self, client: &Client) {
        let _ = client;
    }

    /// Tells through `inbox` who asks to be verified, until `stop`; then it takes back what is under
    /// way, so that no phone waits for us, and returns within seconds. Runs beside the syncs:
    /// `tokio::join!(sync, bridge.verifying.serve(inbox, stop))`.
    pub(crate) async fn serve(&self, inbox: &dyn Inbox, stop: CancellationToken) {
        let _ = inbox;
        stop.cancelled().await;
    }
}
