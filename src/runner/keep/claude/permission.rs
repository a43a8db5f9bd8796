//! Which calls go through, which wait for a person. Claude Code decides as it does in a terminal, by
//! the step's rules, the person's own settings and what it knows to be harmless; where it would ask,
//! the call is put off and its process ends.
//!
//! It says that it would ask only when a call cannot be put off any more (`PermissionRequest` comes
//! after `PreToolUse`). What it surely asks for is put off at once; any other such call is refused
//! once, with the words to make it again, and the same call is put off then.

use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use vigie_core::{agent::DeniedCall, policy::Guard};

use super::command::name;
use crate::{
    agents::{
        guard::{self, BEFORE_EVENT, Said, decision},
        hooks::ToolCall,
    },
    clock::Clock,
    runner::{
        denials,
        keep::mask::Mask,
        task::{Claude, Talk},
    },
};

/// Tools that change something and always ask, unless a rule lets them.
const ASKED_FOR: [&str; 4] = ["Write", "Edit", "NotebookEdit", "WebFetch"];

/// Programs that are often harmless; Claude Code knows better when, so it is heard first.
const PERHAPS_HARMLESS: [&str; 22] = [
    "ls", "cat", "head", "tail", "wc", "grep", "rg", "find", "pwd", "echo", "git", "which", "file",
    "stat", "du", "df", "date", "sort", "uniq", "diff", "cd", "tree",
];

/// Calls that are remembered as asked for: a turn makes no more of them.
const MOST: usize = 1_000;

const AGAIN: &str = "A person has to allow this. Make this very call once more, with the same input: \
                     it is then put to them.";
const ONE: &str =
    "Another call waits for a person's answer right now. Make this one again afterwards.";
const BELOW: &str = "A person has to allow this, and nobody can be asked from within a subagent. Say so \
                     to whoever called you, so that they make this call themselves.";

/// What comes from its hooks.
#[derive(Deserialize)]
pub(super) struct Call {
    #[serde(default)]
    hook_event_name: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    cwd: String,
}

pub(super) struct Permission {
    rules: Vec<String>,
    guard: Guard,
    answered: Option<Answered>,
    mask: Arc<Mask>,
    /// Of the attempt: what is denied is noted there.
    folder: PathBuf,
    seen: Mutex<Seen>,
}

/// A person's answer to one call, by what it is and not by its name alone.
struct Answered {
    call: String,
    tool: String,
    input: Value,
    allow: bool,
    words: Option<String>,
}

#[derive(Default)]
struct Seen {
    /// What Claude Code would ask for.
    asked_for: Vec<(String, Value)>,
    put_off: Option<String>,
}

impl Permission {
    pub(super) fn new(claude: &Claude, mask: Arc<Mask>, folder: PathBuf) -> Self {
        let answered = match &claude.conversation {
            Talk::New { .. } | Talk::GoOn { .. } | Talk::Again { .. } => None,
            Talk::Answered { asks, allow, words } => Some(Answered {
                call: asks.call.clone(),
                tool: asks.tool.clone(),
                input: asks.input.clone(),
                allow: *allow,
                words: words.clone(),
            }),
        };
        let (rules, guard) = (claude.tools.clone(), claude.guard.clone());
        Self { rules, guard, answered, mask, folder, seen: Mutex::default() }
    }

    /// What the hook answers.
    pub(super) fn decide(&self, mut call: Call) -> Value {
        let before = call.hook_event_name == BEFORE_EVENT;
        let said = if before { self.policies_say(&call) } else { Said::Nothing };
        self.mask.json(&mut call.tool_input); // as a person saw it
        match call.hook_event_name.as_str() {
            BEFORE_EVENT => self.before(call, &said),
            "PermissionRequest" => self.would_ask(call),
            _ => json!({}),
        }
    }

    /// By what it really is given.
    fn policies_say(&self, call: &Call) -> Said {
        let tool = ToolCall {
            tool: call.tool_name.clone(),
            input: call.tool_input.clone(),
            id: call.tool_use_id.clone(),
        };
        let said = guard::judge(&self.guard, &tool, &call.cwd, Clock::system().now());
        if let Said::Deny { call: denied, .. } = &said {
            let (line, why) = (self.mask.text(&denied.line), self.mask.text(&denied.why));
            denials::note(&self.folder, &DeniedCall { line, why, ..denied.clone() });
        }
        said
    }

