//! Hook JSON as Claude Code writes it, shared by every agent that speaks it (`demo` does, so that
//! it walks the same path). Parsed leniently: unknown fields and events are no error, since the
//! format belongs to somebody else and moves.
//!
//! Source of every field name: observed with Claude Code 2.1.197 and 2.1.332.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use vigie_core::{
    agent::{AcceptEdits, Asked, Choice, Decision, FailureKind, Question, Scope},
    id::TurnId,
};

/// Longest progress line, in characters; the rest of a long command is on the card or in the log.
const PROGRESS_CHARS: usize = 120;

/// Under this event name `vigie hook status` hands in what the status line is told.
pub const STATUS_EVENT: &str = "VigieStatusLine";

/// A round of tools is over: the last that the agent says before it asks its model again.
pub const BATCH_EVENT: &str = "PostToolBatch";

/// One event, with what all of them carry.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEvent {
    /// The agent's conversation.
    pub conversation: Option<String>,
    pub transcript: Option<String>,
    pub turn: Option<TurnId>,
    pub cwd: String,
    /// `None` for the main agent, else the subagent's id.
    pub agent: Option<String>,
    pub what: Hook,
}

/// What happened. Only what an adapter acts on has a variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Hook {
    SessionStarted {
        source: String,
    },
    PromptSubmitted {
        prompt: String,
    },
    ToolStarting {
        call: ToolCall,
    },
    PermissionRequested {
        call: ToolCall,
        suggestions: Vec<Value>,
    },
    ToolEnded {
        call: ToolCall,
    },
    /// A round of tools is over.
    Batch {
        calls: Vec<ToolCall>,
    },
    Stopped {
        text: Option<String>,
        background: bool,
    },
    StopFailed {
        kind: FailureKind,
        text: String,
    },
    Compacting,
    SessionEnded,
    /// The status line's numbers.
    Status {
        cost_usd: Option<f64>,
    },
    /// Anything else, by its own name.
    Other {
        name: String,
    },
}

/// One use of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub tool: String,
    pub input: Value,
    /// `PermissionRequest` does not carry it.
    pub id: Option<String>,
}

impl ToolCall {
    fn read(event: &Value) -> Self {
        Self {
            tool: text(event, "tool_name").unwrap_or_default(),
            input: event.get("tool_input").cloned().unwrap_or_else(|| json!({})),
            id: text(event, "tool_use_id"),
        }
    }

