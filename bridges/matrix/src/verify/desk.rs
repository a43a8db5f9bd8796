//! What a person at the desk does with verifications.

use matrix_sdk::{
    Client, Room, RoomMemberships,
    encryption::identities::{RequestVerificationError, UserIdentity},
    ruma::{OwnedUserId, UserId, events::key::verification::VerificationMethod},
};
use std::{future::Future, sync::Arc, time::Duration};
use tokio::sync::oneshot;

use super::{
    Shared, Verifying,
    ask::{self, Other},
    flows::{Asking, MOST_OPEN},
    known,
    model::{Begun, NotDone, Step, Verification, VerificationId},
    standing::{Standing, Unread, master_key, stands},
};
use crate::{MatrixBridge, store::Store};

/// A command waits 30 s for its answer, and should rather get ours.
const PATIENCE: Duration = Duration::from_secs(25);

impl MatrixBridge {
    /// Verifications that run, and those that ended lately, oldest first.
    pub fn verifications(&self) -> Vec<Verification> {
        self.verifying.0.flows().list()
    }

    /// Asks `user` to be verified: their devices show it, and one of them answers.
    ///
    /// # Errors
    /// They are unknown, have no identity, share no room with us, or it was not sent.
    pub async fn verify(&self, user: &str) -> Result<Verification, NotDone> {
        let user = user_id(user)?;
        let client = self.ready().await?;
        self.verifying.clone().begin(client, user).await
    }

    /// Does a step of the verification of that id.
    ///
    /// # Errors
    /// There is no such one, or it is not the time for that.
    pub async fn verification_step(&self, id: &str, step: Step) -> Result<Verification, NotDone> {
        let none = || NotDone::NoVerification { id: id.into() };
        let id = id.parse().map_err(|_| none())?;
        self.verifying.step(id, step).await
    }

    /// Takes `user` as they are now, although their identity is another one than before. `identity` is
    /// the master key that was looked at, in Base64.
    ///
    /// # Errors
    /// Theirs did not change, or changed again since it was looked at, or the account's store cannot be
    /// written.
    pub async fn accept_change(&self, user: &str, identity: &str) -> Result<(), NotDone> {
        let user = user_id(user)?;
        let client = self.ready().await?;
        let gone = |_| NotDone::NotReady { why: "it was dropped in the middle".into() };
        let work = accept_change(client, self.store.clone(), user, identity.to_owned());
        let accepted = self.verifying.apart(work)?;
        let done = accepted.await.map_err(gone)?;
        self.readers.look.notify_one();
        done
    }

    pub(super) async fn ready(&self) -> Result<Client, NotDone> {
        let client = tokio::time::timeout(PATIENCE, Box::pin(self.client())).await;
        match client {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(NotDone::NotReady { why: error.to_string() }),
            Err(_) => Err(NotDone::NotReady { why: "the homeserver does not answer".into() }),
        }
    }
}

impl Verifying {
    /// Runs `work` to its end, even if whoever asked for it goes away.
    fn apart<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, NotDone> {
        let (answer, answered) = oneshot::channel();
        let work = async move {
            let _ = answer.send(work.await); // they may have gone away
        };
        match self.0.start(work) {
            Ok(()) => Ok(answered),
            Err(super::NoRoom) => Err(NotDone::TooMany { most: super::MOST_TASKS }),
        }
    }

    pub(super) async fn begin(
        self,
        client: Client,
        user: OwnedUserId,
    ) -> Result<Verification, NotDone> {
        let shared = self.0.clone();
        let begun = self.apart(async move { begin(&shared, client, &user).await })?;
        let id = match tokio::time::timeout(PATIENCE, begun).await {
            Ok(Ok(begun)) => begun?,
            Ok(Err(_)) => return Err(NotDone::NotSent { why: "it broke off".into() }),
            Err(_) => return Err(NotDone::NotSent { why: "it takes too long".into() }),
        };
        self.0.flows().get(id).ok_or(NotDone::Over)
    }

    pub(super) async fn step(
        &self,
        id: VerificationId,
        step: Step,
    ) -> Result<Verification, NotDone> {
        let steps = self.0.flows().steps(id)?;
        let (answer, answered) = oneshot::channel();
        let asked = async {
            steps.send(Asking { step, answer }).await.map_err(|_| NotDone::Over)?;
            answered.await.map_err(|_| NotDone::Over)?
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(done) => done?,
            Err(_) => return Err(NotDone::NotSent { why: "it takes too long".into() }),
        }
        self.0.flows().get(id).ok_or(NotDone::Over)
    }
}

