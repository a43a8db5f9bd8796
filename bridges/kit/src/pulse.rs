//! How hearing goes, as the port asks for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use vigie_core::{Timestamp, bridge::Health};

/// How hearing goes; each who hears or speaks says what they notice.
#[derive(Debug, Default)]
pub struct Pulse {
    health: Mutex<Health>,
}

impl Pulse {
    /// The service told everything up to `now`: whatever was wrong is over.
    pub fn heard_all(&self, now: Timestamp) {
        *self.lock() = Health { heard: Some(now), trouble: None };
    }

    /// Why nothing comes from the service, and what to do about it, for a person.
    pub fn in_trouble(&self, trouble: String) {
        self.lock().trouble = Some(trouble);
    }

    pub fn health(&self) -> Health {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_over_once_something_is_heard_and_leaves_the_time() {
        let (pulse, now) = (Pulse::default(), Timestamp::default());
        assert_eq!(pulse.health(), Health::default());
        pulse.in_trouble("no network; look at it".into());
        pulse.heard_all(now);
        assert_eq!(pulse.health(), Health { heard: Some(now), trouble: None });
        pulse.in_trouble("no network; look at it".into());
        let trouble = Some("no network; look at it".into());
        assert_eq!(pulse.health(), Health { heard: Some(now), trouble });
    }
}
