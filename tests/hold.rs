//! Stories about a holder with real terminals and small programs.
#![expect(clippy::unwrap_used, reason = "the whole file is a test")]

mod support {
    pub(crate) mod confinement;
}

use futures_util::StreamExt;
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};
use support::confinement;
use tokio::{
    io::{AsyncWriteExt, BufReader},
    net::UnixStream,
    time::timeout,
};
use tokio_util::codec::{Framed, LengthDelimitedCodec};
use vigie::{
    agents::{AgentKind, Conversation, Size, Spec},
    hold::{
        client::{self, Link, LinkError},
        protocol::{
            CLOSED, Closed, DETACH, Follow, Hello, INPUT, LINE, Look, Mode, OUTPUT, OUTPUT_AT,
            Picture, RESIZE, VERSION, Welcome, frame, frames, read_line, write_line,
        },
    },
};
use vigie_core::{
    agent::{
        AgentEvent, Doing, ExitStatus, Held, Order, OrderKind, PromptForm, RefusedPrompt, Report,
    },
    caller::TokenHash,
    id::{OrderId, PromptId, SessionId},
    session::Role,
};

/// Far more than anything here takes on an idle machine; tests share it.
const DEADLINE: Duration = Duration::from_mins(2);
const BINARY: &str = env!("CARGO_BIN_EXE_vigie");

/// A session in a folder of its own, killed when the test is over.
struct Session {
    folder: PathBuf,
    home: tempfile::TempDir,
}