    /// Eight hex digits of tool and input: the same call of the same agent gives the same.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.tool.as_bytes());
        hash.update([0]);
        // `serde_json` keeps objects sorted, so equal inputs have one spelling.
        hash.update(self.input.to_string().as_bytes());
        hash.finalize().iter().take(4).fold(String::new(), |mut hex, byte| {
            use std::fmt::Write as _;
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// Whether both are the same call: by id where both have one, else by tool and input.
    pub fn is(&self, other: &Self) -> bool {
        match (&self.id, &other.id) {
            (Some(a), Some(b)) => a == b,
            _ => self.tool == other.tool && self.input == other.input,
        }
    }

    /// Whether it is a tool that asks a person, whatever is allowed.
    pub fn asks_a_person(&self) -> bool {
        matches!(self.tool.as_str(), "AskUserQuestion" | "ExitPlanMode")
    }

    /// `Bash: cargo test`: the tool and the argument that says most; of a server's tool (MCP) both
    /// names, `vigie send_message: …`.
    pub fn line(&self) -> String {
        const TELLING: [&str; 15] = [
            "command",
            "file_path",
            "notebook_path",
            "pattern",
            "url",
            "query",
            "description",
            "prompt",
            "path",
            "skill",
            "question",
            "text",
            "session",
            "workflow",
            "name",
        ];
        let argument = TELLING.iter().find_map(|key| text(&self.input, key)).unwrap_or_default();
        let one_line = argument.split_whitespace().collect::<Vec<_>>().join(" ");
        let tool = match self.tool.strip_prefix("mcp__") {
            Some(tool) => tool.replacen("__", " ", 1),
            None => self.tool.clone(),
        };
        let line = if one_line.is_empty() { tool } else { format!("{tool}: {one_line}") };
        shortened(&line, PROGRESS_CHARS)
    }
}

impl HookEvent {
    /// `None` when the JSON names no event.
    pub fn read(event: &Value) -> Option<Self> {
        let name = text(event, "hook_event_name")?;
        Some(Self {
            conversation: text(event, "session_id"),
            transcript: text(event, "transcript_path"),
            turn: text(event, "prompt_id").map(TurnId::new),
            cwd: text(event, "cwd").unwrap_or_default(),
            agent: text(event, "agent_id"),
            what: Hook::read(&name, event),
        })
    }
}

impl Hook {
    fn read(name: &str, event: &Value) -> Self {
        match name {
            "SessionStart" => {
                Self::SessionStarted { source: text(event, "source").unwrap_or_default() }
            }
            "UserPromptSubmit" => {
                Self::PromptSubmitted { prompt: text(event, "prompt").unwrap_or_default() }
            }
            "PreToolUse" => Self::ToolStarting { call: ToolCall::read(event) },
            "PermissionRequest" => Self::PermissionRequested {
                call: ToolCall::read(event),
                suggestions: list(event, "permission_suggestions").to_vec(),
            },
            "PostToolUse" | "PostToolUseFailure" => Self::ToolEnded { call: ToolCall::read(event) },
            BATCH_EVENT => Self::Batch {
                calls: list(event, "tool_calls").iter().map(ToolCall::read).collect(),
            },
            "Stop" => Self::Stopped {
                text: text(event, "last_assistant_message"),
                background: !list(event, "background_tasks").is_empty(),
            },
            "StopFailure" => {
                let error = text(event, "error").unwrap_or_default();
                let said = text(event, "last_assistant_message").filter(|said| !said.is_empty());
                let details = event.get("error_details").map(|details| {
                    details.as_str().map_or_else(|| details.to_string(), str::to_owned)
                });
                Self::StopFailed {
                    kind: failure(&error),
                    text: said.or(details).unwrap_or_else(|| error.clone()),
                }
            }
            "PreCompact" => Self::Compacting,
            "SessionEnd" => Self::SessionEnded,
            STATUS_EVENT => Self::Status {
                cost_usd: event.pointer("/cost/total_cost_usd").and_then(Value::as_f64),
            },
            other => Self::Other { name: other.into() },
        }
    }
}

/// What the person is asked. `plan_file` reads the file a plan stands in (newer versions write the
/// plan to a file of their own and may leave the text out of the tool's input).
pub fn asked(
    call: &ToolCall,
    cwd: &str,
    suggestions: &[Value],
    plan_file: impl FnOnce(&str) -> Option<String>,
) -> Asked {
    match call.tool.as_str() {
        "AskUserQuestion" => {
            let questions: Vec<_> = list(&call.input, "questions").iter().map(question).collect();
            if questions.is_empty() {
                permission(call, cwd, suggestions)
            } else {
                Asked::Questions { questions }
            }
        }
        "ExitPlanMode" => {
            let plan = text(&call.input, "plan")
                .filter(|plan| !plan.trim().is_empty())
                .or_else(|| text(&call.input, "planFilePath").and_then(|path| plan_file(&path)));
            Asked::Plan {
                plan: plan.unwrap_or_else(|| {
                    "(The agent proposes a plan and shows no text of it.)".into()
                }),
            }
        }
        _ => permission(call, cwd, suggestions),
    }
}

fn permission(call: &ToolCall, cwd: &str, suggestions: &[Value]) -> Asked {
    Asked::Permission {
        tool: call.tool.clone(),
        input: call.input.clone(),
        cwd: cwd.into(),
        can_remember: !rules_for_session(suggestions).is_empty(),
    }
}

fn question(value: &Value) -> Question {
    Question {
        text: text(value, "question").unwrap_or_default(),
        header: text(value, "header").unwrap_or_default(),
        options: list(value, "options")
            .iter()
            .map(|option| Choice {
                label: text(option, "label").unwrap_or_default(),
                description: text(option, "description").unwrap_or_default(),
            })
            .collect(),
        multiple: value.get("multiSelect").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// The hook's answer that carries out `decision` on `call`.
///
/// Questions and plans always carry `updatedInput`: without it the answer is ignored and the
/// dialog stays (seen with 2.1.332).
pub fn decision(call: &ToolCall, suggestions: &[Value], decision: &Decision) -> Value {
    let interactive = call.asks_a_person();
    let mut answer = match decision {
        Decision::Deny { reason } => json!({
            "behavior": "deny",
            "message": reason.as_deref().unwrap_or("The user does not want this."),
        }),
        // No agent is ever answered so; should one be, nothing is allowed by it.
        Decision::Approve { .. } | Decision::SendBack { .. } => {
            json!({ "behavior": "deny", "message": "This was answered for a workflow." })
        }
        Decision::Allow { .. } | Decision::Answers { .. } | Decision::Plan { .. } => {
            json!({ "behavior": "allow" })
        }
    };
    match decision {
        Decision::Deny { .. } | Decision::Approve { .. } | Decision::SendBack { .. } => {}
        Decision::Allow { scope } => {
            match call.tool.as_str() {
                "AskUserQuestion" => answer["updatedInput"] = call.input.clone(),
                // The plan itself in there would count as one the person edited.
                "ExitPlanMode" => answer["updatedInput"] = json!({}),
                _ => {}
            }
            let rules = rules_for_session(suggestions);
            if *scope == Scope::Session && !interactive && !rules.is_empty() {
                answer["updatedPermissions"] = Value::Array(rules);
            }
        }
        Decision::Answers { answers } => {
            let mut input = call.input.clone();
            let texts = list(&call.input, "questions").iter().filter_map(|q| text(q, "question"));
            input["answers"] = texts.zip(answers.iter().map(|answer| json!(answer))).collect();
            answer["updatedInput"] = input;
        }
        Decision::Plan { accept_edits } => {
            answer["updatedInput"] = json!({});
            if *accept_edits == AcceptEdits::Yes {
                answer["updatedPermissions"] =
                    json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
            }
        }
    }
    permission_answer(&answer)
}

/// Refuses `reason`, and ends the turn with it.
pub fn interrupt() -> Value {
    permission_answer(&json!({
        "behavior": "deny",
        "message": "The user stopped this turn.",
        "interrupt": true,
    }))
}

fn permission_answer(decision: &Value) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } })
}

