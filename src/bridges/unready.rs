//! A chat service that is switched on and cannot begin: it says why, and what should go there waits.

use async_trait::async_trait;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use vigie_core::{
    bridge::{Bridge, Health, Inbox, Limits, Lost, Place, Room, Said, Say, SayError},
    id::{BridgeName, DeliveryId},
};

/// Only a start with another token changes anything, so there is no hurry to look again.
const LATER: Duration = Duration::from_mins(10);

pub(super) struct Unready {
    pub(super) name: BridgeName,
    /// What is wrong and what to do, for a person.
    pub(super) trouble: String,
    /// What is said meanwhile is cut for the service as it will be.
    pub(super) limits: Box<dyn Fn(Room) -> Limits + Send + Sync>,
}

#[async_trait]
impl Bridge for Unready {
    fn name(&self) -> BridgeName {
        self.name.clone()
    }

    fn limits(&self, room: Room) -> Limits {
        (self.limits)(room)
    }

    fn health(&self) -> Health {
        Health { heard: None, trouble: Some(self.trouble.clone()) }
    }

    async fn say(&self, _: &Place, _: &Say, _: DeliveryId) -> Result<Said, SayError> {
        Err(SayError::Later { after: LATER })
    }

    async fn hear(&self, _: &dyn Inbox, stop: CancellationToken) -> Result<(), Lost> {
        stop.cancelled().await;
        Ok(())
    }
}