    fn before(&self, call: Call, said: &Said) -> Value {
        if matches!(said, Said::Deny { .. }) {
            return said.answer();
        }
        let to_ask = matches!(said, Said::Ask { .. });
        let id = call.tool_use_id.unwrap_or_default();
        if let Some(answered) = self
            .answered
            .as_ref()
            .filter(|it| it.call == id && it.tool == call.tool_name && it.input == call.tool_input)
        {
            return answered.decision();
        }
        if call.agent_id.is_some() {
            // Putting it off would lose it (2.1.332).
            return if to_ask { decision("deny", BELOW) } else { json!({}) };
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let asked_for = seen
            .asked_for
            .iter()
            .any(|(tool, input)| *tool == call.tool_name && *input == call.tool_input);
        if !to_ask && !asked_for && !self.surely_asks(&call.tool_name, &call.tool_input) {
            return json!({});
        }
        // Of several that are put off in one answer all but the last would be lost (2.1.332).
        match &seen.put_off {
            Some(other) if *other != id => decision("deny", ONE),
            Some(_) | None => {
                seen.put_off = Some(id);
                decision("defer", "")
            }
        }
    }

    fn would_ask(&self, call: Call) -> Value {
        let words = if call.agent_id.is_some() { BELOW } else { AGAIN };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.asked_for.len() < MOST {
            seen.asked_for.push((call.tool_name, call.tool_input));
        }
        let decision = json!({ "behavior": "deny", "message": words });
        json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } })
    }

    fn surely_asks(&self, tool: &str, input: &Value) -> bool {
        if self.rules.iter().any(|rule| name(rule) == tool) {
            return false; // it knows its own patterns
        }
        if tool != "Bash" {
            return ASKED_FOR.contains(&tool);
        }
        let command = input["command"].as_str().unwrap_or_default();
        let first = command.split_whitespace().next().unwrap_or_default();
        !PERHAPS_HARMLESS.contains(&first)
    }
}

