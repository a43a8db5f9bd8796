//! Matrix, from nothing to an account that Vigie speaks as, and back from every usual mistake: the program
//! as a person meets it, and a real homeserver. Without `VIGIE_TEST_SYNAPSE` and
//! `VIGIE_TEST_MATRIX_PHONE` most of it does not run.
#![cfg(feature = "matrix")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use matrix_lab::{Homeserver, Login, shared, tools};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

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

    fn matrix(&self, file: &str) -> PathBuf {
        self.data().join("matrix").join(file)
    }

    fn config(&self) -> PathBuf {
        self.home.path().join("config/vigie/config.toml")
    }

    /// A file with a secret in it.
    fn secret(&self, text: &str) -> String {
        let file = self.home.path().join("secret");
        fs::write(&file, format!("{text}\n")).unwrap();
        file.to_str().unwrap().into()
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

    /// `vigie --json init matrix` with that piped in, a line each.
    fn init(&self, args: &[&str], lines: &[&str]) -> Output {
        let all = [&["--json", "init", "matrix"], args].concat();
        let mut command = self.vigie(&all);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for line in lines {
            // Whoever refuses at once reads nothing.
            let _ = writeln!(stdin, "{line}");
        }
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    /// Set up with a password, as whoever follows the page would have it.
    fn set_up(&self, server: &Homeserver, vigie: &Login, more: &[&str]) -> Value {
        let url = server.url();
        let args = [&["--homeserver", &url, "--user", &vigie.user_id], more].concat();
        done(&self.init(&args, &[&vigie.password]))
    }

    fn device(&self) -> String {
        let text = fs::read_to_string(self.matrix("account/session.json")).unwrap();
        let session: Value = serde_json::from_str(&text).unwrap();
        session["device"].as_str().unwrap().into()
    }

    fn lose_the_store(&self) {
        fs::remove_dir_all(self.matrix("account/crypto")).unwrap();
    }

    fn log_file(&self) -> PathBuf {
        self.home.path().join("daemon.log")
    }

    /// Starts the daemon with the loudest log there is.
    fn up(&mut self) {
        let log = fs::File::create(self.log_file()).unwrap();
        let mut command = self.vigie(&["up", "--listen", "127.0.0.1:0"]);
        command.env("VIGIE_LOG", "trace").stdout(Stdio::piped()).stderr(log);
        let mut daemon = command.spawn().unwrap();
        let lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
        let up = lines.map_while(Result::ok).any(|line| line.contains("Ctrl-C stops Vigie"));
        self.daemon = Some(daemon);
        assert!(up, "{}", fs::read_to_string(self.log_file()).unwrap());
    }

    fn down(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            self.run(&["down"]);
            let _ = daemon.wait();
        }
    }

    /// What doctor finds about Matrix, a line each.
    fn findings(&self) -> Vec<String> {
        let output = self.run(&["--json", "doctor"]);
        let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let ours = all.iter().filter(|finding| finding["topic"] == "matrix");
        let line = |finding: &Value| {
            let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {} | {}", word("level"), word("words"), word("todo"))
        };
        ours.map(line).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.down();
    }
}

