//! Who asks to be verified: noticed, looked at, kept; answered only when somebody at the desk says so.

use matrix_sdk::{
    Client, Room,
    encryption::verification::{SasVerification, Verification, VerificationRequest},
    ruma::{
        OwnedUserId,
        events::{
            key::verification::{
                request::ToDeviceKeyVerificationRequestEvent,
                start::ToDeviceKeyVerificationStartEvent,
            },
            room::message::{MessageType, OriginalSyncRoomMessageEvent},
        },
    },
};
use std::sync::{Arc, Weak};
use tokio::sync::mpsc;
use tracing::{debug, warn};
use vigie_core::bridge::Noted;

use super::{
    Shared,
    flows::{New, NoPlace},
    follow::Following,
    known,
    model::{Begun, NotDone, PeerDevice, State, VerificationId},
    read,
};

/// Longest name of a verification that is looked at: what a homeserver makes has 44 bytes, and event
/// ids at most 255. Source: Matrix specification, "Size limits".
const LONGEST_FLOW: usize = 255;

/// Steps that wait for the task of one verification; each has somebody waiting at the desk.
const STEPS: usize = 4;

/// What to look up at matrix-sdk once it is known that we care.
struct Came {
    user: OwnedUserId,
    flow: String,
}

/// Handlers run within a sync, so they do no more than start the look at it.
pub(super) fn listen(client: &Client, shared: &Arc<Shared>) {
    let weak = Arc::downgrade(shared);
    client.add_event_handler(move |event: ToDeviceKeyVerificationRequestEvent, client: Client| {
        let flow = event.content.transaction_id.to_string();
        came(&weak, client, Came { user: event.sender, flow });
        std::future::ready(())
    });
    let weak = Arc::downgrade(shared);
    client.add_event_handler(move |event: ToDeviceKeyVerificationStartEvent, client: Client| {
        let flow = event.content.transaction_id.to_string();
        came(&weak, client, Came { user: event.sender, flow });
        std::future::ready(())
    });
    let weak = Arc::downgrade(shared);
    client.add_event_handler(
        move |event: OriginalSyncRoomMessageEvent, _: Room, client: Client| {
            if let MessageType::VerificationRequest(request) = &event.content.msgtype
                && client.user_id() == Some(&request.to)
                && client.user_id() != Some(&event.sender)
            {
                let flow = event.event_id.to_string();
                came(&weak, client, Came { user: event.sender, flow });
            }
            std::future::ready(())
        },
    );
}

fn came(shared: &Weak<Shared>, client: Client, came: Came) {
    let Some(shared) = shared.upgrade() else { return };
    if came.flow.len() > LONGEST_FLOW {
        return;
    }
    let weak = Arc::downgrade(&shared);
    let look = async move {
        if let Some(shared) = weak.upgrade() {
            look(&shared, client, came).await;
        }
    };
    if shared.start(look).is_err() {
        debug!("a request to verify is left alone: too much is under way");
    }
}

/// Keeps what somebody we know asks, and has it rung for. Strangers get no answer.
async fn look(shared: &Arc<Shared>, client: Client, came: Came) {
    let Came { user, flow } = came;
    match known::knows(shared, &client, &user).await {
        Ok(true) => {}
        Ok(false) => return debug!(%user, "a stranger asks to be verified; it is not answered"),
        Err(error) => return warn!(reason = %error, "a request to verify could not be looked at"),
    }
    let encryption = client.encryption();
    let other = match encryption.get_verification_request(&user, &flow).await {
        Some(request) if request.we_started() => return,
        Some(request) => Other::Request(request),
        None => match encryption.get_verification(&user, &flow).await {
            Some(Verification::SasV1(sas)) if !sas.started_from_request() => {
                Other::Sas { sas, flow }
            }
            Some(_) => return,
            None => {
                debug!(%user, "a request to verify is too old, or of a device that nobody told us of");
                // So that the next try finds the device.
                let asked = encryption.request_user_identity(&user);
                return drop(Box::pin(asked).await);
            }
        },
    };
    let (device, refused) = (other.device(), other.clone());
    match keep(shared, client, &user, other, Begun::ByThem) {
        Ok(id) => ring(shared, &user, device, id),
        // So that they need not wait for nothing.
        Err(NotDone::TooMany { .. }) => refused.cancel().await,
        Err(error) => debug!(%user, reason = %error, "a request to verify is not kept"),
    }
}

