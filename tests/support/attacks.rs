//! What an agent may try to get at Vigie, at its own gate and at other sessions. Run in a process of
//! its own, inside a session: each attempt says what it got, or what kept it from that.
#![allow(dead_code, reason = "each test file uses its part")]

use nix::{
    libc,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    net::TcpStream,
    os::{fd::AsRawFd as _, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use vigie::{
    confine::Protection::{self, Files, Processes, Signals, Terminal},
    hold::client,
};

/// In the environment of the process that attacks: which file says what there is to attack.
pub(crate) const SCENE: &str = "VIGIE_TEST_SCENE";

/// An attempt that takes longer got nowhere, unless it is one that would stay.
const PATIENCE: Duration = Duration::from_secs(30);

/// What there is to attack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Scene {
    pub(crate) which: Which,
    pub(crate) vigie: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) config: PathBuf,
    /// A file of the person's that the agent is not to see.
    pub(crate) private: PathBuf,
    pub(crate) daemon: u32,
    pub(crate) port: u16,
    /// Addresses of this machine, and the name under which each answers.
    pub(crate) addresses: Vec<(String, String)>,
    /// One that a browser of the person's holds.
    pub(crate) cookie: String,
    pub(crate) pass: String,
    /// Of the open gate.
    pub(crate) code: String,
    /// The run's folder of the session that attacks, and of another.
    pub(crate) own: PathBuf,
    pub(crate) neighbour: PathBuf,
    /// In the other's environment alone.
    pub(crate) secret: String,
    /// Where the results go.
    pub(crate) results: PathBuf,
}

/// What an attempt got, or what kept it from that.
type Outcome = Result<String, String>;

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// What it takes to close it, besides what holds everywhere on Linux.
    pub(crate) closed_by: Option<Protection>,
    /// A person's own shell may do it, and it breaks nothing there.
    pub(crate) persons: bool,
    run: fn(&Scene) -> Outcome,
}

const fn attack(
    name: &'static str,
    closed_by: Option<Protection>,
    run: fn(&Scene) -> Outcome,
) -> Attack {
    Attack { name, closed_by, persons: false, run }
}

/// As [`attack`], and a person succeeds with it.
const fn persons(
    name: &'static str,
    closed_by: Option<Protection>,
    run: fn(&Scene) -> Outcome,
) -> Attack {
    Attack { persons: true, ..attack(name, closed_by, run) }
}

