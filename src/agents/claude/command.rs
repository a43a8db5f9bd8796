//! How Claude Code is started: arguments, environment, and the files it reads.

use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fs, io,
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::{lord, mcp, registry::config_folder};
use crate::agents::{
    CommandLine, Conversation, HookAddress, Spec,
    guard::{BEFORE_EVENT, BEFORE_PATH},
    requests::HOOK_LIMIT,
};
use vigie_core::{policy::Guard, session::Role};

/// Time limit of hooks that we answer at once, in seconds; the program's own is 600.
const PROMPT_HOOK_LIMIT: u64 = 5;
/// Hooks over HTTP. Only events that 2.1.197 and 2.1.332 both know: a name the program does not
/// know opens a dialog at its start. `SessionStart` is never sent over HTTP.
const HTTP_EVENTS: [&str; 13] = [
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "Elicitation",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
];
/// Why the program cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("could not write `{}`, which Claude Code reads at its start: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("could not find out which program Vigie itself is: {0}")]
    OwnProgram(#[source] io::Error),
}

/// The command line of an interactive session on top of the cleaned environment `env`. What it names
/// is written to `folder`, readable for us alone.
pub fn command_line(
    spec: &Spec,
    folder: &Path,
    hooks: &HookAddress,
    mut env: BTreeMap<String, String>,
) -> Result<CommandLine, CommandError> {
    let more = [
        ("VIGIE_HOOK_URL", hooks.url.as_str()),
        ("VIGIE_HOOK_TOKEN", &hooks.token),
        // A running fleet must not change under us.
        ("DISABLE_AUTOUPDATER", "1"),
        // Both would stand in the input box or in its place, where a prompt of ours should go.
        ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false"),
        ("CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY", "1"),
    ];
    env.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let own = own_program().map_err(CommandError::OwnProgram)?;
    let theirs = status_line_of(&env, &spec.cwd);
    let mut settings = settings(hooks, &own, theirs.as_deref(), spec.permission_mode.as_deref());
    let theirs = settings_files(&env, &spec.cwd);
    keep_hooks(&mut settings, &hooks.url, "VIGIE_HOOK_TOKEN", &theirs);
    keep_guard(&mut settings, &spec.guard);
    if spec.mcp_url.is_some() {
        settings["permissions"] = json!({ "allow": [mcp::rule()] });
    }
    let settings = write_private(&folder.join("claude-settings.json"), &settings.to_string())?;

    let mut args = spec.args.clone();
    let mut add = |more: &[&str]| args.extend(more.iter().map(|&one| one.to_owned()));
    match &spec.conversation {
        Conversation::New { id } => add(&["--session-id", id]),
        Conversation::Resume { id } => add(&["--resume", id]),
    }
    add(&["-n", spec.name.as_str()]);
    // Without it newer versions let a classifier decide instead of asking.
    add(&["--permission-mode", spec.permission_mode.as_deref().unwrap_or("default")]);
    if let Some(url) = &spec.mcp_url {
        // It takes every word up to the next flag, so one has to follow.
        let file = folder.join("claude-mcp.json");
        add(&["--mcp-config", &write_private(&file, &mcp::config(url).to_string())?]);
    }
    if spec.role == Role::Lord {
        add(&["--append-system-prompt", lord::PROMPT]);
        add(&["--plugin-dir", &lord::write_plugin(folder)?]);
    }
    add(&["--settings", &settings]);
    Ok(CommandLine { program: spec.program.clone(), args, env })
}

/// Every hook event a session registers.
pub(super) fn events() -> impl Iterator<Item = &'static str> {
    HTTP_EVENTS.into_iter().chain(["SessionStart"])
}

fn settings(hooks: &HookAddress, own: &Path, theirs: Option<&str>, mode: Option<&str>) -> Value {
    let own = quoted(&own.to_string_lossy());
    let mut events = Map::new();
    for event in HTTP_EVENTS {
        // A hook that is late lets its tool through, so a tool waits until it is judged.
        let limit = match event {
            "PermissionRequest" | BEFORE_EVENT => HOOK_LIMIT.as_secs(),
            _ => PROMPT_HOOK_LIMIT,
        };
        let path = if event == BEFORE_EVENT { BEFORE_PATH } else { "" };
        let hook = json!({
            "type": "http",
            "url": format!("{}{path}", hooks.url),
            "timeout": limit,
            "headers": { "Authorization": "Bearer $VIGIE_HOOK_TOKEN" },
            "allowedEnvVars": ["VIGIE_HOOK_TOKEN"],
        });
        events.insert(event.into(), json!([{ "hooks": [hook] }]));
    }
    let start = json!({ "type": "command", "command": format!("{own} hook"), "timeout": PROMPT_HOOK_LIMIT });
    events.insert("SessionStart".into(), json!([{ "hooks": [start] }]));

    let status = match theirs {
        Some(theirs) => format!("{own} hook status {}", quoted(theirs)),
        None => format!("{own} hook status"),
    };
    let mut settings = json!({
        "hooks": events,
        "statusLine": { "type": "command", "command": status },
    });
    if mode == Some("bypassPermissions") {
        // The operator chose it in the configuration; the warning would only block the start.
        settings["skipDangerousModePermissionPrompt"] = json!(true);
    }
    settings
}

