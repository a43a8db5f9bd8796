//! Why polls do not come back, in words with what to do about it, and how soon to ask again.

use std::time::Duration;

use super::pause;
use crate::api::{CallError, Refusal};

/// A token that is not taken will be taken only after a person did something.
const NO_TOKEN: Duration = Duration::from_mins(1);

/// Somebody else polls: the old process may still be on its way out, so at first often, and after
/// [`DRAINED`] rarely. Who asks more often only takes turns with the other one.
const CONFLICT: Duration = Duration::from_secs(8);
const CONFLICT_LASTS: Duration = Duration::from_secs(30);
const DRAINED: Duration = Duration::from_mins(1);

pub(super) fn rest_in_conflict(since: Duration) -> Duration {
    if since < DRAINED { CONFLICT } else { CONFLICT_LASTS }
}

pub(super) fn rest_after(refusal: Refusal, failures: u32) -> Duration {
    match refusal {
        Refusal::Unauthorized | Refusal::NotFound => NO_TOKEN,
        Refusal::WebhookActive => CONFLICT_LASTS,
        _ => pause::after(failures), // not our own enum's states: Telegram's words, most of them about sends
    }
}

pub(super) fn words(error: &CallError) -> String {
    match error {
        CallError::TooMany { after } => {
            format!("Telegram asks for {} s of quiet; nothing to do", after.as_secs())
        }
        CallError::NotSent { why } => {
            format!("Telegram cannot be reached ({why}); look at this machine's network")
        }
        CallError::InDoubt { why } => {
            format!(
                "Telegram gives no clear answer ({why}); if it lasts, look at this machine's network"
            )
        }
        CallError::Refused { refusal, description, .. } => of_refusal(*refusal, description),
    }
}

fn of_refusal(refusal: Refusal, description: &str) -> String {
    match refusal {
        Refusal::Unauthorized | Refusal::NotFound => {
            "Telegram does not take the bot's token: ask @BotFather for a new one (/token), put it in place of the old one, and start Vigie again".into()
        }
        Refusal::Conflict => {
            "another program asks for this bot's messages, so some go there: stop it, or give Vigie a bot of its own. If you know of none, ask @BotFather for a new token (/revoke)".into()
        }
        Refusal::WebhookActive => {
            "somebody set a webhook for this bot again, so its messages go there: stop that program, or give Vigie a bot of its own".into()
        }
        _ => format!("Telegram refuses to tell what happened: {description}"),
    }
}

/// The host of a webhook's address; the rest of it may be a secret.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}
