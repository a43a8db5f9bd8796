//! One verification, from its first event to its end: the task that owns it.

use futures_util::{Stream, StreamExt as _, stream};
use matrix_sdk::{
    Client,
    encryption::verification::{
        SasState, SasVerification, VerificationRequest, VerificationRequestState,
    },
    ruma::{OwnedUserId, events::key::verification::VerificationMethod},
};
use std::{future::Future, pin::Pin, pin::pin, sync::Weak, time::Duration};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    Shared,
    flows::Asking,
    model::{NotDone, Outcome, PeerDevice, State, Step, VerificationId},
    read::{self, Protocol, Whose},
};
use crate::why;

/// Who asked usually shows the emoji next, and two that begin at once confuse some apps.
const THEIR_START: Duration = Duration::from_secs(3);

/// For one thing to be sent; whoever asked for it waits.
const SENDING: Duration = Duration::from_secs(20);

/// Until the homeserver shows our signature below their identity.
const SIGNED: Duration = Duration::from_secs(15);

/// How often it is asked for that meanwhile.
const ASK_AGAIN: Duration = Duration::from_secs(1);

type Changes = Pin<Box<dyn Stream<Item = ()> + Send>>;

pub(super) struct Following {
    pub(super) shared: Weak<Shared>,
    pub(super) id: VerificationId,
    pub(super) client: Client,
    pub(super) user: OwnedUserId,
    /// There is none where an older app began with the comparing itself.
    pub(super) request: Option<VerificationRequest>,
    pub(super) sas: Option<SasVerification>,
    pub(super) steps: mpsc::Receiver<Asking>,
    pub(super) lapse: Duration,
    pub(super) stop: CancellationToken,
}

impl Following {
    /// Carries it on until it is over; says all the time how far it is.
    pub(super) async fn run(mut self) {
        let outcome = match self.follow().await {
            Outcome::Verified => self.settled().await,
            other => other,
        };
        self.tell(State::Over(outcome));
    }

    async fn follow(&mut self) -> Outcome {
        let mut changes = self.changes();
        let mut lapse = pin!(tokio::time::sleep(self.lapse));
        let stop = self.stop.clone();
        loop {
            match self.go_on().await {
                Ok(Fresh::Nothing) => {}
                Ok(Fresh::Comparing) => changes = self.changes(),
                Err(outcome) => return self.taken_back(outcome).await,
            }
            match self.state() {
                State::Over(outcome) => return outcome,
                state => self.tell(state),
            }
            let wait = if self.we_began() { Duration::ZERO } else { THEIR_START };
            tokio::select! {
                Some(()) = changes.next() => {}
                Some(asking) = self.steps.recv() => {
                    if let Err(outcome) = self.take(asking).await {
                        return self.taken_back(outcome).await;
                    }
                }
                () = tokio::time::sleep(wait), if self.is_ready() => {
                    if let Err(outcome) = self.begin_comparing().await {
                        return self.taken_back(outcome).await;
                    }
                }
                () = &mut lapse => return self.taken_back(Outcome::TimedOut).await,
                () = stop.cancelled() => return self.taken_back(Outcome::Stopped).await,
            }
        }
    }

    /// Whatever changes from now on, at either of the two.
    fn changes(&self) -> Changes {
        let request = self.request.as_ref().map(|request| request.changes().map(drop).boxed());
        let sas = self.sas.as_ref().map(|sas| sas.changes().map(drop).boxed());
        Box::pin(stream::select_all(request.into_iter().chain(sas)))
    }

    fn we_began(&self) -> bool {
        self.request.as_ref().is_some_and(VerificationRequest::we_started)
    }

    fn whose(&self) -> Whose {
        let ours = self.client.user_id() == Some(&self.user);
        if ours { Whose::Ours } else { Whose::Theirs }
    }

    /// Both said that they are there, and nobody began to compare.
    fn is_ready(&self) -> bool {
        self.sas.is_none() && self.request.as_ref().is_some_and(VerificationRequest::is_ready)
    }

    /// What follows by itself, now that somebody at the desk has taken it.
    async fn go_on(&mut self) -> Result<Fresh, Outcome> {
        let Some(request) = &self.request else { return Ok(Fresh::Nothing) };
        let VerificationRequestState::Transitioned { verification } = request.state() else {
            return Ok(Fresh::Nothing);
        };
        let Some(sas) = verification.sas() else { return Err(Outcome::NoCommonWay) };
        // Where both began, one of the two beginnings counts.
        let known = self.sas.as_ref().is_some_and(|known| known.we_started() == sas.we_started());
        if !sas.we_started() && matches!(sas.state(), SasState::Started { .. }) {
            sent(sas.accept()).await.map_err(failed)?;
        }
        self.sas = Some(sas);
        Ok(if known { Fresh::Nothing } else { Fresh::Comparing })
    }

    async fn begin_comparing(&self) -> Result<(), Outcome> {
        let Some(request) = &self.request else { return Ok(()) };
        if !compares(request) {
            return Err(Outcome::NoCommonWay);
        }
        sent(request.start_sas()).await.map(drop).map_err(failed)
    }

