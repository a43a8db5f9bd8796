//! Why syncs do not come back, in words with what to do about it, and how soon to ask again.

use matrix_sdk::ruma::api::error::{ErrorKind, RetryAfter};
use std::time::Duration;

use super::sync::Missed;
use crate::{NotReady, account::line, why};

/// Longest that a homeserver's own word is followed; a limit that lasts longer is asked about again.
const LONGEST: Duration = Duration::from_mins(1);

/// The account's access is gone and does not come back by itself.
const LOGGED_OUT: &str = "the homeserver has logged Vigie out: its access token is not taken any more. Log in anew at the desk: vigie down, then vigie init matrix --again";

const LOCKED: &str = "the homeserver has locked or deactivated Vigie's account: ask whoever runs the homeserver, then start Vigie again";

/// Whether nothing helps but a person: asking on would only be noise.
pub(super) fn is_final(missed: &Missed) -> bool {
    kind(missed).is_some_and(|kind| final_words(kind).is_some())
}

fn final_words(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::UnknownToken { .. } | ErrorKind::MissingToken => Some(LOGGED_OUT),
        ErrorKind::UserDeactivated | ErrorKind::UserSuspended | ErrorKind::UserLocked => {
            Some(LOCKED)
        }
        _ => None,
    }
}

/// How long to wait where that is known: mostly since the homeserver says so.
pub(super) fn rest(missed: &Missed) -> Option<Duration> {
    if matches!(missed, Missed::Slept) {
        return Some(Duration::ZERO);
    }
    match kind(missed)? {
        ErrorKind::LimitExceeded(limit) => match limit.retry_after.as_ref()? {
            RetryAfter::Delay(delay) => Some((*delay).min(LONGEST)),
            RetryAfter::DateTime(_) => Some(LONGEST),
        },
        _ => None,
    }
}

fn kind(missed: &Missed) -> Option<&ErrorKind> {
    match missed {
        Missed::Sdk(error) => error.client_api_error_kind(),
        Missed::Store(_) | Missed::Late(_) | Missed::Slept | Missed::Panicked => None,
    }
}

pub(super) fn words(missed: &Missed) -> String {
    if let Some(words) = kind(missed).and_then(final_words) {
        return words.into();
    }
    match missed {
        Missed::Store(error) => format!(
            "what Matrix tells cannot be written down ({error}); it stays at the homeserver. Look at the disk"
        ),
        Missed::Late(_) => format!(
            "the homeserver gives no answer ({missed}); if it lasts, look at this machine's network and at the homeserver"
        ),
        Missed::Slept => "this machine slept, and Vigie asks the homeserver anew; nothing to do".into(),
        Missed::Panicked => {
            "matrix-sdk made a mistake while it read what came; Vigie asks again. If it lasts, start Vigie again and report it".into()
        }
        Missed::Sdk(matrix_sdk::Error::Http(error)) if error.client_api_error_kind().is_none() => {
            format!(
                "the homeserver cannot be reached: {}; look at this machine's network and at the homeserver",
                why::of_http(error)
            )
        }
        Missed::Sdk(error) => format!(
            "the homeserver tells nothing: {}; if it lasts, ask whoever runs the homeserver",
            why::of_sdk(error)
        ),
    }
}

/// Why there is no client to ask with.
pub(super) fn of_connecting(error: &NotReady) -> String {
    format!("Matrix cannot be used now: {}; `vigie doctor` tells more", line(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_homeservers_own_words_obey_nobody() {
        let hostile = format!("nope\u{1b}[2J\u{202e}\n**all is well**{}", "x".repeat(9_000));
        let words = words(&Missed::Sdk(matrix_sdk::Error::UnknownError(hostile.into())));
        assert!(words.contains("the homeserver tells nothing"), "{words}");
        assert!(!words.contains(['\u{1b}', '\n', '\u{202e}']) && words.len() < 2_000, "{words}");
    }
}
