//! Tells the hub how its chat services do: a bridge knows, and only says when it is asked.

use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use vigie_core::{bridge::Bridge, decide::Event};

use crate::{hub::Hub, tasks::Tasks};

/// A look is a lock and a copy, so new trouble may be known at once.
const LOOK: Duration = Duration::from_secs(1);

/// The hub counts a service as deaf after 45 s of silence, so four tellings must fit into that.
const TELL: Duration = Duration::from_secs(10);

/// Watches every bridge for as long as we run.
pub fn start(tasks: &Tasks, bridges: &[Arc<dyn Bridge>], hub: &Hub) {
    for bridge in bridges {
        let (bridge, hub) = (bridge.clone(), hub.clone());
        tasks.start("watch", move |stop| watch(bridge, hub, stop));
    }
}

async fn watch(bridge: Arc<dyn Bridge>, hub: Hub, stop: CancellationToken) {
    let mut pace = interval(LOOK);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut trouble = None;
    let mut told: Option<Instant> = None;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = pace.tick() => {}
        }
        let health = bridge.health();
        let changed = health.trouble != trouble;
        if changed {
            if let Some(why) = &health.trouble {
                warn!(bridge = %bridge.name(), %why, "a chat service is in trouble");
            } else {
                info!(bridge = %bridge.name(), "a chat service is well again");
            }
            trouble.clone_from(&health.trouble);
        }
        // A bridge that cannot go deaf says nothing, and nothing is told of it.
        let says = health.heard.is_some() || health.trouble.is_some();
        let due = says && told.is_none_or(|told| told.elapsed() >= TELL);
        if changed || due {
            hub.tell(Event::Pulse { bridge: bridge.name(), health }).await;
            told = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Mail;
    use async_trait::async_trait;
    use std::sync::Mutex;
    use tokio::sync::mpsc;
    use vigie_core::{
        bridge::{Health, Inbox, Limits, Lost, Place, Room, Said, Say, SayError, TextUnit},
        id::{BridgeName, DeliveryId},
    };

    #[derive(Default)]
    struct Patient(Mutex<Health>);

    #[async_trait]
    impl Bridge for Patient {
        fn name(&self) -> BridgeName {
            BridgeName::new("patient")
        }
        fn limits(&self, _: Room) -> Limits {
            Limits::of_text(TextUnit::Bytes, 1, 0, 1)
        }
        fn health(&self) -> Health {
            self.0.lock().unwrap().clone()
        }
        async fn say(&self, _: &Place, _: &Say, _: DeliveryId) -> Result<Said, SayError> {
            Ok(Said::default())
        }
        async fn hear(&self, _: &dyn Inbox, _: CancellationToken) -> Result<(), Lost> {
            Ok(())
        }
    }

    async fn pulse(mail: &mut mpsc::Receiver<Mail>) -> Option<String> {
        match mail.recv().await.unwrap() {
            Mail::Event(Event::Pulse { health, .. }) => health.trouble,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_is_told_at_once_and_health_now_and_then() {
        let (mailbox, mut mail) = mpsc::channel(8);
        let tasks = Tasks::new();
        let patient = Arc::new(Patient::default());
        start(&tasks, &[patient.clone() as Arc<dyn Bridge>], &Hub::new(mailbox));

        let nothing = tokio::time::timeout(TELL * 2, mail.recv()).await;
        assert!(nothing.is_err(), "a bridge that says nothing is left alone");

        let say = |trouble: Option<&str>| {
            let heard = Some(chrono::DateTime::UNIX_EPOCH);
            *patient.0.lock().unwrap() = Health { heard, trouble: trouble.map(str::to_owned) };
        };
        say(None);
        assert_eq!(pulse(&mut mail).await, None);
        let first = Instant::now();
        assert_eq!(pulse(&mut mail).await, None);
        assert!(first.elapsed() >= TELL, "no oftener than it must be");

        let before = Instant::now();
        say(Some("its ears hurt"));
        assert_eq!(pulse(&mut mail).await.as_deref(), Some("its ears hurt"));
        assert!(before.elapsed() <= LOOK * 2);
        say(None);
        assert_eq!(pulse(&mut mail).await, None);
        assert!(before.elapsed() <= LOOK * 4, "and so is its end");
        tasks.stop();
    }
}
