//! Effects after commit: waits for each batch in order, then answers and acts.

use std::sync::Arc;
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::error;
use vigie_core::{
    bridge::{Accepted, NotAccepted},
    caller::{AgentRefusal, AgentReply},
    command::{Refusal, Reply},
    decide::Effect,
};

use crate::store::StoreError;

/// Carries effects out. It must not wait: what cannot be handed over now is found again in the rows.
pub trait Hands: Send + 'static {
    fn carry_out(&mut self, effect: Effect);
}

/// What the hub hands over with each batch it submitted.
pub(super) struct Effects {
    pub written: oneshot::Receiver<Result<(), StoreError>>,
    pub to_do: Vec<Effect>,
    pub answer: Answer,
}

/// Whoever waits for the commit.
#[expect(clippy::large_enum_variant, reason = "a few hundred live at most")]
pub(super) enum Answer {
    Nobody,
    Request(oneshot::Sender<Result<Reply, Refusal>>, Result<Reply, Refusal>),
    Agent(oneshot::Sender<Result<AgentReply, AgentRefusal>>, Result<AgentReply, AgentRefusal>),
    Heard(oneshot::Sender<Result<Accepted, NotAccepted>>, Accepted),
}

/// Runs until the hub is gone; `broken` tells the hub that a commit failed.
pub(super) async fn run(
    mut batches: mpsc::Receiver<Effects>,
    mut hands: Box<dyn Hands>,
    broken: Arc<Notify>,
) {
    while let Some(Effects { written, to_do, answer }) = batches.recv().await {
        let result = written.await.unwrap_or(Err(StoreError::Gone));
        if let Err(failure) = &result {
            error!(reason = %failure, "a decision could not be written down");
            broken.notify_one();
        }
        let reason = result.err().map(|failure| failure.to_string());
        if reason.is_none() {
            for effect in to_do {
                hands.carry_out(effect);
            }
        }
        answer.send(reason);
    }
}

impl Answer {
    fn send(self, reason: Option<String>) {
        // Whoever asked may have gone; what they asked for is done all the same.
        match (self, reason) {
            (Self::Nobody, _) => {}
            (Self::Request(to, reply), None) => drop(to.send(reply)),
            (Self::Request(to, _), Some(reason)) => {
                drop(to.send(Err(Refusal::NotWritten { reason })));
            }
            (Self::Agent(to, reply), None) => drop(to.send(reply)),
            (Self::Agent(to, _), Some(reason)) => {
                drop(to.send(Err(Refusal::NotWritten { reason }.into())));
            }
            (Self::Heard(to, accepted), None) => drop(to.send(Ok(accepted))),
            (Self::Heard(to, _), Some(reason)) => drop(to.send(Err(NotAccepted { reason }))),
        }
    }
}
