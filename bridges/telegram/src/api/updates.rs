use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{CallError, Method, UpdateId};

/// Asks for what happened, and confirms everything below `offset`: Telegram forgets that at once.
#[derive(Clone, Debug, Serialize)]
pub struct GetUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<UpdateId>,
    /// 1 to 100.
    pub limit: u8,
    /// Seconds to wait for something to happen, at most 50.
    pub timeout: u16,
    /// The kinds that are wanted. Telegram remembers them, and drops others when they happen.
    pub allowed_updates: &'static [&'static str],
}

impl GetUpdates {
    pub(super) const NAME: &'static str = "getUpdates";
}

/// One update as Telegram wrote it: what we do not understand today stands in it all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawUpdate {
    pub id: UpdateId,
    pub json: String,
}

#[derive(Deserialize)]
struct Numbered {
    update_id: UpdateId,
}

pub(super) fn updates(raw: Vec<Box<RawValue>>) -> Result<Vec<RawUpdate>, CallError> {
    let numbered = raw.into_iter().map(|raw| {
        let json = String::from(Box::<str>::from(raw));
        let Numbered { update_id: id } = serde_json::from_str(&json)
            .map_err(|error| CallError::in_doubt(format!("an update has no number: {error}")))?;
        Ok(RawUpdate { id, json })
    });
    numbered.collect()
}

/// Takes a webhook away, so that updates can be asked for. What waits is kept.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeleteWebhook {
    drop_pending_updates: bool,
}

impl DeleteWebhook {
    pub const KEEPING_ALL: Self = Self { drop_pending_updates: false };
}

impl Method for DeleteWebhook {
    const NAME: &'static str = "deleteWebhook";
    type Answer = bool;
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct GetWebhookInfo {}

impl Method for GetWebhookInfo {
    const NAME: &'static str = "getWebhookInfo";
    type Answer = WebhookInfo;
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WebhookInfo {
    /// Empty: none is set.
    pub url: String,
    /// How many updates wait to be fetched.
    pub pending_update_count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_keeps_every_character_it_came_with() {
        let text = r#"[{"update_id":7,"new_kind":{"x":1.000000000000000000001, "y":"\u0041"}},{"message":{"text":"update_id"},"update_id":8}]"#;
        let updates = updates(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(updates[0].id, UpdateId(7));
        assert_eq!(
            updates[0].json,
            r#"{"update_id":7,"new_kind":{"x":1.000000000000000000001, "y":"\u0041"}}"#
        );
        assert_eq!(updates[1].id, UpdateId(8));
    }

    #[test]
    fn nothing_that_waits_is_ever_dropped() {
        assert_eq!(
            serde_json::to_string(&DeleteWebhook::KEEPING_ALL).unwrap(),
            r#"{"drop_pending_updates":false}"#
        );
    }
}
