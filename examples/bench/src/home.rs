//! A throw-away daemon and its sessions.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tokio::time::sleep;
use vigie::{hold::client, web::client::Client};

/// Nothing here takes longer, unless it is broken.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// Between two looks where the moment is not what is measured.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Home {
    folder: PathBuf,
    program: PathBuf,
    pub(crate) address: SocketAddr,
    /// What a start adds to the environment.
    pub(crate) env: Vec<(&'static str, String)>,
    daemon: Option<Child>,
}

impl Home {
    /// Writes a configuration that ends with `more`: agents, above all. The daemon is not started
    /// yet.
    pub(crate) fn new(folder: &Path, program: &Path, more: &str) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let project = folder.join("quay");
        fs::create_dir_all(&project)?;
        let settings = format!(
            "[web]\nlisten = \"{address}\"\n\n[[human]]\nid = \"ines\"\nname = \"Inès Caradec\"\nrole = \"owner\"\n\n\
             [[project]]\nname = \"quay\"\npath = {}\n\n{more}",
            quoted(&project)
        );
        fs::write(folder.join("config.toml"), settings)?;
        Ok(Self {
            folder: folder.into(),
            program: program.into(),
            address,
            env: Vec::new(),
            daemon: None,
        })
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The configuration's file.
    pub(crate) fn settings(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.join("quay")
    }

    pub(crate) fn desk(&self) -> Client {
        Client::new(&self.data())
    }

    /// Starts the daemon; returns how long it took until the desk's door answered.
    pub(crate) async fn up(&mut self) -> Result<Duration> {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("daemon.log"))?;
        let mut command = Command::new(&self.program);
        command
            .args(["up", "--foreground", "--no-link", "--home"])
            .arg(self.data())
            .arg("--config")
            .arg(self.settings())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let start = Instant::now();
        let mut daemon = command.spawn().context("the daemon does not start")?;
        let desk = self.desk();
        while desk.get::<Value>("/status").await.is_err() {
            if let Some(status) = daemon.try_wait()? {
                bail!("the daemon ended ({status}):\n{}", self.log());
            }
            if start.elapsed() > DEADLINE {
                let _ = daemon.kill();
                bail!("the daemon is not ready:\n{}", self.log());
            }
            sleep(Duration::from_millis(1)).await;
        }
        self.daemon = Some(daemon);
        Ok(start.elapsed())
    }

    pub(crate) fn daemon_pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Child::id)
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill(); // it may be gone already
            let _ = daemon.wait();
        }
    }

    pub(crate) async fn open_session(&self, name: &str, agent: &str) -> Result<()> {
        let new = json!({ "name": name, "agent": agent, "project": "quay" });
        let _: Value = self.desk().post("/sessions", &new).await?;
        Ok(())
    }

    /// Waits until the session is in one of these states.
    pub(crate) async fn session_is(&self, name: &str, states: &[&str]) -> Result<()> {
        let end = Instant::now() + DEADLINE;
        loop {
            let session: Value = self.desk().get(&format!("/sessions/{name}")).await?;
            let state = session["state"].as_str().unwrap_or_default();
            if states.contains(&state) {
                return Ok(());
            }
            if Instant::now() > end {
                bail!("{name} stays {state}:\n{}", self.log());
            }
            sleep(LOOK).await;
        }
    }

    /// The folders of all runs of all sessions.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let inside = |folder: PathBuf| {
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
        };
        // Beside the runs a session keeps files and folders of its agent's.
        let all = inside(self.data().join("sessions")).flat_map(inside);
        all.filter(|run| client::spec(run).is_ok()).collect()
    }

    /// Ends the daemon and every session.
    pub(crate) async fn down(mut self) -> Result<()> {
        self.kill();
        for run in self.runs() {
            client::kill_folder(&run).await?;
        }
        Ok(())
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("daemon.log")).unwrap_or_default()
    }
}

/// A path as the configuration writes text.
pub(crate) fn quoted(path: &Path) -> Value {
    json!(path.to_string_lossy())
}

impl Drop for Home {
    /// After an error: nothing of it may go on.
    fn drop(&mut self) {
        self.kill();
        for run in self.runs().iter().filter(|run| client::alive(run)) {
            let holder = client::holder_pid(run).and_then(|pid| i32::try_from(pid).ok());
            if let Some(pid) = holder {
                // TERM ends a holder's session, and it with that.
                let pid = nix::unistd::Pid::from_raw(pid);
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
            }
        }
    }
}