fn all_of(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn done(output: &Output) -> Value {
    assert_eq!(code(output), 0, "{}", all_of(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// It failed that way, with these words; all that it said.
fn refused(output: &Output, exit: i32, name: &str) -> String {
    assert_eq!(code(output), exit, "{}", all_of(output));
    let shown = all_of(output);
    assert!(shown.contains(&format!("\"{name}\"")), "{shown}");
    shown
}

fn mode(file: &Path) -> u32 {
    file.metadata().unwrap().permissions().mode() & 0o777
}

fn found(findings: &[String], text: &str) {
    let found = findings.iter().any(|finding| finding.contains(text));
    assert!(found, "{text:?} is not among {findings:#?}");
}

/// A token of a device that nothing has used yet, as an administrator would hand it out.
async fn token(server: &Homeserver, login: &Login) -> (String, String) {
    let body = json!({
        "type": "m.login.password", "password": login.password,
        "identifier": { "type": "m.id.user", "user": login.user_id },
    });
    let answer = server.ask(None, "POST", "/_matrix/client/v3/login", Some(&body)).await.unwrap();
    let word = |key: &str| answer[key].as_str().unwrap().to_owned();
    (word("access_token"), word("device_id"))
}

#[tokio::test]
async fn from_a_password_to_an_account_that_others_can_trust() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let (vigie, ada) = (server.user("vigie").await, server.user("ada").await);
    let mut machine = Machine::new();
    let more = ["--person", &ada.user_id, "--yes", "--keep-recovery-key", "yes"];
    let made = machine.set_up(server, &vigie, &more);
    assert_eq!((&made["user"], &made["person"]), (&json!(vigie.user_id), &json!(ada.user_id)));
    assert_eq!((&made["already"], &made["trouble"]), (&json!(false), &Value::Null), "{made}");
    let key = made["recovery_key"].as_str().unwrap();
    assert_eq!(fs::read_to_string(machine.matrix("recovery.key")).unwrap().trim(), key);
    for file in ["recovery.key", "account/session.json", "account/store.key", "lock"] {
        assert_eq!(mode(&machine.matrix(file)), 0o600, "{file}");
    }
    for folder in ["", "account"] {
        assert_eq!(mode(&machine.matrix(folder)), 0o700, "{folder}");
    }
    assert!(!machine.matrix("new").exists());
    let config = fs::read_to_string(machine.config()).unwrap();
    assert!(config.contains("[matrix]\nenabled = true\n"), "{config}");
    assert!(config.contains(&format!("matrix = \"{}\"", ada.user_id)), "{config}");
    assert_eq!(server.devices(&vigie.user_id).await, [machine.device()]);
    let findings = machine.findings();
    found(&findings, &format!("; its device {} is signed", machine.device()));
    assert!(findings.iter().all(|finding| finding.starts_with("ok")), "{findings:#?}");

    let again = done(&machine.init(&[], &[]));
    assert_eq!((&again["already"], &again["recovery_key"]), (&json!(true), &Value::Null));
    let another = done(&machine.init(&["--new-recovery-key", "--keep-recovery-key", "no"], &[]));
    assert_ne!(another["recovery_key"].as_str().unwrap(), key);
    assert!(!machine.matrix("recovery.key").exists());
    found(&machine.findings(), "ok: the recovery key is not kept here");

    machine.up();
    let shown = refused(&machine.init(&[], &[]), 3, "running");
    assert!(shown.contains("vigie down"), "{shown}");
    machine.down();
    let session = fs::read_to_string(machine.matrix("account/session.json")).unwrap();
    let session: Value = serde_json::from_str(&session).unwrap();
    let log = fs::read_to_string(machine.log_file()).unwrap();
    for secret in [session["access_token"].as_str().unwrap(), key, &vigie.password] {
        assert!(!log.contains(secret), "a secret stands in the log");
    }
}

#[tokio::test]
async fn a_wrong_password_leaves_nothing_in_the_way() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let vigie = server.user("vigie").await;
    let machine = Machine::new();
    let url = server.url();
    let args = ["--homeserver", &url, "--user", &vigie.user_id];
    let shown = refused(&machine.init(&args, &["not that one"]), 3, "wrong_password");
    assert!(!shown.contains("not that one"), "{shown}");
    assert!(!machine.config().exists() && !machine.matrix("account/session.json").exists());
    let shown = refused(&machine.init(&args, &[]), 2, "usage");
    assert!(shown.contains("--password-file FILE"), "{shown}");
    assert_eq!(server.devices(&vigie.user_id).await, Vec::<String>::new());

    let made = machine.set_up(server, &vigie, &[]);
    assert_eq!((&made["heard"], &made["recovery_key_file"]), (&json!(false), &Value::Null));
    assert!(made["recovery_key"].is_string() && !machine.matrix("recovery.key").exists());
    found(&machine.findings(), "nobody is heard over it yet | Say who you are there");
    let other = machine.init(&["--user", "@tomas:example.org"], &[]);
    refused(&other, 3, "other_account");
}

#[tokio::test]
async fn a_token_must_be_one_that_nothing_else_uses() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let vigie = server.user("vigie").await;
    let machine = Machine::new();
    let url = server.url();
    let wrong = machine.secret("no-such-token");
    let args = ["--homeserver", &url, "--token-file", &wrong];
    let shown = refused(&machine.init(&args, &[]), 3, "wrong_token");
    assert!(!shown.contains("no-such-token") && !machine.matrix("account/session.json").exists());

    let (token, device) = token(server, &vigie).await;
    let file = machine.secret(&token);
    let args = ["--homeserver", &url, "--token-file", &file];
    let made = done(&machine.init(&args, &[]));
    assert_eq!((&made["device"], &made["trouble"]), (&json!(device), &Value::Null), "{made}");
    assert!(!made.to_string().contains(&token));
    found(&machine.findings(), &format!("; its device {device} is signed"));

    let other = Machine::new();
    let file = other.secret(&token);
    let shown = refused(
        &other.init(&["--homeserver", &url, "--token-file", &file], &[]),
        3,
        "foreign_device",
    );
    assert!(shown.contains(&device), "{shown}");
}

#[tokio::test]
async fn a_lost_store_is_made_good_by_the_recovery_key_that_was_kept() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let vigie = server.user("vigie").await;
    let machine = Machine::new();
    machine.set_up(server, &vigie, &["--keep-recovery-key", "yes"]);
    let old = machine.device();
    machine.lose_the_store();
    found(&machine.findings(), "fail: the encrypted store of the account is gone");
    let output = machine.init(&[], &[]);
    assert_eq!(code(&output), 5, "{}", all_of(&output));
    assert!(all_of(&output).contains("vigie init matrix --again"), "{}", all_of(&output));
    assert!(!machine.matrix("account/crypto").exists(), "no store is made anew");

    let made = done(&machine.init(&["--again"], &[&vigie.password]));
    assert_eq!((&made["recovered"], &made["trouble"]), (&json!(true), &Value::Null), "{made}");
    assert_eq!(
        (&made["recovery_key"], &made["old_device"]),
        (&Value::Null, &Value::Null),
        "{made}"
    );
    assert_ne!(machine.device(), old);
    assert_eq!(server.devices(&vigie.user_id).await, [machine.device()]);
    let findings = machine.findings();
    found(&findings, &format!("; its device {} is signed", machine.device()));
    found(&findings, "logins from before lie in ");
    assert!(Path::new(made["aside"].as_str().unwrap()).join("session.json").exists());
}