fn spec(home: &Path, program: &str, args: &[&str]) -> Spec {
    let random = u128::from(std::process::id()) << 64 | home.as_os_str().len() as u128;
    let random = random ^ home.to_string_lossy().bytes().fold(0, |sum, b| sum * 31 + u128::from(b));
    Spec {
        session: SessionId::from_parts(chrono::DateTime::UNIX_EPOCH, random),
        name: "docs".parse().unwrap(),
        kind: AgentKind::Shell,
        program: program.into(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::from([("PS1".into(), "ready$ ".into())]),
        cwd: home.to_owned(),
        size: Size { columns: 80, rows: 24 },
        permission_mode: None,
        conversation: Conversation::New { id: "none".into() },
        first_seq: 1,
        shared: home.to_owned(),
        recording_limit: 32 << 20,
        prompt_ends: Some("ready$ ".into()),
        mcp_url: None,
        role: Role::Worker,
        confinement: None,
        guard: vigie_core::policy::Guard::default(),
    }
}

impl Session {
    async fn start(program: &str, args: &[&str]) -> Self {
        Self::start_with(program, args, |_| {}).await
    }

    async fn start_with(program: &str, args: &[&str], change: impl FnOnce(&mut Spec)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("session");
        let mut spec = spec(home.path(), program, args);
        spec.confinement = confinement::of(&folder).await;
        change(&mut spec);
        client::spawn(Path::new(BINARY), &folder, &spec).await.unwrap();
        Self { folder, home }
    }

    async fn link(&self, from_seq: u64) -> Link {
        client::connect(&self.folder, from_seq).await.unwrap()
    }

    /// Waits until the screen shows `text`; fails with a picture of it.
    async fn shows(&self, text: &str) {
        self.looks(|picture| picture.lines.iter().any(|line| line.contains(text))).await;
    }

    async fn looks(&self, right: impl Fn(&Picture) -> bool) {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        let shown = async {
            while !right(&client::screen(&self.folder).await.unwrap()) {
                look.tick().await;
            }
        };
        if timeout(DEADLINE, shown).await.is_err() {
            let picture = client::screen(&self.folder).await;
            panic!("the screen never looked right: {:#?}", picture.map(|picture| picture.lines));
        }
    }

    async fn watch(&self, columns: u16, rows: u16) -> Viewer {
        let mut stream = BufReader::new(self.dial().await);
        let hello =
            Hello { protocol: VERSION, mode: Mode::Attach { size: Size { columns, rows } } };
        write_line(&mut stream, &hello).await.unwrap();
        let welcome: Welcome = read_line(&mut stream, LINE).await.unwrap();
        assert!(matches!(welcome, Welcome::Yes { .. }), "{welcome:?}");
        let model = vt100::Parser::new(rows, columns, 0);
        Viewer { frames: Framed::new(stream, frames()), model, bytes: 0 }
    }

    async fn dial(&self) -> UnixStream {
        UnixStream::connect(self.folder.join("holder.sock")).await.unwrap()
    }

    /// The living processes of this session.
    fn processes(&self) -> usize {
        let spec: Spec =
            serde_json::from_slice(&std::fs::read(self.folder.join("spec.json")).unwrap()).unwrap();
        let mark = format!("VIGIE_SESSION_ID={}", spec.session);
        let marked = |pid: &str| {
            // A dead process has no environment.
            let env = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            env.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_str().is_some_and(marked)).count()
    }
}

/// A terminal that watches a session.
struct Viewer {
    frames: Framed<BufReader<UnixStream>, LengthDelimitedCodec>,
    model: vt100::Parser,
    bytes: usize,
}

impl Viewer {
    async fn send(&mut self, kind: u8, body: &[u8]) {
        let stream = self.frames.get_mut();
        stream.write_all(&frame(kind, body)).await.unwrap();
    }

    async fn resize(&mut self, columns: u16, rows: u16) {
        self.model.screen_mut().set_size(rows, columns);
        self.send(RESIZE, &[columns.to_be_bytes(), rows.to_be_bytes()].concat()).await;
    }

    /// Takes one frame; `Some` when it was the last.
    async fn take(&mut self) -> Option<Closed> {
        let frame = timeout(DEADLINE, self.frames.next()).await.unwrap().unwrap().unwrap();
        match frame[0] {
            OUTPUT => {
                self.bytes += frame.len() - 1;
                self.model.process(&frame[1..]);
                None
            }
            CLOSED => Some(serde_json::from_slice(&frame[1..]).unwrap()),
            other => panic!("a frame of kind {other}"),
        }
    }

    async fn closed(&mut self) -> Closed {
        loop {
            if let Some(closed) = self.take().await {
                return closed;
            }
        }
    }

    fn lines(&self) -> Vec<String> {
        let screen = self.model.screen();
        let lines = screen.rows(0, screen.size().1).map(|row| row.trim_end().to_owned());
        let lines: Vec<String> = lines.collect();
        let used = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
        lines[..used].to_vec()
    }

    async fn shows(&mut self, text: &str) {
        while !self.lines().iter().any(|line| line.contains(text)) {
            assert_eq!(self.take().await, None, "{text} never came: {:#?}", self.lines());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let folder = self.folder.clone();
        let kill = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(client::kill_folder(&folder))
        };
        let _ = std::thread::spawn(kill).join();
    }
}

/// Reads reports until one is what the test waits for.
async fn until(link: &mut Link, wanted: impl Fn(&AgentEvent) -> bool) -> Report {
    let mut seen = Vec::new();
    let found = async {
        while let Some(report) = link.next().await.unwrap() {
            if wanted(&report.what) {
                return Some(report);
            }
            seen.push(report);
        }
        None
    };
    match timeout(DEADLINE, found).await {
        Ok(Some(report)) => report,
        Ok(None) => panic!("the session ended: {seen:#?}"),
        Err(late) => panic!("it never came ({late}): {seen:#?}"),
    }
}

fn order(n: u128, what: OrderKind) -> Order {
    Order { id: OrderId::from_parts(chrono::DateTime::UNIX_EPOCH, n), what }
}

fn prompt(n: u128, text: &str) -> Order {
    let prompt = PromptId::from_parts(chrono::DateTime::UNIX_EPOCH, n);
    let form = PromptForm::Text;
    order(n, OrderKind::Prompt { prompt, text: text.into(), form })
}

fn idle(event: &AgentEvent) -> bool {
    *event == AgentEvent::Now { doing: Doing::Idle }
}

#[tokio::test]
async fn a_prompt_is_typed_once_and_its_output_comes_back() {
    let session = Session::start("sh", &[]).await;
    let mut link = session.link(1).await;
    until(&mut link, idle).await;
    link.orders().send(prompt(1, "echo one; echo two")).await.unwrap();
    link.orders().send(prompt(1, "echo one; echo two")).await.unwrap();
    let finished = until(&mut link, |event| matches!(event, AgentEvent::Finished { .. })).await;
    let AgentEvent::Finished { text, .. } = finished.what else { unreachable!() };
    assert_eq!(text, "one\ntwo");

    // The same order from another connection was carried out already.
    let mut again = session.link(finished.seq).await;
    again.orders().send(prompt(1, "echo one; echo two")).await.unwrap();
    again.orders().send(order(2, OrderKind::Kill)).await.unwrap();
    let exited = until(&mut again, |event| matches!(event, AgentEvent::Exited { .. })).await;
    let AgentEvent::Exited { how, .. } = exited.what else { unreachable!() };
    assert_eq!(how, ExitStatus::Signal { signal: 9 });
    let taken = client::read_journal(&session.folder, 1).unwrap();
    let taken = taken.iter().filter(|r| matches!(r.what, AgentEvent::PromptTaken { .. })).count();
    assert_eq!(taken, 1);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn each_start_has_a_token_that_only_its_program_knows() {
    let mcp_url = Some("http://127.0.0.1:9/mcp".to_owned());
    let mut session = Session::start_with("sh", &[], |spec| spec.mcp_url = mcp_url).await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let mut link = session.link(1).await;
        let first = until(&mut link, |_| true).await.what;
        let AgentEvent::Token { hash } = first else { panic!("not before its start: {first:?}") };
        let started = until(&mut link, |event| matches!(event, AgentEvent::Started { .. })).await;
        let AgentEvent::Started { pid, .. } = started.what else { unreachable!() };
        let environment = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        let value = |name: &str| {
            let found = environment.split('\0').find_map(|one| one.strip_prefix(name));
            found.unwrap_or_else(|| panic!("no {name}")).to_owned()
        };
        assert_eq!(value("VIGIE_MCP_URL="), "http://127.0.0.1:9/mcp");
        let token = value("VIGIE_MCP_TOKEN=");
        assert_eq!(TokenHash::of(&token), hash);
        until(&mut link, idle).await;
        for file in files(session.home.path()) {
            let bytes = std::fs::read(&file).unwrap_or_default(); // a socket has none
            assert!(!bytes.windows(64).any(|part| part == token.as_bytes()), "{file:?}");
        }
        tokens.push(token);
        client::kill_folder(&session.folder).await.unwrap();
        let spec = client::spec(&session.folder).unwrap();
        session.folder = session.home.path().join("again");
        client::spawn(Path::new(BINARY), &session.folder, &spec).await.unwrap();
    }
    assert_ne!(tokens[0], tokens[1]);
}

#[tokio::test]
async fn reports_go_on_where_a_lost_daemon_stopped() {
    let session = Session::start("sh", &[]).await;
    let mut link = session.link(1).await;
    let idle_at = until(&mut link, idle).await.seq;
    link.orders().send(prompt(1, "echo heard")).await.unwrap();
    session.shows("heard").await;
    drop(link); // the daemon is killed

    let mut link = session.link(idle_at + 1).await;
    let first = until(&mut link, |_| true).await;
    assert_eq!(first.seq, idle_at + 1);
    until(&mut link, idle).await;
    link.orders().send(order(2, OrderKind::End)).await.unwrap();
    let exited = until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    let AgentEvent::Exited { how, last } = exited.what else { unreachable!() };
    assert_eq!(how, ExitStatus::Code { code: 0 });
    assert!(last.iter().any(|line| line.contains("heard")), "{last:?}");
    assert_eq!(link.next().await.unwrap(), None);

    // The folder tells the same once nobody is there any more.
    client::kill_folder(&session.folder).await.unwrap();
    assert!(!client::alive(&session.folder));
    let numbers: Vec<u64> =
        client::read_journal(&session.folder, 1).unwrap().iter().map(|r| r.seq).collect();
    assert_eq!(numbers, (1..=exited.seq).collect::<Vec<_>>());
    assert!(matches!(client::screen(&session.folder).await, Err(LinkError::Gone { .. })));
}

#[tokio::test]
async fn the_smallest_viewer_sets_the_size_and_all_see_the_same() {
    let session = Session::start("sh", &[]).await;
    session.shows("ready$").await;
    let mut wide = session.watch(100, 30).await;
    wide.shows("ready$").await;
    wide.send(INPUT, b"stty size\r").await;
    wide.shows("30 100").await;
    let mut narrow = session.watch(60, 40).await;
    narrow.shows("ready$").await;
    narrow.send(INPUT, b"stty size\r").await;
    narrow.shows("30 60").await;
    wide.shows("30 60").await;
    // What wraps for the program wraps at the same place in the terminal that is wider.
    wide.send(
        INPUT,
        b"clear; echo 1234567890123456789012345678901234567890123456789012345678901;\r",
    )
    .await;
    let at_60 = |lines: Vec<String>| lines.iter().any(|line| line.len() == 60);
    while !at_60(wide.lines()) {
        assert_eq!(wide.take().await, None);
    }
    session.looks(|picture| picture.size == Size { columns: 60, rows: 30 }).await;
    narrow.resize(70, 20).await;
    session.looks(|picture| picture.size == Size { columns: 70, rows: 20 }).await;
    narrow.send(DETACH, b"").await;
    assert_eq!(narrow.closed().await, Closed::Detached);
    session.looks(|picture| picture.size == Size { columns: 100, rows: 30 }).await;
    drop(wide);
    session.looks(|picture| picture.size == Size { columns: 80, rows: 24 }).await;
}

#[tokio::test]
async fn only_one_terminal_answers_the_program() {
    let script = "stty raw -echo; printf 'on'; dd bs=1 count=12 2>/dev/null | od -An -c; sleep 99";
    let session = Session::start("sh", &["-c", script]).await;
    session.shows("on").await;
    let mut first = session.watch(80, 24).await;
    let mut second = session.watch(80, 24).await;
    first.shows("on").await;
    second.shows("on").await;
    second.send(INPUT, b"\x1b[?62;4cab").await;
    session.looks(|picture| picture.printed >= 2).await;
    first.send(INPUT, b"\x1b[?62;4c").await;
    first.send(INPUT, b"cd").await;
    // Whatever came first, the answer is there once and every key is.
    session.looks(|picture| picture.lines.concat().contains('d')).await;
    let shown = client::screen(&session.folder).await.unwrap().lines.concat();
    assert_eq!(shown.matches('?').count(), 1, "{shown}");
    assert!(["a", "b", "c"].iter().all(|key| shown.contains(key)), "{shown}");
}

#[tokio::test]
async fn a_viewer_that_takes_nothing_is_dropped_and_told() {
    let session = Session::start("sh", &["-c", "while :; do echo flooding; done"]).await;
    let mut viewer = session.watch(50, 20).await;
    session.looks(|picture| picture.size.columns == 50).await;
    session.looks(|picture| picture.size.columns == 80).await; // it counts no more
    assert_eq!(viewer.closed().await, Closed::TooSlow);
    session.shows("flooding").await;
}

#[tokio::test]
async fn a_flood_passes_and_the_end_of_it_is_on_the_screen() {
    let script =
        "yes 'a line of output that is somewhat long' | head -c 100000000; echo; echo over";
    let session = Session::start("sh", &["-c", script]).await;
    let mut link = session.link(1).await;
    let exited = until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    let AgentEvent::Exited { last, .. } = exited.what else { unreachable!() };
    assert_eq!(last.last().unwrap(), "over");
    let recorded = std::fs::metadata(session.folder.join("output.cast")).unwrap().len();
    assert!((30 << 20..40 << 20).contains(&recorded), "{recorded}");
}

#[tokio::test]
async fn a_large_paste_arrives_whole() {
    let script = "printf '\\033[?2004h'; stty raw -echo; printf 'ready$ '; head -c 400013 | wc -c";
    let session = Session::start("sh", &["-c", script]).await;
    let mut link = session.link(1).await;
    until(&mut link, idle).await;
    link.orders().send(prompt(1, &"0123456789".repeat(40_000))).await.unwrap();
    let exited = until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    let AgentEvent::Exited { last, .. } = exited.what else { unreachable!() };
    assert!(last.concat().contains("400013"), "{last:?}");
}

#[tokio::test]
async fn a_paste_that_nobody_reads_blocks_nothing() {
    let script = "stty raw -echo; printf 'ready$ '; exec sleep 1000";
    let session = Session::start("sh", &["-c", script]).await;
    let mut link = session.link(1).await;
    until(&mut link, idle).await;
    link.orders().send(prompt(1, &"0123456789".repeat(40_000))).await.unwrap();
    session.shows("ready$").await;
    link.orders().send(order(2, OrderKind::Interrupt)).await.unwrap();
    let refused = until(&mut link, |event| matches!(event, AgentEvent::PromptRefused { .. })).await;
    let AgentEvent::PromptRefused { why, .. } = refused.what else { unreachable!() };
    assert_eq!(why, RefusedPrompt::NoSignal);
    let exited = until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    let AgentEvent::Exited { how, .. } = exited.what else { unreachable!() };
    assert_eq!(how, ExitStatus::Signal { signal: 2 });
}

#[tokio::test]
async fn a_kill_reaches_whoever_fled() {
    let script = "setsid setsid sleep 1000 & \
                  setsid sh -c 'trap \"\" TERM HUP; setsid sleep 1000 & setsid sleep 1000 & wait' & \
                  echo up; wait";
    let session = Session::start("bash", &["-c", script]).await;
    session.shows("up").await;
    let mut look = tokio::time::interval(Duration::from_millis(20));
    timeout(DEADLINE, async {
        while session.processes() < 5 {
            look.tick().await;
        }
    })
    .await
    .unwrap();
    let mut link = session.link(1).await;
    link.orders().send(order(1, OrderKind::Kill)).await.unwrap();
    until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    assert_eq!(session.processes(), 0);
}

#[tokio::test]
async fn a_holder_that_was_killed_leaves_nothing_that_cannot_be_killed() {
    let session = Session::start("bash", &["-c", "setsid sleep 1000 & echo up; wait"]).await;
    session.shows("up").await;
    let holder = client::holder_pid(&session.folder).unwrap();
    let holder = nix::unistd::Pid::from_raw(i32::try_from(holder).unwrap());
    nix::sys::signal::kill(holder, nix::sys::signal::Signal::SIGKILL).unwrap();
    client::kill_folder(&session.folder).await.unwrap();
    assert!(!client::alive(&session.folder));
    assert_eq!(session.processes(), 0);
}

#[tokio::test]
async fn orphans_are_buried() {
    let script = "for n in 1 2 3; do sh -c '(sleep 0.1 &)'; done; echo up; read line";
    let session = Session::start("bash", &["-c", script]).await;
    session.shows("up").await;
    let holder = client::holder_pid(&session.folder).unwrap();
    let children = format!("/proc/{holder}/task/{holder}/children");
    let mut look = tokio::time::interval(Duration::from_millis(20));
    timeout(DEADLINE, async {
        // One child is left, the program.
        while std::fs::read_to_string(&children).unwrap().split_whitespace().count() > 1 {
            look.tick().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_second_holder_refuses() {
    let session = Session::start("cat", &[]).await;
    assert!(client::alive(&session.folder));
    let second = tokio::process::Command::new(BINARY).arg("hold").arg(&session.folder).status();
    assert!(!timeout(DEADLINE, second).await.unwrap().unwrap().success());
    let why = std::fs::read_to_string(session.folder.join("holder.failed")).unwrap();
    assert!(why.starts_with("another holder has the session in"), "{why}");
    let spec = spec(session.home.path(), "cat", &[]);
    let again = client::spawn(Path::new(BINARY), &session.folder, &spec).await;
    assert!(matches!(again, Err(LinkError::NotStarted { .. })), "{again:?}");
    client::screen(&session.folder).await.unwrap();
}

#[tokio::test]
async fn a_holder_told_to_stop_ends_even_a_stubborn_session() {
    let session = Session::start("bash", &["-c", "trap '' TERM HUP; echo up; read line"]).await;
    session.shows("up").await;
    let mut link = session.link(1).await;
    let holder = client::holder_pid(&session.folder).unwrap();
    let holder = nix::unistd::Pid::from_raw(i32::try_from(holder).unwrap());
    nix::sys::signal::kill(holder, nix::sys::signal::Signal::SIGTERM).unwrap();
    let exited = until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    let AgentEvent::Exited { how, .. } = exited.what else { unreachable!() };
    assert_eq!(how, ExitStatus::Signal { signal: 9 });
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let home = tempfile::tempdir().unwrap();
    let mut spec = spec(home.path(), "no-such-program", &[]);
    let start = async |spec: &Spec| {
        let folder = home.path().join("session");
        client::spawn(Path::new(BINARY), &folder, spec).await.unwrap_err().to_string()
    };
    let why = start(&spec).await;
    assert!(why.contains("could not start `no-such-program`"), "{why}");
    spec.program = "cat".into();
    spec.cwd = home.path().join("nowhere");
    let why = start(&spec).await;
    assert!(why.contains("nowhere`, does not exist"), "{why}");
}

#[tokio::test]
async fn a_torn_line_is_dropped_said_and_written_over() {
    let session = Session::start("cat", &[]).await;
    client::kill_folder(&session.folder).await.unwrap();
    let before = client::read_journal(&session.folder, 1).unwrap();
    let journal = session.folder.join("journal.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(&journal).unwrap();
    file.write_all(b"{\"seq\":99,\"at\":\"20").unwrap();
    assert_eq!(client::read_journal(&session.folder, 1).unwrap(), before);

    let spec = std::fs::read(session.folder.join("spec.json")).unwrap();
    let spec: Spec = serde_json::from_slice(&spec).unwrap();
    client::spawn(Path::new(BINARY), &session.folder, &spec).await.unwrap();
    let next = before.last().unwrap().seq + 1;
    let mut link = session.link(next).await;
    let said = until(&mut link, |_| true).await;
    assert_eq!(said.seq, next);
    assert!(
        matches!(&said.what, AgentEvent::Degraded { what } if what.contains("torn")),
        "{said:?}"
    );
}

#[tokio::test]
async fn the_screen_the_keys_and_the_output_can_be_asked_for() {
    let session = Session::start("sh", &[]).await;
    session.shows("ready$").await;
    client::keys(&session.folder, b"printf '\\033[1mbold\\033[m\\n'\r".to_vec()).await.unwrap();
    let bold = |picture: &Picture| {
        let mut runs = picture.rows.iter().flatten();
        runs.any(|run| run.text == "bold" && run.looks == [Look::Bold])
    };
    session.looks(bold).await;

    let mut stream = BufReader::new(session.dial().await);
    let mode = Mode::Output { from: 2, follow: Follow::Once };
    write_line(&mut stream, &Hello { protocol: VERSION, mode }).await.unwrap();
    let _: Welcome = read_line(&mut stream, LINE).await.unwrap();
    let mut frames = Framed::new(stream, frames());
    let part = frames.next().await.unwrap().unwrap();
    assert_eq!((part[0], &part[1..9]), (OUTPUT_AT, &2_u64.to_be_bytes()[..]));
    assert!(part[9..].starts_with(b"ady$"), "{part:?}");

    let mut stream = BufReader::new(session.dial().await);
    write_line(&mut stream, &Hello { protocol: 99, mode: Mode::Screen }).await.unwrap();
    let Welcome::No { why } = read_line(&mut stream, LINE).await.unwrap() else {
        panic!("a version of the future was welcome")
    };
    assert!(why.contains("version 1"), "{why}");
}

#[tokio::test]
async fn a_long_folder_name_is_no_obstacle() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("x".repeat(150));
    let spec = spec(home.path(), "cat", &[]);
    client::spawn(Path::new(BINARY), &folder, &spec).await.unwrap();
    client::kill_folder(&folder).await.unwrap();
}

/// Runs one of the ignored tests below as a program of its own.
fn as_program(test: &str) -> (String, [String; 4]) {
    let exe = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    (exe, ["--ignored", "--exact", test, "--nocapture"].map(str::to_owned))
}

#[tokio::test]
async fn an_agent_may_not_steer_sessions_but_its_own_offspring() {
    let other = Session::start("cat", &[]).await;
    let (exe, args) = as_program("as_an_agent");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let folder = other.folder.to_str().unwrap().to_owned();
    let session = Session::start_with(&exe, &args, |spec| {
        spec.env.insert("OTHER".into(), folder);
        spec.size.columns = 200;
    })
    .await;
    let mut link = session.link(1).await;
    let exited = until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    let AgentEvent::Exited { last, .. } = exited.what else { unreachable!() };
    let told = last.join("\n");
    assert!(told.contains("sessions may not steer sessions"), "{told}");
    assert!(told.contains("a session inside: fine"), "{told}");
}

#[tokio::test]
#[ignore = "a program for another test"]
async fn as_an_agent() {
    let other = PathBuf::from(std::env::var("OTHER").unwrap());
    println!("another session: {}", client::screen(&other).await.unwrap_err());
    let inside = Session::start("cat", &[]).await;
    let seen =
        client::screen(&inside.folder).await.map_or_else(|e| e.to_string(), |_| "fine".into());
    println!("a session inside: {seen}");
}

#[tokio::test]
async fn a_person_attaches_types_detaches_and_has_the_terminal_back() {
    let session = Session::start("sh", &[]).await;
    session.shows("ready$").await;
    let (exe, args) = as_program("as_a_person");
    let size = portable_pty::PtySize { rows: 20, cols: 70, pixel_width: 0, pixel_height: 0 };
    let pair = portable_pty::native_pty_system().openpty(size).unwrap();
    let before = pair.master.get_termios().unwrap();
    let mut command = portable_pty::CommandBuilder::new(exe);
    command.args(args);
    command.env("SESSION", &session.folder);
    let mut person = pair.slave.spawn_command(command).unwrap();
    let mut terminal = pair.master.try_clone_reader().unwrap();
    let mut keyboard = pair.master.take_writer().unwrap();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let filling = seen.clone();
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = std::io::Read::read(&mut terminal, &mut bytes) {
            filling.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    });
    session.looks(|picture| picture.size == Size { columns: 70, rows: 20 }).await;
    keyboard.write_all(b"echo from \x1ca desk\x7f\x7f\x7f\x7fdesk; stty size\r").unwrap();
    // The person's own terminal, which hears of it a little later than the session's screen.
    let arrived = async {
        while !seen.lock().unwrap().contains("20 70") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, arrived).await.unwrap();
    keyboard.write_all(b"\x1c\x1c").unwrap();
    session.looks(|picture| picture.size == Size { columns: 80, rows: 24 }).await;
    let ended = tokio::task::spawn_blocking(move || person.wait().unwrap());
    assert!(timeout(DEADLINE, ended).await.unwrap().unwrap().success());
    let after = pair.master.get_termios().unwrap();
    assert_eq!(after.local_flags, before.local_flags);
    drop((pair, keyboard));
    reading.join().unwrap();
    let seen = seen.lock().unwrap().clone();
    assert!(seen.contains("\x1b[?2004l"), "{seen}");
    assert!(seen.contains("left: Ok(Detached)"), "{seen}");
}

#[tokio::test]
#[ignore = "a program for another test"]
async fn as_a_person() {
    let folder = PathBuf::from(std::env::var("SESSION").unwrap());
    println!("left: {:?}", vigie::cli::attach::attach(&folder).await);
}

#[tokio::test]
async fn a_session_whose_folder_is_removed_ends() {
    let session = Session::start("cat", &[]).await;
    session.looks(|picture| picture.size.columns == 80).await;
    let path = format!("/proc/{}", client::holder_pid(&session.folder).unwrap());
    std::fs::rename(&session.folder, session.folder.with_extension("gone")).unwrap();
    let mut look = tokio::time::interval(Duration::from_millis(20));
    timeout(DEADLINE, async {
        // The holder is our child and stays in the table until it is waited for.
        while std::fs::read(format!("{path}/cmdline")).is_ok_and(|text| !text.is_empty()) {
            look.tick().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn prompts_wait_for_a_busy_program_and_can_be_taken_back() {
    let session = Session::start("sh", &[]).await;
    let fifo = session.home.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut link = session.link(1).await;
    until(&mut link, idle).await;
    link.orders().send(prompt(1, "cat fifo")).await.unwrap();
    link.orders().send(prompt(2, "echo second")).await.unwrap();
    let held = until(&mut link, |event| matches!(event, AgentEvent::PromptHeld { .. })).await;
    assert!(matches!(held.what, AgentEvent::PromptHeld { why: Held::Busy, .. }), "{held:?}");
    let prompt_two = PromptId::from_parts(chrono::DateTime::UNIX_EPOCH, 2);
    link.orders().send(order(3, OrderKind::Withdraw { prompt: prompt_two })).await.unwrap();
    let refused = until(&mut link, |event| matches!(event, AgentEvent::PromptRefused { .. })).await;
    let why = RefusedPrompt::Withdrawn;
    assert_eq!(refused.what, AgentEvent::PromptRefused { prompt: prompt_two, why });
    std::fs::write(&fifo, "from the fifo\n").unwrap();
    let finished = until(&mut link, |event| matches!(event, AgentEvent::Finished { .. })).await;
    let AgentEvent::Finished { text, .. } = finished.what else { unreachable!() };
    assert_eq!(text, "from the fifo");
}

#[tokio::test]
async fn without_a_known_prompt_quiet_is_idle_and_several_lines_are_typed() {
    let session = Session::start_with("cat", &[], |spec| spec.prompt_ends = None).await;
    let mut link = session.link(1).await;
    until(&mut link, idle).await;
    link.orders().send(prompt(1, "one\ntwo")).await.unwrap();
    let finished = until(&mut link, |event| matches!(event, AgentEvent::Finished { .. })).await;
    let AgentEvent::Finished { text, .. } = finished.what else { unreachable!() };
    assert!(text.ends_with("two") && text.contains("one\n"), "{text}");
    link.orders().send(order(2, OrderKind::End)).await.unwrap();
    let exited = until(&mut link, |event| matches!(event, AgentEvent::Exited { .. })).await;
    assert!(matches!(exited.what, AgentEvent::Exited { how: ExitStatus::Code { code: 0 }, .. }));
}

#[tokio::test]
async fn a_line_half_written_at_the_desk_is_not_sent_together_with_a_prompt() {
    let session = Session::start("sh", &[]).await;
    let mut link = session.link(1).await;
    until(&mut link, idle).await;
    let mut desk = session.watch(80, 24).await;
    desk.send(INPUT, b"echo half").await;
    desk.shows("echo half").await;
    link.orders().send(prompt(1, "echo whole")).await.unwrap();
    let held = until(&mut link, |event| matches!(event, AgentEvent::PromptHeld { .. })).await;
    assert!(matches!(held.what, AgentEvent::PromptHeld { why: Held::DeskTyping, .. }), "{held:?}");
    desk.send(INPUT, b"\x15").await; // thrown away
    let finished = until(&mut link, |event| matches!(event, AgentEvent::Finished { .. })).await;
    let AgentEvent::Finished { text, .. } = finished.what else { unreachable!() };
    assert_eq!(text, "whole");
}

#[tokio::test]
async fn a_builtin_that_reads_gets_nothing_from_a_prompt() {
    let session = Session::start("sh", &[]).await;
    let mut link = session.link(1).await;
    until(&mut link, idle).await;
    let mut desk = session.watch(80, 24).await;
    desk.send(INPUT, b"read answer; echo it was $answer\r").await;
    desk.shows("read answer").await;
    link.orders().send(prompt(1, "echo whole")).await.unwrap();
    let held = until(&mut link, |event| matches!(event, AgentEvent::PromptHeld { .. })).await;
    assert!(matches!(held.what, AgentEvent::PromptHeld { .. }), "{held:?}");
    desk.send(INPUT, b"mine\r").await;
    desk.shows("it was mine").await;
    let finished = until(&mut link, |event| matches!(event, AgentEvent::Finished { .. })).await;
    let AgentEvent::Finished { text, .. } = finished.what else { unreachable!() };
    assert_eq!(text, "whole");
}
