use async_trait::async_trait;
use matrix_sdk::Client;
use std::{
    num::NonZeroUsize,
    path::PathBuf,
    pin::pin,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};
use tokio::{
    sync::{Notify, RwLock},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use vigie_bridge_kit::{clock::Clock, database::OpenError, pulse::Pulse};
use vigie_core::{
    Timestamp,
    bridge::{
        Bridge, Budget, Cards, Counts, Files, Health, Inbox, Limits, Lost, Over, Place, Reactions,
        Refill, Repeats, Room, Said, Say, SayError, Signs, Taps, TextUnit,
    },
    id::{BridgeName, DeliveryId},
};

use crate::{
    NAME,
    account::{Folder, FolderError, Held, Session},
    connect::{self, NotReady},
    halves, hear,
    readers::Readers,
    say,
    store::Store,
    verify::Verifying,
};

/// Longest text of one message, in bytes: an encrypted edit holds it twice, each time with its HTML,
/// and all of that as base64. Source of the 65,536 bytes of an event: Matrix specification, "Size limits".
pub(crate) const TEXT: usize = 8_000;

/// HTML knows no most; this many make the HTML about as long as the text once more.
const SPANS: usize = 200;

/// More messages in a row are tiresome on a phone; then one, and a document.
const PARTS: usize = 3;

/// What an account may send at once. Source: Synapse, `rc_message.burst_count` where nobody changed it.
const BURST: u32 = 10;

/// The homeserver's clock is not ours, and what is sent arrives sooner or later.
const SPARE: Duration = Duration::from_secs(1);

/// Each edit is one more event that everybody's client keeps.
const PROGRESS_EVERY: Duration = Duration::from_secs(20);

/// As above: the state of a session is shown by an edit, or by a state event.
const THREAD_AFTER: Duration = Duration::from_secs(20);

/// How long what is being said may go on when its client is to be left: an answer that comes at all
/// comes within moments.
const TO_END: Duration = Duration::from_secs(5);

/// Where sessions stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One room, and prefixes.
    Direct,
    /// One room, with a thread for each session.
    Threads,
    /// A space, with a room for each session.
    Space,
}

/// What is done with something that is less safe than it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It is not taken, and the person is told.
    Refuse,
    Accept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Devices that their owner has not signed.
    pub unsigned_devices: Rule,
    /// Words without encryption in a room that is encrypted.
    pub unencrypted: Rule,
    /// Rooms without encryption.
    pub plain_rooms: Rule,
    /// Another identity of somebody who was never verified.
    pub new_identities: Rule,
}

/// How much the homeserver lets the account send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub events_a_minute: NonZeroUsize,
}

/// What the bridge needs from outside.
pub struct Options {
    pub folder: Folder,
    /// Where files that people send are put.
    pub files: PathBuf,
    pub clock: Clock,
    /// Whom the configuration knows by their full user id: they are invited where they are in no
    /// room with us yet.
    pub people: Vec<String>,
    pub layout: Layout,
    pub policy: Policy,
    pub pace: Pace,
    /// Whether cards with options get a poll beside them.
    pub polls: bool,
    /// Whether cards come with the reactions that answer them, to tap on.
    pub quick_reactions: bool,
    /// What counts of the reactions that people put, which the homeserver could have put too.
    pub reactions: Counts,
    /// Parts until a long text becomes one part and a document; 0: always a document.
    pub parts: Option<usize>,
}

/// The bridge cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailed {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// The adapter to Matrix.
pub struct MatrixBridge {
    pub(crate) folder: Folder,
    pub(crate) session: Session,
    pub(crate) files: PathBuf,
    pub(crate) clock: Clock,
    pub(crate) people: Vec<String>,
    pub(crate) layout: Layout,
    pub(crate) policy: Policy,
    pub(crate) pace: Pace,
    pub(crate) polls: bool,
    pub(crate) quick_reactions: bool,
    reactions: Counts,
    pub(crate) parts: usize,
    pub(crate) store: Store,
    /// The account's one client, made by whoever asks first.
    client: tokio::sync::Mutex<Option<Client>>,
    /// Read by whoever says something, so that no client is left in the middle of that.
    saying_now: RwLock<()>,
    /// Whoever says something is to give it up: the client is left.
    leaving: Notify,
    pub(crate) verifying: Verifying,
    pub(crate) saying: say::Saying,
    pub(crate) readers: Readers,
    pulse: Pulse,
    /// One hears at a time.
    pub(crate) hearing: tokio::sync::Mutex<()>,
    /// How many syncs in a row were cut off while matrix-sdk may have been reading them.
    pub(crate) cut_off: AtomicU32,
    /// The stores bear one process.
    _held: Held,
}

