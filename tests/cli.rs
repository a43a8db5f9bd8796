//! The program as a person meets it: words, hints and exit codes, against a real daemon.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

const DEADLINE: Duration = Duration::from_mins(1);

fn vigie(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.env("VIGIE_HOME", home).env("XDG_CONFIG_HOME", home.join("config"));
    command.env("VIGIE_DEMO_PACE", "1").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn run(home: &Path, args: &[&str]) -> Output {
    vigie(home).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// A daemon on a free port.
struct Up {
    home: tempfile::TempDir,
    daemon: Child,
    /// Standard output, with what it said so far.
    greeting: String,
}

impl Up {
    fn start() -> Self {
        Self::with("")
    }

    fn with(config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        write_config(home.path(), config);
        let mut daemon = vigie(home.path())
            .args(["up", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
        let mut greeting = String::new();
        for line in lines.by_ref() {
            let line = line.unwrap();
            greeting.push_str(&line);
            greeting.push('\n');
            if line.contains("Ctrl-C stops Vigie") {
                break;
            }
        }
        Self { home, daemon, greeting }
    }

    fn run(&self, args: &[&str]) -> Output {
        run(self.home.path(), args)
    }

    /// Runs the command again and again until it says `text`.
    fn until(&self, args: &[&str], text: &str) -> String {
        let begun = Instant::now();
        loop {
            let shown = said(&self.run(args));
            if shown.contains(text) {
                return shown;
            }
            assert!(begun.elapsed() < DEADLINE, "vigie {args:?} never said {text:?}:\n{shown}");
        }
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", complained(&output)))
    }
}

/// Where the command line looks for it.
fn write_config(home: &Path, text: &str) {
    let folder = home.join("config/vigie");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

impl Drop for Up {
    fn drop(&mut self) {
        for session in self.json(&["sessions"]).as_array().into_iter().flatten() {
            self.run(&["kill", session["name"].as_str().unwrap_or_default()]);
        }
        self.run(&["down"]);
        let _ = self.daemon.wait();
    }
}

#[test]
fn without_a_daemon_it_says_how_to_start_one() {
    let home = tempfile::tempdir().unwrap();
    for args in
        [&["sessions"][..], &["down"], &["send", "PD-285", "hi"], &["answer", "K7Q2", "approve"]]
    {
        let output = run(home.path(), args);
        assert_eq!(code(&output), 4, "{args:?}");
        assert_eq!(complained(&output), "vigie: Vigie is not running\n  Start it: vigie up\n");
    }
    let output = run(home.path(), &["--json", "status"]);
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["code"], "not_running");
}

#[test]
fn a_wrong_command_line_and_a_wrong_configuration_end_with_two() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(home.path(), &["answer", "K7Q2"])), 2);
    assert_eq!(code(&run(home.path(), &["frobnicate"])), 2);
    let file = home.path().join("my.toml");
    std::fs::write(&file, "[gates]\ndedline = \"2h\"\n").unwrap();
    let output = run(home.path(), &["up", "--config", file.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    assert!(complained(&output).contains(":2:1: [gates] has no key `dedline`"), "{output:?}");
    let missing = run(home.path(), &["up", "--config", "/nowhere/vigie.toml"]);
    assert_eq!(code(&missing), 2);
    assert_eq!(code(&run(home.path(), &["--help"])), 0);
}

#[test]
fn other_machines_are_not_let_in_by_a_flag_alone() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["up", "--listen", "0.0.0.0:0"]);
    assert_eq!(code(&output), 2);
    assert!(complained(&output).contains("lets other machines in"), "{output:?}");
}

#[test]
fn completions_name_the_commands_and_hide_the_inner_ones() {
    let home = tempfile::tempdir().unwrap();
    let help = said(&run(home.path(), &["--help"]));
    assert!(help.contains("waiting") && !help.contains("demo-agent"), "{help}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(said(&run(home.path(), &["completions", shell])).contains("waiting"), "{shell}");
    }
}

#[test]
fn every_command_is_documented() {
    let home = tempfile::tempdir().unwrap();
    let help = said(&run(home.path(), &["--help"]));
    let docs = include_str!("../docs/command-line.md");
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    for command in commands.lines().filter_map(|line| line.split_whitespace().next()) {
        let named =
            docs.contains(&format!("`vigie {command}")) || docs.contains(&format!("`{command}`"));
        assert!(named, "docs/command-line.md does not name `{command}`");
    }
}

#[test]
fn doctor_fails_on_a_wrong_configuration_and_says_where() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("my.toml");
    std::fs::write(&file, "[web]\nlisten = \"somewhere\"\n").unwrap();
    let output = run(home.path(), &["doctor", "--config", file.to_str().unwrap()]);
    assert_eq!(code(&output), 5);
    assert!(said(&output).contains("FAIL  configuration: "), "{output:?}");
    assert!(said(&output).contains(":2:10: `somewhere` is no address"), "{output:?}");
}