#[tokio::test]
async fn a_lost_store_is_made_good_by_the_recovery_key_of_the_person() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let vigie = server.user("vigie").await;
    let machine = Machine::new();
    let made = machine.set_up(server, &vigie, &["--keep-recovery-key", "no"]);
    let key = made["recovery_key"].as_str().unwrap().to_owned();
    machine.lose_the_store();
    let again = machine.init(&["--again"], &[&vigie.password, "EsTc not the right one at all"]);
    let shown = refused(&again, 3, "wrong_recovery_key");
    assert!(!shown.contains("EsTc"), "{shown}");
    // The login stands; what is missing is made up.
    found(&machine.findings(), "is not signed by the account's identity");
    let file = machine.secret(&key);
    let made = done(&machine.init(&["--recovery-key-file", &file], &[]));
    assert_eq!((&made["recovered"], &made["trouble"]), (&json!(true), &Value::Null), "{made}");
    assert!(made["recovery_key"].is_null() && !machine.matrix("recovery.key").exists());

    machine.lose_the_store();
    let made = done(&machine.init(&["--again"], &[&vigie.password, &key]));
    assert_eq!((&made["recovered"], &made["trouble"]), (&json!(true), &Value::Null), "{made}");
    found(&machine.findings(), "is signed");
}

#[tokio::test]
async fn an_identity_is_replaced_only_when_a_person_says_so() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let vigie = server.user("vigie").await;
    let first = Machine::new();
    let key = first.set_up(server, &vigie, &[])["recovery_key"].clone();
    let second = Machine::new();
    let url = server.url();
    let args = ["--homeserver", &url, "--user", &vigie.user_id];
    let output = second.init(&args, &[&vigie.password]);
    assert_eq!(code(&output), 2, "{}", all_of(&output));
    assert!(all_of(&output).contains("--recovery-key-file FILE"), "{}", all_of(&output));
    found(&first.findings(), "is signed");

    let output = second.init(&["--reset-identity"], &[&vigie.password]);
    assert!(all_of(&output).contains("--yes"), "{}", all_of(&output));
    let made = done(&second.init(&["--reset-identity", "--yes"], &[&vigie.password]));
    assert!(made["recovery_key"].is_string() && made["recovery_key"] != key, "{made}");
    assert_eq!(made["trouble"], Value::Null, "{made}");
    found(&second.findings(), "is signed");
    found(&first.findings(), "is not signed by the account's identity");
}

#[tokio::test]
async fn after_a_logout_a_new_device_takes_over() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let vigie = server.user("vigie").await;
    let machine = Machine::new();
    machine.set_up(server, &vigie, &["--keep-recovery-key", "yes"]);
    let old = machine.device();
    server.log_out(&vigie.user_id, &old).await;
    found(
        &machine.findings(),
        "fail: the homeserver does not know this access token any more | Log in anew",
    );
    let file = machine.secret(&vigie.password);
    let made = done(&machine.init(&["--again", "--password-file", &file], &[]));
    assert_eq!((&made["recovered"], &made["trouble"]), (&json!(true), &Value::Null), "{made}");
    assert_eq!(server.devices(&vigie.user_id).await, [machine.device()]);
    let tomas = server.user("tomas").await;
    let args = ["--again", "--user", &tomas.user_id];
    refused(&machine.init(&args, &[&tomas.password]), 3, "other_account");
    assert_eq!(server.devices(&tomas.user_id).await, Vec::<String>::new());
    found(&machine.findings(), "is signed");
}

