//! One session in a real holder, driven as the daemon would.
#![allow(dead_code, reason = "each test file takes what its stories need")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::time::timeout;
use vigie::{
    agents::{AgentKind, Conversation, Size, Spec},
    hold::client::{self, Link},
};
use vigie_core::{
    agent::{AgentEvent, Asked, Decision, Doing, Order, OrderKind, PromptForm, Settled},
    id::{MailId, OrderId, PromptId, RequestId, SessionId},
    policy::Policy,
    session::Role,
};

use super::confinement;

/// A real program on a busy machine.
const DEADLINE: Duration = Duration::from_mins(1);
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_vigie");

pub(crate) struct Session {
    pub(crate) spec: Spec,
    pub(crate) folder: PathBuf,
    link: Link,
    /// Everything reported, and how far the test has read.
    seen: Vec<AgentEvent>,
    read: usize,
    orders: u128,
}

pub(crate) fn spec(
    kind: AgentKind,
    program: &Path,
    cwd: &Path,
    env: BTreeMap<String, String>,
) -> Spec {
    let random = cwd
        .to_string_lossy()
        .bytes()
        .fold(7, |sum: u128, byte| sum.wrapping_mul(31) + u128::from(byte));
    let id = format!("{:08x}-0000-4000-8000-{:012x}", random % (1 << 32), std::process::id());
    Spec {
        session: SessionId::from_parts(chrono::DateTime::UNIX_EPOCH, random),
        name: "PD-285".parse().unwrap(),
        kind,
        program: program.into(),
        args: vec![],
        env,
        cwd: cwd.into(),
        size: Size { columns: 100, rows: 32 },
        permission_mode: None,
        conversation: Conversation::New { id },
        first_seq: 1,
        shared: cwd.into(),
        recording_limit: 32 << 20,
        prompt_ends: None,
        mcp_url: None,
        role: Role::Worker,
        confinement: None,
        guard: vigie_core::policy::Guard::default(),
    }
}

impl Session {
    /// Starts it, confined by what this machine offers.
    pub(crate) async fn start(spec: Spec, folder: PathBuf) -> Self {
        let spec = Spec { confinement: confinement::of(&folder).await, ..spec };
        client::spawn(Path::new(BINARY), &folder, &spec).await.unwrap();
        let link = client::connect(&folder, spec.first_seq).await.unwrap();
        Self { spec, folder, link, seen: vec![], read: 0, orders: 0 }
    }

    pub(crate) async fn order(&mut self, what: OrderKind) {
        self.orders += 1;
        let random = self.orders << 32 | u128::from(self.spec.first_seq);
        let id = OrderId::from_parts(chrono::DateTime::UNIX_EPOCH, random);
        self.link.orders().send(Order { id, what }).await.unwrap();
    }

    /// A daemon with other policies is linked to it.
    pub(crate) async fn policies(&self, policies: &[Policy]) {
        self.link.orders().policies(policies).await.unwrap();
    }

    async fn put(&mut self, text: &str, form: PromptForm) -> PromptId {
        let random = (self.orders + 1) << 32 | u128::from(self.spec.first_seq);
        let prompt = PromptId::from_parts(chrono::DateTime::UNIX_EPOCH, random);
        self.order(OrderKind::Prompt { prompt, text: text.into(), form }).await;
        prompt
    }

    pub(crate) async fn prompt(&mut self, text: &str) -> PromptId {
        self.put(text, PromptForm::Text).await
    }

    /// What others wrote, as a prompt.
    pub(crate) async fn others(&mut self, text: &str) -> PromptId {
        self.put(text, PromptForm::Others).await
    }

    /// What others wrote, beside the next result.
    pub(crate) async fn mail(&mut self, text: &str) -> MailId {
        let random = (self.orders + 1) << 32 | u128::from(self.spec.first_seq);
        let mail = MailId::from_parts(chrono::DateTime::UNIX_EPOCH, random);
        self.order(OrderKind::Mail { mail, text: text.into() }).await;
        mail
    }

    /// Waits until it is taken or returned, and gives which.
    pub(crate) async fn settled_mail(&mut self, id: MailId) -> AgentEvent {
        let settled = self.until("mail taken or returned", |event| match event {
            AgentEvent::MailTaken { mail } | AgentEvent::MailReturned { mail } if *mail == id => {
                Some(event.clone())
            }
            _ => None,
        });
        settled.await
    }

    pub(crate) async fn command(&mut self, text: &str) -> PromptId {
        self.put(text, PromptForm::Command).await
    }

    pub(crate) async fn answer(&mut self, request: &RequestId, decision: Decision) {
        self.order(OrderKind::Answer { request: request.clone(), decision }).await;
    }

    /// Keys as typed at the desk.
    pub(crate) async fn keys(&self, keys: &str) {
        client::keys(&self.folder, keys.as_bytes().to_vec()).await.unwrap();
    }

