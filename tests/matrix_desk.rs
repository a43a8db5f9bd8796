//! `vigie matrix` as a person meets it: the real program in a terminal, the real socket, and an account
//! on Matrix that a test moves. That it is the right thing on the wire is tested where the bridge is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod outside;
}

use async_trait::async_trait;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::{
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};
use support::outside::nothing_outside;
use tokio::sync::mpsc;
use vigie::{
    clock::Clock,
    config::{Config, Surroundings},
    hub::Hub,
    tasks::Tasks,
    web::{
        self, MatrixDesk, MatrixRefusal, MatrixRefusalKind, Outside, Parts, Peer, VerificationStep,
        client::{Client, ClientError},
        shapes::{
            EmojiShape, MatrixPersonShape, MatrixShape, VerificationBegun, VerificationShape,
            VerificationState,
        },
    },
};
use vigie_core::Timestamp;

/// For what a person waits for.
const DEADLINE: Duration = Duration::from_secs(30);

const NAMES: [&str; 7] = ["Dog", "Lock", "Pig", "Key", "Moon", "Rose", "Anchor"];

/// An account with one verification, and what was done with it.
#[derive(Default)]
struct Account {
    state: Mutex<Option<VerificationState>>,
    done: Mutex<Vec<String>>,
    /// Their identity changes once more after it was looked at.
    changes_again: bool,
}

impl Account {
    fn asked() -> Arc<Self> {
        let account = Self::default();
        account.becomes(VerificationState::Asked);
        Arc::new(account)
    }

    fn becomes(&self, state: VerificationState) {
        *self.state.lock().unwrap() = Some(state);
    }

    fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    fn now(&self) -> Option<VerificationShape> {
        let state = (*self.state.lock().unwrap())?;
        let comparing = state == VerificationState::Comparing;
        let emoji = NAMES.map(|name| EmojiShape { symbol: "🐶".into(), name: name.into() });
        let words = match state {
            VerificationState::Verified => Some("@ines:example.org is verified."),
            VerificationState::Failed => {
                Some("Nothing was verified: one of the two took too long.")
            }
            _ => None,
        };
        Some(VerificationShape {
            id: "ver_7".into(),
            user: "@ines:example.org".into(),
            device: Some("PHONE".into()),
            device_name: Some("Ines\u{1b}[2J".into()),
            begun: VerificationBegun::ByThem,
            since: Timestamp::default(),
            until: Timestamp::default(),
            state,
            emoji: if comparing { emoji.into() } else { Vec::new() },
            decimals: comparing.then_some([1, 2, 3]),
            words: words.map(str::to_owned),
            hint: Some("Again: vigie matrix verify.".into()),
        })
    }
}

#[async_trait]
impl MatrixDesk for Account {
    async fn look(&self) -> Result<MatrixShape, MatrixRefusal> {
        Ok(MatrixShape {
            user: "@vigie:example.org".into(),
            device: "ABCDEFGHIJ".into(),
            ed25519: Some("Xb8Qk3cPmW".into()),
            signed: true,
            homeserver: "https://matrix.example.org".into(),
            recovery: "on".into(),
            backup: "on".into(),
            heard: None,
            trouble: None,
            rooms: Vec::new(),
            people: vec![MatrixPersonShape {
                user: "@ines:example.org".into(),
                standing: "changed".into(),
                identity: Some("Yc9R1LdQnX".into()),
                known: Some("Xb8Qk3cPmW".into()),
                unsigned: Vec::new(),
            }],
            unsigned_read: false,
            sealed: 0,
        })
    }

    fn verifications(&self) -> Vec<VerificationShape> {
        self.now().into_iter().collect()
    }

    async fn verify(&self, user: String) -> Result<VerificationShape, MatrixRefusal> {
        self.done.lock().unwrap().push(format!("verify {user}"));
        self.becomes(VerificationState::Comparing);
        Ok(self.now().unwrap())
    }

    async fn step(
        &self,
        id: String,
        step: VerificationStep,
    ) -> Result<VerificationShape, MatrixRefusal> {
        if id != "ver_7" {
            let (words, hint) = ("there is no such one".into(), "Look again.".into());
            return Err(MatrixRefusal { kind: MatrixRefusalKind::NotThere, words, hint });
        }
        let (words, state) = match step {
            VerificationStep::Accept => ("accept".into(), VerificationState::Comparing),
            VerificationStep::Confirm(same) => (same.join(" "), VerificationState::Verified),
            VerificationStep::Mismatch => ("mismatch".into(), VerificationState::Failed),
            VerificationStep::Cancel => ("cancel".into(), VerificationState::Failed),
        };
        self.done.lock().unwrap().push(words);
        self.becomes(state);
        Ok(self.now().unwrap())
    }

