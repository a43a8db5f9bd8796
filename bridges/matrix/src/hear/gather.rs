//! What a sync brought, as rows to write down. Nothing is decided here but what an event is found by
//! and how it came.

use matrix_sdk::deserialized_responses::{
    EncryptionInfo, TimelineEvent, TimelineEventKind, UnableToDecryptInfo, UnableToDecryptReason,
    VerificationLevel, VerificationState,
};
use serde_json::json;

use super::{
    event::Event,
    read::{is_for_us, is_never_encrypted},
};
use crate::{
    markup::incoming::text,
    store::heard::{Hindrance, Incoming, Opened, Trust},
};

/// Messages that were written just before we came in are meant for us all the same, if the invitation
/// is not older than that, in milliseconds.
const BEFORE_WE_CAME_MS: i64 = 10 * 60_000;

/// What one event of a timeline is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Something to keep.
    Told(Incoming),
    /// Our own, back from the homeserver, and under which id it was sent.
    Echo { transaction: Option<String>, event: String },
    /// Our own way into the room: an invitation, or that we came in.
    Entry { event: String, sent: i64, invited: bool },
    /// Nothing for us.
    Other { event: String },
}

impl Came {
    pub(super) fn event(&self) -> &str {
        match self {
            Self::Told(Incoming { event, .. })
            | Self::Echo { event, .. }
            | Self::Entry { event, .. }
            | Self::Other { event } => event,
        }
    }

    fn sent(&self) -> Option<i64> {
        match self {
            Self::Told(incoming) => Some(incoming.sent),
            Self::Entry { sent, .. } => Some(*sent),
            Self::Echo { .. } | Self::Other { .. } => None,
        }
    }
}

/// The room that a timeline belongs to, and who we are.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) room: &'a str,
    pub(super) encrypted: bool,
    pub(super) me: &'a str,
}

/// `None`: it has no id, so it is no event.
pub(super) fn came(of: Of<'_>, timeline: &TimelineEvent) -> Option<Came> {
    let json = timeline.raw().json().get();
    let event = Event::read(json).ok()?;
    if event.kind == "m.room.member" && event.state_key.as_deref() == Some(of.me) {
        let invited = match text(&event.content, "membership") {
            Some("invite") => true,
            Some("join") => false,
            Some(_) | None => return Some(Came::Other { event: event.id }),
        };
        let (event, sent) = (event.id, event.origin_server_ts);
        return Some(Came::Entry { event, sent, invited });
    }
    if event.sender == of.me {
        let transaction = event.transaction().map(ToOwned::to_owned);
        return Some(Came::Echo { transaction, event: event.id });
    }
    if event.state_key.is_some() || !is_for_us(&event.kind) {
        return Some(Came::Other { event: event.id });
    }
    let opened = opened(&timeline.kind, &event, of.encrypted);
    Some(Came::Told(Incoming {
        room: of.room.to_owned(),
        thread: event.relation().thread,
        event: event.id,
        sender: event.sender,
        sent: event.origin_server_ts,
        json: json.to_owned(),
        opened,
    }))
}

/// How an event came, in a room that is encrypted or not.
pub(super) fn opened(kind: &TimelineEventKind, event: &Event, encrypted: bool) -> Opened {
    match kind {
        TimelineEventKind::Decrypted(decrypted) => {
            let info = &decrypted.encryption_info;
            Opened {
                trust: trust(info, &event.sender),
                megolm: info.session_id().map(ToOwned::to_owned),
                hindrance: None,
                device: info.sender_device.as_ref().map(ToString::to_string),
            }
        }
        TimelineEventKind::UnableToDecrypt { utd_info, .. } => Opened {
            trust: Trust::Sealed,
            megolm: utd_info.session_id.clone(),
            hindrance: Some(hindrance(utd_info)),
            device: text(&event.content, "device_id").map(ToOwned::to_owned),
        },
        TimelineEventKind::PlainText { .. } if event.content.contains_key("ciphertext") => Opened {
            megolm: text(&event.content, "session_id").map(ToOwned::to_owned),
            hindrance: Some(Hindrance::NoKey),
            ..Opened::as_is(Trust::Sealed)
        },
        TimelineEventKind::PlainText { .. } if !encrypted => Opened::as_is(Trust::Plain),
        TimelineEventKind::PlainText { .. } if is_never_encrypted(&event.kind) => {
            Opened::as_is(Trust::Signed) // its homeserver vouches for it, as for all of its kind
        }
        TimelineEventKind::PlainText { .. } => Opened::as_is(Trust::Bare),
    }
}