/// The person's own status line: a setting of ours replaces theirs, so ours runs theirs.
/// The nearer file wins, as in Claude Code.
fn status_line_of(env: &BTreeMap<String, String>, cwd: &Path) -> Option<String> {
    let command = |settings: &Value| {
        settings.pointer("/statusLine/command").and_then(Value::as_str).map(str::to_owned)
    };
    settings_files(env, cwd).iter().find_map(command)
}

/// What the program reads of settings by itself, the nearest first.
pub(crate) fn settings_files(env: &BTreeMap<String, String>, cwd: &Path) -> Vec<Value> {
    let files = [
        cwd.join(".claude/settings.local.json"),
        cwd.join(".claude/settings.json"),
        config_folder(env).join("settings.json"),
    ];
    let read = |file: &PathBuf| serde_json::from_slice(&fs::read(file).ok()?).ok();
    files.iter().filter_map(read).collect()
}

/// Whatever those say, an agent's own words in the project among them, our hooks are called. Where they
/// name the addresses or variables that hooks may have, ours join them; naming them where nobody does
/// would shut out all others. Seen with 2.1.332: lists are joined, and our `false` counts.
pub(crate) fn keep_hooks(settings: &mut Value, url: &str, variable: &str, theirs: &[Value]) {
    settings["disableAllHooks"] = json!(false);
    let url = format!("{url}*");
    for (list, ours) in
        [("allowedHttpHookUrls", url.as_str()), ("httpHookAllowedEnvVars", variable)]
    {
        if theirs.iter().any(|settings| settings.get(list).is_some()) {
            settings[list] = json!([ours]);
        }
    }
}

/// Commands that stand in a skill or a command file run without that hook (seen with 2.1.332), so where
/// policies hold they do not run at all.
pub(crate) fn keep_guard(settings: &mut Value, guard: &Guard) {
    if guard.holds() {
        settings["disableSkillShellExecution"] = json!(true);
    }
}

/// The running program, even when its file was replaced by an update since.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let text = path.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or_else(|| path.clone(), PathBuf::from))
}

/// Gives the path as an argument.
pub(super) fn write_private(path: &Path, text: &str) -> Result<String, CommandError> {
    let write = || {
        let folder = path.parent().unwrap_or(path);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|source| CommandError::File { path: path.to_owned(), source })?;
    Ok(path.to_string_lossy().into_owned())
}

