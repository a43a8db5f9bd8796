//! `vigie mcp install`: what is shown, what is asked, and what stands in Claude Code's files
//! afterwards. The stories run with a stand-in that writes as Claude Code 2.1.332 does, and once more
//! with the real program where `VIGIE_TEST_CLAUDE` names it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod home;
    pub(crate) mod phone;
}

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use support::home::Home;
use vigie::web::shapes::TokenShape;

/// Claude Code's `mcp add-json` and `mcp remove`, as far as they concern us: one server, in the file
/// of its scope, refused while there is one.
const STAND_IN: &str = r#"#!/bin/sh
[ "$4" = user ] && file="$HOME/.claude.json" || file=.mcp.json
case "$2" in
add-json)
    [ -f "$file" ] && { echo "MCP server $5 already exists in $4 config" >&2; exit 1; }
    printf '{"mcpServers":{"%s":%s}}' "$5" "$6" > "$file" ;;
remove)
    [ -f "$file" ] || { echo "No MCP server named \"$5\" in $4 scope" >&2; exit 1; }
    /bin/rm "$file" ;;
esac
"#;

/// The older era's first words, its second, and a question.
const TALK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;

/// The newer era's only words.
const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"whoami","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}
"#;

const BROKEN: &str = "#!/bin/sh\necho 'the disk is full' >&2\nexit 1\n";

/// A person's machine with a Vigie that runs, and Claude Code on PATH.
struct Machine {
    vigie: Home,
    own: tempfile::TempDir,
}

fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["up", "--no-link", "--home"]).arg(home.data());
    command.arg("--config").arg(home.settings());
    command
}

impl Machine {
    async fn with(script: &str) -> Self {
        let machine = Self::bare().await;
        let program = machine.own.path().join("bin/claude");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        machine
    }

    async fn bare() -> Self {
        let own = tempfile::tempdir().unwrap();
        for folder in ["bin", "repository"] {
            fs::create_dir(own.path().join(folder)).unwrap();
        }
        let mut vigie = Home::new(vigie_up);
        vigie.configure("");
        vigie.up().await;
        Self { vigie, own }
    }

