//! Stories about a holder with real terminals and small programs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::timeout;
use vigie::{
    agents::{AgentKind, Conversation, Size, Spec},
    hold::client::{self, Link},
};
use vigie_core::{
    agent::{AgentEvent, Doing, ExitStatus, Order, OrderKind, PromptForm, Report},
    id::{OrderId, PromptId, SessionId},
};

const DEADLINE: Duration = Duration::from_secs(30);
const BINARY: &str = env!("CARGO_BIN_EXE_vigie");

/// A session in a folder of its own, killed when the test is over.
struct Session {
    folder: PathBuf,
    _home: tempfile::TempDir,
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
        prompt_ends: Some("ready$ ".into()),
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
        change(&mut spec);
        client::spawn(Path::new(BINARY), &folder, &spec).await.unwrap();
        Self { folder, _home: home }
    }

    async fn link(&self, from_seq: u64) -> Link {
        client::connect(&self.folder, from_seq).await.unwrap()
    }

    /// Waits until the screen shows `text`; fails with a picture of it.
    async fn shows(&self, text: &str) {
        let shown = async {
            loop {
                let lines = client::screen(&self.folder).await.unwrap().lines;
                if lines.iter().any(|line| line.contains(text)) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        if timeout(DEADLINE, shown).await.is_err() {
            let lines = client::screen(&self.folder).await.map(|picture| picture.lines);
            panic!("the screen never showed `{text}`: {lines:#?}");
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
        Err(_) => panic!("it never came: {seen:#?}"),
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