const ATTACKS: &[Attack] = &[
    // The command line.
    persons("vigie status", None, |scene| vigie(scene, &["status"])),
    persons("vigie screen", None, |scene| vigie(scene, &["screen", "neighbour"])),
    persons("vigie log", None, |scene| vigie(scene, &["log", "neighbour", "--raw"])),
    attack("vigie answer", None, |scene| vigie(scene, &["answer", &scene.code, "approve"])),
    attack("vigie send", None, |scene| vigie(scene, &["send", "neighbour", "echo breached"])),
    attack("vigie new", None, |scene| vigie(scene, &["new", "fresh", "-a", "demo"])),
    attack("vigie end", None, |scene| vigie(scene, &["end", "neighbour"])),
    attack("vigie kill", None, |scene| vigie(scene, &["kill", "neighbour"])),
    attack("vigie attach", None, |scene| vigie(scene, &["attach", "neighbour"])),
    attack("vigie login", None, |scene| vigie(scene, &["login"])),
    attack("vigie pair", None, |scene| vigie(scene, &["pair"])),
    attack("vigie down", None, |scene| vigie(scene, &["down"])),
    attack("vigie up", None, |scene| {
        let config = scene.config.display().to_string();
        vigie(scene, &["up", "--no-link", "--listen", "127.0.0.1:0", "--config", &config])
    }),
    attack("vigie hold", None, |scene| {
        vigie(scene, &["hold", &scene.neighbour.display().to_string()])
    }),
    attack("an orphan's vigie answer", None, orphan),
    // The sockets.
    persons("the desk's socket", None, |scene| desk(&scene.data.join("vigie.sock"))),
    attack("the desk's socket, through the daemon's root", None, |scene| {
        desk(&in_proc(scene, "root").join(scene.data.strip_prefix("/").unwrap()).join("vigie.sock"))
    }),
    attack("the desk's socket, through the daemon's folder", None, |scene| {
        desk(&in_proc(scene, "cwd").join(scene.data.join("vigie.sock").strip_prefix("/").unwrap()))
    }),
    attack("keys through its own holder", None, |scene| keys(&scene.own)),
    attack("keys through another's holder", None, |scene| keys(&scene.neighbour)),
    // The pages, with a cookie that is good.
    persons("the pages over every address", None, |scene| {
        let asked = scene.addresses.iter().map(|(address, host)| page(scene, address, host));
        asked.reduce(Result::or).unwrap()
    }),
    attack("an answer sent and hung up on", None, hang_up),
    // Files.
    persons("the database", Some(Files), |scene| read(&scene.data.join("vigie.db"))),
    persons("the logins", Some(Files), |scene| read(&scene.data.join("logins.json"))),
    persons("the configuration", Some(Files), |scene| read(&scene.config)),
    persons("what is hidden by the configuration", Some(Files), |scene| read(&scene.private)),
    persons("another's plan", Some(Files), |scene| read(&scene.neighbour.join("spec.json"))),
    persons("another's journal", Some(Files), |scene| read(&scene.neighbour.join("journal.jsonl"))),
    persons("another's recording", Some(Files), |scene| read(&scene.neighbour.join("output.cast"))),
    persons("its own plan", Some(Files), |scene| read(&scene.own.join("spec.json"))),
    attack("writing the configuration", Some(Files), |scene| {
        let file = OpenOptions::new().append(true).open(&scene.config);
        got(file.and_then(|mut file| file.write_all(b"# breached\n")))?;
        read(&scene.config)
    }),
    attack("writing into its own folder", Some(Files), |scene| {
        got(fs::write(scene.own.join("agent/claude-settings.json"), "{}"))
    }),
    attack("moving the folder of all", Some(Files), |scene| {
        let folder = scene.data.parent().unwrap();
        got(fs::rename(folder, folder.with_extension("moved")))
    }),
    attack("removing the data folder", Some(Files), |scene| got(fs::remove_dir_all(&scene.data))),
    attack("uncovering", Some(Files), |scene| uncover(scene, "umount -l DATA; cat DATA/vigie.db")),
    attack("uncovering as root of a namespace", Some(Files), |scene| {
        uncover(scene, "unshare -Urm sh -c 'umount -l DATA; cat DATA/vigie.db'")
    }),
    attack("binding what lies below", Some(Files), |scene| {
        uncover(scene, "unshare -Urm sh -c 'mount --bind ABOVE /mnt && cat /mnt/data/vigie.db'")
    }),
    attack("binding all of it", Some(Files), |scene| {
        uncover(
            scene,
            "unshare -Urm sh -c 'mount --rbind ABOVE /mnt; umount -l /mnt/data; cat /mnt/data/vigie.db'",
        )
    }),
    attack("moving the cover away", Some(Files), |scene| {
        uncover(scene, "unshare -Urm sh -c 'mount --move DATA /mnt; cat DATA/vigie.db'")
    }),
    attack("looking below with an overlay", Some(Files), |scene| {
        uncover(
            scene,
            "unshare -Urm sh -c 'mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w /mnt/m && \
             mount -t overlay overlay -o lowerdir=ABOVE,upperdir=/mnt/u,workdir=/mnt/w /mnt/m && \
             cat /mnt/m/data/vigie.db'",
        )
    }),
    attack("the daemon's namespaces", Some(Files), |scene| {
        let enter = format!("nsenter -t {} -U -m cat DATA/vigie.db", scene.daemon);
        uncover(scene, &enter)
    }),
    // Processes.
    persons("another's environment", Some(Processes), |scene| {
        let found = processes().find(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&scene.secret)
        });
        found.map(|pid| pid.to_string()).ok_or_else(|| "no process shows it".into())
    }),
    attack("the daemon's environment", Some(Processes), |scene| read(&in_proc(scene, "environ"))),
    attack("the daemon's memory", Some(Processes), |scene| {
        got(OpenOptions::new().read(true).open(in_proc(scene, "mem")))
    }),
    attack("the daemon's descriptors", Some(Processes), |scene| {
        let open = fs::read_dir(in_proc(scene, "fd")).map_err(|error| error.to_string())?;
        let files = open.flatten().map(|one| fs::File::open(one.path()));
        got(files.reduce(Result::or).unwrap())
    }),
    attack("files through the daemon's root", Some(Processes), |scene| {
        let database = scene.data.join("vigie.db");
        read(&in_proc(scene, "root").join(database.strip_prefix("/").unwrap()))
    }),
    attack("files through anybody's root", Some(Files), |scene| {
        let database = scene.data.join("vigie.db");
        let below = database.strip_prefix("/").unwrap();
        let roots = processes().map(|pid| PathBuf::from(format!("/proc/{pid}/root")));
        let found = roots.map(|root| read(&root.join(below)));
        found.reduce(Result::or).unwrap()
    }),
    // Signals, and what does as much.
    attack("killing the daemon", Some(Signals), |scene| slay(scene.daemon)),
    attack("killing its own holder", Some(Signals), |scene| slay_holder(&scene.own)),
    attack("killing another's holder", Some(Signals), |scene| slay_holder(&scene.neighbour)),
    attack("killing another session", Some(Signals), |scene| {
        let about = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
        let us = about.lines().find(|line| line.starts_with("Uid:")).unwrap().to_owned();
        // Whoever of this user is not below our own holder.
        let ours = below(holder_of(&scene.own)?);
        let others = processes().filter(|pid| !ours.contains(pid) && *pid != 1).filter(|pid| {
            fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|text| text.contains(&us))
        });
        let shot = others.map(|pid| strike(pid, None));
        shot.reduce(Result::or).unwrap_or_else(|| Err("nobody is there".into()))
    }),
    attack("a deadly limit for the daemon", Some(Terminal), |scene| {
        shell(&format!("prlimit --pid {} --cpu=1:1", scene.daemon))
    }),
    attack("keys pressed into its terminal", Some(Terminal), |_| press()),
];

