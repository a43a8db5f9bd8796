//! Telegram, from the token to the first words: the program as a person meets it, a real daemon, and
//! the emulated Bot API.
#![cfg(feature = "telegram")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};
use telegram_emulator::{
    ADA, AGENTS, Emulator, Fault, FaultKind, Membership, STRANGER, Status, World,
};

const DEADLINE: Duration = Duration::from_mins(1);
const TOKEN: &str = "123456:TEST-TOKEN";
const SECRET: &str = "TEST-TOKEN";

/// A person's machine: Vigie's folder, a place for the configuration, perhaps a daemon.
struct Machine {
    home: tempfile::TempDir,
    daemon: Option<Child>,
}

impl Machine {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), daemon: None }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn config(&self) -> PathBuf {
        self.home.path().join("config/vigie/config.toml")
    }

    fn token(&self) -> PathBuf {
        self.data().join("telegram.token")
    }

    fn vigie(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
        command.args(args).env("VIGIE_HOME", self.data()).env("NO_COLOR", "1");
        command.env("XDG_CONFIG_HOME", self.home.path().join("config")).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.vigie(args).output().unwrap()
    }

    /// `vigie init telegram` with the token piped in.
    fn init(&self, api: &str, token: &str) -> Output {
        let mut child = self
            .vigie(&["init", "telegram", "--api", api])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(format!("{token}\n").as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn configure(&self, text: &str) {
        fs::create_dir_all(self.config().parent().unwrap()).unwrap();
        fs::write(self.config(), text).unwrap();
    }

    /// Starts the daemon with the loudest log there is; returns what it greets with.
    fn up(&mut self) -> String {
        let log = fs::File::create(self.log_file()).unwrap();
        let mut daemon = self
            .vigie(&["up", "--listen", "127.0.0.1:0"])
            .env("VIGIE_LOG", "trace")
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        for line in BufReader::new(daemon.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            greeting.push_str(&line);
            greeting.push('\n');
            if line.contains("Ctrl-C stops Vigie") {
                break;
            }
        }
        self.daemon = Some(daemon);
        greeting
    }

    fn log_file(&self) -> PathBuf {
        self.home.path().join("daemon.log")
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

    /// What doctor finds about Telegram, a line each: `ok`, `warn` or `fail`, and the words.
    fn findings(&self) -> Vec<String> {
        let output = self.run(&["--json", "doctor"]);
        let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let ours = all.iter().filter(|finding| finding["topic"] == "telegram");
        let line = |finding: &Value| {
            let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {} | {}", word("level"), word("words"), word("todo"))
        };
        ours.map(line).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            self.run(&["down"]);
            let _ = daemon.wait();
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn all_of(output: &Output) -> String {
    format!("{}{}", said(output), String::from_utf8_lossy(&output.stderr))
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn mode(file: &Path) -> u32 {
    file.metadata().unwrap().permissions().mode() & 0o777
}

fn found(findings: &[String], text: &str) -> String {
    let found = findings.iter().find(|finding| finding.contains(text));
    found.unwrap_or_else(|| panic!("{text:?} is not among {findings:#?}")).clone()
}

/// As another program with the same token would.
fn set_webhook(telegram: &Emulator, url: &str) {
    let address = telegram.url().replace("http://", "");
    let body = format!("{{\"url\":\"{url}\"}}");
    let request = format!(
        "POST /bot{TOKEN}/setWebhook HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"ok\":true"), "{answer}");
}

#[test]
fn doctor_notices_a_daemon_that_has_gone_deaf() {
    let telegram = Emulator::start(World::default());
    let mut machine = Machine::new();
    assert_eq!(code(&machine.init(&telegram.url(), TOKEN)), 0);
    let silent = Fault {
        method: "getUpdates".into(),
        matching: Vec::new(),
        skip: 0,
        times: 1000,
        kind: FaultKind::Hang,
    };
    telegram.fault(silent);
    machine.up();
    telegram.send(ADA, ADA, "is anybody there?").now();
    found(&machine.findings(), "fail: 1 wait at Telegram though Vigie runs, so it does not hear");
}

#[test]
fn from_the_token_to_a_person_who_is_heard() {
    let telegram = Emulator::start(World::default());
    let mut machine = Machine::new();
    let output = machine.init(&telegram.url(), TOKEN);
    assert_eq!(code(&output), 0, "{}", all_of(&output));
    assert!(!all_of(&output).contains(SECRET), "{}", all_of(&output));
    assert!(said(&output).contains("@bridge123456_bot answers"), "{}", said(&output));
    assert!(said(&output).contains("Next: vigie up. It shows the code"), "{}", said(&output));
    assert_eq!(fs::read_to_string(machine.token()).unwrap(), format!("{TOKEN}\n"));
    assert_eq!((mode(&machine.token()), mode(&machine.config())), (0o600, 0o600));
    assert!(fs::read_to_string(machine.config()).unwrap().contains("[telegram]\nenabled = true\n"));

    let greeting = machine.up();
    let link = "https://t.me/bridge123456_bot?start=";
    let at = greeting.find(link).unwrap_or_else(|| panic!("no code: {greeting}")) + link.len();
    let first = greeting[at..at + "ABCD-EFGH".len()].to_owned();
    telegram.send(STRANGER, STRANGER, "let me in").now();
    telegram.send(ADA, ADA, &format!("/start {first}")).now();
    let people = machine.until(&["people"], "telegram 1001");
    assert!(people.contains("owner") && people.contains("private chat"), "{people}");
    assert!(!people.contains("6666"), "{people}");

    let status = machine.until(&["status"], "Telegram heard");
    assert!(status.contains(" s ago, 1 chat"), "{status}");
    let findings = machine.findings();
    found(&findings, "ok: @bridge123456_bot answers at http://127.0.0.1:");
    assert!(findings.iter().all(|finding| finding.starts_with("ok")), "{findings:#?}");

    let again = machine.run(&["pair"]);
    assert_eq!(code(&again), 0, "{again:?}");
    let second = machine.run(&["--json", "pair"]);
    let second: Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!(second["human"], "owner");
    let log = fs::read_to_string(machine.log_file()).unwrap();
    for secret in [SECRET, &first, second["code"].as_str().unwrap()] {
        assert!(!log.contains(secret), "a secret stands in the log");
    }

    assert_eq!(code(&machine.run(&["unpair", "telegram", "1001"])), 0);
    assert!(!said(&machine.run(&["people"])).contains("telegram 1001"));
    assert_eq!(code(&machine.run(&["unpair", "telegram", "1001"])), 3);
}

#[test]
fn the_token_is_not_shown_while_it_is_pasted() {
    let telegram = Emulator::start(World::default());
    let machine = Machine::new();
    let pty = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["init", "telegram", "--api", &telegram.url()]);
    command.env("VIGIE_HOME", machine.data());
    command.env("XDG_CONFIG_HOME", machine.home.path().join("config"));
    let mut child = pty.slave.spawn_command(command).unwrap();
    let terminal = pty.master.get_termios().unwrap();
    let mut keyboard = pty.master.take_writer().unwrap();
    let mut screen = pty.master.try_clone_reader().unwrap();
    let mut shown = String::new();
    let mut read_until = |text: &str, shown: &mut String| {
        let mut piece = [0; 1024];
        while !shown.contains(text) {
            let count = screen.read(&mut piece).unwrap_or_default();
            assert!(count > 0, "it ended before {text:?}: {shown}");
            shown.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    };
    read_until("it is not shown: ", &mut shown);
    keyboard.write_all(format!("{TOKEN}\r").as_bytes()).unwrap();
    read_until("Next: vigie up", &mut shown);
    assert!(child.wait().unwrap().success());
    assert!(!shown.contains(SECRET), "{shown}");
    let after = pty.master.get_termios().unwrap();
    assert_eq!(after.local_flags, terminal.local_flags, "the terminal is as it was");
}

#[test]
fn vigie_starts_in_a_terminal_that_shows_colours() {
    let machine = Machine::new();
    let pty = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["up", "--listen", "127.0.0.1:0"]);
    command.env("VIGIE_HOME", machine.data());
    command.env("XDG_CONFIG_HOME", machine.home.path().join("config"));
    command.env_remove("NO_COLOR");
    let mut child = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut screen = BufReader::new(pty.master.try_clone_reader().unwrap());
    let mut shown = String::new();
    while !shown.contains("Ctrl-C stops Vigie") {
        let count = screen.read_line(&mut shown).unwrap_or_default();
        assert!(count > 0, "it ended: {shown}");
    }
    assert_eq!(code(&machine.run(&["down"])), 0);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_configuration_is_changed_in_place() {
    let telegram = Emulator::start(World::default());
    let machine = Machine::new();
    let text = "# mine\n[[human]]\nid = \"ines\" # me\nrole = \"owner\"\n\n[telegram]\nenabled = false # later\n";
    machine.configure(text);
    fs::set_permissions(machine.config(), fs::Permissions::from_mode(0o640)).unwrap();
    let output = machine.init(&telegram.url(), TOKEN);
    assert_eq!(code(&output), 0, "{}", all_of(&output));
    let expected = text.replace("enabled = false # later\n", "enabled = true # later\n");
    let expected = format!("{expected}api = \"{}\"\n", telegram.url());
    assert_eq!(fs::read_to_string(machine.config()).unwrap(), expected);
    assert_eq!(mode(&machine.config()), 0o640);
}

#[test]
fn a_token_that_is_none_or_no_longer_one_changes_nothing() {
    let telegram = Emulator::start(World::default());
    let machine = Machine::new();
    let unchanged = |output: &Output| {
        assert!(!all_of(output).contains("TEST"), "{}", all_of(output));
        assert!(!machine.token().exists() && !machine.config().exists());
        all_of(output)
    };
    let output = machine.init(&telegram.url(), "TEST-without-a-number");
    assert_eq!(code(&output), 2);
    assert!(unchanged(&output).contains("this is no bot token"));
    let output = machine.init(&telegram.url(), "");
    assert_eq!(code(&output), 2);
    assert!(unchanged(&output).contains("--token-file FILE"));
    telegram.revoke(true);
    let output = machine.init(&telegram.url(), TOKEN);
    assert_eq!(code(&output), 3, "{}", all_of(&output));
    assert!(unchanged(&output).contains("knows no bot with this token"));
    telegram.stop_listening();
    let output = machine.init(&telegram.url(), TOKEN);
    assert_eq!(code(&output), 5, "{}", all_of(&output));
    assert!(unchanged(&output).contains("Telegram was not reached"));
    let output = machine.init(&format!("{}/bot{TOKEN}", telegram.url()), TOKEN);
    assert_eq!(code(&output), 2);
    unchanged(&output);
    let output = machine.run(&["init", "telegram", TOKEN]);
    assert_eq!(code(&output), 2, "never as an argument");
}

#[test]
fn whose_number_is_in_the_configuration_needs_no_code() {
    let telegram = Emulator::start(World::default());
    let mut machine = Machine::new();
    machine.configure(
        "[[human]]\nid = \"ada\"\nrole = \"owner\"\ntelegram = 1001\n\n[routing]\nlanguages = [\"en\", \"fr\"]\n",
    );
    assert_eq!(code(&machine.init(&telegram.url(), TOKEN)), 0);
    let greeting = machine.up();
    assert!(!greeting.contains("t.me"), "{greeting}");
    let people = machine.until(&["people"], "telegram 1001");
    assert!(people.contains("by the configuration"), "{people}");
    telegram.send(ADA, ADA, "/sessions").now();
    machine.until(&["people"], "private chat");

    let begun = Instant::now();
    let offered = |language: Option<&str>| {
        let calls = telegram.calls_of("setMyCommands");
        let call = calls.iter().find(|call| call.params["language_code"].as_str() == language)?;
        Some(call.params["commands"].to_string())
    };
    while offered(Some("fr")).is_none() {
        assert!(begun.elapsed() < DEADLINE, "{:?}", telegram.calls_of("setMyCommands"));
        machine.run(&["status"]);
    }
    assert!(offered(None).unwrap().contains("What waits for you"));
    assert!(offered(Some("fr")).unwrap().contains("Ce qui attend"));
    assert!(telegram.refused().is_empty(), "{:?}", telegram.refused());
}

#[test]
fn what_else_goes_wrong_is_said_by_status_and_doctor() {
    let telegram = Emulator::start(World::default());
    let mut machine = Machine::new();
    assert_eq!(code(&machine.init(&telegram.url(), TOKEN)), 0);
    machine.up();
    machine.until(&["status"], "Telegram heard");
    let unreadable =
        json!({ "message_id": "no number", "from": { "id": ADA }, "chat": { "id": ADA } });
    telegram.inject("message", unreadable).unwrap();
    let begun = Instant::now();
    while !machine.findings().iter().any(|finding| finding.contains("could not be read")) {
        assert!(begun.elapsed() < DEADLINE, "{:#?}", machine.findings());
    }
    found(&machine.findings(), "and lies in ");

    telegram.fault(Fault {
        method: "getUpdates".into(),
        matching: Vec::new(),
        skip: 0,
        times: 1000,
        kind: FaultKind::Refuse(
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running".into(),
        ),
    });
    telegram.send(STRANGER, STRANGER, "so that the poll comes back").now();
    machine.until(&["status"], "Telegram: another program asks");
    found(&machine.findings(), "fail: another program asks");
}

#[test]
fn a_token_comes_out_of_a_file_too() {
    let telegram = Emulator::start(World::default());
    let machine = Machine::new();
    let file = machine.home.path().join("from-the-vault");
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let api = telegram.url();
    let args =
        ["--json", "init", "telegram", "--api", &api, "--token-file", file.to_str().unwrap()];
    let output = machine.run(&args);
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["username"], &done["running"]), (&"bridge123456_bot".into(), &false.into()));
    assert_eq!(mode(&machine.token()), 0o600);
}

#[test]
fn without_a_token_vigie_runs_and_says_what_to_do() {
    let mut machine = Machine::new();
    machine.configure("[telegram]\nenabled = true\n");
    let greeting = machine.up();
    let trouble = "there is no bot token in ";
    assert!(greeting.contains("/login?token="), "{greeting}");
    assert!(greeting.contains(trouble) && !greeting.contains("t.me"), "{greeting}");
    let status = machine.until(&["status"], trouble);
    assert!(status.contains("vigie init telegram"), "{status}");
    assert!(said(&machine.run(&["pair"])).contains("It will not be heard yet"));
    let findings = machine.findings();
    found(&findings, "fail: there is no bot token in ");
    found(&findings, "nobody is heard over it yet | Let yourself in: vigie pair");

    fs::write(machine.token(), TOKEN).unwrap();
    fs::set_permissions(machine.token(), fs::Permissions::from_mode(0o644)).unwrap();
    found(&machine.findings(), "(mode 644), so it is not used | Close it: chmod 600 ");
}

#[test]
fn doctor_says_why_nothing_comes_through() {
    let telegram = Emulator::start(World::default());
    let machine = Machine::new();
    assert_eq!(code(&machine.init(&telegram.url(), TOKEN)), 0);
    telegram.send(ADA, ADA, "is anybody there?").now();
    found(
        &machine.findings(),
        "1 wait at Telegram, which keeps them for a day | Fetch them: vigie up",
    );

    let asked = |fault: &str| Fault {
        method: fault.into(),
        matching: Vec::new(),
        skip: 0,
        times: 1,
        kind: FaultKind::Refuse(404, "Not Found".into()),
    };
    telegram.fault(asked("getMe"));
    found(&machine.findings(), "fail: no Bot API answers at http://127.0.0.1:");
    telegram.revoke(true);
    found(&machine.findings(), "fail: Telegram does not know this token any more | Ask @BotFather");
    telegram.revoke(false);
    set_webhook(&telegram, "https://bots.example.org/hook/of-another");
    let findings = machine.findings();
    found(&findings, "fail: what people write goes to bots.example.org, not to Vigie");
    assert!(!findings.concat().contains("of-another"), "it may be a secret: {findings:#?}");
    telegram.stop_listening();
    found(&machine.findings(), "fail: Telegram was not reached at http://127.0.0.1:");
    assert!(telegram.calls_of("getUpdates").is_empty(), "doctor takes nobody's updates");
}

#[test]
fn doctor_says_what_the_bot_lacks_in_a_group() {
    let telegram = Emulator::start(World::default());
    let mut machine = Machine::new();
    assert_eq!(code(&machine.init(&telegram.url(), TOKEN)), 0);
    machine.up();
    let pairing: Value = serde_json::from_slice(&machine.run(&["--json", "pair"]).stdout).unwrap();
    telegram.send(AGENTS, ADA, &format!("/pair {}", pairing["code"].as_str().unwrap())).now();
    let people = machine.until(&["people"], "group with topics");
    assert!(people.contains(&AGENTS.to_string()), "{people}");
    found(&machine.findings(), "ok: group Agents: a topic for each session");

    let bot = telegram.bot_id();
    let lacking = Membership::of(Status::Administrator).without("can_manage_topics");
    telegram.member(AGENTS, ADA, bot, lacking);
    found(
        &machine.findings(),
        "in group Agents the bot may make no topics | Make it an administrator",
    );
    telegram.member(AGENTS, ADA, bot, Membership::of(Status::Member));
    found(&machine.findings(), "in group Agents the bot hears only commands");
    telegram.member(AGENTS, ADA, bot, Membership::of(Status::Kicked));
    found(&machine.findings(), "the bot is not in group ");

    assert_eq!(code(&machine.run(&["unpair", "telegram", &AGENTS.to_string()])), 0);
    assert!(!said(&machine.run(&["people"])).contains("group with topics"));
}
