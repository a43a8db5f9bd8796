//! What Claude Code prints as `stream-json`: what it says while it works, and its result.

use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Write as _},
    path::Path,
    sync::{Mutex, PoisonError, mpsc::SyncSender},
};
use vigie_core::{agent::FailureKind, outage::Why};
use vigie_workflow::run::Spent;

use super::command::over_budget;
use crate::agents::hooks::failure;
use crate::runner::{
    keep::{Event, appended, mask::Mask, pour, process::Status},
    task::Claude,
};

/// Longest line that is read, in bytes; pictures in results of tools are long.
const LONGEST_LINE: usize = 32 << 20;
/// Of a call, for who follows, in characters.
const LONGEST_CALL: usize = 200;

/// All that counts of it.
#[derive(Default)]
pub(super) struct Said {
    pub conversation: Option<String>,
    pub answer: Option<Answer>,
    pub spent: Spent,
    /// As the words it says say that stand for an answer that the service refused.
    error: Option<FailureKind>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    parent_tool_use_id: Option<String>,
    /// The same word that its hook has for a turn that failed (2.1.332).
    #[serde(default)]
    error: Value,
    #[serde(default)]
    message: Option<Message>,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
}

/// Of the kind `result`.
#[derive(Clone, Default, Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    pub is_error: bool,
    #[serde(default)]
    pub terminal_reason: Option<String>,
    #[serde(default)]
    pub subtype: Option<String>,
    #[serde(default)]
    pub result: Option<String>,
    #[serde(default)]
    pub errors: Vec<String>,
    #[serde(default)]
    pub structured_output: Option<Value>,
    #[serde(default, rename = "deferred_tool_use")]
    pub deferred: Option<Call>,
    #[serde(default)]
    total_cost_usd: f64,
    #[serde(default)]
    usage: Usage,
    /// Not in 2.1.197, where the total begins with the process.
    #[serde(default, rename = "model_usage_since_last_result")]
    since: Option<BTreeMap<String, ModelUsage>>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Call {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub input: Value,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are the program's")]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ModelUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
    #[serde(rename = "costUSD")]
    cost_usd: f64,
}

/// Reads to the end: what it says goes into the file at `path`, the rest into `said`.
pub(super) fn follow(
    from: impl Read,
    path: &Path,
    mask: &Mask,
    said: &Mutex<Said>,
    tell: &SyncSender<Event>,
) {
    let mut file = appended(path);
    let mut line = Vec::new();
    let mut take = |line: &[u8]| {
        let shown = said.lock().unwrap_or_else(PoisonError::into_inner).take(line);
        if let (Some(shown), Ok(file)) = (shown, &mut file) {
            // Who follows misses a line where the disk is full; nothing else does.
            let _ = writeln!(file, "{}", mask.text(&shown));
        }
    };
    pour::pieces(from, |mut piece| {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            if line.len() <= LONGEST_LINE {
                line.extend_from_slice(&piece[..end]);
                take(&line);
            }
            line.clear();
            piece = &piece[end + 1..];
        }
        if line.len() <= LONGEST_LINE {
            line.extend_from_slice(piece);
        }
    });
    take(&line);
    if let Err(error) = File::open(path) {
        let _ = tell.send(Event::Broken(format!("what it says cannot be kept: {error}")));
    }
}

impl Said {
    /// What of a line is to be shown.
    fn take(&mut self, line: &[u8]) -> Option<String> {
        let line: Line = serde_json::from_slice(line).ok()?;
        if let Some(id) = line.session_id {
            self.conversation = Some(id);
        }
        match line.kind.as_str() {
            "assistant" if line.parent_tool_use_id.is_none() => {
                self.error = line.error.as_str().map(failure);
                shown(&line.message?.content)
            }
            "result" => {
                let spent = line.answer.spent();
                self.spent = super::sum(self.spent, spent);
                self.answer = Some(line.answer);
                None
            }
            _ => None,
        }
    }
}

impl Said {
    /// What is wrong with all that its account does, when that is why the turn ended.
    pub(super) fn refused(&self) -> Option<FailureKind> {
        let refused = self.answer.as_ref().is_some_and(Answer::was_refused);
        self.error.filter(|kind| refused && Why::of(*kind).is_some())
    }
}