#[tokio::test]
async fn who_is_heard_is_looked_at_twice() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let (vigie, ada) = (server.user("vigie").await, server.user("ada").await);
    let machine = Machine::new();
    fs::create_dir_all(machine.config().parent().unwrap()).unwrap();
    let text = "# mine\n[[human]] # me\nid = \"ada\"\nrole = \"owner\" # of all\n";
    fs::write(machine.config(), text).unwrap();
    let url = server.url();
    let args = ["--homeserver", &url, "--user", &vigie.user_id, "--person"];
    let password = [vigie.password.as_str()];
    let shown = refused(&machine.init(&[&args[..], &["ada"]].concat(), &password), 2, "usage");
    assert!(shown.contains("no user id on Matrix"), "{shown}");
    let unasked = machine.init(&[&args[..], &[&ada.user_id]].concat(), &password);
    assert!(refused(&unasked, 2, "usage").contains("--yes"));
    assert!(!machine.matrix("account/session.json").exists());
    let slip = ada.user_id.replace("@ada", "@adda");
    let slip = machine.init(&[&args[..], &[&slip, "--yes"]].concat(), &password);
    refused(&slip, 3, "no_such_person");
    let itself = machine.init(&["--person", &vigie.user_id, "--yes"], &[]);
    refused(&itself, 2, "usage");
    let made = done(&machine.init(&["--person", &ada.user_id, "--yes"], &[]));
    assert_eq!(made["human"], "ada");
    let expected = format!("{text}matrix = \"{}\"\n\n[matrix]\nenabled = true\n", ada.user_id);
    assert_eq!(fs::read_to_string(machine.config()).unwrap(), expected);
}

/// The program at a person's terminal.
struct Terminal {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    keyboard: Box<dyn std::io::Write + Send>,
    screen: Box<dyn std::io::Read + Send>,
    shown: String,
    /// Up to where of it was read.
    read: usize,
}