/// What matrix-sdk has of the other end.
#[derive(Clone)]
pub(super) enum Other {
    Request(VerificationRequest),
    /// It has no name in there that it would tell.
    Sas {
        sas: SasVerification,
        flow: String,
    },
}

impl Other {
    fn flow(&self) -> String {
        match self {
            Self::Request(request) => request.flow_id().into(),
            Self::Sas { flow, .. } => flow.clone(),
        }
    }

    async fn cancel(&self) {
        let cancelled = match self {
            Self::Request(request) => Box::pin(request.cancel()).await,
            Self::Sas { sas, .. } => Box::pin(sas.cancel()).await,
        };
        if let Err(error) = cancelled {
            debug!(reason = %error, "somebody was not told that too many verifications are under way");
        }
    }

    fn device(&self) -> Option<PeerDevice> {
        use matrix_sdk::encryption::verification::VerificationRequestState as At;
        match self {
            Self::Sas { sas, .. } => Some(read::device(sas.other_device())),
            Self::Request(request) => match request.state() {
                At::Requested { other_device_data, .. } | At::Ready { other_device_data, .. } => {
                    Some(read::device(&other_device_data))
                }
                At::Created { .. } | At::Transitioned { .. } | At::Done | At::Cancelled(_) => None,
            },
        }
    }
}

/// Puts it on the list and starts the task that owns it.
pub(super) fn keep(
    shared: &Arc<Shared>,
    client: Client,
    user: &OwnedUserId,
    other: Other,
    begun: Begun,
) -> Result<VerificationId, NotDone> {
    let (to_task, steps) = mpsc::channel(STEPS);
    let state = match begun {
        Begun::ByThem => State::Asked,
        Begun::AtTheDesk => State::Waiting,
    };
    let (flow, device) = (other.flow(), other.device());
    let new = New { user: user.to_string(), flow, device, begun, state, steps: to_task };
    let added = shared.flows().add(new, (shared.clock)(), shared.lapse);
    let id = added.map_err(|error| match error {
        NoPlace::Known => NotDone::UnderWay { user: user.to_string() },
        NoPlace::Full => NotDone::TooMany { most: super::flows::MOST_OPEN },
    })?;
    let (request, sas) = match other {
        Other::Request(request) => (Some(request), None),
        Other::Sas { sas, .. } => (None, Some(sas)),
    };
    let following = Following {
        shared: Arc::downgrade(shared),
        id,
        client,
        user: user.clone(),
        request,
        sas,
        steps,
        lapse: shared.lapse,
        stop: shared.stop.clone(),
    };
    if shared.start(following.run()).is_err() {
        shared.flows().is_now(id, State::Over(super::Outcome::Stopped), None);
        return Err(NotDone::TooMany { most: super::MOST_TASKS });
    }
    Ok(id)
}

/// A person at the desk is needed, wherever they are now.
fn ring(shared: &Shared, user: &OwnedUserId, device: Option<PeerDevice>, id: VerificationId) {
    if !shared.flows().may_ring(user.as_str(), (shared.clock)()) {
        return;
    }
    let device = device.map_or_else(|| "a device".into(), |device| format!("device {}", device.id));
    let minutes = shared.lapse.as_secs() / 60;
    let words = format!(
        "{user} asks over Matrix to be verified, from {device}. With that phone at hand, at the desk: vigie matrix verify. It waits {minutes} min. If it was not {user}, leave it."
    );
    if shared.notes.try_send(Noted::NeedsDesk { words }).is_err() {
        warn!(verification = %id, "nobody is rung for a verification: too many notes wait");
    }
}
