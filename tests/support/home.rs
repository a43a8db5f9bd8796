//! A real daemon in a process of its own, on a throw-away data folder, that can be killed and
//! started again; and the desk's way to it.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::{Value, json};
use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use vigie::web::client::Client;

use super::phone::Phone;

/// Nothing a test waits for takes longer, unless it is broken.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// How the daemon's process is started.
pub(crate) type Start = fn(&Home) -> Command;

/// A data folder and, most of the time, a daemon on it.
pub(crate) struct Home {
    folder: TempDir,
    pub(crate) address: SocketAddr,
    start: Start,
    /// What a start adds to the environment.
    pub(crate) env: Vec<(String, String)>,
    daemon: Option<Child>,
}

impl Home {
    /// A fresh folder; the daemon is not started yet.
    pub(crate) fn new(start: Start) -> Self {
        // Asked of the system and given back: nobody else takes it in the meantime on purpose.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Self { folder: tempfile::tempdir().unwrap(), address, start, env: Vec::new(), daemon: None }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The demo project's folder.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.folder("config.toml")
    }

    /// Something beside the data folder.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the configuration: the demo agent on one project, and whatever `more` adds.
    pub(crate) fn configure(&self, more: &str) {
        fs::create_dir_all(self.project()).unwrap();
        let text = format!(
            "[web]\nlisten = \"{}\"\n\n[[human]]\nid = \"ines\"\nname = \"Inès Caradec\"\nrole = \"owner\"\n\n\
             [[agent]]\nname = \"demo\"\nkind = \"demo\"\n\n[[project]]\nname = \"quay\"\npath = \"{}\"\nagent = \"demo\"\n{more}",
            self.address,
            self.project().display()
        );
        fs::write(self.settings(), text).unwrap();
    }

    pub(crate) fn spawn(&mut self) {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("daemon.log"))
            .unwrap();
        let mut command = (self.start)(self);
        command
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.daemon = Some(command.spawn().unwrap());
    }

    /// Starts the daemon and waits until the desk's door is open.
    pub(crate) async fn up(&mut self) {
        self.spawn();
        assert!(self.try_up().await, "the daemon did not start:\n{}", self.log());
    }

    /// `false` when it died before it was up.
    pub(crate) async fn try_up(&mut self) -> bool {
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            if self.exited().is_some() {
                return false;
            }
            if self.desk().get::<Value>("/daemon").await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the daemon is neither up nor gone:\n{}", self.log());
    }

    pub(crate) fn exited(&mut self) -> Option<ExitStatus> {
        self.daemon.as_mut().and_then(|child| child.try_wait().unwrap())
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.daemon.as_ref().expect("a daemon runs").id()
    }

    pub(crate) fn desk(&self) -> Client {
        Client::new(&self.data())
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("daemon.log")).unwrap_or_default()
    }

    /// Signs in with a link from the desk.
    pub(crate) async fn phone(&self) -> Phone {
        let link: Value = self.desk().post("/links", &json!({})).await.unwrap();
        Phone::sign_in(self.address, link["code"].as_str().unwrap()).await
    }

    pub(crate) async fn session(&self, name: &str) -> Value {
        self.desk().get(&format!("/sessions/{name}")).await.unwrap()
    }

    /// Waits until the session is in that state.
    pub(crate) async fn session_is(&self, name: &str, state: &str) -> Value {
        let end = Instant::now() + DEADLINE;
        loop {
            let session: Result<Value, _> = self.desk().get(&format!("/sessions/{name}")).await;
            if let Ok(session) = &session
                && session["state"] == state
            {
                return session.clone();
            }
            assert!(Instant::now() < end, "{name} is not {state}: {session:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The folder of the session's present run.
    pub(crate) async fn folder_of(&self, name: &str) -> PathBuf {
        let folder: Value = self.desk().get(&format!("/sessions/{name}/folder")).await.unwrap();
        PathBuf::from(folder["folder"].as_str().unwrap())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.kill();
        // Holders outlive the daemon, which is what they are for; here they must not outlive the test.
        for holder in holders(&self.data()) {
            let _ = nix::sys::signal::kill(holder, nix::sys::signal::Signal::SIGKILL);
        }
    }
}

fn holders(data: &Path) -> Vec<nix::unistd::Pid> {
    let runs = fs::read_dir(data.join("sessions")).into_iter().flatten().flatten();
    let folders =
        runs.flat_map(|session| fs::read_dir(session.path()).into_iter().flatten().flatten());
    let alive = folders.map(|run| run.path()).filter(|run| vigie::hold::client::alive(run));
    alive
        .filter_map(|run| vigie::hold::client::holder_pid(&run))
        .filter_map(|pid| i32::try_from(pid).ok())
        .map(nix::unistd::Pid::from_raw)
        .collect()
}
