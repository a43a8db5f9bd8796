//! What matrix-sdk says of a verification, in our words. Pure.

use matrix_sdk::{
    encryption::verification::{CancelInfo, SasState, VerificationRequestState},
    ruma::events::key::verification::cancel::CancelCode,
};
use matrix_sdk_base::crypto::DeviceData;

use super::model::{Emoji, Outcome, PeerDevice, Shown, Side, State};

/// How it came to comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// One end asked, the other said yes.
    Requested,
    /// One end just began, as older apps do; so that is what is asked at the desk.
    Bare,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Another device of our own account: then it is that device which is verified.
    Ours,
    Theirs,
}

/// Before anybody began to compare.
pub(super) fn requested(state: &VerificationRequestState) -> State {
    match state {
        VerificationRequestState::Requested { .. } => State::Asked,
        VerificationRequestState::Created { .. }
        | VerificationRequestState::Ready { .. }
        | VerificationRequestState::Transitioned { .. } => State::Waiting,
        VerificationRequestState::Done => State::Over(Outcome::Verified),
        VerificationRequestState::Cancelled(info) => State::Over(ended(info)),
    }
}

/// Since somebody did.
pub(super) fn comparing(state: &SasState, protocol: Protocol, whose: Whose) -> State {
    match state {
        SasState::Started { .. } if protocol == Protocol::Bare => State::Asked,
        SasState::Created { .. } | SasState::Started { .. } | SasState::Accepted { .. } => {
            State::Waiting
        }
        SasState::KeysExchanged { emojis, decimals: (a, b, c) } => {
            let emoji = emojis.as_ref().map(|shown| shown.emojis.each_ref());
            let emoji = emoji.into_iter().flatten();
            State::Comparing(Shown {
                emoji: emoji
                    .map(|each| Emoji { symbol: each.symbol, name: each.description })
                    .collect(),
                decimals: [*a, *b, *c],
            })
        }
        SasState::Confirmed => State::Confirmed,
        SasState::Done { verified_devices, verified_identities } => {
            let all_there = match whose {
                Whose::Ours => !verified_devices.is_empty(),
                Whose::Theirs => !verified_identities.is_empty(),
            };
            State::Over(if all_there { Outcome::Verified } else { Outcome::DeviceAlone })
        }
        SasState::Cancelled(info) => State::Over(ended(info)),
    }
}

fn ended(info: &CancelInfo) -> Outcome {
    let by = if info.cancelled_by_us() { Side::Desk } else { Side::Them };
    match info.cancel_code() {
        CancelCode::User => Outcome::Cancelled { by },
        CancelCode::Timeout => Outcome::TimedOut,
        CancelCode::Accepted => Outcome::TakenElsewhere,
        CancelCode::UnknownMethod => Outcome::NoCommonWay,
        CancelCode::MismatchedSas | CancelCode::MismatchedCommitment | CancelCode::KeyMismatch => {
            Outcome::Mismatch { by }
        }
        // Also codes that nobody has written down anywhere: what they say is data from outside.
        _ => Outcome::Failed { why: "the two devices did not understand each other.".into() },
    }
}

pub(super) fn device(device: &DeviceData) -> PeerDevice {
    let name = device.display_name().map(str::to_owned);
    PeerDevice { id: device.device_id().to_string(), name }
}
