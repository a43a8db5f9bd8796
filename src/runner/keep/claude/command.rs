//! The command line of a turn without a terminal. Source: Claude Code 2.1.332, `--help` and tried.

use serde_json::{Value, json};
use vigie_core::{money, policy::Guard};
use vigie_workflow::run::Spent;

use super::server::{PATH, TOKEN};
use crate::{
    agents::claude::{keep_guard, keep_hooks},
    runner::task::{Claude, Talk},
};

/// What a step that may only read has, and more of these where it names them.
const READING: [&str; 3] = ["Read", "Grep", "Glob"];
const LOOKING: [&str; 2] = ["WebFetch", "WebSearch"];

/// How often it tries a request again: a service that is busy gets some minutes, a key that is wrong
/// not ten tries.
const RETRIES: &str = "4";

/// Seconds that it waits for our word on a call. We answer at once; a call that is late would go through.
const HOOK_TIMEOUT: u32 = 86_400;

/// # Errors
/// Why it is not started at all.
/// `theirs`: the settings it reads by itself.
pub(super) fn arguments(
    claude: &Claude,
    before: Spent,
    url: &str,
    theirs: &[Value],
) -> Result<Vec<String>, String> {
    let mut args: Vec<String> =
        ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "default"]
            .map(str::to_owned)
            .to_vec();
    let mut with = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
    match &claude.conversation {
        Talk::New { id } => with("--session-id", id.clone()),
        Talk::GoOn { id } | Talk::Again { id, .. } => with("--resume", id.clone()),
        Talk::Answered { asks, .. } => with("--resume", asks.conversation.clone()),
    }
    with("--settings", settings(url, theirs, &claude.guard));
    if let Some(model) = &claude.model {
        with("--model", model.clone());
    }
    if let Some(turns) = claude.max_turns {
        with("--max-turns", turns.to_string());
    }
    if let Some(most) = claude.micro_usd {
        let left = most.checked_sub(before.micro_usd).filter(|left| *left > 0);
        let left = left.ok_or_else(|| over_budget(most))?;
        with("--max-budget-usd", format!("{}.{:06}", left / 1_000_000, left % 1_000_000));
    }
    if let Some(schema) = &claude.schema {
        with("--json-schema", schema.to_string());
    }
    if claude.read_only {
        let more =
            LOOKING.iter().filter(|tool| claude.tools.iter().any(|rule| name(rule) == **tool));
        let tools: Vec<&str> = READING.iter().chain(more).copied().collect();
        args.extend(["--strict-mcp-config".into(), "--tools".into(), tools.join(",")]);
    }
    if !claude.tools.is_empty() {
        // Last, since it takes all that follows.
        args.push("--allowedTools".into());
        args.extend(claude.tools.clone());
    }
    Ok(args)
}

pub(super) fn over_budget(most: u64) -> String {
    format!("it has reached what it may cost, {}", money::exact(most))
}

/// The tool of a rule such as `Bash(cargo test:*)`.
pub(super) fn name(rule: &str) -> &str {
    rule.split('(').next().unwrap_or(rule).trim()
}

/// The conversation it is asked for.
pub(super) fn id(claude: &Claude) -> &str {
    match &claude.conversation {
        Talk::New { id } | Talk::GoOn { id } | Talk::Again { id, .. } => id,
        Talk::Answered { asks, .. } => &asks.conversation,
    }
}

fn settings(url: &str, theirs: &[Value], guard: &Guard) -> String {
    let url = format!("{url}{PATH}");
    let hook = json!([{ "matcher": "*", "hooks": [{
        "type": "http", "url": url, "timeout": HOOK_TIMEOUT,
        "headers": { "Authorization": format!("Bearer ${TOKEN}") }, "allowedEnvVars": [TOKEN],
    }] }]);
    let mut settings = json!({ "hooks": { "PreToolUse": hook, "PermissionRequest": hook } });
    keep_hooks(&mut settings, &url, TOKEN, theirs);
    keep_guard(&mut settings, guard);
    settings.to_string()
}

/// What it needs besides what the step says; nothing that the step or the configuration sets is
/// changed.
pub(super) fn environment(set: &[(String, String)], token: &str) -> Vec<(&'static str, String)> {
    let usual = [
        // Everything it starts is over with its answer, and there is one answer.
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", RETRIES.to_owned()),
        (TOKEN, token.to_owned()),
    ];
    let unset = |name: &str| !set.iter().any(|(other, _)| other == name);
    usual.into_iter().filter(|(name, _)| unset(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude() -> Claude {
        Claude {
            program: "claude".into(),
            prompt: "look".into(),
            conversation: Talk::New { id: "id".into() },
            model: None,
            tools: Vec::new(),
            read_only: false,
            schema: None,
            micro_usd: None,
            max_turns: None,
            guard: vigie_core::policy::Guard::default(),
        }
    }

    #[test]
    fn what_may_only_read_has_no_other_tools() {
        let tools =
            ["Bash(ls:*)", "WebFetch(domain:example.org)", "Edit"].map(str::to_owned).to_vec();
        let args =
            arguments(&Claude { read_only: true, tools, ..claude() }, Spent::default(), "u", &[]);
        let args = args.unwrap();
        let at = args.iter().position(|arg| arg == "--tools").unwrap();
        assert_eq!(args[at + 1], "Read,Grep,Glob,WebFetch");
        assert!(args.contains(&"--strict-mcp-config".to_owned()));
    }

    #[test]
    fn money_that_is_spent_cannot_be_spent_again() {
        let limited = Claude { micro_usd: Some(1_500_000), ..claude() };
        let spent = |micro_usd| Spent { micro_usd, ..Spent::default() };
        let args = arguments(&limited, spent(250_000), "u", &[]).unwrap();
        assert!(args.contains(&"1.250000".to_owned()), "{args:?}");
        let why = arguments(&limited, spent(1_500_000), "u", &[]).unwrap_err();
        assert_eq!(why, "it has reached what it may cost, $1.50");
    }
}
