//! What Telegram's answers mean to the port.

use std::time::Duration;
use tracing::error;
use vigie_bridge_kit::database::DatabaseError;
use vigie_core::bridge::SayError;

use crate::{
    TelegramBridge,
    api::{CallError, LARGEST_UPLOAD, Refusal},
};

/// A call a moment too early makes the wait longer. Telegram counts in whole seconds, rounded up,
/// from before we hear of it, so a moment is enough.
const SPARE: Duration = Duration::from_millis(100);

/// Before a call is tried again that never left this machine; twice as long each time in a row, up
/// to the longest.
const AFTER_NO_CONNECTION: Duration = Duration::from_secs(2);
const LONGEST_WITHOUT_CONNECTION: Duration = Duration::from_secs(30);

/// Before a disk that failed is tried again.
const AFTER_A_BAD_DISK: Duration = Duration::from_secs(5);

/// Nothing but a person mends a token, and each try with a bad one is held against us.
const AFTER_A_BAD_TOKEN: Duration = Duration::from_mins(1);

const BAD_TOKEN: &str = "Telegram does not know the bot's token any more, so nothing is sent or heard; get a new one from BotFather and put it in the configuration";

const UNKNOWN_METHOD: &str = "Telegram does not know what it is asked; look at the token and at the address of the Bot API in the configuration";

const NOT_AN_ADMINISTRATOR: &str = "the bot may not manage topics here; make the bot an administrator with the right to manage topics";

const NO_FORUM: &str = "this group has no topics; switch them on in the group's settings and make the bot an administrator with the right to manage topics";

const NO_PRIVATE_TOPICS: &str = "Telegram lets the bot have no topics in this private chat; switch them on for the bot in BotFather";

/// Why something is not said.
pub(super) fn unsaid(bridge: &TelegramBridge, error: CallError) -> SayError {
    match error {
        CallError::TooMany { after } => SayError::Later { after: after + SPARE },
        CallError::NotSent { .. } => {
            let doubled = 2_u32.saturating_pow(bridge.not_reached());
            let after = AFTER_NO_CONNECTION.saturating_mul(doubled);
            SayError::Later { after: after.min(LONGEST_WITHOUT_CONNECTION) }
        }
        CallError::InDoubt { .. } => SayError::InDoubt,
        CallError::Refused { refusal, description, .. } => refused(bridge, refusal, &description),
    }
}

fn refused(bridge: &TelegramBridge, refusal: Refusal, description: &str) -> SayError {
    let reason = in_words(description);
    match refusal {
        Refusal::ThreadNotFound | Refusal::TopicIdInvalid | Refusal::TopicClosed => {
            SayError::NoThread
        }
        Refusal::EditNotFound | Refusal::MessageGone => SayError::NoMessage,
        Refusal::Migrated { to } => SayError::Moved { to: to.into() },
        Refusal::Blocked => SayError::Shut {
            reason: format!("{reason}; it is for the people there to let the bot in again"),
        },
        Refusal::ChatNotFound => SayError::Shut {
            reason: "Telegram does not know this chat; write to the bot from there once".into(),
        },
        Refusal::NoRights => {
            SayError::Shut { reason: format!("{reason}; give the bot the right to write there") }
        }
        Refusal::NotAForum => SayError::NoThreads { reason: Some(NO_FORUM.into()) },
        Refusal::ForumForbidden => SayError::NoThreads { reason: Some(NO_PRIVATE_TOPICS.into()) },
        Refusal::Unauthorized => in_trouble(bridge, BAD_TOKEN),
        Refusal::NotFound => in_trouble(bridge, UNKNOWN_METHOD),
        Refusal::FileTooBig => SayError::Never {
            reason: format!("it is larger than the {} MB a bot may send", megabytes()),
        },
        Refusal::NotModified
        | Refusal::CannotEdit
        | Refusal::CannotDelete
        | Refusal::TopicNotModified
        | Refusal::Conflict
        | Refusal::WebhookActive
        | Refusal::QueryTooOld
        | Refusal::TooLong
        | Refusal::Empty
        | Refusal::EntitiesInvalid
        | Refusal::PhotoInvalid
        | Refusal::ReactionInvalid
        | Refusal::NoDrafts
        | Refusal::Other => SayError::Never { reason },
    }
}

/// Why a topic is not made or changed.
pub(super) fn unthreaded(bridge: &TelegramBridge, error: CallError) -> SayError {
    match error.refusal() {
        Some(Refusal::NoRights) => {
            SayError::NoThreads { reason: Some(NOT_AN_ADMINISTRATOR.into()) }
        }
        Some(_) | None => unsaid(bridge, error),
    }
}

/// Why a file is not sent: a chat that takes none may take words all the same.
pub(super) fn unsent_file(bridge: &TelegramBridge, error: CallError) -> SayError {
    match error.refusal() {
        Some(Refusal::NoRights) => SayError::Never {
            reason: "the bot may not send files there; give it that right in the group's settings"
                .into(),
        },
        Some(_) | None => unsaid(bridge, error),
    }
}