/// One word for `sh`, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{AgentKind, Size};
    use std::os::unix::fs::PermissionsExt;
    use vigie_core::{Timestamp, id::SessionId, session::Role};

    fn spec(home: &Path) -> Spec {
        Spec {
            session: SessionId::from_parts(Timestamp::default(), 1),
            name: "PD-285".parse().unwrap(),
            kind: AgentKind::Claude,
            program: "claude".into(),
            args: vec!["--model".into(), "opus".into()],
            env: BTreeMap::new(),
            cwd: home.join("project"),
            size: Size { columns: 100, rows: 30 },
            permission_mode: None,
            conversation: Conversation::New { id: "0c5b".into() },
            first_seq: 1,
            shared: home.into(),
            recording_limit: 32 << 20,
            prompt_ends: None,
            mcp_url: None,
            role: Role::Worker,
            confinement: None,
            guard: vigie_core::policy::Guard::default(),
        }
    }

    fn hooks() -> HookAddress {
        HookAddress { url: "http://127.0.0.1:1/hook".into(), token: "s3cret".into() }
    }

    #[test]
    fn the_start_line_is_complete_and_keeps_the_token_out_of_files_and_arguments() {
        let home = tempfile::tempdir().unwrap();
        let env = [("HOME".to_owned(), "/home/ada".to_owned())].into();
        let line = command_line(&spec(home.path()), home.path(), &hooks(), env).unwrap();
        let path = home.path().join("claude-settings.json");
        let file = path.to_string_lossy().into_owned();
        assert_eq!(
            line.args,
            [
                "--model",
                "opus",
                "--session-id",
                "0c5b",
                "-n",
                "PD-285",
                "--permission-mode",
                "default",
                "--settings",
                &file,
            ]
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&path).unwrap().contains("s3cret"));
        assert_eq!(line.env["VIGIE_HOOK_TOKEN"], "s3cret");
        assert_eq!(line.env["DISABLE_AUTOUPDATER"], "1");
    }

    #[test]
    fn our_tools_are_there_unasked_beside_the_persons_own() {
        let home = tempfile::tempdir().unwrap();
        let mut spec = spec(home.path());
        spec.args = vec!["--mcp-config".into(), "theirs.json".into()];
        spec.mcp_url = Some("http://127.0.0.1:7285/mcp".into());
        let env = [("VIGIE_MCP_TOKEN".to_owned(), "s3cret".to_owned())].into();
        let line = command_line(&spec, home.path(), &hooks(), env).unwrap();
        let path = home.path().join("claude-mcp.json");
        let ours = line.args.iter().rposition(|arg| arg == "--mcp-config").unwrap();
        assert_eq!(line.args[ours + 1], path.to_string_lossy());
        assert!(line.args[ours + 2].starts_with('-'), "it would be taken for a file: {line:?}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        let server = &serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["vigie"];
        assert_eq!(server["url"], "http://127.0.0.1:7285/mcp");
        assert_eq!(server["headers"]["Authorization"], "Bearer ${VIGIE_MCP_TOKEN}");
        assert!(!text.contains("s3cret") && line.env["VIGIE_MCP_TOKEN"] == "s3cret");
        let settings = fs::read(home.path().join("claude-settings.json")).unwrap();
        let settings: Value = serde_json::from_slice(&settings).unwrap();
        assert_eq!(settings["permissions"], json!({ "allow": ["mcp__vigie"] }));
    }

    #[test]
    fn the_lord_has_its_words_and_its_skill_and_others_do_not() {
        let home = tempfile::tempdir().unwrap();
        let mut spec = spec(home.path());
        let flags = ["--append-system-prompt", "--plugin-dir"];
        let line = command_line(&spec, home.path(), &hooks(), BTreeMap::new()).unwrap();
        assert!(!line.args.iter().any(|arg| flags.contains(&&**arg)));
        spec.role = Role::Lord;
        let line = command_line(&spec, home.path(), &hooks(), BTreeMap::new()).unwrap();
        let value = |flag| {
            let at = line.args.iter().position(|arg| arg == flag).unwrap();
            line.args[at + 1].clone()
        };
        assert!(value(flags[0]).contains("the Lord"));
        let plugin = PathBuf::from(value(flags[1]));
        let about = fs::read(plugin.join(".claude-plugin/plugin.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&about).unwrap()["name"], "vigie");
        let skill = fs::read_to_string(plugin.join("skills/lord/SKILL.md")).unwrap();
        assert!(skill.starts_with("---\nname: lord\ndescription: "), "{skill}");
    }

    #[test]
    fn a_permission_may_wait_for_a_day_and_nothing_else_does() {
        let settings = settings(&hooks(), Path::new("/opt/vi gie"), None, None);
        for event in HTTP_EVENTS {
            let waits = ["PermissionRequest", "PreToolUse"].contains(&event);
            let wanted = if waits { 86_400 } else { 5 };
            let hook = &settings["hooks"][event][0]["hooks"][0];
            assert_eq!(
                (hook["timeout"].as_u64(), hook["type"].as_str()),
                (Some(wanted), Some("http"))
            );
        }
        let start = &settings["hooks"]["SessionStart"][0]["hooks"][0];
        assert_eq!(start["command"], "'/opt/vi gie' hook");
    }

    #[test]
    fn nothing_that_stands_in_the_project_switches_our_hooks_off() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project/.claude");
        fs::create_dir_all(&project).unwrap();
        let theirs =
            json!({ "disableAllHooks": true, "allowedHttpHookUrls": ["https://example.org/*"] });
        fs::write(project.join("settings.local.json"), theirs.to_string()).unwrap();
        let read = |folder: &Path| {
            let line = command_line(&spec(home.path()), folder, &hooks(), BTreeMap::new()).unwrap();
            let file = line.args.last().unwrap().clone();
            serde_json::from_slice::<Value>(&fs::read(file).unwrap()).unwrap()
        };
        let settings = read(home.path());
        assert_eq!(settings["disableAllHooks"], false);
        assert_eq!(settings["allowedHttpHookUrls"], json!(["http://127.0.0.1:1/hook*"]));
        assert_eq!(settings["httpHookAllowedEnvVars"], Value::Null, "nobody names any");
        let before = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
        assert_eq!(before["url"], "http://127.0.0.1:1/hook/before");
    }

    #[test]
    fn the_status_line_of_the_person_goes_on() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".claude")).unwrap();
        let theirs = json!({ "statusLine": { "type": "command", "command": "echo 'it'" } });
        fs::write(home.path().join(".claude/settings.json"), theirs.to_string()).unwrap();
        let env = [("HOME".to_owned(), home.path().display().to_string())].into();
        let found = status_line_of(&env, &home.path().join("project"));
        assert_eq!(found.as_deref(), Some("echo 'it'"));
        let settings = settings(&hooks(), Path::new("/vigie"), found.as_deref(), None);
        assert_eq!(settings["statusLine"]["command"], r"'/vigie' hook status 'echo '\''it'\'''");
    }
}