fn shown(content: &Value) -> Option<String> {
    let parts = content.as_array()?.iter().filter_map(|part| match part["type"].as_str()? {
        "text" => Some(part["text"].as_str()?.to_owned()),
        "tool_use" => {
            let input: String = part["input"].to_string().chars().take(LONGEST_CALL).collect();
            Some(format!("[{}] {input}", part["name"].as_str()?))
        }
        _ => None,
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

impl Answer {
    fn spent(&self) -> Spent {
        match &self.since {
            Some(models) => models.values().fold(Spent::default(), |sum, model| {
                let spent = Spent {
                    micro_usd: micro(model.cost_usd),
                    input_tokens: model.input_tokens
                        + model.cache_creation_input_tokens
                        + model.cache_read_input_tokens,
                    output_tokens: model.output_tokens,
                };
                super::sum(sum, spent)
            }),
            None => Spent {
                micro_usd: micro(self.total_cost_usd),
                input_tokens: self.usage.input_tokens
                    + self.usage.cache_creation_input_tokens
                    + self.usage.cache_read_input_tokens,
                output_tokens: self.usage.output_tokens,
            },
        }
    }

    /// Whether the service refused it, and that is why it ended.
    fn was_refused(&self) -> bool {
        self.is_error && self.terminal_reason.as_deref() == Some("api_error")
    }

    /// Only these three count: a request that failed says `success` too.
    pub(super) fn worked(&self, status: Status, claude: &Claude) -> Result<(), String> {
        let reason = self.terminal_reason.as_deref();
        if status == Status::Code(0) && !self.is_error && matches!(reason, Some("completed") | None)
        {
            return Ok(());
        }
        let words = self.errors.first().or(self.result.as_ref()).map(String::as_str);
        let words = words.and_then(|words| words.lines().find(|line| !line.trim().is_empty()));
        Err(match (reason, self.subtype.as_deref()) {
            (Some("max_turns"), _) | (_, Some("error_max_turns")) => match claude.max_turns {
                Some(turns) => format!("it was not done after {turns} turns"),
                None => "it was not done after the turns it has".into(),
            },
            (Some("budget_exhausted"), _) | (_, Some("error_max_budget_usd")) => {
                over_budget(claude.micro_usd.unwrap_or_default())
            }
            (Some("api_error"), _) => format!(
                "the service behind it refused or failed: {}",
                words.unwrap_or("it did not say why").trim_end_matches('.')
            ),
            (reason, _) => format!(
                "it ended as `{}`: {}",
                reason.unwrap_or("failed"),
                words.unwrap_or("it did not say why").trim_end_matches('.')
            ),
        })
    }
}

/// Dollars in millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and not negative"
)]
fn micro(usd: f64) -> u64 {
    (usd.max(0.0) * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> (Said, String) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out");
        let said = Mutex::new(Said::default());
        let (tell, _events) = std::sync::mpsc::sync_channel(4);
        let text = lines.join("\n");
        follow(text.as_bytes(), &path, &Mask::new(&["hunter2hunter2".into()]), &said, &tell);
        (said.into_inner().unwrap(), std::fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn what_it_says_can_be_followed_and_its_subagents_cannot() {
        let (said, shown) = heard(&[
            r#"{"type":"system","subtype":"init","session_id":"s"}"#,
            "no json",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look at hunter2hunter2"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"below"}]},"parent_tool_use_id":"t"}"#,
        ]);
        assert_eq!(shown, "I look at ***\n[Bash] {\"command\":\"ls\"}\n");
        assert_eq!(said.conversation.as_deref(), Some("s"));
        assert!(said.answer.is_none());
    }

    #[test]
    fn only_what_the_service_refused_for_its_account_is_put_off() {
        let said = |error: &str, reason: &str, is_error: bool| {
            let words = "usage limit reached, resets 3am";
            let assistant = serde_json::json!({ "type": "assistant", "error": error,
                "message": { "content": [{ "type": "text", "text": words }] } });
            let result = serde_json::json!({ "type": "result", "is_error": is_error,
                "terminal_reason": reason, "result": words });
            heard(&[&assistant.to_string(), &result.to_string()]).0.refused()
        };
        for (word, kind) in [
            ("rate_limit", FailureKind::Limit),
            ("server_error", FailureKind::Service),
            ("authentication_failed", FailureKind::Account),
            ("billing_error", FailureKind::Billing),
        ] {
            assert_eq!(said(word, "api_error", true), Some(kind));
            assert_eq!(said(word, "completed", false), None, "it went on after that");
        }
        assert_eq!(said("invalid_request", "api_error", true), None);
        let (words, _) = heard(&[
            r#"{"type":"result","is_error":false,"terminal_reason":"completed","result":"usage limit reached, resets 3am"}"#,
        ]);
        assert_eq!(words.refused(), None);
    }

    #[test]
    fn money_is_what_came_since_the_last_result() {
        let (said, _) = heard(&[
            r#"{"type":"result","is_error":false,"result":"a","total_cost_usd":9.0,"model_usage_since_last_result":{"m":{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":5,"costUSD":0.0020822}}}"#,
            r#"{"type":"result","is_error":false,"result":"b","total_cost_usd":9.1,"model_usage_since_last_result":{"m":{"inputTokens":1,"outputTokens":2,"costUSD":0.1}}}"#,
        ]);
        assert_eq!(said.spent, Spent { micro_usd: 102_082, input_tokens: 16, output_tokens: 22 });
        assert_eq!(said.answer.unwrap().result.as_deref(), Some("b"));
        let (old, _) = heard(&[
            r#"{"type":"result","result":"a","total_cost_usd":0.5,"usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":3}}"#,
        ]);
        assert_eq!(old.spent, Spent { micro_usd: 500_000, input_tokens: 3, output_tokens: 3 });
    }
}
