//! A bridge that hears an emulator, and an inbox that does what the daemon promises.

use async_trait::async_trait;
use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use telegram_emulator::{ADA, BOB, Emulator, World};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vigie_core::{
    Timestamp,
    bridge::{Accepted, Attached, Bridge, Heard, HeardKind, Inbox, Lost, NotAccepted, Noted},
    id::BridgeName,
};
use vigie_telegram::{
    Menu, Options, TelegramBridge,
    api::{Api, BotCommand, Patience},
};

/// Longer than anything here takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// How the inbox takes the next thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Refuse,
    /// It is written down, and the answer never comes.
    TakeAndHang,
    Hang,
    Panic,
}

/// Takes what is heard, once for each key, from Ada and Bob.
#[derive(Default)]
pub(crate) struct Daemon {
    heard: Mutex<Vec<Heard>>,
    asked: Mutex<BTreeMap<String, usize>>,
    noted: Mutex<Vec<Noted>>,
    next: Mutex<VecDeque<Next>>,
    pub(crate) notice: Mutex<Option<String>>,
    changed: Notify,
}

impl Daemon {
    pub(crate) fn then(&self, next: &[Next]) {
        self.next.lock().unwrap().extend(next);
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn noted(&self) -> Vec<Noted> {
        self.noted.lock().unwrap().clone()
    }

    /// How often a key was handed in.
    pub(crate) fn times(&self, key: &str) -> usize {
        self.asked.lock().unwrap().get(key).copied().unwrap_or(0)
    }

    pub(crate) fn was_asked(&self) -> bool {
        !self.asked.lock().unwrap().is_empty()
    }

    /// Every text, in the order in which it was taken.
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |heard: Heard| match heard.what {
            HeardKind::Text { text, .. } => Some(text),
            HeardKind::Edited { .. }
            | HeardKind::Tap { .. }
            | HeardKind::Reaction { .. }
            | HeardKind::Withdrawn { .. }
            | HeardKind::TakenBack { .. } => None,
        };
        self.heard().into_iter().filter_map(text).collect()
    }

    pub(crate) fn files(&self) -> Vec<Attached> {
        let files = |heard: Heard| match heard.what {
            HeardKind::Text { files, .. } => files,
            HeardKind::Edited { .. }
            | HeardKind::Tap { .. }
            | HeardKind::Reaction { .. }
            | HeardKind::Withdrawn { .. }
            | HeardKind::TakenBack { .. } => vec![],
        };
        self.heard().into_iter().flat_map(files).collect()
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if holds(self) {
                    return;
                }
                let _ = tokio::time::timeout(Duration::from_millis(20), changed).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, wait).await.is_ok();
        let (heard, noted) = (self.heard(), self.noted());
        assert!(in_time, "waited for {what}\nheard: {heard:#?}\nnoted: {noted:#?}");
    }

    pub(crate) async fn until_texts(&self, texts: &[&str]) {
        self.until(&format!("{texts:?}"), |daemon| daemon.texts() == texts).await;
    }

    fn take(&self, heard: Heard) {
        let mut all = self.heard.lock().unwrap();
        if !all.iter().any(|known| known.key == heard.key) {
            all.push(heard);
        }
    }
}

#[async_trait]
impl Inbox for Daemon {
    async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted> {
        *self.asked.lock().unwrap().entry(heard.key.clone()).or_default() += 1;
        let next = self.next.lock().unwrap().pop_front();
        match next {
            Some(Next::Refuse) => return Err(NotAccepted { reason: "the disk is full".into() }),
            Some(Next::Panic) => panic!("a mistake of the daemon, on purpose"),
            Some(Next::TakeAndHang) => {
                self.take(heard);
                std::future::pending::<()>().await;
            }
            Some(Next::Hang) => std::future::pending::<()>().await,
            None => self.take(heard),
        }
        self.changed.notify_waiters();
        Ok(Accepted { notice: self.notice.lock().unwrap().clone() })
    }