fn trust(info: &EncryptionInfo, sender: &str) -> Trust {
    if info.sender.as_str() != sender {
        return Trust::Changed;
    }
    match &info.verification_state {
        VerificationState::Verified
        | VerificationState::Unverified(VerificationLevel::UnverifiedIdentity) => Trust::Signed,
        VerificationState::Unverified(
            VerificationLevel::VerificationViolation | VerificationLevel::MismatchedSender,
        ) => Trust::Changed,
        VerificationState::Unverified(
            VerificationLevel::UnsignedDevice | VerificationLevel::None(_),
        ) => Trust::Unsigned,
    }
}

fn hindrance(info: &UnableToDecryptInfo) -> Hindrance {
    match &info.reason {
        UnableToDecryptReason::MissingMegolmSession { withheld_code: Some(_) } => {
            Hindrance::Withheld
        }
        UnableToDecryptReason::MissingMegolmSession { withheld_code: None }
        | UnableToDecryptReason::UnknownMegolmMessageIndex
        | UnableToDecryptReason::Unknown => Hindrance::NoKey,
        UnableToDecryptReason::SenderIdentityNotTrusted(level) => match level {
            VerificationLevel::UnverifiedIdentity | VerificationLevel::UnsignedDevice => {
                Hindrance::Unsigned
            }
            VerificationLevel::VerificationViolation | VerificationLevel::MismatchedSender => {
                Hindrance::Changed
            }
            VerificationLevel::None(problem) => of_device(problem),
        },
        UnableToDecryptReason::MalformedEncryptedEvent
        | UnableToDecryptReason::MegolmDecryptionFailure
        | UnableToDecryptReason::PayloadDeserializationFailure
        | UnableToDecryptReason::MismatchedIdentityKeys => Hindrance::Broken,
    }
}

fn of_device(problem: &matrix_sdk::deserialized_responses::DeviceLinkProblem) -> Hindrance {
    use matrix_sdk::deserialized_responses::DeviceLinkProblem::{InsecureSource, MissingDevice};
    match problem {
        MissingDevice => Hindrance::Unsigned,
        InsecureSource => Hindrance::Backup,
    }
}

/// Which of the events of a room that we have just come into are new to us: those since somebody
/// invited us, unless that was long before, and otherwise those since we came. Oldest first, both.
pub(super) fn since_we_came(events: Vec<Came>) -> Vec<Came> {
    let is_entry = |came: &Came, wanted: bool| matches!(came, Came::Entry { invited, .. } if *invited == wanted);
    let invited = events.iter().rposition(|came| is_entry(came, true));
    // Later entries of that kind are new names or pictures of ours.
    let mut behind = events.iter().enumerate().skip(invited.unwrap_or(0));
    let joined = behind.find(|(_, came)| is_entry(came, false)).map(|(at, _)| at);
    let Some(first) = invited.into_iter().chain(joined).min() else { return vec![] };
    let earliest = joined
        .and_then(|at| events[at].sent())
        .map_or(i64::MIN, |sent| sent.saturating_sub(BEFORE_WE_CAME_MS));
    let behind = joined.unwrap_or(first);
    let is_new = |at: usize, came: &Came| {
        at >= behind || (at >= first && came.sent().is_none_or(|sent| sent >= earliest))
    };
    let events = events.into_iter().enumerate();
    events.filter(|(at, came)| is_new(*at, came)).map(|(_, came)| came).collect()
}

/// Stands before the oldest event that was fetched, where older ones are missing.
pub(super) fn gap(room: &str, events: &[Came]) -> Option<Incoming> {
    let told = |came: &Came| match came {
        Came::Told(incoming) => Some(incoming.clone()),
        Came::Echo { .. } | Came::Entry { .. } | Came::Other { .. } => None,
    };
    let first = events.iter().find_map(told)?;
    Some(Incoming {
        room: room.to_owned(),
        json: json!({ "before": first.event }).to_string(),
        event: format!("gap before {}", first.event),
        opened: Opened::as_is(Trust::Gap),
        ..first
    })
}

#[cfg(test)]
mod tests;
