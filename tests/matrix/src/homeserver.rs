//! The homeserver's process: started, killed, started again; gone with the test whatever becomes of it.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{sync::OnceCell, time::Instant};

use crate::{
    Limits, Tools, http,
    settings::{self, SIGNING_KEY},
};

/// What comes after the colon of every name.
pub const SERVER_NAME: &str = "example.org";

/// A start takes 3 to 7 s on an idle machine with two cores, and tests leave none idle.
const START: Duration = Duration::from_mins(2);
/// Between two looks whether it is there.
const LOOK: Duration = Duration::from_millis(100);
/// Two that start at once may choose the same free port.
const PORTS: usize = 5;

/// Starts the server and waits for the end of what comes in, which is the end of the test, however it
/// ends. A shell does it, so that the server is not the test's own child alone to end.
const KEEPER: &str = r#"
"$1" -m synapse.app.homeserver -c "$2/homeserver.yaml" >"$2/output.log" 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -9 "$server"
wait "$server"
rm -rf "$2"
"#;

/// A Synapse of its own on loopback, with a folder of its own. It ends when this is dropped or the
/// test's process ends.
pub struct Homeserver {
    tools: Tools,
    folder: TempDir,
    pub(crate) address: String,
    keeper: Mutex<Option<Child>>,
    pub(crate) admin: OnceCell<String>,
}

static SHARED: OnceCell<Homeserver> = OnceCell::const_new();

/// The one server that the tests of a binary share, since a start takes seconds. Each test has people
/// with names of its own, so that none meets another's.
pub async fn shared(tools: &Tools) -> &'static Homeserver {
    SHARED.get_or_init(|| Homeserver::start(tools)).await
}

impl Homeserver {
    /// A server that bears more than tests ask for.
    ///
    /// # Panics
    /// With the end of its log, if it does not start.
    pub async fn start(tools: &Tools) -> Self {
        Self::with(tools, Limits::Generous).await
    }

    /// A server with the limits that Synapse has out of the box.
    pub async fn strict(tools: &Tools) -> Self {
        Self::with(tools, Limits::Stock).await
    }

    async fn with(tools: &Tools, limits: Limits) -> Self {
        for left in (0..PORTS).rev() {
            let server = Self::prepared(tools, limits).expect("a folder for the server");
            match server.run().await {
                Ok(()) => return server,
                Err(why) => assert!(left > 0 && why.contains("Address already in use"), "{why}"),
            }
        }
        unreachable!("the last try either returns or panics")
    }

    /// Its folder, on a port that nobody has right now.
    fn prepared(tools: &Tools, limits: Limits) -> io::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let folder = tempfile::Builder::new().prefix("homeserver-").tempdir()?;
        let path = folder.path();
        let settings = settings::homeserver(path, SERVER_NAME, port, limits);
        fs::write(path.join("homeserver.yaml"), settings.to_string())?;
        fs::write(path.join("log.yaml"), settings::log(path).to_string())?;
        fs::write(path.join("signing.key"), SIGNING_KEY)?;
        Ok(Self {
            tools: tools.clone(),
            folder,
            address: format!("127.0.0.1:{port}"),
            keeper: Mutex::new(None),
            admin: OnceCell::new(),
        })
    }

    /// Starts the process and waits until it answers.
    async fn run(&self) -> Result<(), String> {
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .args([&self.tools.synapse, &self.folder()])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("no shell to start the server with: {error}"))?;
        *self.keeper() = Some(keeper);
        let until = Instant::now() + START;
        while Instant::now() < until {
            if self.ask(None, "GET", "/_matrix/client/versions", None).await.is_ok() {
                return Ok(());
            }
            let output = end_of(&self.folder().join("output.log"));
            if output.contains("Error") {
                self.kill();
                return Err(format!("the server did not start:\n{output}\n{}", self.log()));
            }
            tokio::time::sleep(LOOK).await;
        }
        self.kill();
        Err(format!("the server did not answer within {START:?}:\n{}", self.log()))
    }

    /// Its address, as clients are told it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What comes after the colon of its people's names.
    pub fn server_name(&self) -> &'static str {
        SERVER_NAME
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().into()
    }

    /// The Python it runs on.
    pub(crate) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The end of its log.
    pub fn log(&self) -> String {
        end_of(&self.folder().join("homeserver.log"))
    }

    /// Ends it as a power cut would. What it had written is still there.
    pub fn kill(&self) {
        let Some(mut keeper) = self.keeper().take() else { return };
        let group = i32::try_from(keeper.id()).expect("a process id is an i32");
        // It is not yet waited for, so the id is still its own.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        let _ = keeper.wait();
    }

    /// Makes it give no answer, as one behind a broken line: connections are taken and nothing comes.
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on after [`Self::freeze`].
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let keeper = self.keeper();
        let group = keeper.as_ref().and_then(|keeper| i32::try_from(keeper.id()).ok());
        // It is not yet waited for, so the id is still its own.
        let group = Pid::from_raw(group.expect("the server runs"));
        killpg(group, signal).expect("its group is there");
    }

    /// Starts it again after [`Self::kill`]: the same folder, the same port.
    ///
    /// # Panics
    /// With the end of its log, if it does not start.
    pub async fn restart(&self) {
        self.kill();
        self.run().await.unwrap_or_else(|why| panic!("{why}"));
    }

    /// Asks it, as whoever the token belongs to.
    pub async fn ask(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        http::ask(&self.address, token, method, path, body).await
    }

    fn keeper(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Homeserver {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last part of a file that may not be there.
fn end_of(file: &Path) -> String {
    const SHOWN: u64 = 4_000;
    let Ok(mut file) = fs::File::open(file) else { return String::new() };
    let size = file.metadata().map_or(0, |about| about.len());
    let _ = file.seek(SeekFrom::Start(size.saturating_sub(SHOWN)));
    let mut end = Vec::new();
    let _ = file.read_to_end(&mut end);
    String::from_utf8_lossy(&end).into_owned()
}
