//! A bridge that hears a real homeserver, and an inbox that does what the daemon promises.

use async_trait::async_trait;
use matrix_lab::{Homeserver, Invitation, Membership, Phone, Tools, shared};
use serde_json::{Value, json};
use std::{
    num::NonZeroUsize,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vigie_core::{
    Timestamp,
    bridge::{
        Accepted, Attached, Bridge as _, Counts, Heard, HeardKind, Inbox, NotAccepted, Noted,
    },
    id::{BridgeName, ChatId},
};
use vigie_matrix::{
    Layout, MatrixBridge, Options, Pace, Policy, Rule,
    account::{Folder, Session},
};

/// Longer than anything here takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Nothing less than safe.
pub(crate) const STRICT: Policy = Policy {
    unsigned_devices: Rule::Refuse,
    unencrypted: Rule::Refuse,
    plain_rooms: Rule::Refuse,
    new_identities: Rule::Refuse,
};

/// Takes what is heard, once for each key, from whom it admits.
#[derive(Default)]
pub(crate) struct Daemon {
    heard: Mutex<Vec<Heard>>,
    noted: Mutex<Vec<Noted>>,
    admitted: Mutex<Vec<String>>,
    /// Something is on its way to every chat.
    flies: AtomicBool,
    refuses: AtomicBool,
    changed: Notify,
}

impl Daemon {
    pub(crate) fn admit(&self, user: &str) {
        self.admitted.lock().unwrap().push(user.to_owned());
    }

    pub(crate) fn in_flight(&self, flies: bool) {
        self.flies.store(flies, Ordering::Relaxed);
    }

    pub(crate) fn forget_noted(&self) {
        self.noted.lock().unwrap().clear();
    }

    /// Takes nothing that is heard, or everything again.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn noted(&self) -> Vec<Noted> {
        self.noted.lock().unwrap().clone()
    }

    /// Why something was not read, each time that was said.
    pub(crate) fn not_read(&self) -> Vec<String> {
        let why = |noted: Noted| match noted {
            Noted::NotRead { why, .. } => Some(why),
            _ => None,
        };
        self.noted().into_iter().filter_map(why).collect()
    }

    /// Every text, in the order in which it was taken.
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |heard: Heard| match heard.what {
            HeardKind::Text { text, .. } => Some(text),
            _ => None,
        };
        self.heard().into_iter().filter_map(text).collect()
    }

    pub(crate) fn files(&self) -> Vec<Attached> {
        let files = |heard: Heard| match heard.what {
            HeardKind::Text { files, .. } => files,
            _ => vec![],
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

    pub(crate) async fn until_noted(&self, what: &str, is_it: impl Fn(&Noted) -> bool) {
        self.until(what, |daemon| daemon.noted().iter().any(&is_it)).await;
    }
}

#[async_trait]
impl Inbox for Daemon {
    async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted> {
        if self.refuses.load(Ordering::Relaxed) {
            return Err(NotAccepted { reason: "the test wants it so".into() });
        }
        let mut all = self.heard.lock().unwrap();
        if !all.iter().any(|known| known.key == heard.key) {
            all.push(heard);
        }
        self.changed.notify_waiters();
        Ok(Accepted::default())
    }

    async fn note(&self, _bridge: &BridgeName, noted: Noted) -> Result<(), NotAccepted> {
        self.noted.lock().unwrap().push(noted);
        self.changed.notify_waiters();
        Ok(())
    }

    async fn admits(&self, _bridge: &BridgeName, from: &str) -> Result<bool, NotAccepted> {
        Ok(self.admitted.lock().unwrap().iter().any(|user| user == from))
    }

    async fn is_still(&self, _bridge: &BridgeName, _chat: &ChatId) -> Result<bool, NotAccepted> {
        Ok(!self.flies.load(Ordering::Relaxed))
    }
}

/// How a bridge is set.
#[derive(Clone)]
pub(crate) struct Wish {
    pub(crate) policy: Policy,
    pub(crate) people: Vec<String>,
}

impl Default for Wish {
    fn default() -> Self {
        Self { policy: STRICT, people: vec![] }
    }
}

/// A homeserver, a bridge on it, a daemon behind that, and Ada with her phone, who is admitted.
pub(crate) struct Ground {
    pub(crate) server: &'static Homeserver,
    pub(crate) daemon: Daemon,
    pub(crate) bridge: Arc<MatrixBridge>,
    pub(crate) ada: Phone,
    pub(crate) me: String,
    pub(crate) home: TempDir,
    wish: Wish,
}

impl Ground {
    pub(crate) async fn new(tools: &Tools) -> Self {
        Self::on(shared(tools).await).await
    }

    pub(crate) async fn on(server: &'static Homeserver) -> Self {
        Self::with(server, |_| Wish::default()).await
    }

    /// The wish may name Ada.
    pub(crate) async fn with(server: &'static Homeserver, wish: impl Fn(&str) -> Wish) -> Self {
        Self::by_way_of(server, &server.url(), wish).await
    }

    /// The bridge knows the homeserver under that address.
    pub(crate) async fn by_way_of(
        server: &'static Homeserver,
        url: &str,
        wish: impl Fn(&str) -> Wish,
    ) -> Self {
        let ada = Phone::login(server, &server.user("ada").await).await;
        let home = tempfile::tempdir().unwrap();
        let me = account(server, url, home.path()).await;
        let wish = wish(ada.user());
        let bridge = bridge(home.path(), &wish);
        let daemon = Daemon::default();
        daemon.admit(ada.user());
        Self { server, daemon, bridge, ada, me, home, wish }
    }

    /// Hears while `story` runs; when that is over, hearing dies wherever it is.
    pub(crate) async fn while_hearing<T>(&self, story: impl Future<Output = T>) -> T {
        let stop = CancellationToken::new();
        tokio::select! {
            ended = self.bridge.hear(&self.daemon, stop) => panic!("hearing ended: {ended:?}"),
            done = story => done,
        }
    }

    /// The same files, opened again.
    pub(crate) fn restarted(self) -> Self {
        let Self { server, daemon, bridge: before, ada, me, home, wish } = self;
        drop(before); // the files are one process's, and one bridge's
        let bridge = bridge(home.path(), &wish);
        Self { server, daemon, bridge, ada, me, home, wish }
    }

    /// Ada's encrypted room with us, once we have come in.
    pub(crate) async fn room(&self) -> String {
        let room = self.ada.create_room(&Invitation::of(&[&self.me]).direct()).await;
        self.until_in(&room).await;
        room
    }

    pub(crate) async fn until_in(&self, room: &str) {
        self.ada.wait_member(room, &self.me, Membership::Joined).await;
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
}

/// Waits until so many events of somebody are on disk and stand so.
pub(crate) async fn until_on_disk(ground: &Ground, who: &str, state: &str, number: i64) {
    let db = rusqlite::Connection::open(ground.home.path().join("matrix/matrix.db")).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    let wait = async {
        loop {
            let ask = "select count(*) from heard where sender = ?1 and state = ?2";
            let found: i64 = db.query_row(ask, [who, state], |row| row.get(0)).unwrap();
            if found >= number {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap();
}

/// Logs a new account in, as `vigie init matrix` does; its id.
async fn account(server: &Homeserver, url: &str, home: &Path) -> String {
    let login = server.user("vigie").await;
    let body = json!({
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": login.user_id},
        "password": login.password,
    });
    let answer = server.ask(None, "POST", "/_matrix/client/v3/login", Some(&body)).await.unwrap();
    let session = json!({
        "homeserver": url,
        "user": answer["user_id"],
        "device": answer["device_id"],
        "access_token": answer["access_token"],
    });
    let session: Session = serde_json::from_value(session).unwrap();
    Folder::new(home.join("matrix")).keep_session(&session).unwrap();
    let Value::String(user) = &answer["user_id"] else { panic!("{answer}") };
    user.clone()
}

pub(crate) fn bridge(home: &Path, wish: &Wish) -> Arc<MatrixBridge> {
    let options = Options {
        folder: Folder::new(home.join("matrix")),
        files: home.join("files"),
        clock: Arc::new(now),
        people: wish.people.clone(),
        layout: Layout::Threads,
        policy: wish.policy,
        pace: Pace { events_a_minute: NonZeroUsize::new(6_000).unwrap() },
        polls: true,
        quick_reactions: true,
        reactions: Counts::Answers,
        parts: None,
    };
    MatrixBridge::open(options).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the homeserver's time is the real one")]
pub(crate) fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_timestamp_millis(i64::try_from(now.as_millis()).unwrap()).unwrap()
}