#[test]
fn a_session_from_the_first_word_to_the_last() {
    let up = Up::start();
    assert!(up.greeting.contains("/login?token="), "{}", up.greeting);
    assert!(up.greeting.contains('█'), "a picture of the link");

    let output = up.run(&["new", "PD-285", "leave", "a", "note"]);
    assert_eq!(code(&output), 0, "{output:?}");
    assert!(said(&output).starts_with("PD-285 starts: demo in demo"), "{output:?}");

    let card = up.until(&["waiting"], "PD-285 asks to run a command");
    assert!(card.contains("echo 'The demo agent was here.' >> vigie-demo.txt"), "{card}");
    let waiting = up.json(&["waiting"]);
    let gate = waiting[0]["code"].as_str().unwrap();
    assert!(up.until(&["sessions"], gate).contains("◆"), "who waits stands out");

    let wrong = up.run(&["answer", gate, "perhaps", "tomorrow"]);
    assert_eq!(code(&wrong), 3, "{wrong:?}");
    assert_eq!(code(&up.run(&["answer", gate, "approve"])), 0);
    let again = up.run(&["answer", gate, "deny"]);
    assert_eq!(code(&again), 3);
    assert!(complained(&again).contains("Already approved"), "{again:?}");

    up.until(&["sessions"], "idle");
    let note = std::fs::read_to_string(up.home.path().join("demo/vigie-demo.txt")).unwrap();
    assert_eq!(note, "The demo agent was here.\n");
    up.until(&["screen", "pd-285"], "This is the demo agent");
    up.until(&["log", "PD-285"], "leave a note");
    let recording = said(&up.run(&["log", "PD-285", "--path"]));
    assert!(Path::new(recording.trim()).is_file(), "{recording}");

    let mut send = vigie(up.home.path());
    let mut send = send
        .args(["send", "PD-285", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    send.stdin.take().unwrap().write_all(b"recall\n").unwrap();
    let stored = send.wait_with_output().unwrap();
    assert_eq!(said(&stored), "stored, PD-285 takes it next\n");

    let unknown = up.run(&["send", "PD-286", "hello"]);
    assert_eq!(code(&unknown), 3);
    assert!(complained(&unknown).contains("PD-285"), "the near miss is offered: {unknown:?}");

    assert_eq!(code(&up.run(&["end", "PD-285"])), 0);
    up.until(&["sessions", "--all"], "ended");
    assert!(said(&up.run(&["sessions"])).contains("1 ended: vigie sessions --all"));
}

#[test]
fn events_are_followed_as_json_lines() {
    let up = Up::start();
    let mut watch = vigie(up.home.path())
        .args(["--json", "watch", "--after", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    up.run(&["new", "docs"]);
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((first["seq"].as_u64(), first["human"].as_str()), (Some(1), Some("owner")));
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn a_token_is_printed_once_and_alone() {
    let up = Up::start();
    let made = up.run(&["token", "create", "ci", "--scope", "read,mail"]);
    assert_eq!(code(&made), 0, "{made:?}");
    let secret = said(&made);
    assert!(secret.starts_with("vgt_") && secret.trim_end().len() == 68, "{secret}");
    for told in ["ci is good for: read, mail.", "/mcp as `Authorization: Bearer", "token revoke ci"]
    {
        assert!(complained(&made).contains(told), "{made:?}");
    }
    let again = up.run(&["token", "create", "CI"]);
    assert_eq!(code(&again), 3);
    assert!(complained(&again).contains("vigie token revoke CI"), "{again:?}");
    let slip = up.run(&["token", "create", "x", "--scope", "sesions"]);
    assert_eq!(code(&slip), 2);
    assert!(complained(&slip).contains("'sessions'"), "{slip:?}");

    let made = up.json(&["token", "create", "nightly"]);
    let other = made["token"].as_str().unwrap();
    assert_eq!(
        made["about"]["scopes"],
        serde_json::json!(["read", "mail", "sessions", "workflows"])
    );
    let listed = said(&up.run(&["token", "list"]));
    let names: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["ci", "nightly"], "{listed}");
    for secret in [secret.trim_end(), other] {
        assert!(!listed.contains(secret));
        let kept = contains(up.home.path(), secret.as_bytes());
        assert!(kept.is_empty(), "the secret lies in {kept:?}");
    }

    assert_eq!(said(&up.run(&["token", "revoke", "ci"])), "The token ci is over.\n");
    let gone = up.run(&["token", "revoke", "ci"]);
    assert_eq!(code(&gone), 3);
    assert!(complained(&gone).contains("Tokens: nightly."), "{gone:?}");
}

/// The files below `folder` that hold these bytes.
fn contains(folder: &Path, bytes: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contains(&path, bytes));
        } else if path.is_file() {
            let text = std::fs::read(&path).unwrap();
            if text.windows(bytes.len()).any(|part| part == bytes) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_second_daemon_on_the_same_folder_is_refused() {
    let up = Up::start();
    let output = up.run(&["up", "--listen", "127.0.0.1:0"]);
    assert_eq!(code(&output), 5);
    assert!(complained(&output).contains("runs already"), "{output:?}");
    assert_eq!(code(&up.run(&["status"])), 0, "the first one does not mind");
}

#[test]
fn a_taken_port_is_said_with_the_way_out() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().to_string();
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["up", "--listen", &port]);
    assert_eq!(code(&output), 5);
    assert!(complained(&output).contains("--listen"), "{output:?}");
}

const NOTES: &str = "
[[policy]]
name = \"no-tides\"
effect = \"deny\"
command = [\"tide *\"]
reason = \"The moon does that.\"

[[policy]]
name = \"notes\"
effect = \"allow\"
command = [\"echo *\"]
path = [\"**\"]
";

#[test]
fn a_policy_lets_work_go_on_and_stands_in_the_audit_which_is_whole() {
    let readme = "\n[[policy]]\nname = \"readme\"\neffect = \"deny\"\npath = [\"README.md\"]\n";
    let up = Up::with(&format!("{NOTES}{readme}"));
    up.run(&["new", "PD-285", "leave", "a", "note"]);
    up.until(&["sessions"], "idle");
    let note = up.home.path().join("demo/vigie-demo.txt");
    let begun = Instant::now();
    while !note.is_file() {
        assert!(begun.elapsed() < DEADLINE, "{}", said(&up.run(&["waiting"])));
        up.run(&["status"]);
    }
    let audit = up.until(&["audit"], "Approved");
    assert!(audit.contains("policy `notes` (line 8)"), "{audit}");
    let denied: Vec<&str> = audit.lines().filter(|line| line.contains("Denied")).collect();
    assert_eq!(denied.len(), 1, "what it never asked for, once: {audit}");
    assert!(denied[0].contains("policy `readme`"), "{audit}");
    assert!(denied[0].contains("PD-285 · Read: README.md"), "{audit}");
    let whole = said(&up.run(&["audit", "verify"]));
    assert!(whole.contains("chain whole, head "), "while it runs: {whole}");
    let head = up.json(&["audit", "verify"])["head"].as_str().unwrap().to_owned();
    up.run(&["new", "docs"]);
    up.until(&["sessions"], "docs");
    assert_eq!(code(&up.run(&["audit", "verify", "--expect", &head])), 0);
    let other = up.run(&["audit", "verify", "--expect", &"a".repeat(64)]);
    assert_eq!(code(&other), 1);
    assert!(complained(&other).contains("it was written anew since"), "{other:?}");
}

#[test]
fn a_grant_is_given_with_an_answer_listed_and_taken_back() {
    let up = Up::start();
    up.run(&["new", "PD-285", "leave", "a", "note"]);
    up.until(&["waiting"], "PD-285 asks to run a command");
    let gate = up.json(&["waiting"])[0]["code"].as_str().unwrap().to_owned();
    let given = said(&up.run(&["answer", &gate, "approve for this session"]));
    assert!(given.starts_with("Approved. Grant 1 allows echo The demo agent was here."), "{given}");
    up.until(&["sessions"], "idle");
    up.run(&["send", "PD-285", "leave", "a", "note"]);
    up.until(&["audit"], "grant 1 of ");
    assert!(said(&up.run(&["grants"])).contains("PD-285, until it ends"));
    assert!(said(&up.run(&["grants", "revoke", "1"])).starts_with("Grant 1 is over"));
    assert_eq!(code(&up.run(&["grants", "revoke", "1"])), 3);
    assert!(said(&up.run(&["grants"])).starts_with("No grant holds"));
}

#[test]
fn policies_are_tried_without_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    write_config(home.path(), NOTES);
    let tested = |args: &[&str]| said(&run(home.path(), &[&["policy", "test"], args].concat()));
    let denied = tested(&["ls && tide --low"]);
    assert!(
        denied.starts_with("deny: policy `no-tides` (line 2), because `tide --low` is `tide *`.\n")
    );
    assert!(denied.contains("It holds before the tool runs"), "{denied}");
    let none = tested(&["ls"]);
    assert!(
        none.starts_with("ask: no policy fits, so a person is asked.\nPassed over:\n"),
        "{none}"
    );
    assert!(
        none.contains("policy `notes` (line 8) (allow): it names no command such as `ls`"),
        "{none}"
    );
    assert!(tested(&["rm -rf x"]).contains("has to type its code"));
    let listed = said(&run(home.path(), &["policy", "list"]));
    assert!(listed.contains("no-tides") && listed.contains("command echo *; path **"), "{listed}");
    let wrong = run(home.path(), &["policy", "test", "--project", "qay", "ls"]);
    assert_eq!(code(&wrong), 2);
    let no_database = run(home.path(), &["audit", "verify"]);
    assert_eq!(code(&no_database), 5, "{no_database:?}");
}