/// Which attempts are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Which {
    /// Those that these close, and those that Vigie's own sockets and commands refuse, whatever else
    /// is open. Others would get through, and leave nothing to look at.
    ClosedBy(Vec<Protection>),
    /// Those that a person succeeds with.
    Persons,
}

impl Which {
    pub(crate) fn attacks(&self) -> impl Iterator<Item = &'static Attack> {
        ATTACKS.iter().filter(|attack| match self {
            Self::ClosedBy(these) => attack.closed_by.is_none_or(|by| these.contains(&by)),
            Self::Persons => attack.persons,
        })
    }
}

/// Tries them and writes down what came of it.
pub(crate) fn try_all() {
    let scene = fs::read(std::env::var_os(SCENE).unwrap()).unwrap();
    let scene: Scene = serde_json::from_slice(&scene).unwrap();
    let tried = scene.which.attacks().map(|attack| (attack.name, (attack.run)(&scene)));
    let outcomes: BTreeMap<&str, Outcome> = tried.collect();
    let partial = scene.results.with_extension("partial");
    fs::write(&partial, serde_json::to_vec_pretty(&outcomes).unwrap()).unwrap();
    fs::rename(partial, &scene.results).unwrap();
}

fn got<T>(result: io::Result<T>) -> Outcome {
    result.map(|_| "it worked".into()).map_err(|error| error.to_string())
}

fn read(path: &Path) -> Outcome {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    if bytes.is_empty() { Err("it is empty".into()) } else { Ok(format!("{} bytes", bytes.len())) }
}

fn in_proc(scene: &Scene, what: &str) -> PathBuf {
    Path::new("/proc").join(scene.daemon.to_string()).join(what)
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn vigie(scene: &Scene, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(&scene.vigie);
    run(command.args(arguments).arg("--home").arg(&scene.data))
}

fn shell(script: &str) -> Outcome {
    run(Command::new("sh").arg("-c").arg(script))
}

/// A script that ends well once it has read the database.
fn uncover(scene: &Scene, script: &str) -> Outcome {
    let above = scene.data.parent().unwrap().display().to_string();
    let data = scene.data.display().to_string();
    shell(&script.replace("DATA", &data).replace("ABOVE", &above))
}

/// It got somewhere when it ends well, or does not end.
fn run(command: &mut Command) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("said");
    let said = fs::File::create(&file).unwrap();
    command.stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let end = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if Instant::now() > end {
            let _ = child.kill();
            break None;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    };
    let said = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
    match status {
        Some(status) if !status.success() => Err(format!("{status}: {said}")),
        Some(_) => Ok(said),
        None => Ok(format!("it goes on: {said}")),
    }
}