    async fn accept_change(&self, user: String, identity: String) -> Result<(), MatrixRefusal> {
        if self.changes_again {
            let words = format!("{user} has another identity by now");
            let hint = "Look again: vigie matrix accept.".into();
            return Err(MatrixRefusal { kind: MatrixRefusalKind::NotNow, words, hint });
        }
        self.done.lock().unwrap().push(format!("accept {user} {identity}"));
        Ok(())
    }
}

/// The desk's socket of a Vigie with that account.
struct Home {
    data: tempfile::TempDir,
    tasks: Tasks,
}

impl Home {
    async fn start(matrix: Option<Arc<Account>>, whose: fn(u32) -> Peer) -> Self {
        let data = tempfile::tempdir().unwrap();
        let around = Surroundings {
            home: data.path().into(),
            data: data.path().into(),
            config: "config.toml".into(),
            user: "ines".into(),
            shell: "/bin/sh".into(),
            claude: None,
        };
        let config = Config::parse("[web]\nlisten = \"127.0.0.1:0\"\n", &around).unwrap();
        let tasks = Tasks::new();
        let outside = Outside {
            whose,
            matrix: matrix.map(|account| account as Arc<dyn MatrixDesk>),
            ..nothing_outside(Hub::new(mpsc::channel(1).0))
        };
        let (clock, data_folder) = (Clock::system(), data.path());
        let parts =
            Parts { config: &config, data: data_folder, outside, clock, tasks: tasks.clone() };
        web::start(parts).await.unwrap();
        Self { data, tasks }
    }

