//! A bridge in memory: keeps the promises of the port, and fails when told to.

use async_trait::async_trait;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};
use tokio_util::sync::CancellationToken;

use super::{Bridge, Inbox, Limits, Lost, Place, Repeats, Room, Said, Say, SayError, TextUnit};
use crate::id::{BridgeName, DeliveryId, MessageId, ThreadId};

/// Says into memory and hears nothing by itself: a test hands in what is heard.
#[derive(Debug, Default)]
pub struct FakeBridge {
    said: Mutex<BTreeMap<DeliveryId, (Place, Say, Said)>>,
    failures: Mutex<VecDeque<SayError>>,
}

impl FakeBridge {
    /// The next `say` fails with `error`.
    pub fn fail_next(&self, error: SayError) {
        self.failures.lock().expect("no test panics while it holds this").push_back(error);
    }

    /// Everything said so far, in the order of the deliveries.
    pub fn said(&self) -> Vec<(Place, Say)> {
        let said = self.said.lock().expect("no test panics while it holds this");
        said.values().map(|(place, say, _)| (place.clone(), say.clone())).collect()
    }
}

#[async_trait]
impl Bridge for FakeBridge {
    fn name(&self) -> BridgeName {
        BridgeName::new("fake")
    }

    fn limits(&self, _room: Room) -> Limits {
        Limits {
            repeats: Repeats::DroppedByService,
            ..Limits::of_text(TextUnit::Utf16, 4096, 100, 3)
        }
    }

    async fn say(&self, place: &Place, say: &Say, key: DeliveryId) -> Result<Said, SayError> {
        if let Some(error) =
            self.failures.lock().expect("no test panics while it holds this").pop_front()
        {
            return Err(error);
        }
        let mut all = self.said.lock().expect("no test panics while it holds this");
        if let Some((.., said)) = all.get(&key) {
            return Ok(said.clone()); // a repeated key is said once
        }
        let number = all.len() + 1;
        let said = match say {
            Say::Post { .. } => {
                Said { message: Some(MessageId::new(format!("m{number}"))), ..Said::default() }
            }
            Say::Thread { thread } => {
                Said { thread: Some(ThreadId::new(thread.session.as_str())), ..Said::default() }
            }
            Say::Edit { .. } | Say::Mark { .. } => Said::default(),
        };
        all.insert(key, (place.clone(), say.clone(), said.clone()));
        Ok(said)
    }

    async fn hear(&self, _inbox: &dyn Inbox, stop: CancellationToken) -> Result<(), Lost> {
        stop.cancelled().await;
        Ok(())
    }
}