impl Answered {
    fn decision(&self) -> Value {
        if self.allow {
            return decision("allow", "a person allowed it");
        }
        match self.words.as_deref().filter(|words| !words.trim().is_empty()) {
            Some(words) => decision("deny", &format!("A person said no: {words}")),
            None => {
                decision("deny", "A person said no. Go on without it, or say what you need it for.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::policy::{Catastrophic, CommandPattern, Effect, Glob, Policy};
    use vigie_workflow::run::{Asks, Spent};

    fn permission(tools: &[&str], conversation: Talk) -> Permission {
        let claude = Claude {
            program: "claude".into(),
            prompt: String::new(),
            conversation,
            model: None,
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            read_only: false,
            schema: None,
            micro_usd: None,
            max_turns: None,
            guard: vigie_core::policy::Guard::default(),
        };
        Permission::new(&claude, Arc::new(Mask::new(&[])), PathBuf::new())
    }

    fn fresh(tools: &[&str]) -> Permission {
        permission(tools, Talk::New { id: "s".into() })
    }

    fn call(event: &str, tool: &str, command: &str, id: &str, below: bool) -> Call {
        let agent = below.then_some("sub");
        serde_json::from_value(json!({
            "hook_event_name": event, "tool_name": tool, "tool_input": { "command": command },
            "tool_use_id": id, "agent_id": agent,
        }))
        .unwrap()
    }

    fn before(permission: &Permission, tool: &str, command: &str, id: &str) -> String {
        let answer = permission.decide(call("PreToolUse", tool, command, id, false));
        answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none").into()
    }

    #[test]
    fn what_surely_asks_is_put_off_at_once_and_one_at_a_time() {
        let permission = fresh(&["Bash(cargo test:*)"]);
        assert_eq!(before(&permission, "Bash", "cargo test", "1"), "none");
        assert_eq!(before(&permission, "Read", "", "2"), "none");
        assert_eq!(before(&permission, "Write", "", "3"), "defer");
        assert_eq!(before(&permission, "Edit", "", "4"), "deny", "it would be lost");
        assert_eq!(before(&fresh(&[]), "Bash", "rm -r x", "1"), "defer");
        assert_eq!(before(&fresh(&[]), "Bash", "ls -l", "1"), "none");
        assert_eq!(before(&fresh(&["Write"]), "Write", "", "1"), "none");
    }

    #[test]
    fn what_turns_out_to_be_asked_for_is_put_off_the_second_time() {
        let permission = fresh(&["Bash(cargo test:*)"]);
        assert_eq!(before(&permission, "Bash", "cargo publish", "1"), "none");
        let denied =
            permission.decide(call("PermissionRequest", "Bash", "cargo publish", "", false));
        assert_eq!(denied["hookSpecificOutput"]["decision"]["behavior"], "deny");
        assert_eq!(before(&permission, "Bash", "cargo publish --all", "2"), "none", "another call");
        assert_eq!(before(&permission, "Bash", "cargo publish", "3"), "defer");
    }

    #[test]
    fn nothing_is_put_off_in_a_subagent() {
        let permission = fresh(&[]);
        assert_eq!(permission.decide(call("PreToolUse", "Write", "", "1", true)), json!({}));
        let denied = permission.decide(call("PermissionRequest", "Write", "", "1", true));
        assert_eq!(denied["hookSpecificOutput"]["decision"]["message"], BELOW);
    }

    #[test]
    fn what_a_policy_denies_is_denied_and_noted_and_what_it_asks_for_is_put_off() {
        let policy = |effect, command: &str| Policy {
            name: "tides".into(),
            line: 2,
            effect,
            reason: None,
            tools: Vec::new(),
            commands: vec![CommandPattern::parse(command).unwrap()],
            paths: Vec::new(),
            projects: Vec::new(),
            sessions: vec![Glob::new("release-*")],
            hours: None,
            catastrophic: Catastrophic::Asked,
        };
        let folder = tempfile::tempdir().unwrap();
        let guarded = |asker: &str| {
            let mut permission = fresh(&["Bash(cat:*)"]);
            let policies = vec![policy(Effect::Deny, "cat *"), policy(Effect::Ask, "ls *")];
            permission.guard = Guard { policies, asker: asker.into(), ..Guard::default() };
            permission.folder = folder.path().into();
            permission
        };
        assert_eq!(before(&guarded("build-1"), "Bash", "cat x", "1"), "none", "another run");
        let permission = guarded("release-12");
        assert_eq!(before(&permission, "Bash", "cat x", "1"), "deny");
        assert_eq!(before(&permission, "Bash", "ls x", "2"), "defer", "though it is harmless");
        assert_eq!(before(&permission, "Bash", "pwd", "3"), "none");
        let below = permission.decide(call("PreToolUse", "Bash", "ls x", "4", true));
        assert_eq!(below["hookSpecificOutput"]["permissionDecision"], "deny");
        let noted = denials::read(folder.path());
        let lines: Vec<_> = noted.iter().map(|call| call.line.as_str()).collect();
        assert_eq!(lines, ["Bash: cat x"]);
        let out = std::fs::read_to_string(folder.path().join("out")).unwrap();
        assert_eq!(out, "[vigie] policy `tides` (line 2) denied Bash: cat x\n");
    }

    #[test]
    fn an_answer_is_for_the_very_call_it_was_given_to() {
        let asks = Asks {
            tool: "Bash".into(),
            input: json!({ "command": "rm x" }),
            cwd: "/".into(),
            conversation: "s".into(),
            call: "1".into(),
            spent: Spent::default(),
        };
        let answered =
            |allow| permission(&[], Talk::Answered { asks: asks.clone(), allow, words: None });
        assert_eq!(before(&answered(true), "Bash", "rm x", "1"), "allow");
        assert_eq!(before(&answered(false), "Bash", "rm x", "1"), "deny");
        assert_eq!(before(&answered(true), "Bash", "rm y", "1"), "defer", "other input");
        assert_eq!(before(&answered(true), "Bash", "rm x", "2"), "defer", "another call");
        assert_eq!(before(&answered(true), "Write", "rm x", "1"), "defer", "another tool");
    }
}
