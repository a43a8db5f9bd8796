//! Why polls do not come back, in words with what to do about it, and how soon to ask again.

use std::time::Duration;
use vigie_bridge_kit::pause;

use crate::api::{CallError, Refusal};

/// A token that is not taken will be taken only after a person did something.
const NO_TOKEN: Duration = Duration::from_mins(1);

/// Somebody else polls: the old process may still be on its way out, so at first often, and after
/// [`DRAINED`] rarely. Who asks more often only takes turns with the other one.
const CONFLICT: Duration = Duration::from_secs(8);
const CONFLICT_LASTS: Duration = Duration::from_secs(30);
const DRAINED: Duration = Duration::from_mins(1);

/// How long after the other one was seen last it is still said: between two of its questions ours
/// come through, and nothing is well for that.
pub(super) const STILL_CONTESTED: Duration = Duration::from_mins(2);

pub(super) const CONTESTED: &str = "another program asks for this bot's messages, so some go there: stop it, or give Vigie a bot of its own. If you know of none, ask @BotFather for a new token (/revoke)";

pub(super) fn rest_in_conflict(since: Duration) -> Duration {
    if since < DRAINED { CONFLICT } else { CONFLICT_LASTS }
}

/// Most refusals are about sends; if one comes here, it is like any failure.
pub(super) fn rest_after(refusal: Refusal, failures: u32) -> Duration {
    if matches!(refusal, Refusal::Unauthorized | Refusal::NotFound) {
        NO_TOKEN
    } else if refusal == Refusal::WebhookActive {
        CONFLICT_LASTS
    } else {
        pause::after(failures)
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
    if matches!(refusal, Refusal::Unauthorized | Refusal::NotFound) {
        "Telegram does not take the bot's token: ask @BotFather for a new one (/token), put it in place of the old one, and start Vigie again".into()
    } else if refusal == Refusal::Conflict {
        CONTESTED.into()
    } else if refusal == Refusal::WebhookActive {
        "somebody set a webhook for this bot again, so its messages go there: stop that program, or give Vigie a bot of its own".into()
    } else {
        format!("Telegram refuses to tell what happened: {description}")
    }
}

/// The host of a webhook's address; the rest of it may be a secret.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_says_what_to_do() {
        let refused = |code, refusal| CallError::Refused { code, description: "x".into(), refusal };
        for (error, mend) in [
            (CallError::TooMany { after: Duration::from_secs(7) }, "7 s of quiet; nothing to do"),
            (CallError::NotSent { why: "dns".into() }, "(dns); look at this machine's network"),
            (CallError::InDoubt { why: "502".into() }, "(502); if it lasts, look at"),
            (refused(401, Refusal::Unauthorized), "ask @BotFather for a new one"),
            (refused(404, Refusal::NotFound), "ask @BotFather for a new one"),
            (refused(409, Refusal::Conflict), "stop it, or give Vigie a bot of its own"),
            (refused(409, Refusal::WebhookActive), "stop that program"),
            (refused(400, Refusal::Other), "refuses to tell what happened: x"),
        ] {
            assert!(words(&error).contains(mend), "{}", words(&error));
        }
    }

    #[test]
    fn who_shares_a_bot_asks_rarely() {
        assert_eq!(rest_in_conflict(Duration::from_secs(59)), Duration::from_secs(8));
        assert_eq!(rest_in_conflict(Duration::from_mins(1)), Duration::from_secs(30));
        assert_eq!(rest_after(Refusal::Unauthorized, 0), Duration::from_mins(1));
        assert_eq!(rest_after(Refusal::Other, 2), Duration::from_secs(4));
    }

    #[test]
    fn of_a_webhook_only_the_host_is_told() {
        assert_eq!(host("https://bots.example.org/secret?x"), "bots.example.org");
        assert_eq!(host("somewhere"), "somewhere");
        assert_eq!(host(""), "");
    }
}