impl MatrixBridge {
    /// Opens the bridge's own file. Makes no connection yet.
    ///
    /// # Errors
    /// No account is set up, or a file cannot be used.
    pub fn open(options: Options) -> Result<Arc<Self>, OpenFailed> {
        let session = options.folder.session()?;
        options.folder.goes_with(&session)?;
        let held = options.folder.hold()?;
        let store = Store::open(&options.folder.database(), (options.clock)())?;
        let (people, clock) = (options.people.clone(), options.clock.clone());
        Ok(Arc::new(Self {
            verifying: Verifying::new(people, store.clone(), clock),
            store,
            folder: options.folder,
            session,
            files: options.files,
            clock: options.clock,
            people: options.people,
            layout: options.layout,
            policy: options.policy,
            pace: options.pace,
            polls: options.polls,
            quick_reactions: options.quick_reactions,
            reactions: options.reactions,
            parts: options.parts.unwrap_or(PARTS),
            client: tokio::sync::Mutex::default(),
            saying_now: RwLock::default(),
            leaving: Notify::new(),
            saying: say::Saying::default(),
            readers: Readers::default(),
            pulse: Pulse::default(),
            hearing: tokio::sync::Mutex::default(),
            cut_off: AtomicU32::default(),
            _held: held,
        }))
    }

    /// Who we are there: the whole id.
    pub fn account(&self) -> &str {
        self.session.user.as_str()
    }

    /// The account's client.
    pub(crate) async fn client(&self) -> Result<Client, NotReady> {
        let mut made = self.client.lock().await;
        if let Some(client) = &*made {
            return Ok(client.clone());
        }
        let client = Box::pin(self.connected()).await?;
        Ok(made.insert(client).clone())
    }

    async fn connected(&self) -> Result<Client, NotReady> {
        let cursor = self.store.cursor(&self.session.user).await?;
        let client = connect::build(&self.folder, &self.session, self.policy).await?;
        let file = self.folder.crypto_file();
        self.store.run(move |_| halves::forget(&file)).await.map_err(NotReady::Halves)?;
        connect::connect(&client, &self.folder, &self.session, cursor).await?;
        self.verifying.attach(&client);
        Ok(client)
    }

    /// Takes the next client from disk: what this one has in memory may be further than its store. What
    /// is being said may end; but where the homeserver gives no answer, that takes minutes in which
    /// nothing else is said or heard, so then it is in doubt.
    pub(crate) async fn leave_client(&self) {
        let mut alone = pin!(self.saying_now.write());
        let _nobody_speaks = if let Ok(nobody) = timeout(TO_END, &mut alone).await {
            nobody
        } else {
            self.leaving.notify_waiters();
            alone.await
        };
        *self.client.lock().await = None;
    }

    /// Reactions are not encrypted, whatever room they are in.
    pub(crate) fn reactions(&self) -> Reactions {
        Reactions::Forgeable(self.reactions)
    }

    /// Says something with one client from beginning to end.
    pub(crate) async fn with_one_client<T>(
        &self,
        say: impl Future<Output = Result<T, SayError>>,
    ) -> Result<T, SayError> {
        let _same_client = self.saying_now.read().await;
        tokio::select! {
            said = Box::pin(say) => said,
            () = self.leaving.notified() => Err(SayError::InDoubt),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// A sync came back: the homeserver told everything up to now.
    pub(crate) fn heard_all(&self) {
        self.pulse.heard_all(self.now());
    }

    /// Why syncs do not come back, and what to do about it.
    pub(crate) fn in_trouble(&self, trouble: String) {
        self.pulse.in_trouble(trouble);
    }
}

/// What a chat on Matrix takes; `parts` as in [`Options::parts`].
pub fn limits(room: Room, pace: Pace, parts: Option<usize>, reactions: Counts) -> Limits {
    let _ = room; // an account's events are counted, whatever room they go to
    let minute = Duration::from_mins(1);
    let events = u32::try_from(pace.events_a_minute.get()).unwrap_or(u32::MAX);
    let window = minute * BURST / events + SPARE;
    Limits {
        repeats: Repeats::DroppedByService,
        files: Files::Taken,
        taps: Taps::Unanswered,
        reactions: Reactions::Forgeable(reactions),
        cards: Cards::Last,
        budget: Some(Budget {
            calls: BURST as usize,
            window,
            refill: Refill::Steadily,
            over: Over::Service,
            signs: Signs::Counted,
        }),
        progress_every: PROGRESS_EVERY,
        thread_after: THREAD_AFTER,
        ..Limits::of_text(TextUnit::Bytes, TEXT, SPANS, parts.unwrap_or(PARTS))
    }
}

#[async_trait]
impl Bridge for MatrixBridge {
    fn name(&self) -> BridgeName {
        BridgeName::new(NAME)
    }

    fn limits(&self, room: Room) -> Limits {
        limits(room, self.pace, Some(self.parts), self.reactions)
    }

    fn health(&self) -> Health {
        self.pulse.health()
    }

    async fn say(&self, place: &Place, say: &Say, key: DeliveryId) -> Result<Said, SayError> {
        self.with_one_client(say::say(self, place, say, key)).await
    }

    async fn hear(&self, inbox: &dyn Inbox, stop: CancellationToken) -> Result<(), Lost> {
        hear::hear(self, inbox, stop).await
    }
}
