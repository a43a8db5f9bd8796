//! The phone's program: started, asked, listened to.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{oneshot, watch},
};

use crate::{Homeserver, Login, view::View};

/// For what a person would see; CI machines are slow, and Python is no faster there.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// A person's phone. The program behind it ends when this is dropped or the test's process ends.
pub struct Phone {
    who: Who,
    /// How long the waits without a deadline of their own wait.
    pub patience: Duration,
    pub(crate) shared: Arc<Shared>,
    pub(crate) folder: TempDir,
    commands: tokio::sync::Mutex<ChildStdin>,
    next: AtomicU64,
    _program: Child,
}

struct Who {
    user: String,
    device: String,
    token: String,
}

#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    view: View,
    answers: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        self.changes.send_modify(|change| *change += 1);
    }

    /// Takes a line of the program's.
    fn take(&self, me: &str, said: &Value) {
        let mut state = self.state();
        if let Some(tag) = said["answer"].as_u64() {
            let answer =
                said["no"].as_str().map_or_else(|| Ok(said["ok"].clone()), |no| Err(no.into()));
            if let Some(asker) = state.answers.remove(&tag) {
                // Whoever asked may have given up.
                let _ = asker.send(answer);
            }
            return;
        }
        state.view.take(me, said);
        drop(state);
        self.announce();
    }

    fn end(&self, why: String) {
        let mut state = self.state();
        state.view.ended = Some(why);
        state.answers.clear();
        drop(state);
        self.announce();
    }
}

impl Phone {
    /// Logs in as a new device that its person's own keys sign, as phones do.
    ///
    /// # Panics
    /// With what the program says, if it does not come so far.
    pub async fn login(server: &Homeserver, login: &Login) -> Self {
        Self::with(server, login, true).await
    }

    /// Logs in as a new device that nobody signs.
    pub async fn unsigned(server: &Homeserver, login: &Login) -> Self {
        Self::with(server, login, false).await
    }

    async fn with(server: &Homeserver, login: &Login, signed: bool) -> Self {
        let folder = tempfile::Builder::new().prefix("phone-").tempdir().expect("a folder");
        let complaints = fs::File::create(folder.path().join("stderr")).expect("a file in it");
        let mut program = Command::new(&server.tools().phone)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("phone/phone.py"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .kill_on_drop(true)
            .spawn()
            .expect("the phone's Python starts");
        let mut commands = program.stdin.take().expect("it is piped");
        let said = program.stdout.take().expect("it is piped");
        let wanted = json!({
            "url": server.url(), "user": login.user_id, "password": login.password,
            "signed": signed, "folder": folder.path(),
        });
        let shared = Arc::new(Shared::default());
        let (ready, who) = oneshot::channel();
        let me = login.user_id.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends with the phone's program")]
        tokio::spawn(listen(said, Arc::clone(&shared), me, ready, folder.path().join("stderr")));
        commands.write_all(format!("{wanted}\n").as_bytes()).await.expect("the phone listens");
        let who = tokio::time::timeout(PATIENCE, who).await.ok().and_then(Result::ok);
        let who = who.unwrap_or_else(|| {
            let complaints = fs::read_to_string(folder.path().join("stderr"));
            panic!("the phone of {} did not log in: {complaints:?}", login.user_id)
        });
        Self {
            who,
            patience: PATIENCE,
            shared,
            folder,
            commands: tokio::sync::Mutex::new(commands),
            next: AtomicU64::new(1),
            _program: program,
        }
    }

    /// Whose phone it is.
    pub fn user(&self) -> &str {
        &self.who.user
    }

    /// The device it is.
    pub fn device(&self) -> &str {
        &self.who.device
    }

    /// What it shows the server to be let in; for requests that no phone makes.
    pub fn token(&self) -> &str {
        &self.who.token
    }

    /// All that is on it right now.
    pub fn view(&self) -> View {
        self.shared.state().view.clone()
    }

    /// A number that nothing else of this phone has.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks the program.
    pub(crate) async fn try_ask(&self, mut command: Value) -> Result<Value, String> {
        let tag = self.number();
        command["tag"] = tag.into();
        let (asker, answer) = oneshot::channel();
        self.shared.state().answers.insert(tag, asker);
        let line = format!("{command}\n");
        let sent = self.commands.lock().await.write_all(line.as_bytes()).await;
        sent.map_err(|error| format!("the phone does not listen: {error}"))?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(format!("the phone ended:\n{}", self.view())),
            Err(_) => Err(format!("the phone did not answer within {PATIENCE:?}: {command}")),
        }
    }

    /// Asks the program for what has to go well.
    pub(crate) async fn ask(&self, command: Value) -> Value {
        let shown = command.to_string();
        self.try_ask(command).await.unwrap_or_else(|why| panic!("{shown}: {why}"))
    }

    pub(crate) async fn ask_for_text(&self, command: Value) -> String {
        self.ask(command).await.as_str().expect("the phone answers with a name").into()
    }
}

/// Takes what the program says until it ends.
async fn listen(
    said: ChildStdout,
    shared: Arc<Shared>,
    me: String,
    ready: oneshot::Sender<Who>,
    complaints: PathBuf,
) {
    let mut ready = Some(ready);
    let mut lines = BufReader::new(said).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str::<Value>(&line) {
            Ok(seen) if seen["saw"] == "ready" => {
                let text = |key: &str| seen[key].as_str().unwrap_or_default().to_owned();
                let who = Who { user: text("user"), device: text("device"), token: text("token") };
                if let Some(ready) = ready.take() {
                    let _ = ready.send(who);
                }
            }
            Ok(seen) => shared.take(&me, &seen),
            Err(error) => shared.take(&me, &json!({ "saw": "trouble", "why": error.to_string() })),
        }
    }
    shared.end(fs::read_to_string(complaints).unwrap_or_default());
}
