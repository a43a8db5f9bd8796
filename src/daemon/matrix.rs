//! The desk's way to the account on Matrix.

use async_trait::async_trait;
use std::sync::Arc;
use vigie_matrix::{
    MatrixBridge,
    verify::{
        Backup, Begun, Look, NotDone, Outcome, RoomKind, Standing, State, Step, Verification,
    },
};

use crate::web::{
    MatrixDesk, MatrixRefusal, MatrixRefusalKind, VerificationStep,
    shapes::{
        EmojiShape, MatrixDeviceShape, MatrixPersonShape, MatrixRoomShape, MatrixShape,
        VerificationBegun, VerificationShape, VerificationState,
    },
};

pub(super) struct Account(pub(super) Arc<MatrixBridge>);

#[async_trait]
impl MatrixDesk for Account {
    async fn look(&self) -> Result<MatrixShape, MatrixRefusal> {
        self.0.look().await.map(account).map_err(refusal)
    }

    fn verifications(&self) -> Vec<VerificationShape> {
        self.0.verifications().into_iter().map(verification).collect()
    }

    async fn verify(&self, user: String) -> Result<VerificationShape, MatrixRefusal> {
        self.0.verify(&user).await.map(verification).map_err(refusal)
    }

    async fn step(
        &self,
        id: String,
        step: VerificationStep,
    ) -> Result<VerificationShape, MatrixRefusal> {
        let step = match step {
            VerificationStep::Accept => Step::Accept,
            VerificationStep::Confirm(same) => Step::Confirm { same },
            VerificationStep::Mismatch => Step::Mismatch,
            VerificationStep::Cancel => Step::Cancel,
        };
        self.0.verification_step(&id, step).await.map(verification).map_err(refusal)
    }

    async fn accept_change(&self, user: String, identity: String) -> Result<(), MatrixRefusal> {
        self.0.accept_change(&user, &identity).await.map_err(refusal)
    }
}

fn account(look: Look) -> MatrixShape {
    let rooms = look.rooms.into_iter().map(|room| MatrixRoomShape {
        id: room.room,
        name: room.name,
        kind: match room.kind {
            RoomKind::Chat => "chat",
            RoomKind::Session => "session",
            RoomKind::Space => "space",
        }
        .into(),
        encrypted: room.encrypted,
    });
    let people = look.people.into_iter().map(|person| MatrixPersonShape {
        user: person.user,
        standing: match person.standing {
            Standing::Verified => "verified",
            Standing::Unverified => "unverified",
            Standing::NoIdentity => "no_identity",
            Standing::Renewed => "renewed",
            Standing::Changed => "changed",
        }
        .into(),
        identity: person.identity,
        known: person.known,
        unsigned: person
            .unsigned
            .into_iter()
            .map(|device| MatrixDeviceShape { id: device.id, name: device.name })
            .collect(),
    });
    MatrixShape {
        user: look.user,
        device: look.device,
        ed25519: look.ed25519,
        signed: look.signed,
        homeserver: look.homeserver,
        recovery: kept(look.recovery).into(),
        backup: kept(look.backup).into(),
        heard: look.heard,
        trouble: look.trouble,
        rooms: rooms.collect(),
        people: people.collect(),
        unsigned_read: look.unsigned_read,
        sealed: look.sealed,
    }
}

fn kept(backup: Backup) -> &'static str {
    match backup {
        Backup::On => "on",
        Backup::Off => "off",
        Backup::Incomplete => "incomplete",
        Backup::Unknown => "unknown",
    }
}

fn verification(it: Verification) -> VerificationShape {
    let (device, device_name) = match it.device {
        Some(device) => (Some(device.id), device.name),
        None => (None, None),
    };
    let mut shape = VerificationShape {
        id: it.id.to_string(),
        user: it.user,
        device,
        device_name,
        begun: match it.begun {
            Begun::ByThem => VerificationBegun::ByThem,
            Begun::AtTheDesk => VerificationBegun::AtTheDesk,
        },
        since: it.since,
        until: it.until,
        state: state(&it.state),
        emoji: Vec::new(),
        decimals: None,
        words: None,
        hint: None,
    };
    match it.state {
        State::Comparing(shown) => {
            let emoji = shown.emoji.iter();
            shape.emoji = emoji
                .map(|emoji| EmojiShape { symbol: emoji.symbol.into(), name: emoji.name.into() })
                .collect();
            shape.decimals = Some(shown.decimals);
        }
        State::Over(outcome) => {
            shape.words = Some(outcome.words(&shape.user));
            shape.hint = outcome.mend().map(str::to_owned);
        }
        State::Asked | State::Waiting | State::Confirmed => {}
    }
    shape
}

fn state(state: &State) -> VerificationState {
    match state {
        State::Asked => VerificationState::Asked,
        State::Waiting => VerificationState::Waiting,
        State::Comparing(_) => VerificationState::Comparing,
        State::Confirmed => VerificationState::Confirmed,
        State::Over(Outcome::Verified) => VerificationState::Verified,
        State::Over(_) => VerificationState::Failed,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn refusal(why: NotDone) -> MatrixRefusal {
    let kind = match &why {
        NotDone::NoVerification { .. } | NotDone::Stranger { .. } | NotDone::NoRoom { .. } => {
            MatrixRefusalKind::NotThere
        }
        NotDone::NoUserId { .. } => MatrixRefusalKind::Unreadable,
        NotDone::NotReady { .. } | NotDone::NotSent { .. } => MatrixRefusalKind::Outside,
        NotDone::Over
        | NotDone::NothingToAccept
        | NotDone::NothingToCompare
        | NotDone::NotTheSame
        | NotDone::NoIdentity { .. }
        | NotDone::TooMany { .. }
        | NotDone::UnderWay { .. }
        | NotDone::NotChanged { .. }
        | NotDone::AnotherIdentity { .. } => MatrixRefusalKind::NotNow,
    };
    MatrixRefusal { kind, words: why.to_string(), hint: why.mend().into() }
}
