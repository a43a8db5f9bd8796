//! A bridge and the Telegram it speaks to.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use telegram_emulator::{Emulator, Membership, Status, World};
use vigie_core::{
    Timestamp,
    bridge::{Bridge, Mark, Place, Post, Said, Say, SayError, SessionLook, ThreadState},
    id::{BridgeName, ChatId, DeliveryId, MessageId, ThreadId},
};
use vigie_telegram::{
    NAME, Options, TelegramBridge,
    api::{Api, Patience},
};

/// The same moment for every post: "4 min" after the start of what is going on.
pub(crate) const NOW: i64 = 1_796_029_680;

pub(crate) struct Desk {
    pub(crate) telegram: Emulator,
    pub(crate) bridge: Arc<TelegramBridge>,
    folder: tempfile::TempDir,
    keys: AtomicU64,
}

/// Telegram without flood control, which has tests of its own.
pub(crate) fn calm() -> World {
    World { flood: false, slow_busy_polls: false, ..World::default() }
}

impl Desk {
    pub(crate) fn start() -> Self {
        Self::with(calm())
    }

    pub(crate) fn with(world: World) -> Self {
        let telegram = Emulator::start(world);
        let folder = tempfile::tempdir().unwrap();
        let bridge = open(&telegram, folder.path());
        Self { telegram, bridge, folder, keys: AtomicU64::new(1) }
    }

    /// The daemon dies and starts again.
    pub(crate) fn restart(&mut self) {
        self.bridge = open(&self.telegram, self.folder.path());
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) fn key(&self) -> DeliveryId {
        let number = self.keys.fetch_add(1, Ordering::Relaxed);
        DeliveryId::from_parts(now(), number.into())
    }

    pub(crate) async fn say(&self, place: &Place, say: &Say) -> Result<Said, SayError> {
        self.bridge.say(place, say, self.key()).await
    }

    /// Says a post that must arrive, and returns its number.
    pub(crate) async fn post(&self, place: &Place, what: Post) -> i64 {
        let said = self.say(place, &post(what)).await.unwrap();
        said.message.unwrap().as_str().parse().unwrap()
    }

    pub(crate) async fn mark(
        &self,
        place: &Place,
        message: i64,
        mark: Mark,
    ) -> Result<Said, SayError> {
        self.say(place, &Say::Mark { message: MessageId::new(message.to_string()), mark }).await
    }

    pub(crate) async fn thread(&self, place: &Place, state: SessionLook) -> Result<Said, SayError> {
        self.say(place, &thread(state)).await
    }

    /// What was refused, without the words every refusal begins with.
    pub(crate) fn refused(&self) -> Vec<String> {
        let refused = self.telegram.refused().into_iter();
        refused.map(|(method, refusal)| format!("{method}: {}", refusal.text)).collect()
    }

    /// Nothing wrong but these refusals, which the test asked for.
    pub(crate) fn assert_refused(&self, expected: &[&str]) {
        let refused = self.refused();
        let fits = refused.len() == expected.len()
            && refused.iter().zip(expected).all(|(one, words)| one.contains(words));
        assert!(fits, "{refused:#?}");
        assert_eq!(self.telegram.defects(), []);
        assert_eq!(self.telegram.floods(), []);
    }
}

fn open(telegram: &Emulator, folder: &std::path::Path) -> Arc<TelegramBridge> {
    let token = telegram.token().parse().unwrap();
    let api = Api::new(token, telegram.url().parse().unwrap(), Patience::default()).unwrap();
    let options = Options {
        api,
        clock: Arc::new(now),
        files: folder.join("inbox"),
        parts: None,
        commands: Vec::new(),
    };
    TelegramBridge::open(&folder.join("telegram.db"), options).unwrap()
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_timestamp(NOW, 0).unwrap()
}

/// The chat itself.
pub(crate) fn main(chat: i64) -> Place {
    let bridge = BridgeName::new(NAME);
    Place { bridge, chat: ChatId::new(chat.to_string()), thread: None }
}

/// A topic of the chat.
pub(crate) fn topic(chat: i64, thread: i64) -> Place {
    Place { thread: Some(ThreadId::new(thread.to_string())), ..main(chat) }
}

pub(crate) fn post(post: Post) -> Say {
    Say::Post { post, reply_to: None }
}

pub(crate) fn edit(message: i64, post: Post) -> Say {
    Say::Edit { message: MessageId::new(message.to_string()), post }
}

pub(crate) fn thread(state: SessionLook) -> Say {
    let thread = ThreadState {
        session: "PD-285".parse().unwrap(),
        title: "night trains".into(),
        state,
        detail: None,
        since: now(),
    };
    Say::Thread { thread }
}

/// A bot in a group without that right.
pub(crate) fn administrator_without(right: &'static str) -> Membership {
    Membership::of(Status::Administrator).without(right)
}
