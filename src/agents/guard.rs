//! Policies before a tool runs, for whoever runs an agent that speaks Claude Code's hooks: what its
//! `PreToolUse` hook is answered. Seen with 2.1.332: a `deny` and an `ask` hold in every permission mode
//! and beside any other hook; a call that fails in whatever way lets the tool through, so here nothing
//! fails: what cannot be judged is denied.

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};
use vigie_core::{
    Timestamp,
    agent::DeniedCall,
    policy::{Before, Guard, Policy},
    risk::digest,
};

use super::hooks::{Hook, HookEvent, ToolCall};

/// Where that hook calls, below the address of the others.
pub const BEFORE_PATH: &str = "/before";

/// The event before each tool.
pub const BEFORE_EVENT: &str = "PreToolUse";

/// Parts of a path that links are followed for.
const MOST_PARTS: usize = 64;

/// The guard of one session, which the daemon may renew while it is held.
#[derive(Debug)]
pub struct Guarded(RwLock<Standing>);

#[derive(Clone, Debug)]
enum Standing {
    Known(Guard),
    /// What came does not read; the guard it was for.
    Unknown(Guard),
}

/// What becomes of one use of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Nothing is said: it goes the agent's own way.
    Nothing,
    /// The agent has to ask.
    Ask {
        rule: String,
    },
    Deny {
        words: String,
        call: DeniedCall,
    },
}

impl Guarded {
    pub fn new(guard: Guard) -> Self {
        Self(RwLock::new(Standing::Known(guard)))
    }

    /// Other policies hold from now on. What does not read, because it is of a later version, denies
    /// everything.
    pub fn renew(&self, policies: Value) {
        let mut standing = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let policies: Result<Vec<Policy>, _> = serde_json::from_value(policies);
        let (Standing::Known(guard) | Standing::Unknown(guard)) = standing.clone();
        *standing = match policies {
            Ok(policies) => Standing::Known(Guard { policies, ..guard }),
            Err(error) => {
                tracing::error!(%error, "the policies do not read, so every tool is denied");
                Standing::Unknown(guard)
            }
        };
    }

    /// What the policies say to a hook's event; `None`: it is not about a tool that begins.
    pub fn judge(&self, event: &Value, now: Timestamp) -> Option<Said> {
        let event = HookEvent::read(event)?;
        let Hook::ToolStarting { call } = &event.what else { return None };
        let standing = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Some(match standing {
            Standing::Known(guard) => judge(&guard, call, &event.cwd, now),
            Standing::Unknown(_) => unjudged(
                call,
                &event.cwd,
                "its policies come from a later Vigie than the part of it that holds this session; \
                 whoever runs it has to end the session and resume it",
            ),
        })
    }
}

/// What a guard says to one use of a tool.
pub fn judge(guard: &Guard, call: &ToolCall, cwd: &str, now: Timestamp) -> Said {
    let links = |path: &str| real(path);
    match guard.before(&call.tool, &call.input, cwd, Some(&links), now) {
        Before::Passes => Said::Nothing,
        Before::Asks { rule } => Said::Ask { rule },
        Before::Denied(denied) => {
            let call = told(call, cwd, &denied.rule, &denied.why);
            Said::Deny { words: denied.words, call }
        }
    }
}

/// A no because nobody can say yes.
pub fn unjudged(call: &ToolCall, cwd: &str, why: &str) -> Said {
    let words = format!("Vigie could not judge this, because {why}. Nothing ran.");
    Said::Deny { words, call: told(call, cwd, "Vigie", why) }
}

fn told(call: &ToolCall, cwd: &str, rule: &str, why: &str) -> DeniedCall {
    DeniedCall {
        tool: call.tool.clone(),
        line: call.line(),
        digest: digest(&call.tool, &call.input, cwd),
        rule: rule.into(),
        why: why.into(),
    }
}

impl Said {
    /// The hook's answer.
    pub fn answer(&self) -> Value {
        match self {
            Self::Nothing => json!({}),
            Self::Ask { rule } => decision("ask", &format!("{rule} wants a person to be asked.")),
            Self::Deny { words, .. } => decision("deny", words),
        }
    }
}

/// Denies whatever it was that could not even be read.
pub fn refusal(why: &str) -> Value {
    decision("deny", &format!("Vigie could not judge this, because {why}. Nothing ran."))
}

/// A word on a tool that has not begun.
pub fn decision(what: &str, why: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": BEFORE_EVENT, "permissionDecision": what, "permissionDecisionReason": why,
    } })
}

