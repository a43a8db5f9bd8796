//! A phone page on loopback, its core played by a scripted inbox.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

pub(crate) mod browser;
pub(crate) mod http;
pub(crate) mod posts;

use async_trait::async_trait;
use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use std::{
    collections::VecDeque,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;
use vigie_core::{
    Timestamp,
    bridge::{
        Accepted, Bridge, Heard, Inbox, NotAccepted, Noted, Place, Post, Said, Say, SessionLook,
    },
    id::{BridgeName, ChatId, DeliveryId, MessageId, SessionName, ThreadId},
};
use vigie_phone::{CHAT, NAME, Options, Person, PhoneBridge, Retry, assets_router};

/// Nothing a test waits for takes longer, unless it is broken.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// The morning of the story; each look at the clock is a second later.
const MORNING: i64 = 1_796_288_400;

pub(crate) struct Home {
    folder: TempDir,
    pub(crate) inbox: Arc<Script>,
    clock: Arc<AtomicI64>,
    deliveries: AtomicU64,
    signed_out: Arc<AtomicBool>,
    running: Option<Running>,
}

struct Running {
    phone: Arc<PhoneBridge>,
    stop: CancellationToken,
    address: SocketAddr,
    tasks: JoinSet<()>,
}

impl Home {
    pub(crate) async fn start() -> Self {
        let mut home = Self {
            folder: tempfile::tempdir().unwrap(),
            inbox: Arc::new(Script::default()),
            clock: Arc::new(AtomicI64::new(MORNING)),
            deliveries: AtomicU64::new(0),
            signed_out: Arc::default(),
            running: None,
        };
        home.begin("127.0.0.1:0".parse().unwrap()).await;
        home
    }

    /// The same file and the same address, as after an update of Vigie.
    pub(crate) async fn restart(&mut self) {
        let address = self.address();
        self.stop().await;
        self.begin(address).await;
    }

    pub(crate) async fn stop(&mut self) {
        let mut running = self.running.take().unwrap();
        running.stop.cancel();
        running.tasks.shutdown().await;
    }

    pub(crate) async fn begin(&mut self, address: SocketAddr) {
        let stop = CancellationToken::new();
        let phone = self.open(stop.clone());
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let pages = Router::new()
            .nest_service("/phone", phone.router())
            .nest("/assets", assets_router(&[]))
            .layer(middleware::from_fn_with_state(Arc::clone(&self.signed_out), login));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, pages).await.unwrap() });
        let (hearing, inbox, until) = (Arc::clone(&phone), Arc::clone(&self.inbox), stop.clone());
        tasks.spawn(async move { hearing.hear(&*inbox, until).await.unwrap() });
        self.running = Some(Running { phone, stop, address, tasks });
    }

    /// Whether nobody is signed in any more.
    pub(crate) fn sign_out(&self, out: bool) {
        self.signed_out.store(out, Ordering::Relaxed);
    }

    /// Another handle on the log, as a crash leaves it: nobody closed anything.
    pub(crate) fn open(&self, stop: CancellationToken) -> Arc<PhoneBridge> {
        let clock = Arc::clone(&self.clock);
        let options = Options {
            clock: Arc::new(move || {
                Timestamp::from_timestamp(clock.fetch_add(1, Ordering::Relaxed), 0).unwrap()
            }),
            retry: Retry { first: Duration::from_millis(5) },
            stop,
            links: Vec::new(),
        };
        PhoneBridge::open(&self.file(), options).unwrap()
    }

    /// What an operator does who moves the file away while Vigie is down.
    pub(crate) fn forget_everything(&self) {
        for end in ["", "-wal", "-shm"] {
            let mut name = self.file().into_os_string();
            name.push(end);
            let _ = std::fs::remove_file(name); // not every one is there
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("phone.db")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.as_ref().unwrap().address
    }

    pub(crate) fn phone(&self) -> &Arc<PhoneBridge> {
        &self.running.as_ref().unwrap().phone
    }

    pub(crate) fn key(&self) -> DeliveryId {
        let number = self.deliveries.fetch_add(1, Ordering::Relaxed);
        DeliveryId::from_parts(Timestamp::default(), number.into())
    }

    pub(crate) async fn say(&self, place: &Place, say: Say) -> Said {
        self.phone().say(place, &say, self.key()).await.unwrap()
    }

    pub(crate) async fn post(&self, place: &Place, post: Post) -> MessageId {
        self.say(place, Say::Post { post, reply_to: None }).await.message.unwrap()
    }

    /// A session's thread.
    pub(crate) async fn thread(&self, session: &str) -> Place {
        let thread = posts::thread(session, SessionLook::Working);
        in_thread(self.say(&main_chat(), Say::Thread { thread }).await.thread)
    }

    pub(crate) async fn edit(&self, message: &MessageId, post: Post) {
        self.say(&main_chat(), Say::Edit { message: message.clone(), post }).await;
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.stop.cancel();
        }
    }
}

