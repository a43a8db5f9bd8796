//! Which verifications there are: a few at once, and those that ended lately.

use std::{collections::BTreeMap, time::Duration};
use tokio::sync::{mpsc, oneshot};
use vigie_core::Timestamp;

use super::model::{
    Begun, NotDone, Outcome, PeerDevice, State, Step, Verification, VerificationId,
};

/// At once; a person has one phone in their hand.
pub(super) const MOST_OPEN: usize = 4;

/// Ended ones that can still be looked at, so that the desk sees how it ended.
const MOST_OVER: usize = 8;

/// Between two times that the same person rings for it.
const RING_AGAIN: chrono::TimeDelta = chrono::TimeDelta::minutes(1);

/// A step on its way to the task that owns the verification.
pub(super) struct Asking {
    pub(super) step: Step,
    pub(super) answer: oneshot::Sender<Result<(), NotDone>>,
}

struct Flow {
    shown: Verification,
    /// Its name at the service: a transaction or an event.
    name: String,
    steps: mpsc::Sender<Asking>,
}

/// What a new one is.
pub(super) struct New {
    pub(super) user: String,
    pub(super) flow: String,
    pub(super) device: Option<PeerDevice>,
    pub(super) begun: Begun,
    pub(super) state: State,
    pub(super) steps: mpsc::Sender<Asking>,
}

/// Why a new one has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// It is there already.
    Known,
    Full,
}

#[derive(Default)]
pub(super) struct Flows {
    all: BTreeMap<VerificationId, Flow>,
    last: Option<VerificationId>,
    rang: BTreeMap<String, Timestamp>,
}

impl Flows {
    pub(super) fn add(
        &mut self,
        new: New,
        now: Timestamp,
        lapse: Duration,
    ) -> Result<VerificationId, NoPlace> {
        let New { user, flow, device, begun, state, steps } = new;
        if self.all.values().any(|known| known.name == flow && known.shown.user == user) {
            return Err(NoPlace::Known);
        }
        if self.open().count() >= MOST_OPEN {
            return Err(NoPlace::Full);
        }
        let id = VerificationId::after(self.last, now);
        let shown = Verification { id, user, device, begun, since: now, until: now + lapse, state };
        self.last = Some(id);
        self.all.insert(id, Flow { shown, name: flow, steps });
        self.forget();
        Ok(id)
    }

    /// The oldest of those that ended go first.
    fn forget(&mut self) {
        let over = |flow: &Flow| matches!(flow.shown.state, State::Over(_));
        let ended: Vec<_> =
            self.all.iter().filter(|(_, flow)| over(flow)).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(MOST_OVER)) {
            self.all.remove(id);
        }
    }

    fn open(&self) -> impl Iterator<Item = &Flow> {
        self.all.values().filter(|flow| !matches!(flow.shown.state, State::Over(_)))
    }

    pub(super) fn has_open_with(&self, user: &str) -> bool {
        self.open().any(|flow| flow.shown.user == user)
    }

    pub(super) fn is_full(&self) -> bool {
        self.open().count() >= MOST_OPEN
    }

    /// How far it is now. What is over stays over.
    pub(super) fn is_now(&mut self, id: VerificationId, state: State, device: Option<PeerDevice>) {
        let Some(flow) = self.all.get_mut(&id) else { return };
        if matches!(flow.shown.state, State::Over(_)) {
            return;
        }
        flow.shown.state = state;
        flow.shown.device = device.or_else(|| flow.shown.device.take());
        self.forget();
    }

    /// Where steps for it go.
    pub(super) fn steps(&self, id: VerificationId) -> Result<mpsc::Sender<Asking>, NotDone> {
        let flow = self.all.get(&id).ok_or(NotDone::NoVerification { id: id.to_string() })?;
        match flow.shown.state {
            State::Over(_) => Err(NotDone::Over),
            State::Asked | State::Waiting | State::Comparing(_) | State::Confirmed => {
                Ok(flow.steps.clone())
            }
        }
    }

    pub(super) fn get(&self, id: VerificationId) -> Option<Verification> {
        self.all.get(&id).map(|flow| flow.shown.clone())
    }

    /// Oldest first.
    pub(super) fn list(&self) -> Vec<Verification> {
        self.all.values().map(|flow| flow.shown.clone()).collect()
    }

    /// Whether somebody may ring for it; they cannot do so all the time.
    pub(super) fn may_ring(&mut self, user: &str, now: Timestamp) -> bool {
        self.rang.retain(|_, at| now - *at < RING_AGAIN);
        if self.rang.contains_key(user) {
            return false;
        }
        self.rang.insert(user.into(), now);
        true
    }

    /// Nobody carries these on any more.
    pub(super) fn end_all(&mut self, outcome: &Outcome) {
        for flow in self.all.values_mut() {
            if !matches!(flow.shown.state, State::Over(_)) {
                flow.shown.state = State::Over(outcome.clone());
            }
        }
        self.forget();
    }
}