fn user_id(user: &str) -> Result<OwnedUserId, NotDone> {
    UserId::parse(user).map_err(|_| NotDone::NoUserId { user: user.into() })
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn not_sent(error: impl ToString) -> NotDone {
    NotDone::NotSent { why: error.to_string() }
}

async fn begin(
    shared: &Arc<Shared>,
    client: Client,
    user: &OwnedUserId,
) -> Result<VerificationId, NotDone> {
    let name = || user.to_string();
    let known = known::knows(shared, &client, user).await;
    if !known.map_err(|error| NotDone::NotReady { why: error.to_string() })? {
        return Err(NotDone::Stranger { user: name() });
    }
    {
        let flows = shared.flows();
        if flows.has_open_with(user.as_str()) {
            // matrix-sdk would take both back.
            return Err(NotDone::UnderWay { user: name() });
        }
        if flows.is_full() {
            return Err(NotDone::TooMany { most: MOST_OPEN });
        }
    }
    let encryption = client.encryption();
    let identity = Box::pin(encryption.request_user_identity(user)).await.map_err(not_sent)?;
    let identity = identity.ok_or_else(|| NotDone::NoIdentity { user: name() })?;
    if client.user_id() != Some(user) {
        direct_room(&client, user).await?;
    }
    let request = Box::pin(request(&identity)).await.map_err(not_sent)?;
    ask::keep(shared, client, user, Other::Request(request), Begun::AtTheDesk)
}

async fn request(
    identity: &UserIdentity,
) -> Result<matrix_sdk::encryption::verification::VerificationRequest, RequestVerificationError> {
    identity.request_verification_with_methods(vec![VerificationMethod::SasV1]).await
}

/// matrix-sdk asks in the room that the account has marked as the one with this person, and would
/// make another one if none was.
async fn direct_room(client: &Client, user: &UserId) -> Result<(), NotDone> {
    if client.get_dm_room(user).is_some() {
        return Ok(());
    }
    let room = smallest_room(client, user).await;
    let room = room.ok_or_else(|| NotDone::NoRoom { user: user.to_string() })?;
    let mut marked = room.subscribe_info();
    let (account, them) = (client.account(), [user.to_owned()]);
    Box::pin(account.mark_as_dm(room.room_id(), &them)).await.map_err(not_sent)?;
    let seen = async {
        while client.get_dm_room(user).is_none() {
            if marked.next().await.is_none() {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, seen)
        .await
        .map_err(|_| not_sent("the homeserver did not show which room is the one with them"))
}

/// The room with them and as few others as may be.
async fn smallest_room(client: &Client, user: &UserId) -> Option<Room> {
    let mut with_them = Vec::new();
    for room in client.joined_rooms().into_iter().filter(|room| !room.is_space()) {
        let members = Box::pin(room.members(RoomMemberships::JOIN)).await.unwrap_or_default();
        if members.iter().any(|member| member.user_id() == user) {
            with_them.push((members.len(), room));
        }
    }
    let smallest = with_them.into_iter().min_by_key(|(count, _)| *count);
    smallest.map(|(_, room)| room)
}

pub(super) async fn accept_change(
    client: Client,
    store: Store,
    user: OwnedUserId,
    looked_at: String,
) -> Result<(), NotDone> {
    let unread = |error: Unread| NotDone::NotReady { why: error.to_string() };
    let found = client.encryption().get_user_identity(&user).await;
    let found = found.map_err(|error| unread(error.into()))?;
    let standing = stands(&client, &store, &user).await.map_err(unread)?.standing;
    let (Some(found), Standing::Renewed | Standing::Changed) = (found, standing) else {
        return Err(NotDone::NotChanged { user: user.to_string() });
    };
    let present = master_key(&found).unwrap_or_default();
    if present != looked_at.split_whitespace().collect::<String>() {
        return Err(NotDone::AnotherIdentity { user: user.to_string() });
    }
    let taken = match standing {
        // This also remembers the present one.
        Standing::Changed => found.withdraw_verification().await,
        Standing::Verified | Standing::Unverified | Standing::NoIdentity | Standing::Renewed => {
            found.pin().await
        }
    };
    taken.map_err(|error| unread(error.into()))?;
    store.take_for(user.as_str(), &present).await.map_err(|error| unread(error.into()))
}
