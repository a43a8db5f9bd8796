//! What an error of the homeserver's or of matrix-sdk's means for a delivery.

use matrix_sdk::{
    Error, HttpError,
    ruma::api::error::{ErrorKind, RetryAfter},
};
use matrix_sdk_base::crypto::{OlmError, SessionRecipientCollectionError as NoRecipients};
use std::time::Duration;
use tracing::error;
use vigie_bridge_kit::database::DatabaseError;
use vigie_core::bridge::SayError;

use crate::{MatrixBridge, NotReady, why};

/// On top of what the server asks for: its clock is not ours.
const SPARE: Duration = Duration::from_millis(250);

/// Where it says that it is too much, and not for how long.
const AFTER_TOO_MUCH: Duration = Duration::from_secs(5);

/// Without a connection, at first; doubled each time.
const AFTER_NO_CONNECTION: Duration = Duration::from_secs(2);
const LONGEST_WITHOUT_CONNECTION: Duration = Duration::from_secs(30);

/// Until a person has done something about it. They start Vigie anew then, and what waits does so over that:
/// so no longer than they would wonder.
const AFTER_TROUBLE: Duration = Duration::from_secs(10);

/// What the disk or the encryption could not do now, it may do soon.
const AFTER_A_FAULT: Duration = Duration::from_secs(5);

const BAD_TOKEN: &str = "the homeserver does not know our login any more, so nothing is sent or heard; log in anew at the desk: vigie down, then vigie init matrix --again";

const NOT_SIGNED: &str = "our own device is not signed, so nothing can be encrypted for signed devices; run: vigie doctor";

/// A refusal as it is told apart by whoever sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    TooLarge,
    /// Such a reaction is there already.
    Duplicate,
    /// What it is about is not there.
    NotFound,
    /// We may not do that there.
    Forbidden,
}

/// The refusal in an error, if it is one of those.
pub(super) fn refusal(error: &HttpError) -> Option<Refusal> {
    match error.client_api_error_kind()? {
        ErrorKind::TooLarge => Some(Refusal::TooLarge),
        ErrorKind::DuplicateAnnotation => Some(Refusal::Duplicate),
        ErrorKind::NotFound => Some(Refusal::NotFound),
        ErrorKind::Forbidden => Some(Refusal::Forbidden),
        _ => None,
    }
}

/// The same of an error of matrix-sdk's.
pub(super) fn refusal_in(error: &Error) -> Option<Refusal> {
    match error {
        Error::Http(error) => refusal(error),
        _ => None,
    }
}

/// Why something is not said.
pub(super) fn unsaid(bridge: &MatrixBridge, error: &Error) -> SayError {
    match error {
        Error::Http(error) => unanswered(bridge, error),
        Error::WrongRoomState(_) => not_there(),
        Error::OlmError(error) => unencrypted(bridge, error),
        // Nothing was sent: what else can fail comes before that.
        error => {
            error!(%error, "nothing could be sent");
            SayError::Later { after: AFTER_A_FAULT }
        }
    }
}

/// The same for a call of its own.
pub(super) fn unanswered(bridge: &MatrixBridge, error: &HttpError) -> SayError {
    match error {
        HttpError::Reqwest(error) if error.is_connect() => {
            let doubled = 2_u32.saturating_pow(bridge.saying.not_reached());
            let after = AFTER_NO_CONNECTION.saturating_mul(doubled);
            SayError::Later { after: after.min(LONGEST_WITHOUT_CONNECTION) }
        }
        HttpError::Reqwest(error)
            if error.is_builder() || error.is_request() && !error.is_timeout() =>
        {
            // The connection broke; the transaction id makes one of two.
            SayError::InDoubt
        }
        HttpError::Cached(error) => unanswered(bridge, error),
        error => answered(bridge, error),
    }
}

fn answered(bridge: &MatrixBridge, error: &HttpError) -> SayError {
    let Some(answer) = error.as_client_api_error() else { return SayError::InDoubt };
    let words = || in_words(&answer.to_string());
    match answer.error_kind() {
        Some(ErrorKind::LimitExceeded(limit)) => match limit.retry_after {
            Some(RetryAfter::Delay(after)) => SayError::Later { after: after + SPARE },
            Some(RetryAfter::DateTime(_)) | None => SayError::Later { after: AFTER_TOO_MUCH },
        },
        Some(ErrorKind::UnknownToken(_) | ErrorKind::MissingToken) => {
            bridge.in_trouble(BAD_TOKEN.into());
            SayError::Later { after: AFTER_TROUBLE }
        }
        Some(ErrorKind::Forbidden) => SayError::Shut {
            reason: format!("{}; invite the account again, or let it write there", words()),
        },
        _ if answer.status_code.as_u16() == 429 => SayError::Later { after: AFTER_TOO_MUCH },
        _ if answer.status_code.is_server_error() => SayError::InDoubt,
        _ => SayError::Never { reason: words() },
    }
}

fn unencrypted(bridge: &MatrixBridge, error: &OlmError) -> SayError {
    let OlmError::SessionRecipientCollectionError(error) = error else {
        error!(%error, "nothing could be encrypted");
        return SayError::Later { after: AFTER_A_FAULT };
    };
    match error {
        NoRecipients::VerifiedUserChangedIdentity(users) => {
            let users: Vec<&str> = users.iter().map(|user| user.as_str()).collect();
            let users = users.join(", ");
            let reason = format!(
                "{users} was verified and has another identity now; if that is right, verify again with: vigie matrix verify"
            );
            SayError::Shut { reason }
        }
        NoRecipients::CrossSigningNotSetup | NoRecipients::SendingFromUnverifiedDevice => {
            bridge.in_trouble(NOT_SIGNED.into());
            SayError::Later { after: AFTER_TROUBLE }
        }
        NoRecipients::VerifiedUserHasUnsignedDevice(devices) => {
            let users: Vec<&str> = devices.keys().map(|user| user.as_str()).collect();
            let reason = format!(
                "{} was verified and uses an app that is not; they verify it there, in Settings, Sessions or Encryption, or log it out",
                users.join(", ")
            );
            SayError::Shut { reason }
        }
    }
}

/// The client is not there, so nothing was sent.
pub(super) fn not_ready(bridge: &MatrixBridge, error: &NotReady) -> SayError {
    if let NotReady::Unreached(error) = error {
        return match unanswered(bridge, error) {
            SayError::InDoubt => SayError::Later { after: AFTER_A_FAULT },
            error => error,
        };
    }
    bridge.in_trouble(error.to_string());
    SayError::Later { after: AFTER_TROUBLE }
}

/// We are not in the room.
pub(super) fn not_there() -> SayError {
    SayError::Shut { reason: "the account is not in this room; invite it again".into() }
}

/// Nothing was sent, since it could not be written down first.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn unwritten(error: DatabaseError) -> SayError {
    error!(%error, "nothing is said to Matrix before it is written down");
    SayError::Later { after: AFTER_A_FAULT }
}

/// The server's own words.
fn in_words(answer: &str) -> String {
    format!("the homeserver says \"{}\"", why::own_words(answer))
}