/// Nothing was sent, since it could not be written down first.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn unwritten(error: DatabaseError) -> SayError {
    error!(%error, "nothing is said to Telegram before it is written down");
    SayError::Later { after: AFTER_A_BAD_DISK }
}

/// The largest file a bot may send.
pub(super) fn megabytes() -> u64 {
    LARGEST_UPLOAD / 1_000_000
}

fn in_trouble(bridge: &TelegramBridge, words: &str) -> SayError {
    bridge.in_trouble(words.into());
    SayError::Later { after: AFTER_A_BAD_TOKEN }
}

/// Telegram's own words, without the class of error in front.
fn in_words(description: &str) -> String {
    let words = description.split_once(": ").map_or(description, |(_, words)| words);
    format!("Telegram says \"{words}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Options,
        api::{Api, Patience, TgChat},
    };
    use std::sync::Arc;
    use vigie_core::{Timestamp, bridge::Bridge as _};

    /// One that never speaks.
    fn bridge(folder: &tempfile::TempDir) -> Arc<TelegramBridge> {
        let (token, base) = ("1:TEST-TOKEN".parse().unwrap(), "http://127.0.0.1:9");
        let options = Options {
            api: Api::new(token, base.parse().unwrap(), Patience::default()).unwrap(),
            clock: Arc::new(Timestamp::default),
            files: folder.path().into(),
            parts: None,
            commands: Vec::new(),
        };
        TelegramBridge::open(&folder.path().join("telegram.db"), options).unwrap()
    }

    fn refused(refusal: Refusal, words: &str) -> CallError {
        CallError::Refused { code: 400, description: words.into(), refusal }
    }

    #[test]
    fn every_refusal_is_a_decision() {
        let folder = tempfile::tempdir().unwrap();
        let bridge = bridge(&folder);
        let said = |refusal| unsaid(&bridge, refused(refusal, "Bad Request: SOME_WORDS"));
        let minute = SayError::Later { after: Duration::from_mins(1) };
        let never = SayError::Never { reason: "Telegram says \"SOME_WORDS\"".into() };
        for (refusal, meaning) in [
            (Refusal::ThreadNotFound, SayError::NoThread),
            (Refusal::TopicClosed, SayError::NoThread),
            (Refusal::TopicIdInvalid, SayError::NoThread),
            (Refusal::EditNotFound, SayError::NoMessage),
            (Refusal::MessageGone, SayError::NoMessage),
            (Refusal::Migrated { to: TgChat(-7) }, SayError::Moved { to: TgChat(-7).into() }),
            (Refusal::Unauthorized, minute.clone()),
            (Refusal::NotFound, minute),
            (Refusal::CannotEdit, never.clone()),
            (Refusal::Other, never),
        ] {
            assert_eq!(said(refusal), meaning, "{refusal:?}");
        }
        for refusal in [Refusal::Blocked, Refusal::ChatNotFound, Refusal::NoRights] {
            assert!(matches!(said(refusal), SayError::Shut { .. }), "{refusal:?}");
        }
        for refusal in [Refusal::NotAForum, Refusal::ForumForbidden] {
            assert!(matches!(said(refusal), SayError::NoThreads { .. }), "{refusal:?}");
        }
        let trouble = bridge.health().trouble.unwrap();
        assert!(trouble.contains("the address of the Bot API"), "{trouble}");
    }

    #[test]
    fn without_a_connection_it_tries_ever_more_rarely_and_at_last_twice_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let bridge = bridge(&folder);
        let next = || match unsaid(&bridge, CallError::NotSent { why: "no route".into() }) {
            SayError::Later { after } => after.as_secs(),
            other => panic!("{other:?}"),
        };
        assert_eq!([next(), next(), next(), next(), next(), next()], [2, 4, 8, 16, 30, 30]);
        bridge.reached();
        assert!(matches!(
            unsaid(&bridge, CallError::NotSent { why: "no route".into() }),
            SayError::Later { after } if after == AFTER_NO_CONNECTION
        ));
    }

    #[test]
    fn a_missing_right_means_what_it_is_missing_for() {
        let folder = tempfile::tempdir().unwrap();
        let bridge = bridge(&folder);
        let words = "Bad Request: not enough rights to send documents to the chat";
        let error = || refused(Refusal::NoRights, words);
        let file = unsent_file(&bridge, error());
        assert!(
            matches!(file, SayError::Never { reason } if reason.contains("give it that right"))
        );
        let topic = unthreaded(&bridge, error());
        assert!(
            matches!(topic, SayError::NoThreads { reason: Some(reason) } if reason.contains("administrator"))
        );
        let large = refused(Refusal::FileTooBig, "Request Entity Too Large");
        assert_eq!(
            unsent_file(&bridge, large).to_string(),
            "the service refuses it: it is larger than the 50 MB a bot may send"
        );
    }
}
