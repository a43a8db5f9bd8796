//! The state behind its lock, and the news that it changed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::{Clock, state::State};

pub(crate) struct Shared {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
    clock: Clock,
}

impl Shared {
    pub(crate) fn new(state: State) -> Self {
        let clock = state.clock.clone();
        Self { state: Mutex::new(state), changes: watch::Sender::new(0), clock }
    }

    /// A helper that panics in a test must not hide the state from the picture that explains why.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and says so.
    pub(crate) fn act<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let result = change(&mut self.lock());
        self.announce();
        result
    }

    /// Looks.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.lock())
    }

    /// May change the state; the caller says so if it did.
    pub(crate) fn look_mut<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.lock())
    }

    pub(crate) fn announce(&self) {
        self.changes.send_modify(|change| *change += 1);
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }
}
