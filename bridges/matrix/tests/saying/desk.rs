//! A bridge that speaks on a real homeserver, and Ada's phone.

use async_trait::async_trait;
use matrix_lab::{Homeserver, Invitation, Membership, Phone, Tools, shared};
use serde_json::{Value, json};
use std::{
    num::NonZeroUsize,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vigie_core::{
    Timestamp,
    bridge::{
        Accepted, Bridge as _, Counts, Heard, Inbox, NotAccepted, Noted, Place, Post, Said, Say,
        SayError,
    },
    id::{BridgeName, ChatId, DeliveryId, MessageId, ThreadId},
};
use vigie_matrix::{
    Layout, MatrixBridge, NAME, Options, Pace, Policy, Rule,
    account::{Folder, Session},
};

/// Longer than anything here takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// Takes whatever is heard, from anybody.
pub(crate) struct Ear;

#[async_trait]
impl Inbox for Ear {
    async fn accept(&self, _heard: Heard) -> Result<Accepted, NotAccepted> {
        Ok(Accepted::default())
    }

    async fn note(&self, _bridge: &BridgeName, _noted: Noted) -> Result<(), NotAccepted> {
        Ok(())
    }

    async fn admits(&self, _bridge: &BridgeName, _from: &str) -> Result<bool, NotAccepted> {
        Ok(true)
    }
}

/// How a bridge is set.
#[derive(Clone)]
pub(crate) struct Wish {
    pub(crate) layout: Layout,
    pub(crate) plain_rooms: Rule,
    pub(crate) polls: bool,
    pub(crate) quick_reactions: bool,
    pub(crate) reactions: Counts,
    pub(crate) people: Vec<String>,
}

impl Wish {
    pub(crate) fn new(layout: Layout) -> Self {
        let people = Vec::new();
        Self {
            layout,
            plain_rooms: Rule::Refuse,
            polls: false,
            quick_reactions: false,
            reactions: Counts::Answers,
            people,
        }
    }
}

pub(crate) struct Desk {
    pub(crate) server: &'static Homeserver,
    pub(crate) bridge: Arc<MatrixBridge>,
    pub(crate) ada: Phone,
    pub(crate) me: String,
    pub(crate) home: TempDir,
    wish: Wish,
    keys: AtomicU32,
}

impl Desk {
    pub(crate) async fn new(tools: &Tools, wish: Wish) -> Self {
        Self::on(shared(tools).await, wish).await
    }

    pub(crate) async fn on(server: &'static Homeserver, wish: Wish) -> Self {
        Self::by_way_of(server, &server.url(), wish).await
    }

    /// The bridge knows the homeserver under that address.
    pub(crate) async fn by_way_of(server: &'static Homeserver, url: &str, mut wish: Wish) -> Self {
        let ada = Phone::login(server, &server.user("ada").await).await;
        wish.people.push(ada.user().to_owned());
        let home = tempfile::tempdir().unwrap();
        let me = account(server, url, home.path()).await;
        let bridge = open(home.path(), &wish);
        Self { server, bridge, ada, me, home, wish, keys: AtomicU32::new(1) }
    }

    /// Hears while `story` runs; when that is over, hearing dies wherever it is.
    pub(crate) async fn hearing<T>(&self, story: impl Future<Output = T>) -> T {
        tokio::select! {
            ended = self.bridge.hear(&Ear, CancellationToken::new()) => panic!("hearing ended: {ended:?}"),
            done = story => done,
        }
    }

    /// The same folder, opened again.
    pub(crate) fn restarted(self) -> Self {
        let Self { server, bridge: before, ada, me, home, wish, keys } = self;
        drop(before); // the files are one process's, and one bridge's
        let bridge = open(home.path(), &wish);
        Self { server, bridge, ada, me, home, wish, keys }
    }

    /// The same, and while nobody has the files another process may.
    pub(crate) async fn while_closed(self, other: impl AsyncFnOnce(&Path)) -> Self {
        let Self { server, bridge: before, ada, me, home, wish, keys } = self;
        drop(before);
        other(home.path()).await;
        let bridge = open(home.path(), &wish);
        Self { server, bridge, ada, me, home, wish, keys }
    }

    /// The same folder with another setting.
    pub(crate) fn reset(mut self, wish: impl FnOnce(&mut Wish)) -> Self {
        wish(&mut self.wish);
        self.restarted()
    }

    /// Ada's encrypted room with us, once we are in.
    pub(crate) async fn room(&self) -> Place {
        self.room_like(&Invitation::of(&[&self.me]).direct()).await
    }

    pub(crate) async fn room_like(&self, invitation: &Invitation) -> Place {
        let room = self.ada.create_room(invitation).await;
        self.ada.wait_member(&room, &self.me, Membership::Joined).await;
        let place = main(&room);
        self.until("the room is known", || async {
            !matches!(
                self.bridge.say(&place, &probe(), self.key()).await,
                Err(SayError::Later { .. } | SayError::Shut { .. })
            )
        })
        .await;
        place
    }

    pub(crate) fn key(&self) -> DeliveryId {
        DeliveryId::from_parts(now(), u128::from(self.keys.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) async fn say(&self, place: &Place, say: &Say) -> Result<Said, SayError> {
        self.bridge.say(place, say, self.key()).await
    }

    /// Says it as the daemon does: again under the same key while it is asked to wait, as after a start,
    /// until it was told who is there.
    pub(crate) async fn surely(&self, place: &Place, say: &Say, key: DeliveryId) -> Said {
        surely(&self.bridge, place, say, key).await
    }

    /// Says it; the event it became.
    pub(crate) async fn post(&self, place: &Place, what: Post) -> String {
        let said = self.say(place, &post(what)).await.unwrap();
        said.message.unwrap().as_str().to_owned()
    }

    /// What of ours came into the room, oldest first.
    pub(crate) async fn events(&self, place: &Place) -> Vec<Value> {
        let events = self.server.events(place.chat.as_str()).await;
        events.into_iter().filter(|event| event["sender"] == self.me.as_str()).collect()
    }

    /// How many messages of ours the server holds there.
    pub(crate) async fn count(&self, place: &Place, kind: &str) -> usize {
        self.events(place).await.iter().filter(|event| event["type"] == kind).count()
    }

    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let wait = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, wait).await.is_ok();
        assert!(in_time, "waited until {what}; {:?}\n{}", self.bridge.health(), self.ada.view());
    }
}

pub(crate) async fn surely(
    bridge: &MatrixBridge,
    place: &Place,
    say: &Say,
    key: DeliveryId,
) -> Said {
    loop {
        match bridge.say(place, say, key).await {
            Ok(said) => return said,
            Err(SayError::Later { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Something that is said nowhere: the message it is about is none.
fn probe() -> Say {
    edit("none", super::posts::text(""))
}

pub(crate) fn main(room: &str) -> Place {
    Place { bridge: BridgeName::new(NAME), chat: ChatId::new(room), thread: None }
}

pub(crate) fn thread(place: &Place, thread: &ThreadId) -> Place {
    Place { thread: Some(thread.clone()), ..place.clone() }
}

pub(crate) fn post(post: Post) -> Say {
    Say::Post { post, reply_to: None }
}

pub(crate) fn edit(message: &str, post: Post) -> Say {
    Say::Edit { message: MessageId::new(message), post }
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
    answer["user_id"].as_str().unwrap().to_owned()
}

pub(crate) fn open(home: &Path, wish: &Wish) -> Arc<MatrixBridge> {
    let policy = Policy {
        unsigned_devices: Rule::Refuse,
        unencrypted: Rule::Refuse,
        plain_rooms: wish.plain_rooms,
        new_identities: Rule::Refuse,
    };
    let options = Options {
        folder: Folder::new(home.join("matrix")),
        files: home.join("files"),
        clock: Arc::new(now),
        people: wish.people.clone(),
        layout: wish.layout,
        policy,
        pace: Pace { events_a_minute: NonZeroUsize::new(6_000).unwrap() },
        polls: wish.polls,
        quick_reactions: wish.quick_reactions,
        reactions: wish.reactions,
        parts: None,
    };
    MatrixBridge::open(options).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the homeserver's time is the real one")]
pub(crate) fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_timestamp_millis(i64::try_from(now.as_millis()).unwrap()).unwrap()
}