    /// The program without a terminal.
    async fn run(&self, args: &'static [&str]) -> Output {
        let home = self.data.path().to_owned();
        let run = move || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
            command.env("VIGIE_HOME", &home).env("NO_COLOR", "1").stdin(Stdio::null());
            command.args(args).output().unwrap()
        };
        tokio::task::spawn_blocking(run).await.unwrap()
    }

    /// The program in a terminal: types each answer once what stands before it is shown. Gives what
    /// was shown, and whether it ended well.
    async fn type_in(
        &self,
        args: &'static [&str],
        talk: &'static [(&str, &str)],
    ) -> (String, bool) {
        let home = self.data.path().to_owned();
        let talk = tokio::task::spawn_blocking(move || in_a_terminal(&home, args, talk));
        tokio::time::timeout(DEADLINE, talk).await.expect("it ends in time").unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

fn in_a_terminal(home: &Path, args: &[&str], talk: &[(&str, &str)]) -> (String, bool) {
    let pty = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(args);
    command.env("VIGIE_HOME", home);
    command.env("NO_COLOR", "1");
    let mut child = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut keyboard = pty.master.take_writer().unwrap();
    let mut screen = pty.master.try_clone_reader().unwrap();
    let mut shown = Vec::new();
    let mut seen = 0;
    let mut piece = [0; 1024];
    for (before, answer) in talk {
        loop {
            let text = String::from_utf8_lossy(&shown[seen..]).into_owned();
            if text.contains(before) {
                seen = shown.len();
                break;
            }
            let count = screen.read(&mut piece).unwrap_or_default();
            assert!(count > 0, "it ended before {before:?}: {}", String::from_utf8_lossy(&shown));
            shown.extend_from_slice(&piece[..count]);
        }
        keyboard.write_all(answer.as_bytes()).unwrap();
    }
    while let Ok(count @ 1..) = screen.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    let ended = child.wait().unwrap().success();
    (String::from_utf8_lossy(&shown).into_owned(), ended)
}

fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn a_person_takes_it_compares_and_says_that_it_is_the_same() {
    let account = Account::asked();
    let home = Home::start(Some(account.clone()), |_| Peer::Ours).await;
    let talk =
        &[("Take it? [y/n]", "y\r"), ("in this order? [y/n]", "maybe\r"), ("order? [y/n]", "y\r")];
    let (shown, well) = home.type_in(&["matrix", "verify"], talk).await;
    assert!(well, "{shown}");
    assert!(shown.contains("@ines:example.org, device PHONE (\"Ines⟦U+001B⟧[2J\")"), "{shown}");
    assert!(NAMES.iter().all(|name| shown.contains(name)), "{shown}");
    assert!(shown.contains("@ines:example.org is verified."), "{shown}");
    assert_eq!(account.done(), ["accept", &NAMES.join(" ")]);
}

#[tokio::test]
async fn a_no_is_a_mismatch_and_a_failure() {
    let account = Account::asked();
    let home = Home::start(Some(account.clone()), |_| Peer::Ours).await;
    let talk = &[("Take it? [y/n]", "y\r"), ("in this order? [y/n]", "n\r")];
    let (shown, well) = home.type_in(&["matrix", "verify"], talk).await;
    assert!(!well && shown.contains("Nothing was verified"), "{shown}");
    assert_eq!(account.done(), ["accept", "mismatch"]);
}

#[tokio::test]
async fn what_a_person_does_not_know_of_is_left_alone() {
    let account = Account::asked();
    let home = Home::start(Some(account.clone()), |_| Peer::Ours).await;
    let (shown, well) = home.type_in(&["matrix", "verify"], &[("Take it? [y/n]", "n\r")]).await;
    assert!(!well && shown.contains("left alone"), "{shown}");
    assert_eq!(account.done(), [""; 0]);
}

#[tokio::test]
async fn where_nobody_asks_the_one_person_there_is_gets_asked() {
    let account = Arc::new(Account::default());
    let home = Home::start(Some(account.clone()), |_| Peer::Ours).await;
    let talk = &[("in this order? [y/n]", "\u{3}")];
    let (shown, well) = home.type_in(&["matrix", "verify"], talk).await;
    assert!(!well && shown.contains("Asking @ines:example.org"), "{shown}");
    assert_eq!(account.done(), ["verify @ines:example.org", "cancel"], "Ctrl-C takes it back");
}

#[tokio::test]
async fn a_program_sees_and_does_not_confirm() {
    let account = Account::asked();
    let home = Home::start(Some(account.clone()), |_| Peer::Ours).await;
    for args in [&["matrix", "verify"][..], &["matrix", "verify", "@ines:example.org"]] {
        let refused = home.run(args).await;
        assert_eq!(refused.status.code(), Some(3));
        assert!(complained(&refused).contains("needs a person at a terminal"), "{refused:?}");
    }
    let refused = home.run(&["matrix", "accept", "@ines:example.org"]).await;
    assert!(complained(&refused).contains("needs a person at a terminal"), "{refused:?}");
    let seen = home.run(&["matrix", "verify", "--json"]).await;
    let seen: Vec<VerificationShape> = serde_json::from_slice(&seen.stdout).unwrap();
    assert_eq!(seen[0].state, VerificationState::Asked);
    assert_eq!(account.done(), [""; 0]);
}

#[tokio::test]
async fn another_identity_is_taken_by_a_person_alone() {
    let account = Arc::new(Account::default());
    let home = Home::start(Some(account.clone()), |_| Peer::Ours).await;
    let args = &["matrix", "accept", "@ines:example.org"];
    let (shown, well) = home.type_in(args, &[("Take the new one? [y/n]", "y\r")]).await;
    assert!(well && shown.contains("not verified"), "{shown}");
    assert!(shown.contains("Xb8Q k3cP mW") && shown.contains("Yc9R 1LdQ nX"), "{shown}");
    assert_eq!(account.done(), ["accept @ines:example.org Yc9R1LdQnX"], "the one that was shown");
    let status = home.run(&["matrix", "status"]).await;
    let words = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(words.contains("CHANGED") && words.contains("Xb8Q k3cP mW"), "{words}");
}

#[tokio::test]
async fn an_identity_that_changed_after_it_was_shown_is_not_taken() {
    let account = Arc::new(Account { changes_again: true, ..Account::default() });
    let home = Home::start(Some(account.clone()), |_| Peer::Ours).await;
    let args = &["matrix", "accept", "@ines:example.org"];
    let (shown, well) = home.type_in(args, &[("Take the new one? [y/n]", "y\r")]).await;
    assert!(!well && shown.contains("another identity by now"), "{shown}");
    let nobody = &["matrix", "accept", "@eve:example.org"];
    let (shown, well) = home.type_in(nobody, &[]).await;
    assert!(!well && shown.contains("does not know @eve:example.org"), "{shown}");
    let desk = Client::new(home.data.path());
    let path = "/matrix/people/@ines:example.org/accept";
    let unseen = desk.post::<_, serde_json::Value>(path, &()).await;
    assert!(unseen.is_err(), "nobody takes what they did not look at: {unseen:?}");
    assert_eq!(account.done(), [""; 0]);
}

#[tokio::test]
async fn agents_and_a_vigie_without_matrix_hear_why_not() {
    let account = Account::asked();
    let agent = |_| Peer::Agent { folder: Some("/run".into()) };
    let home = Home::start(Some(account.clone()), agent).await;
    let desk = Client::new(home.data.path());
    let path = "/matrix/verifications/ver_7/confirm";
    let refused = desk.post::<_, VerificationShape>(path, &()).await.unwrap_err();
    assert!(matches!(&refused, ClientError::Refused(shape) if shape.code == "inside_a_session"));
    assert_eq!(account.done(), [""; 0]);
    let home = Home::start(None, |_| Peer::Ours).await;
    let none = home.run(&["matrix", "status"]).await;
    assert!(complained(&none).contains("vigie init matrix"), "{none:?}");
}