/// What the agent offers not to ask again, moved to the running session: what a person allows
/// from a phone never lands in a settings file.
fn rules_for_session(suggestions: &[Value]) -> Vec<Value> {
    suggestions
        .iter()
        .filter(|one| text(one, "type").as_deref() == Some("addRules"))
        .filter(|one| text(one, "behavior").as_deref() == Some("allow"))
        .map(|one| {
            let mut rule = one.clone();
            rule["destination"] = json!("session");
            rule
        })
        .collect()
}

/// Source of the words: `StopFailure.error`, observed per HTTP status.
pub(crate) fn failure(error: &str) -> FailureKind {
    match error {
        "rate_limit" => FailureKind::Limit,
        "server_error" | "overloaded" => FailureKind::Service,
        "authentication_failed" => FailureKind::Account,
        "billing_error" => FailureKind::Billing,
        "invalid_request" => FailureKind::Request,
        _ => FailureKind::Other,
    }
}

/// A submitted prompt without the tags that a long paste is wrapped in.
pub fn unwrapped(prompt: &str) -> String {
    const OPEN: &str = "<pasted_content";
    const CLOSE: &str = "</pasted_content";
    let mut rest = prompt;
    let mut plain = String::with_capacity(prompt.len());
    while let Some(at) = [OPEN, CLOSE].iter().filter_map(|tag| rest.find(tag)).min() {
        plain.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('>') else { break };
        rest = &rest[at + end + 1..];
    }
    plain.push_str(rest);
    plain.trim().to_owned()
}

/// Whether the agent's `submitted` prompt is the `typed` text, whatever happened to its blanks
/// and whether it was wrapped.
pub fn same_prompt(submitted: &str, typed: &str) -> bool {
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    // Whoever writes the tags themselves loses them on both sides of the comparison.
    bare(submitted) == bare(typed) || bare(&unwrapped(submitted)) == bare(&unwrapped(typed))
}