impl Terminal {
    fn init(machine: &Machine, args: &[&str]) -> Self {
        let pty = native_pty_system().openpty(PtySize { cols: 400, ..PtySize::default() }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vigie"));
        command.args([&["init", "matrix"], args].concat());
        command.env("VIGIE_HOME", machine.data());
        command.env("XDG_CONFIG_HOME", machine.home.path().join("config"));
        let child = pty.slave.spawn_command(command).unwrap();
        let keyboard = pty.master.take_writer().unwrap();
        let screen = pty.master.try_clone_reader().unwrap();
        Self { child, keyboard, screen, shown: String::new(), read: 0 }
    }

    /// Reads on until that is shown.
    fn reads(&mut self, text: &str) {
        let mut piece = [0; 1024];
        loop {
            if let Some(at) = self.shown[self.read..].find(text) {
                self.read += at + text.len();
                return;
            }
            let count = self.screen.read(&mut piece).unwrap_or_default();
            assert!(count > 0, "it ended before {text:?}: {}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    }

    /// Answers each question once it is asked.
    fn answers(&mut self, all: &[(&str, &str)]) {
        for (question, answer) in all {
            self.reads(question);
            self.keyboard.write_all(format!("{answer}\r").as_bytes()).unwrap();
        }
    }

    fn ends(mut self, text: &str) -> String {
        self.reads(text);
        assert!(self.child.wait().unwrap().success(), "{}", self.shown);
        self.shown
    }
}

#[tokio::test]
async fn at_a_terminal_a_slip_is_asked_again_with_its_reason_and_no_secret_is_shown() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let (vigie, ada) = (server.user("vigie").await, server.user("ada").await);
    let machine = Machine::new();
    let url = server.url();
    let nobody = ada.user_id.replace("@ada", "@adda");
    let name = format!("{} calls themselves \"ada\"", ada.user_id);
    let knows_nobody = format!("Once more: the homeserver knows nobody called {nobody}");
    let mut terminal = Terminal::init(&machine, &[]);
    terminal.answers(&[
        ("Your own id on Matrix", "ada"),
        ("Once more: `ada` is no user id on Matrix. Write the whole of it", ""),
    ]);
    terminal.reads("The account's homeserver");
    drop(terminal);
    assert!(!machine.matrix("account/session.json").exists() && !machine.config().exists());

    let mut terminal = Terminal::init(&machine, &[]);
    terminal.answers(&[
        ("Your own id on Matrix", &nobody),
        ("The account's homeserver", "not a name"),
        ("Once more: `not a name` names no homeserver. Write what stands after", &url),
        ("The account that Vigie speaks as", "vigia"),
        ("Password of vigia; it is not shown: ", &vigie.password),
        ("Once more: the homeserver does not take that user and password.", &vigie.user_id),
        ("it is not shown: ", "a slip of the finger"),
        ("One last time: the homeserver does not take that user and password.", ""),
        (&format!("Password of {}; it is not shown: ", vigie.user_id), &vigie.password),
        (&knows_nobody, &ada.user_id),
        (&name, "y"),
        ("for Vigie to use? [Y/n]", ""),
    ]);
    let shown = terminal.ends("Next: vigie up");
    assert!(!shown.contains(&vigie.password) && !shown.contains("a slip"), "{shown}");
    let kept = fs::read_to_string(machine.matrix("recovery.key")).unwrap();
    assert!(shown.contains(kept.trim()), "{shown}");
    assert_eq!(server.devices(&vigie.user_id).await, [machine.device()], "no login too many");
    let config = fs::read_to_string(machine.config()).unwrap();
    assert!(config.contains(&ada.user_id) && !config.contains(&nobody), "{config}");
}

#[tokio::test]
async fn at_a_terminal_a_wrong_recovery_key_is_asked_again_and_the_login_stands() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let vigie = server.user("vigie").await;
    let key = Machine::new().set_up(server, &vigie, &[])["recovery_key"].clone();
    let key = key.as_str().unwrap();
    let machine = Machine::new();
    let (url, password) = (server.url(), machine.secret(&vigie.password));
    let login = ["--homeserver", &url, "--user", &vigie.user_id, "--password-file", &password];
    let mut terminal = Terminal::init(&machine, &login);
    let again = "that is not the account's recovery key. It has twelve groups of four";
    terminal.answers(&[
        ("Your own id on Matrix", ""),
        ("The account has an identity already.", "EsTc not this one"),
        (again, ""),
        ("One last time: no recovery key came.", "EsTc nor this"),
    ]);
    terminal.reads("that is not the account's recovery key");
    assert!(!terminal.child.wait().unwrap().success());
    let device = machine.device();

    // It goes on where it was.
    let mut terminal = Terminal::init(&machine, &[]);
    terminal.answers(&[
        ("Your own id on Matrix", ""),
        ("The account has an identity already.", "EsTc not this one"),
        (again, key),
    ]);
    let shown = terminal.ends("Next: vigie up");
    assert!(!shown.contains(key) && !shown.contains("EsTc"), "{shown}");
    assert_eq!(machine.device(), device);
    found(&machine.findings(), "is signed");
}

#[test]
fn what_is_no_homeserver_is_said() {
    let machine = Machine::new();
    let args =
        |server: &str| machine.init(&["--homeserver", server, "--user", "vigie"], &["a password"]);
    let nothing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let shown = refused(&args(&format!("http://{nothing}")), 5, "outside");
    assert!(shown.contains("was not reached"), "{shown}");
    let shown = refused(&args("http://matrix.example.org"), 2, "usage");
    assert!(shown.contains("is not encrypted"), "{shown}");
    refused(&args("not a name"), 2, "usage");
    let page = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = page.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in page.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let page = "<html>Hello</html>";
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
            let length = page.len();
            let _ = write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{page}");
        }
    });
    let shown = refused(&args(&format!("http://{address}")), 5, "outside");
    assert!(shown.contains("is no Matrix homeserver"), "{shown}");
    assert!(!machine.matrix("account/session.json").exists() && !machine.config().exists());
    let argument = machine.run(&["init", "matrix", "--password", "secret"]);
    assert_eq!(code(&argument), 2, "never as an argument");
}

#[test]
fn without_an_account_vigie_runs_and_says_what_to_do() {
    let mut machine = Machine::new();
    fs::create_dir_all(machine.config().parent().unwrap()).unwrap();
    fs::write(machine.config(), "[matrix]\nenabled = true\n").unwrap();
    let trouble = "no Matrix account is set up; run: vigie init matrix";
    found(&machine.findings(), trouble);
    machine.up();
    let status = machine.run(&["status"]);
    assert!(all_of(&status).contains(trouble), "{}", all_of(&status));
    found(&machine.findings(), trouble);
}
