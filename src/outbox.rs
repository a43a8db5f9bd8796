//! Hands due deliveries to their bridge, and tells the hub what came of each.

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use vigie_core::{
    bridge::{Body, Bridge, Place, Say, SayError},
    decide::Event,
    id::{BridgeName, DeliveryId},
};

use crate::{hub::Hub, tasks::Tasks, telemetry::Span};

/// The core keeps one delivery a chat in flight, so this many chats fit.
const IN_FLIGHT: usize = 1024;

/// A send that has not ended by then is in doubt.
const SEND: Duration = Duration::from_mins(1);

/// A large file over a slow line takes minutes.
const SEND_FILE: Duration = Duration::from_mins(6);

/// Before a delivery is tried again that found the bridge's queue full.
const AFTER_A_FULL_QUEUE: Duration = Duration::from_secs(5);

/// One delivery in flight.
pub struct Sending {
    pub delivery: DeliveryId,
    pub place: Place,
    pub say: Say,
}

/// The way to every bridge.
pub struct Outbox {
    tasks: Tasks,
    hub: Hub,
    bridges: HashMap<BridgeName, mpsc::Sender<Sending>>,
}

impl Outbox {
    /// Starts a task for each bridge.
    pub fn start(tasks: &Tasks, bridges: &[Arc<dyn Bridge>], hub: &Hub) -> Self {
        let start = |bridge: &Arc<dyn Bridge>| {
            let (sender, sendings) = mpsc::channel(IN_FLIGHT);
            let (name, bridge, hub) = (bridge.name(), bridge.clone(), hub.clone());
            tasks.start("outbox", move |stop| run(bridge, sendings, hub, stop));
            (name, sender)
        };
        let bridges = bridges.iter().map(start).collect();
        Self { tasks: tasks.clone(), hub: hub.clone(), bridges }
    }

    /// Does not wait. What cannot be handed over is told to the hub as any other outcome.
    pub fn send(&self, sending: Sending) {
        let delivery = sending.delivery;
        let error = match self.bridges.get(&sending.place.bridge) {
            None => {
                SayError::Never { reason: format!("{} is not switched on", sending.place.bridge) }
            }
            Some(bridge) => match bridge.try_send(sending) {
                Ok(()) => return,
                Err(_) => SayError::Later { after: AFTER_A_FULL_QUEUE },
            },
        };
        warn!(%delivery, reason = %error, "a delivery was not handed over");
        let hub = self.hub.clone();
        self.tasks.start("outbox", move |_| async move {
            hub.tell(Event::Delivered { delivery, outcome: Err(error) }).await;
        });
    }
}

async fn run(
    bridge: Arc<dyn Bridge>,
    mut sendings: mpsc::Receiver<Sending>,
    hub: Hub,
    stop: CancellationToken,
) {
    let mut flying = FuturesUnordered::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(sending) = sendings.recv() => flying.push(say(bridge.clone(), sending)),
            Some(event) = flying.next() => hub.tell(event).await,
        }
    }
    // What flies lands, so that it is not in doubt at the next start.
    while let Some(event) = flying.next().await {
        hub.tell(event).await;
    }
}

/// Until what a say may take is over.
fn patience(say: &Say) -> Duration {
    let post = match say {
        Say::Post { post, .. } | Say::Edit { post, .. } => post,
        Say::Mark { .. } | Say::Thread { .. } => return SEND,
    };
    match post.body {
        Body::Document(_) | Body::File(_) => SEND_FILE,
        Body::Text { .. } | Body::Card(_) | Body::Progress(_) => SEND,
    }
}

/// What is said, for traces.
fn kind(say: &Say) -> &'static str {
    match say {
        Say::Post { .. } => "post",
        Say::Edit { .. } => "edit",
        Say::Mark { .. } => "mark",
        Say::Thread { .. } => "thread",
    }
}

async fn say(bridge: Arc<dyn Bridge>, sending: Sending) -> Event {
    let Sending { delivery, place, say } = sending;
    let _span = Span::begin("deliver")
        .with("bridge", place.bridge.to_string())
        .with("delivery", delivery.to_string())
        .with("what", kind(&say));
    let outcome = timeout(patience(&say), bridge.say(&place, &say, delivery))
        .await
        .unwrap_or(Err(SayError::InDoubt));
    Event::Delivered { delivery, outcome }
}