    async fn note(&self, _bridge: &BridgeName, noted: Noted) -> Result<(), NotAccepted> {
        self.noted.lock().unwrap().push(noted);
        self.changed.notify_waiters();
        Ok(())
    }

    async fn admits(&self, _bridge: &BridgeName, from: &str) -> Result<bool, NotAccepted> {
        Ok([ADA, BOB].map(|id| id.to_string()).contains(&from.to_owned()))
    }
}

/// An emulator, a daemon, and a folder for the bridge between them.
pub(crate) struct Ground {
    pub(crate) telegram: Emulator,
    pub(crate) daemon: Daemon,
    pub(crate) bridge: Arc<TelegramBridge>,
    patience: Patience,
    home: TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self::with(World::default(), Patience::default())
    }

    pub(crate) fn with(world: World, patience: Patience) -> Self {
        let world = World { flood: false, ..world };
        let telegram = Emulator::start(world);
        let home = tempfile::tempdir().unwrap();
        let bridge = bridge(&telegram, &home, patience);
        Self { telegram, daemon: Daemon::default(), bridge, patience, home }
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.home.path().join("files")
    }

    /// Hears while `story` runs; when that is over, hearing dies wherever it is.
    pub(crate) async fn while_hearing<T>(&self, story: impl Future<Output = T>) -> T {
        let stop = CancellationToken::new();
        tokio::select! {
            ended = self.bridge.hear(&self.daemon, stop) => panic!("hearing ended: {ended:?}"),
            done = story => done,
        }
    }

    /// Hears for so long, and dies then.
    pub(crate) async fn hear_for(&self, time: Duration) {
        let stop = CancellationToken::new();
        let ended = tokio::time::timeout(time, self.bridge.hear(&self.daemon, stop)).await;
        assert!(ended.is_err(), "hearing ended: {ended:?}");
    }

    pub(crate) async fn stops_when_told(&self) -> Result<(), Lost> {
        let stop = CancellationToken::new();
        stop.cancel();
        self.bridge.hear(&self.daemon, stop).await
    }

    /// The same files, opened again.
    pub(crate) fn restarted(mut self) -> Self {
        self.bridge = bridge(&self.telegram, &self.home, self.patience);
        self
    }

    pub(crate) async fn until_trouble(&self, words: &str) {
        let wait = async {
            while !self.bridge.health().trouble.is_some_and(|trouble| trouble.contains(words)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, wait).await.is_ok();
        assert!(in_time, "waited for the trouble `{words}`: {:?}", self.bridge.health());
    }

    pub(crate) async fn until_well(&self) {
        let wait = async {
            loop {
                let health = self.bridge.health();
                if health.heard.is_some() && health.trouble.is_none() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, wait).await.is_ok();
        assert!(in_time, "waited for being well: {:?}", self.bridge.health());
    }

    /// Calls a method as somebody who has the token too.
    pub(crate) async fn call(&self, method: &str, body: &str) {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let url = self.telegram.url();
        let address = url.strip_prefix("http://").unwrap();
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /bot{}/{method} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.telegram.token(),
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
    }
}

fn bridge(telegram: &Emulator, home: &TempDir, patience: Patience) -> Arc<TelegramBridge> {
    let token = telegram.token().parse().unwrap();
    let api = Api::new(token, telegram.url().parse().unwrap(), patience).unwrap();
    let clock = telegram.clock();
    let options = Options {
        api,
        clock: Arc::new(move || {
            let now = i64::try_from(clock.now().as_millis()).unwrap();
            Timestamp::from_timestamp_millis(now).unwrap()
        }),
        files: home.path().join("files"),
        parts: None,
        commands: vec![menu("en", "Stop the turn"), menu("ru", "Остановить")],
    };
    TelegramBridge::open(&home.path().join("telegram.db"), options).unwrap()
}

fn menu(language: &str, description: &str) -> Menu {
    let stop = BotCommand { command: "stop".into(), description: description.into() };
    Menu { language: language.into(), commands: vec![stop] }
}