    /// Reads on until `wanted` gives something; fails with everything seen and the screen.
    pub(crate) async fn until<T>(
        &mut self,
        what: &str,
        wanted: impl Fn(&AgentEvent) -> Option<T>,
    ) -> T {
        let from = self.read;
        let found = async {
            loop {
                while self.read < self.seen.len() {
                    self.read += 1;
                    if let Some(found) = wanted(&self.seen[self.read - 1]) {
                        return Some(found);
                    }
                }
                let report = self.link.next().await.unwrap()?;
                self.seen.push(report.what);
            }
        };
        if let Ok(Some(found)) = timeout(DEADLINE, found).await {
            return found;
        }
        let screen = client::screen(&self.folder).await.map(|picture| picture.lines.join("\n"));
        let screen = screen.unwrap_or_else(|error| error.to_string());
        panic!("waited for {what}; since the last:\n{:#?}\nscreen:\n{screen}", &self.seen[from..]);
    }

    /// Lets the next wait look at everything again.
    pub(crate) fn rewind(&mut self) {
        self.read = 0;
    }

    pub(crate) async fn idle(&mut self) {
        self.until("idle", |event| {
            matches!(event, AgentEvent::Now { doing: Doing::Idle }).then_some(())
        })
        .await;
    }

    pub(crate) async fn working(&mut self) {
        self.until("working", |event| {
            matches!(event, AgentEvent::Now { doing: Doing::Working }).then_some(())
        })
        .await;
    }

    pub(crate) async fn taken(&mut self, id: PromptId) {
        self.until("taken", |event| match event {
            AgentEvent::PromptTaken { prompt, .. } if *prompt == id => Some(()),
            AgentEvent::PromptRefused { .. } => panic!("{event:?}"),
            _ => None,
        })
        .await;
    }

    pub(crate) async fn finished(&mut self) -> String {
        self.until("finished", |event| match event {
            AgentEvent::Finished { text, .. } => Some(text.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn asked(&mut self) -> (RequestId, Asked) {
        self.until("asked", |event| match event {
            AgentEvent::Asked { request, ask } => Some((request.clone(), ask.clone())),
            _ => None,
        })
        .await
    }

    pub(crate) async fn settled(&mut self, id: &RequestId) -> Settled {
        self.until("settled", |event| match event {
            AgentEvent::Settled { request, how } if request == id => Some(how.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn interrupted(&mut self) {
        self.until("interrupted", |event| {
            matches!(event, AgentEvent::Interrupted { .. }).then_some(())
        })
        .await;
    }

    /// Waits until the screen shows `text`.
    pub(crate) async fn shows(&self, text: &str) {
        let mut lines = vec![];
        let shown = async {
            while !lines.iter().any(|line: &String| line.contains(text)) {
                lines = client::screen(&self.folder).await.unwrap().lines;
                tokio::task::yield_now().await;
            }
        };
        let in_time = timeout(DEADLINE, shown).await.is_ok();
        assert!(in_time, "the screen never showed `{text}`:\n{}", lines.join("\n"));
    }

    /// Presses `keys` in the dialog that shows `text` until it is gone: a dialog just painted may
    /// lose a key, and a person presses it again.
    pub(crate) async fn dismiss(&self, text: &str, keys: &str) {
        self.shows(text).await;
        let gone = async {
            loop {
                self.keys(keys).await;
                let patience = Instant::now() + Duration::from_secs(2);
                while Instant::now() < patience {
                    let lines = client::screen(&self.folder).await.unwrap().lines;
                    if !lines.iter().any(|line| line.contains(text)) {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            }
        };
        assert!(timeout(DEADLINE, gone).await.is_ok(), "`{text}` stays on the screen");
    }

    /// Moves down until the marked line of a list says `choice`.
    pub(crate) async fn mark(&self, choice: &str) {
        let marked = async {
            loop {
                let patience = Instant::now() + Duration::from_secs(1);
                while Instant::now() < patience {
                    let lines = client::screen(&self.folder).await.unwrap().lines;
                    if lines.iter().any(|line| line.contains('❯') && line.contains(choice)) {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
                self.keys("\x1b[B").await;
            }
        };
        assert!(timeout(DEADLINE, marked).await.is_ok(), "`{choice}` cannot be marked");
    }

    pub(crate) fn seen(&self) -> &[AgentEvent] {
        &self.seen
    }

    /// Kills holder and program, and gives what is needed to go on with the same conversation.
    pub(crate) async fn die(self) -> (Spec, PathBuf) {
        client::kill_folder(&self.folder).await.unwrap();
        let id = match &self.spec.conversation {
            Conversation::New { id } | Conversation::Resume { id } => id.clone(),
        };
        let reports = client::read_journal(&self.folder, 1).unwrap();
        let first_seq = reports.last().map_or(1, |last| last.seq + 1);
        let conversation = Conversation::Resume { id };
        (Spec { conversation, first_seq, ..self.spec.clone() }, self.folder.clone())
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