    fn path(&self) -> OsString {
        self.own.path().join("bin").into_os_string()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
        command.arg("--home").arg(self.vigie.data()).args(args).stdin(Stdio::null());
        command.current_dir(self.own.path().join("repository"));
        command.env("HOME", self.own.path()).env("PATH", self.path());
        command.env_remove("CLAUDE_CONFIG_DIR").env_remove("XDG_CONFIG_HOME");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn user_file(&self) -> PathBuf {
        self.own.path().join(".claude.json")
    }

    fn project_file(&self) -> PathBuf {
        self.own.path().join("repository/.mcp.json")
    }

    fn kept(&self) -> PathBuf {
        self.vigie.data().join("tokens/claude-code.token")
    }

    async fn tokens(&self) -> Vec<String> {
        let tokens: Vec<TokenShape> = self.vigie.desk().get("/tokens").await.unwrap();
        tokens.into_iter().map(|token| token.name).collect()
    }
}

fn server(file: &Path, name: &str) -> Value {
    let text = fs::read(file).unwrap_or_else(|_| b"{}".into());
    serde_json::from_slice::<Value>(&text).unwrap()["mcpServers"][name].clone()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

#[track_caller]
fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    said(output)
}

/// From nothing to both scopes and back.
async fn story(machine: Machine) {
    let plan = done(&machine.run(&["mcp", "install", "--dry-run"]));
    let own = env!("CARGO_BIN_EXE_vigie");
    for shown in [&machine.user_file().display().to_string(), own, "\"claude-code\""] {
        assert!(plan.contains(shown), "{shown} is not shown:\n{plan}");
    }
    let unasked = machine.run(&["mcp", "install"]);
    assert_eq!(unasked.status.code(), Some(3));
    assert!(said(&unasked).contains("nothing was changed\n  Say `--yes`"), "{}", said(&unasked));
    assert!(!machine.user_file().exists() && !machine.kept().exists());
    assert_eq!(machine.tokens().await, Vec::<String>::new());

    let told = done(&machine.run(&["mcp", "install", "--yes"]));
    assert!(told.starts_with(&plan) && told.contains("Done."), "what was shown is done:\n{told}");
    let data = machine.vigie.data().display().to_string();
    let args = json!(["--home", data, "mcp", "--token", "claude-code"]);
    let entry = json!({ "type": "stdio", "command": own, "args": args });
    assert_eq!(server(&machine.user_file(), "vigie"), entry);
    assert_eq!(machine.tokens().await, ["claude-code"]);
    let secret = fs::read_to_string(machine.kept()).unwrap();
    assert!(secret.starts_with("vgt_"), "{secret}");
    assert!(!fs::read_to_string(machine.user_file()).unwrap().contains(secret.trim_end()));

    let again = done(&machine.run(&["mcp", "install"]));
    assert!(again.starts_with("It is registered already"), "{again}");
    assert_eq!(fs::read_to_string(machine.kept()).unwrap(), secret, "and its token stays");

    let told = done(&machine.run(&["mcp", "install", "--scope", "project", "--yes"]));
    assert!(told.contains("Whoever else uses this repository"), "{told}");
    let shared = json!(["mcp", "--token", "claude-code"]);
    let shared = json!({ "type": "stdio", "command": "vigie", "args": shared });
    assert_eq!(server(&machine.project_file(), "vigie"), shared);
    let text = fs::read_to_string(machine.project_file()).unwrap();
    assert!(
        !text.contains(machine.own.path().to_str().unwrap()),
        "nothing of this machine: {text}"
    );

    done(&machine.run(&["mcp", "uninstall"]));
    assert_eq!(server(&machine.user_file(), "vigie"), Value::Null);
    let gone = machine.run(&["mcp", "uninstall"]);
    assert_eq!(gone.status.code(), Some(5));
    assert!(said(&gone).contains("No MCP server named"), "{}", said(&gone));
    done(&machine.run(&["token", "revoke", "claude-code"]));
    assert!(!machine.kept().exists(), "what is over does not lie about");
}

#[tokio::test]
async fn claude_code_gets_the_tools_and_no_secret() {
    story(Machine::with(STAND_IN).await).await;
}

#[tokio::test]
async fn the_real_claude_code_gets_the_tools_and_no_secret() {
    let Some(program) = std::env::var_os("VIGIE_TEST_CLAUDE") else {
        let why = "not run: VIGIE_TEST_CLAUDE does not name a Claude Code program; `cargo xtask test` sets it";
        assert!(std::env::var_os("CI").is_none(), "{why}");
        return eprintln!("{why}");
    };
    let machine = Machine::bare().await;
    symlink(program, machine.own.path().join("bin/claude")).unwrap();
    story(machine).await;
}

#[tokio::test]
async fn another_server_of_that_name_is_shown_before_it_is_replaced() {
    let machine = Machine::with(STAND_IN).await;
    let other = json!({ "mcpServers": { "vigie": { "type": "stdio", "command": "/opt/old" } } });
    fs::write(machine.user_file(), other.to_string()).unwrap();
    let told = done(&machine.run(&["mcp", "install", "--yes"]));
    assert!(told.contains("instead of") && told.contains("/opt/old"), "{told}");
    assert_eq!(server(&machine.user_file(), "vigie")["command"], env!("CARGO_BIN_EXE_vigie"));
}

#[tokio::test]
async fn what_fails_leaves_no_token_behind() {
    let machine = Machine::with(BROKEN).await;
    let failed = machine.run(&["mcp", "install", "--yes"]);
    assert_eq!(failed.status.code(), Some(5));
    let told = said(&failed);
    assert!(told.contains("`claude mcp add-json` failed: the disk is full"), "{told}");
    assert!(!machine.kept().exists());
    assert_eq!(machine.tokens().await, Vec::<String>::new());

    fs::write(machine.user_file(), "not JSON").unwrap();
    let failed = machine.run(&["mcp", "install", "--yes"]);
    assert_eq!(failed.status.code(), Some(5));
    assert!(said(&failed).contains("cannot be read"), "{}", said(&failed));
}

#[tokio::test]
async fn a_token_of_somebody_else_is_left_alone() {
    let machine = Machine::with(STAND_IN).await;
    done(&machine.run(&["token", "create", "claude-code"]));
    let refused = machine.run(&["mcp", "install", "--yes"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(said(&refused).contains("vigie token revoke claude-code"), "{}", said(&refused));
    assert!(!machine.user_file().exists());
}

#[tokio::test]
async fn without_claude_code_it_says_where_it_looked() {
    let machine = Machine::bare().await;
    let failed = machine.run(&["mcp", "install", "--dry-run"]);
    assert_eq!(failed.status.code(), Some(5));
    assert!(said(&failed).contains("Put `claude` on PATH"), "{}", said(&failed));
}

#[tokio::test]
async fn a_person_is_asked_and_only_yes_is_yes() {
    let machine = Machine::with(STAND_IN).await;
    let answer = |answer: &str| {
        let size = PtySize { rows: 40, cols: 100, pixel_width: 0, pixel_height: 0 };
        let terminal = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vigie"));
        command.args(["--home", machine.vigie.data().to_str().unwrap(), "mcp", "install"]);
        command.cwd(machine.own.path());
        command.env("HOME", machine.own.path());
        command.env("PATH", machine.path());
        command.env_remove("CLAUDE_CONFIG_DIR");
        command.env_remove("XDG_CONFIG_HOME");
        let mut child = terminal.slave.spawn_command(command).unwrap();
        drop(terminal.slave);
        let (mut reader, mut writer) =
            (terminal.master.try_clone_reader().unwrap(), terminal.master.take_writer().unwrap());
        let mut shown = String::new();
        let mut bytes = [0; 4096];
        while !shown.contains("[y/N]") {
            let read = reader.read(&mut bytes).unwrap();
            shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        assert!(shown.contains("claude-code.token"), "it shows before it asks:\n{shown}");
        writer.write_all(format!("{answer}\r").as_bytes()).unwrap();
        child.wait().unwrap().exit_code()
    };
    for no in ["", "n", "yeah", "ja"] {
        assert_eq!((answer(no), machine.user_file().exists()), (3, false), "{no}");
    }
    assert_eq!((answer("Y"), machine.user_file().exists()), (0, true));
}

/// Says these lines one after the other, each once the answer to the one before is there.
fn talks(entry: &Value, lines: &str, token: Option<&str>) -> Vec<Value> {
    let args: Vec<&str> =
        entry["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut program = Command::new(entry["command"].as_str().unwrap());
    program.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).env_remove("VIGIE_MCP_URL");
    if let Some(token) = token {
        program.env("VIGIE_MCP_TOKEN", token);
    }
    let mut child = program.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = Vec::new();
    for line in lines.lines() {
        writeln!(stdin, "{line}").unwrap();
        if line.contains("\"id\"") {
            heard.push(serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap());
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    heard
}

#[tokio::test]
async fn what_is_registered_speaks_for_its_token_in_both_eras() {
    let machine = Machine::with(STAND_IN).await;
    done(&machine.run(&["mcp", "install", "--yes"]));
    let entry = server(&machine.user_file(), "vigie");
    let heard = talks(&entry, TALK, None);
    assert_eq!(heard[0]["result"]["serverInfo"]["name"], "vigie", "{heard:?}");
    let tools = heard[1]["result"]["tools"].to_string();
    assert!(tools.contains("start_session") && !tools.contains("approve_gate"), "{tools}");
    let heard = talks(&entry, CALL, None);
    assert_eq!(heard[0]["result"]["structuredContent"]["name"], "claude-code", "{heard:?}");
    let by_environment = json!({ "command": entry["command"], "args": [&entry["args"][0], &entry["args"][1], "mcp"] });
    let heard = talks(&by_environment, CALL, Some("vgt_nobodys"));
    assert!(
        heard[0]["error"]["message"].as_str().unwrap().contains("vigie token list"),
        "{heard:?}"
    );
    let heard = talks(&entry, "nonsense with an \"id\"", None);
    assert_eq!(heard[0]["error"]["code"], -32700);
}
