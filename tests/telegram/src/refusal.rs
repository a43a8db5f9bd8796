//! How a call is refused: the code and words of the real server.

use serde_json::{Value, json};

/// A refused call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status, which is `error_code` too.
    pub code: u16,
    /// The `description`, with its prefix.
    pub text: String,
    /// Seconds to wait, with a 429.
    pub retry_after: Option<u64>,
    /// The new id of a group that became a supergroup.
    pub migrate_to: Option<i64>,
}

impl Refusal {
    pub(crate) fn new(code: u16, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), retry_after: None, migrate_to: None }
    }

    pub(crate) fn too_many(seconds: u64) -> Self {
        let text = format!("Too Many Requests: retry after {seconds}");
        Self { retry_after: Some(seconds), ..Self::new(429, text) }
    }

    pub(crate) fn migrated(to: i64) -> Self {
        Self { migrate_to: Some(to), ..bad("group chat was upgraded to a supergroup chat") }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({"ok": false, "error_code": self.code, "description": self.text});
        if let Some(seconds) = self.retry_after {
            body["parameters"]["retry_after"] = seconds.into();
        }
        if let Some(chat) = self.migrate_to {
            body["parameters"]["migrate_to_chat_id"] = chat.into();
        }
        body
    }
}

/// A 400 in the server's form.
pub(crate) fn bad(text: impl AsRef<str>) -> Refusal {
    Refusal::new(400, format!("Bad Request: {}", text.as_ref()))
}

/// A 403 in the server's form.
pub(crate) fn forbidden(text: impl AsRef<str>) -> Refusal {
    Refusal::new(403, format!("Forbidden: {}", text.as_ref()))
}