/// Stands for the web part's login: the header says who it is.
async fn login(
    State(signed_out): State<Arc<AtomicBool>>,
    mut request: Request,
    next: Next,
) -> Response {
    let person = request.headers().get("x-person").map(|name| name.to_str().unwrap().to_owned());
    // A browser sends no such header, and is Inès.
    let browser = request.headers().contains_key("sec-fetch-mode").then(|| "ines".to_owned());
    let signed_in = !signed_out.load(Ordering::Relaxed);
    if let Some(id) = person.or(browser).filter(|_| signed_in) {
        let name = if id == "ines" { "Inès Caradec".into() } else { format!("{id} of the crew") };
        request.extensions_mut().insert(Person { id, name });
    }
    next.run(request).await
}

/// Accepts all, unless told otherwise; remembers what was handed in, refused or not.
#[derive(Default)]
pub(crate) struct Script {
    refusals: Mutex<VecDeque<String>>,
    poison: Mutex<Option<String>>,
    notice: Mutex<Option<String>>,
    hushed: Mutex<Vec<(String, Option<String>)>>,
    heard: watch::Sender<Vec<(Heard, bool)>>,
}

impl Script {
    pub(crate) fn refuse_next(&self, reason: &str) {
        self.refusals.lock().unwrap().push_back(reason.into());
    }

    /// Refuses whatever contains these words, always.
    pub(crate) fn refuse_always(&self, words: Option<&str>) {
        *self.poison.lock().unwrap() = words.map(Into::into);
    }

    pub(crate) fn answer_with(&self, notice: &str) {
        *self.notice.lock().unwrap() = Some(notice.into());
    }

    /// From now on nothing of that session makes a sound for that person.
    pub(crate) fn hush(&self, person: &str, session: Option<&str>) {
        self.hushed.lock().unwrap().push((person.into(), session.map(ToOwned::to_owned)));
    }

    /// What was handed in so far, with whether it was accepted.
    pub(crate) fn handed_in(&self) -> Vec<(Heard, bool)> {
        self.heard.borrow().clone()
    }

    /// Waits until so many were accepted.
    pub(crate) async fn accepted(&self, count: usize) -> Vec<Heard> {
        let accepted = |heard: &Vec<(Heard, bool)>| {
            heard.iter().filter(|(_, yes)| *yes).map(|(heard, _)| heard.clone()).collect::<Vec<_>>()
        };
        let mut heard = self.heard.subscribe();
        let enough = heard.wait_for(|heard| accepted(heard).len() >= count);
        let heard = tokio::time::timeout(DEADLINE, enough)
            .await
            .unwrap_or_else(|_| panic!("{count} updates, but there are {:#?}", self.handed_in()))
            .unwrap();
        accepted(&heard)
    }

    /// Waits until so many were handed in, accepted or not.
    pub(crate) async fn tried(&self, count: usize) {
        let mut heard = self.heard.subscribe();
        let enough = heard.wait_for(|heard| heard.len() >= count);
        tokio::time::timeout(DEADLINE, enough).await.expect("in time").unwrap();
    }
}

#[async_trait]
impl Inbox for Script {
    async fn accept(&self, heard: Heard) -> Result<Accepted, NotAccepted> {
        let poison = self.poison.lock().unwrap().clone();
        let poisoned = poison.filter(|words| format!("{:?}", heard.what).contains(words.as_str()));
        let refusal = poisoned
            .map(|_| "it cannot be written down".to_owned())
            .or_else(|| self.refusals.lock().unwrap().pop_front());
        self.heard.send_modify(|all| all.push((heard, refusal.is_none())));
        match refusal {
            Some(reason) => Err(NotAccepted { reason }),
            None => Ok(Accepted { notice: self.notice.lock().unwrap().clone() }),
        }
    }

    async fn note(&self, bridge: &BridgeName, noted: Noted) -> Result<(), NotAccepted> {
        panic!("{bridge} has nothing to say about itself: {noted:?}")
    }

    async fn admits(&self, _bridge: &BridgeName, _from: &str) -> Result<bool, NotAccepted> {
        Ok(true)
    }

    async fn is_hushed(
        &self,
        _bridge: &BridgeName,
        from: &str,
        session: Option<&SessionName>,
    ) -> Result<bool, NotAccepted> {
        let session = session.map(ToString::to_string);
        Ok(self.hushed.lock().unwrap().contains(&(from.to_owned(), session)))
    }
}

pub(crate) fn main_chat() -> Place {
    in_thread(None)
}

pub(crate) fn in_thread(thread: Option<ThreadId>) -> Place {
    Place { bridge: BridgeName::new(NAME), chat: ChatId::new(CHAT), thread }
}