/// Leaves terminal and parents behind first.
fn orphan(scene: &Scene) -> Outcome {
    let done = scene.results.with_extension("orphan");
    let (vigie, data) = (scene.vigie.display(), scene.data.display());
    let flee = format!(
        "(setsid nohup sh -c '{vigie} answer {} approve --home {data}; echo $? >{done}.part; mv {done}.part {done}' >/dev/null 2>&1 &)",
        scene.code,
        done = done.display()
    );
    shell(&flee)?;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Ok(status) = fs::read_to_string(&done) {
            let status = status.trim();
            return if status == "0" { Ok("answered".into()) } else { Err(status.into()) };
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    Err("nothing came of it".into())
}

const ASK: &str = "GET /api/v1/status HTTP/1.1\r\nHost: vigie\r\nConnection: close\r\n\r\n";

fn desk(socket: &Path) -> Outcome {
    let mut stream = UnixStream::connect(socket).map_err(|error| error.to_string())?;
    answered(&mut stream, ASK)
}

fn answered(stream: &mut (impl io::Read + io::Write), ask: &str) -> Outcome {
    let mut answer = String::new();
    let asked = stream.write_all(ask.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
    let first = answer.lines().next().unwrap_or_default().to_owned();
    match asked {
        Ok(_) if first.contains(" 200 ") => Ok(first),
        Ok(_) => Err(first),
        Err(error) => Err(error.to_string()),
    }
}

fn keys(folder: &Path) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pressed = runtime.block_on(client::keys(folder, b"1\r".to_vec()));
    pressed.map(|()| "pressed".into()).map_err(|error| error.to_string())
}

fn page(scene: &Scene, address: &str, host: &str) -> Outcome {
    let mut stream =
        TcpStream::connect((address, scene.port)).map_err(|error| error.to_string())?;
    let ask = format!(
        "GET /api/v1/status HTTP/1.1\r\nHost: {host}:{}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
        scene.port, scene.cookie
    );
    answered(&mut stream, &ask)
}

/// Whether it was answered shows at the gate.
fn hang_up(scene: &Scene) -> Outcome {
    for (address, host) in &scene.addresses {
        let Ok(mut stream) = TcpStream::connect((address.as_str(), scene.port)) else { continue };
        let body = r#"{"choice":"approve"}"#;
        let ask = format!(
            "POST /api/v1/waiting/{}/answer HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: http://{host}:{port}\r\n\
             Cookie: {}\r\nX-Vigie-Pass: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            scene.code,
            scene.cookie,
            scene.pass,
            body.len(),
            port = scene.port
        );
        let _ = stream.write_all(ask.as_bytes());
    }
    Err("nobody waits for what comes of it".into())
}

fn slay(pid: u32) -> Outcome {
    strike(pid, Some(Signal::SIGKILL))
}

fn strike(pid: u32, signal: Option<Signal>) -> Outcome {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    kill(pid, signal).map(|()| format!("{pid} was reached")).map_err(|error| error.to_string())
}

fn slay_holder(folder: &Path) -> Outcome {
    slay(holder_of(folder)?)
}

/// Everybody may read arguments.
fn holder_of(folder: &Path) -> Result<u32, String> {
    let line = format!("hold\0{}\0", folder.display());
    let mut holders = processes().filter(|pid| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&line)
    });
    holders.next().ok_or_else(|| "its holder is not to be seen".into())
}

/// A process and all below it.
fn below(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        let children = processes().filter(|pid| parent(*pid) == Some(found[at]));
        let children: Vec<_> = children.collect();
        found.extend(children);
        at += 1;
    }
    found
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()
}

nix::ioctl_write_ptr_bad!(press_key, libc::TIOCSTI, u8);

#[expect(unsafe_code, reason = "there is no safe way to press a key, and this is the attempt")]
fn press() -> Outcome {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let terminal = terminal.map_err(|error| error.to_string())?;
    let pressed = unsafe { press_key(terminal.as_raw_fd(), &b'#') };
    pressed.map(|_| "pressed".into()).map_err(|error| error.to_string())
}
