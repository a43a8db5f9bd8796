use async_trait::async_trait;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use vigie_bridge_kit::{clock::Clock, database::OpenError, pulse::Pulse};
use vigie_core::{
    Timestamp,
    bridge::{
        Bridge, Budget, Files, Health, Inbox, Limits, Lost, Over, Place, Refill, Repeats, Room,
        Said, Say, SayError, Signs, TextUnit,
    },
    id::{BridgeName, DeliveryId},
};

use crate::{
    NAME,
    api::{Api, BotCommand, ClientError},
    hear, say,
    store::Store,
};

/// Room for what a layout adds to a text: the session's name, part numbers, a card's facts.
/// Source of Telegram's 4,096: Bot API, `sendMessage`, field `text`; counted in UTF-16 units to be
/// safe with every client.
const TEXT: usize = 4096 - 496;

/// Of the 100 entities that are shown, some are the layout's own.
const SPANS: usize = 90;

/// More messages in a row are tiresome on a phone; then one, and a document.
const PARTS: usize = 3;

/// What a private chat bears. Telegram tells "about one a second, short bursts"; a burst of five
/// and then one a second was never refused.
const IN_PRIVATE: Budget = Budget {
    calls: 5,
    window: Duration::from_millis(5_500),
    refill: Refill::AfterWindow,
    over: Over::Chat,
    signs: Signs::Free,
};

/// What a group bears: 20 a minute, over all its topics. A second more, since our clock and
/// Telegram's are two.
const IN_A_GROUP: Budget = Budget {
    calls: 20,
    window: Duration::from_secs(61),
    refill: Refill::AfterWindow,
    over: Over::Chat,
    signs: Signs::Free,
};

/// A turn of half a minute then takes four calls: the first line, one change, the end, the answer.
const PROGRESS_EVERY: Duration = Duration::from_secs(15);

/// A rename posts a message into the topic, so what passes quickly is not worth one.
const TOPIC_AFTER: Duration = Duration::from_secs(20);

/// What the bridge needs from outside.
pub struct Options {
    pub api: Api,
    pub clock: Clock,
    /// Where files that people send are put.
    pub files: PathBuf,
    /// Parts until a long text becomes one part and a document; 0: always a document.
    pub parts: Option<usize>,
    /// What the command menu offers, by language; the first is everybody's.
    pub commands: Vec<Menu>,
}

/// The command menu in one language.
#[derive(Clone, Debug)]
pub struct Menu {
    /// Two letters (ISO 639-1).
    pub language: String,
    pub commands: Vec<BotCommand>,
}

/// The bridge cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailed {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The adapter to Telegram.
pub struct TelegramBridge {
    pub(crate) api: Api,
    pub(crate) clock: Clock,
    pub(crate) files: PathBuf,
    pub(crate) parts: usize,
    pub(crate) commands: Vec<Menu>,
    pub(crate) store: Store,
    pulse: Pulse,
    /// Calls in a row that never left this machine.
    unreached: AtomicU32,
    /// One hears at a time.
    pub(crate) hearing: tokio::sync::Mutex<()>,
}

impl TelegramBridge {
    /// Opens the bridge's own file, or makes an empty one that only this user can read. Makes no
    /// connection yet.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn open(file: &Path, options: Options) -> Result<Arc<Self>, OpenFailed> {
        Ok(Arc::new(Self {
            store: Store::open(file, (options.clock)())?,
            api: options.api,
            clock: options.clock,
            files: options.files,
            parts: options.parts.unwrap_or(PARTS),
            commands: options.commands,
            pulse: Pulse::default(),
            unreached: AtomicU32::new(0),
            hearing: tokio::sync::Mutex::default(),
        }))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// A call never left this machine; returns how many before it did not either.
    pub(crate) fn not_reached(&self) -> u32 {
        self.unreached.fetch_add(1, Ordering::Relaxed)
    }

    /// How many calls in a row never left this machine.
    pub(crate) fn unreached(&self) -> u32 {
        self.unreached.load(Ordering::Relaxed)
    }

    /// Telegram answers.
    pub(crate) fn reached(&self) {
        self.unreached.store(0, Ordering::Relaxed);
    }

    /// A poll came back: Telegram told everything up to now.
    pub(crate) fn heard_all(&self) {
        self.pulse.heard_all(self.now());
    }

    /// When a poll last came back.
    pub(crate) fn heard_at(&self) -> Option<Timestamp> {
        self.pulse.health().heard
    }

    /// Why polls do not come back, and what to do about it.
    pub(crate) fn in_trouble(&self, trouble: String) {
        self.pulse.in_trouble(trouble);
    }
}

/// What a chat of Telegram's takes; `parts` as in [`Options::parts`].
pub fn limits(room: Room, parts: Option<usize>) -> Limits {
    Limits {
        repeats: Repeats::Shown,
        files: Files::Taken,
        budget: Some(if room.is_direct() { IN_PRIVATE } else { IN_A_GROUP }),
        progress_every: PROGRESS_EVERY,
        thread_after: TOPIC_AFTER,
        ..Limits::of_text(TextUnit::Utf16, TEXT, SPANS, parts.unwrap_or(PARTS))
    }
}

#[async_trait]
impl Bridge for TelegramBridge {
    fn name(&self) -> BridgeName {
        BridgeName::new(NAME)
    }

    fn limits(&self, room: Room) -> Limits {
        limits(room, Some(self.parts))
    }

    fn health(&self) -> Health {
        self.pulse.health()
    }

    async fn say(&self, place: &Place, say: &Say, key: DeliveryId) -> Result<Said, SayError> {
        say::say(self, place, say, key).await
    }

    async fn hear(&self, inbox: &dyn Inbox, stop: CancellationToken) -> Result<(), Lost> {
        hear::hear(self, inbox, stop).await
    }
}