    fn state(&self) -> State {
        let request = self.request.as_ref();
        if request.is_some_and(VerificationRequest::is_passive) {
            return State::Over(Outcome::TakenElsewhere);
        }
        match (&self.sas, request) {
            (Some(sas), Some(_)) => {
                read::comparing(&sas.state(), Protocol::Requested, self.whose())
            }
            (Some(sas), None) => read::comparing(&sas.state(), Protocol::Bare, self.whose()),
            (None, Some(request)) => read::requested(&request.state()),
            (None, None) => State::Over(Outcome::Stopped),
        }
    }

    fn device(&self) -> Option<PeerDevice> {
        if let Some(sas) = &self.sas {
            return Some(read::device(sas.other_device()));
        }
        match self.request.as_ref()?.state() {
            VerificationRequestState::Requested { other_device_data, .. }
            | VerificationRequestState::Ready { other_device_data, .. } => {
                Some(read::device(&other_device_data))
            }
            VerificationRequestState::Created { .. }
            | VerificationRequestState::Transitioned { .. }
            | VerificationRequestState::Done
            | VerificationRequestState::Cancelled(_) => None,
        }
    }

    fn tell(&self, state: State) {
        if let Some(shared) = self.shared.upgrade() {
            shared.flows().is_now(self.id, state, self.device());
        }
    }

    /// Does what somebody at the desk wants, and tells them; `Err`: it cannot go on after that.
    async fn take(&mut self, asking: Asking) -> Result<(), Outcome> {
        let Asking { step, answer } = asking;
        let done = self.step(step).await;
        let fatal = match &done {
            Err(NotDone::NotSent { why }) => Err(Outcome::Failed { why: why.clone() }),
            Ok(()) | Err(_) => Ok(()),
        };
        let _ = answer.send(done); // they may have given up waiting
        fatal
    }

    async fn step(&mut self, step: Step) -> Result<(), NotDone> {
        match (step, self.state(), &self.sas) {
            (Step::Accept, State::Asked, None) => self.accept().await,
            (Step::Accept, State::Asked, Some(sas)) => sent(sas.accept()).await,
            (Step::Accept, _, _) => Err(NotDone::NothingToAccept),
            (Step::Confirm { same }, State::Comparing(shown), Some(sas)) => {
                if !shown.is_what(&same) {
                    return Err(NotDone::NotTheSame);
                }
                sent(sas.confirm()).await
            }
            (Step::Mismatch, State::Comparing(_), Some(sas)) => sent(sas.mismatch()).await,
            (Step::Confirm { .. } | Step::Mismatch, _, _) => Err(NotDone::NothingToCompare),
            (Step::Cancel, _, _) => {
                self.take_back().await;
                Ok(())
            }
        }
    }

    async fn accept(&self) -> Result<(), NotDone> {
        let Some(request) = &self.request else { return Err(NotDone::NothingToAccept) };
        sent(request.accept_with_methods(vec![VerificationMethod::SasV1])).await
    }

    /// Tells the other end that it is over. Nothing more can be done if that does not arrive: it
    /// gives up by itself after its own while.
    async fn take_back(&self) {
        let told = match (&self.sas, &self.request) {
            (Some(sas), _) => sent(sas.cancel()).await,
            (None, Some(request)) => sent(request.cancel()).await,
            (None, None) => Ok(()),
        };
        if let Err(error) = told {
            warn!(verification = %self.id, reason = %error, "the other end was not told that it is over");
        }
    }

    async fn taken_back(&self, outcome: Outcome) -> Outcome {
        self.take_back().await;
        outcome
    }

    /// Whether the signature is really there: it goes to the homeserver with a later sync, and what
    /// nobody sees there is no verification.
    async fn settled(&self) -> Outcome {
        if self.whose() == Whose::Ours {
            return Outcome::Verified;
        }
        let encryption = self.client.encryption();
        let seen = async {
            while !self.is_verified().await {
                tokio::time::sleep(ASK_AGAIN).await;
                let _ = Box::pin(encryption.request_user_identity(&self.user)).await; // asked again until the deadline
            }
        };
        match tokio::time::timeout(SIGNED, seen).await {
            Ok(()) => Outcome::Verified,
            Err(_) => Outcome::Failed {
                why: "their identity was not signed at the homeserver; see `vigie matrix status`"
                    .into(),
            },
        }
    }
}

impl Following {
    async fn is_verified(&self) -> bool {
        let identity = self.client.encryption().get_user_identity(&self.user).await;
        identity.is_ok_and(|identity| identity.is_some_and(|identity| identity.is_verified()))
    }
}

/// Whether there is something new to listen to.
enum Fresh {
    Nothing,
    Comparing,
}

/// Whether the other device can compare emoji or numbers.
fn compares(request: &VerificationRequest) -> bool {
    let theirs = request.their_supported_methods().unwrap_or_default();
    theirs.contains(&VerificationMethod::SasV1)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: NotDone) -> Outcome {
    Outcome::Failed { why: error.to_string() }
}

/// Sends something, within a bound: matrix-sdk's own futures are large and may wait long.
async fn sent<T>(what: impl Future<Output = matrix_sdk::Result<T>>) -> Result<T, NotDone> {
    let not_sent = |why: String| NotDone::NotSent { why };
    match tokio::time::timeout(SENDING, Box::pin(what)).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(not_sent(why::of_sdk(&error))),
        Err(_) => Err(not_sent(format!("it did not answer within {} s", SENDING.as_secs()))),
    }
}