/// Where a path leads, links followed as far as there is anything.
fn real(path: &str) -> Option<String> {
    let mut rest = PathBuf::new();
    for there in Path::new(path).ancestors().take(MOST_PARTS) {
        if let Ok(found) = fs::canonicalize(there) {
            return Some(found.join(&rest).to_string_lossy().into_owned());
        }
        rest = if rest.as_os_str().is_empty() {
            PathBuf::from(there.file_name()?)
        } else {
            Path::new(there.file_name()?).join(&rest)
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use vigie_core::policy::{Catastrophic, Effect, PathPattern};

    fn guarded(folder: &Path) -> Guarded {
        let policy = Policy {
            name: "deployment".into(),
            line: 3,
            effect: Effect::Deny,
            reason: None,
            tools: Vec::new(),
            commands: Vec::new(),
            paths: vec![PathPattern::parse("deploy/**").unwrap()],
            projects: Vec::new(),
            sessions: Vec::new(),
            hours: None,
            catastrophic: Catastrophic::Asked,
        };
        let folders = vec![folder.display().to_string()];
        Guarded::new(Guard {
            policies: vec![policy],
            folders,
            asker: "PD-285".into(),
            ..Guard::default()
        })
    }

    fn event(cwd: &Path, tool: &str, input: &Value) -> Value {
        json!({ "hook_event_name": BEFORE_EVENT, "cwd": cwd, "tool_name": tool, "tool_input": input })
    }

    fn said(guarded: &Guarded, event: &Value) -> &'static str {
        match guarded.judge(event, Timestamp::UNIX_EPOCH) {
            None => "none",
            Some(Said::Nothing) => "nothing",
            Some(Said::Ask { .. }) => "ask",
            Some(Said::Deny { .. }) => "deny",
        }
    }

    #[test]
    fn links_lead_to_what_is_denied() {
        let home = tempfile::tempdir().unwrap();
        let (project, by) = (home.path().join("quay"), home.path().join("by-link"));
        fs::create_dir_all(project.join("deploy")).unwrap();
        fs::create_dir_all(project.join("src")).unwrap();
        fs::write(project.join("deploy/key"), "x").unwrap();
        symlink(&project, &by).unwrap();
        symlink("deploy", project.join("d")).unwrap();
        let guarded = guarded(&by);
        let read = |path: &Path| said(&guarded, &event(&by, "Read", &json!({ "file_path": path })));
        assert_eq!(read(&project.join("deploy/key")), "deny", "by its other name");
        assert_eq!(read(&by.join("d/key")), "deny");
        assert_eq!(read(&by.join("d/new")), "deny", "what is not there yet");
        assert_eq!(read(&by.join("src/a.rs")), "nothing");
        let runs = |cwd: &Path, command: &str| {
            said(&guarded, &event(cwd, "Bash", &json!({ "command": command })))
        };
        assert_eq!(runs(&by, "cat d/key"), "deny");
        assert_eq!(runs(&project.join("src"), "cat ../deploy/key"), "deny", "from below");
        assert_eq!(runs(&by, "ls src"), "nothing");
    }

    #[test]
    fn only_tools_that_begin_are_judged_and_people_are_always_asked() {
        let home = tempfile::tempdir().unwrap();
        let guarded = guarded(home.path());
        let input = json!({ "file_path": "deploy/key" });
        let mut ended = event(home.path(), "Read", &input);
        ended["hook_event_name"] = json!("PostToolUse");
        assert_eq!(said(&guarded, &ended), "none");
        let asks = json!({ "questions": [{ "question": "deploy/x" }] });
        assert_eq!(said(&guarded, &event(home.path(), "AskUserQuestion", &asks)), "nothing");
        let denied = guarded.judge(&event(home.path(), "Read", &input), Timestamp::UNIX_EPOCH);
        let Some(Said::Deny { words, call }) = denied else { panic!("denied") };
        assert!(words.starts_with("policy `deployment` (line 3) does not allow this, because deploy/key is one of `deploy/**`."), "{words}");
        assert_eq!((call.line.as_str(), call.digest.len()), ("Read: deploy/key", 64));
    }

    #[test]
    fn policies_that_do_not_read_deny_everything() {
        let home = tempfile::tempdir().unwrap();
        let guarded = guarded(home.path());
        let other = event(home.path(), "Read", &json!({ "file_path": "src/a.rs" }));
        assert_eq!(said(&guarded, &other), "nothing");
        guarded.renew(json!([]));
        let denied = event(home.path(), "Read", &json!({ "file_path": "deploy/key" }));
        assert_eq!(said(&guarded, &denied), "nothing", "renewed");
        guarded.renew(json!([{ "effect": "three" }]));
        assert_eq!(said(&guarded, &other), "deny");
        guarded.renew(json!([]));
        assert_eq!(said(&guarded, &other), "nothing", "until they do again");
    }
}