/// Cut to `limit` characters, with an ellipsis when something is missing.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.into();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, input: Value) -> ToolCall {
        ToolCall { tool: tool.into(), input, id: None }
    }

    #[test]
    fn an_event_without_a_name_is_none() {
        assert_eq!(HookEvent::read(&json!({ "session_id": "x" })), None);
    }

    #[test]
    fn an_unknown_event_is_kept_by_its_name() {
        let event = HookEvent::read(&json!({ "hook_event_name": "CwdChanged", "new": 1 })).unwrap();
        assert_eq!(event.what, Hook::Other { name: "CwdChanged".into() });
    }

    #[test]
    fn a_wrapped_paste_equals_what_was_typed() {
        let typed = "[phone] one\ntwo\n\nthree\tfour\nfive";
        let seen = "\n\n<pasted_content id=\"1ed9\">\n[phone] one\ntwo\n\nthree    four\nfive\n</pasted_content id=\"1ed9\">\n";
        assert!(same_prompt(seen, typed));
        assert_eq!(unwrapped(seen), "[phone] one\ntwo\n\nthree    four\nfive");
        assert!(!same_prompt("[phone] one", typed));
    }

    #[test]
    fn a_person_may_write_the_tags_too() {
        let typed = "[phone] what is <pasted_content id=\"x\">?";
        assert!(same_prompt(typed, typed));
    }

    #[test]
    fn answers_are_keyed_by_the_question() {
        let ask = call(
            "AskUserQuestion",
            json!({ "questions": [{ "question": "Which?" }, { "question": "Why?" }] }),
        );
        let answer =
            decision(&ask, &[], &Decision::Answers { answers: vec!["Red".into(), "so".into()] });
        let input = &answer["hookSpecificOutput"]["decision"]["updatedInput"];
        assert_eq!(input["answers"], json!({ "Which?": "Red", "Why?": "so" }));
        assert_eq!(input["questions"], ask.input["questions"]);
    }

    #[test]
    fn what_a_phone_allows_for_the_session_never_reaches_a_file() {
        let suggestions = [
            json!({ "type": "addRules", "behavior": "allow", "destination": "userSettings", "rules": [{ "toolName": "Bash" }] }),
            json!({ "type": "setMode", "mode": "bypassPermissions", "destination": "session" }),
        ];
        let bash = call("Bash", json!({ "command": "ls" }));
        let answer = decision(&bash, &suggestions, &Decision::Allow { scope: Scope::Session });
        let rules = &answer["hookSpecificOutput"]["decision"]["updatedPermissions"];
        assert_eq!(
            *rules,
            json!([{ "type": "addRules", "behavior": "allow", "destination": "session", "rules": [{ "toolName": "Bash" }] }])
        );
        let once = decision(&bash, &suggestions, &Decision::Allow { scope: Scope::Once });
        assert_eq!(once["hookSpecificOutput"]["decision"], json!({ "behavior": "allow" }));
    }

    #[test]
    fn a_plan_is_read_from_its_file_when_the_input_has_none() {
        let plan = call("ExitPlanMode", json!({ "planFilePath": "/plans/a.md" }));
        let read = |path: &str| (path == "/plans/a.md").then(|| "# Do it".to_owned());
        assert_eq!(asked(&plan, "/", &[], read), Asked::Plan { plan: "# Do it".into() });
        let approved = decision(&plan, &[], &Decision::Plan { accept_edits: AcceptEdits::Yes });
        assert_eq!(approved["hookSpecificOutput"]["decision"]["updatedInput"], json!({}));
    }

    #[test]
    fn a_progress_line_is_one_short_line() {
        let line =
            call("Bash", json!({ "command": format!("echo a\n{}", "b".repeat(300)) })).line();
        assert!(line.starts_with("Bash: echo a bbb"), "{line}");
        assert_eq!(line.chars().count(), PROGRESS_CHARS);
        assert_eq!(call("TodoWrite", json!({})).line(), "TodoWrite");
        let send = call("mcp__vigie__send_message", json!({ "to": "PD-286", "text": "a\nb" }));
        assert_eq!(send.line(), "vigie send_message: a b");
    }
}
