//! Asking the homeserver what happened: written down first, and only then asked on from there.

use futures_util::FutureExt as _;
use matrix_sdk::{
    Client, Room, RoomState,
    config::SyncSettings,
    deserialized_responses::TimelineEvent,
    room::MessagesOptions,
    ruma::{
        RoomId,
        api::client::{
            filter::{Filter, FilterDefinition, LazyLoadOptions, RoomEventFilter, RoomFilter},
            sync::sync_events,
        },
        assign,
    },
    store::StateStoreDataKey,
    sync::{SyncResponse, Timeline},
};
use std::{panic::AssertUnwindSafe, sync::atomic::Ordering, time::Duration};
use tokio::time::Instant;
use tracing::{debug, error, warn};
use vigie_bridge_kit::{clock::after_sleep, database::DatabaseError, pause};

use super::{
    Hearing,
    gather::{self, Came, Of},
    rooms, trouble,
};
use crate::store::{
    heard::{self, Batch},
    rooms::{Seen, Standing},
};

/// How long the homeserver may wait for something to happen. With [`GRACE`] it is less than the 45 s
/// after which the daemon says that nothing is heard.
const WAIT: Duration = Duration::from_secs(25);

/// What an answer may take beyond that before it is given up.
const GRACE: Duration = Duration::from_secs(15);

/// The first answer ever has every room in it.
const FIRST_EVER: Duration = Duration::from_mins(5);

/// A homeserver that does not wait when it is asked to is not asked as fast as it answers.
const PACE: Duration = Duration::from_secs(1);

/// What is fetched of one room's past, at most; [`gather::gap`] tells of more.
const PAGES: usize = 10;

/// As many as there may be. Source: Synapse cuts `limit` down to it, for syncs and for `/messages`.
const PAGE: u32 = 100;

/// Why a sync brought nothing that can be written down.
#[derive(Debug, thiserror::Error)]
pub(super) enum Missed {
    #[error(transparent)]
    Sdk(#[from] matrix_sdk::Error),
    #[error(transparent)]
    Store(#[from] DatabaseError),
    #[error("no answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("this machine slept")]
    Slept,
    #[error("a mistake in matrix-sdk")]
    Panicked,
}

impl Missed {
    /// matrix-sdk may have begun to read an answer, and not come to its end.
    fn may_be_half_read(&self) -> bool {
        match self {
            Self::Sdk(matrix_sdk::Error::Http(_)) | Self::Store(_) => false,
            Self::Sdk(_) | Self::Late(_) | Self::Slept | Self::Panicked => true,
        }
    }
}

impl From<matrix_sdk::StoreError> for Missed {
    fn from(error: matrix_sdk::StoreError) -> Self {
        Self::Sdk(error.into())
    }
}

/// What syncing remembers from one question to the next.
#[derive(Default)]
struct Syncer {
    /// In a row.
    failures: u32,
    /// The next question is answered at once, so that it is soon known how things are.
    wait: Duration,
}

/// Syncs for ever, or until the homeserver knows us no more: then nothing helps but a person. After a
/// sync that was cut off it is another client's turn.
pub(super) async fn sync(hearing: Hearing<'_>) {
    let mut syncer = Syncer::default();
    loop {
        let asked = Instant::now();
        let missed = match syncer.once(hearing).await {
            Ok(brought) => {
                let hasty = !brought && syncer.wait > Duration::ZERO && asked.elapsed() < PACE;
                (syncer.failures, syncer.wait) = (0, WAIT);
                if hasty {
                    tokio::time::sleep(PACE).await;
                }
                continue;
            }
            Err(missed) => missed,
        };
        debug!(error = %missed, failures = syncer.failures, "a sync failed");
        hearing.bridge.in_trouble(trouble::words(&missed));
        if trouble::is_final(&missed) {
            return;
        }
        let cut_off = hearing.bridge.cut_off.load(Ordering::SeqCst);
        let failures = syncer.failures.max(cut_off.saturating_sub(1));
        let rest = trouble::rest(&missed).unwrap_or_else(|| pause::after(failures));
        syncer.failures = syncer.failures.saturating_add(1);
        syncer.wait = Duration::ZERO;
        tokio::time::sleep(rest).await;
        if cut_off > 0 {
            hearing.wake.client.notify_one();
            return;
        }
    }
}

impl Syncer {
    /// Asks once and writes down what came; says whether it was anything.
    async fn once(&self, hearing: Hearing<'_>) -> Result<bool, Missed> {
        let Hearing { bridge, client, .. } = hearing;
        let cursor = bridge.store.cursor(&bridge.session.user).await?;
        // What matrix-sdk counts itself is further when an answer was lost between it and our disk.
        let from = Position { first: cursor.is_none(), lost: position(client).await? != cursor };
        bridge.cut_off.fetch_add(1, Ordering::SeqCst);
        let answer = ask(hearing, self.wait, from).await;
        if !matches!(&answer, Err(missed) if missed.may_be_half_read()) {
            bridge.cut_off.store(0, Ordering::SeqCst);
        }
        let response = answer?;
        let brought = cursor.as_ref() != Some(&response.next_batch);
        keep(hearing, response, from).await?;
        bridge.heard_all();
        if let Some(ailment) = hearing.wake.ailment() {
            bridge.in_trouble(ailment);
        }
        hearing.wake.all();
        Ok(brought)
    }
}

/// How what comes next lies to what is written down.
#[derive(Clone, Copy)]
struct Position {
    /// Nothing was ever heard: what is told now is the past.
    first: bool,
    /// Something in between was told and is not written down.
    lost: bool,
}

async fn position(client: &Client) -> Result<Option<String>, Missed> {
    let known = client.state_store().get_kv_data(StateStoreDataKey::SyncToken).await?;
    Ok(known.and_then(matrix_sdk::store::StateStoreDataValue::into_sync_token))
}

async fn ask(hearing: Hearing<'_>, wait: Duration, from: Position) -> Result<SyncResponse, Missed> {
    let settings = SyncSettings::new().timeout(wait).filter(filter());
    let deadline = if from.first { FIRST_EVER } else { wait + GRACE };
    let asked = AssertUnwindSafe(Box::pin(hearing.client.sync_once(settings))).catch_unwind();
    let answer = tokio::select! {
        answer = tokio::time::timeout(deadline, asked) => answer,
        () = after_sleep(&hearing.bridge.clock) => return Err(Missed::Slept),
    };
    match answer {
        Ok(Ok(response)) => Ok(response?),
        Ok(Err(_)) => {
            error!("matrix-sdk panicked in a sync");
            Err(Missed::Panicked)
        }
        Err(_) => Err(Missed::Late(deadline)),
    }
}

/// Members come as they are needed, with their number. Who types and who has read is not asked for:
/// each of it would end a wait.
fn filter() -> sync_events::v3::Filter {
    let lazy_load_options = LazyLoadOptions::Enabled { include_redundant_members: false };
    let timeline = assign!(RoomEventFilter::default(), {
        limit: Some(PAGE.into()), lazy_load_options: lazy_load_options
    });
    let state = assign!(RoomEventFilter::default(), { lazy_load_options });
    let room = assign!(RoomFilter::default(), {
        timeline, state, ephemeral: RoomEventFilter::ignore_all()
    });
    let all = assign!(FilterDefinition::default(), { room, presence: Filter::ignore_all() });
    all.into()
}

/// Writes down all that a sync brought, with what lies before it, again and again until it is on disk:
/// only then may the homeserver be asked on.
async fn keep(hearing: Hearing<'_>, response: SyncResponse, from: Position) -> Result<(), Missed> {
    let (batch, echoes) = loop_until(hearing, || gathered(hearing, &response, from)).await;
    let (user, now) = (hearing.me().to_owned(), hearing.bridge.now().timestamp_millis());
    loop_until(hearing, || async {
        let (user, batch) = (user.clone(), batch.clone());
        let keep = move |db: &mut _| heard::keep(db, &user, &batch, now);
        Ok(hearing.bridge.store.run(keep).await?)
    })
    .await;
    for (transaction, event) in echoes {
        hearing.echoed(&transaction, &event).await;
    }
    Ok(())
}

/// Tries until it succeeds, and says meanwhile what is wrong.
async fn loop_until<T, F>(hearing: Hearing<'_>, work: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, Missed>>,
{
    let mut failures = 0;
    loop {
        let missed = match work().await {
            Ok(done) => return done,
            Err(missed) => missed,
        };
        warn!(error = %missed, failures, "what a sync brought is not written down yet");
        hearing.bridge.in_trouble(trouble::words(&missed));
        let rest = trouble::rest(&missed).unwrap_or_else(|| pause::after(failures));
        tokio::time::sleep(rest).await;
        failures = failures.saturating_add(1);
    }
}

/// Events of ours that came back, and the ids that they were sent under.
type Echoes = Vec<(String, String)>;

async fn gathered(
    hearing: Hearing<'_>,
    response: &SyncResponse,
    from: Position,
) -> Result<(Batch, Echoes), Missed> {
    let mut batch = Batch { cursor: response.next_batch.clone(), ..Batch::default() };
    let mut echoes = Vec::new();
    let joined = response.rooms.joined.iter().map(|(room, update)| (room, &update.timeline));
    let left = response.rooms.left.iter().map(|(room, update)| (room, &update.timeline));
    for (id, timeline) in joined.chain(left) {
        of_room(hearing, id, Some(timeline), from, &mut batch, &mut echoes).await?;
    }
    if from.lost {
        for room in hearing.client.joined_rooms() {
            if !response.rooms.joined.contains_key(room.room_id()) {
                of_room(hearing, room.room_id(), None, from, &mut batch, &mut echoes).await?;
            }
        }
    }
    Ok((batch, echoes))
}

/// Adds what came from one room.
async fn of_room(
    hearing: Hearing<'_>,
    id: &RoomId,
    timeline: Option<&Timeline>,
    from: Position,
    batch: &mut Batch,
    echoes: &mut Echoes,
) -> Result<(), Missed> {
    let Some(room) = hearing.client.get_room(id) else { return Ok(()) };
    let known = hearing.bridge.store.room(id.as_str()).await?;
    let was_in = known.as_ref().is_some_and(|known| known.standing != Standing::Left);
    let encrypted = known.as_ref().is_some_and(|known| known.encrypted);
    let encrypted = encrypted || rooms::is_encrypted(&room).await?;
    let of = Of { room: id.as_str(), encrypted, me: hearing.me() };
    let mut came = Past { hearing, room: &room, of, was_in }.told(timeline, from).await?;
    let latest = came.last().map(|came| came.event().to_owned());
    if room.state() == RoomState::Joined || known.is_some() {
        let (kind, chat) = rooms::kind(&room).await?;
        batch.rooms.push(Seen { room: id.to_string(), kind, chat, encrypted, latest });
    }
    if !was_in {
        came = gather::since_we_came(came);
    }
    for came in came {
        match came {
            // The first answer ever is about what was before us.
            Came::Told(incoming) if !from.first => batch.events.push(incoming),
            Came::Echo { transaction: Some(transaction), event } => {
                echoes.push((transaction, event));
            }
            Came::Told(_) | Came::Echo { .. } | Came::Entry { .. } | Came::Other { .. } => {}
        }
    }
    Ok(())
}

/// The timeline of one room, and what lies before it.
struct Past<'a> {
    hearing: Hearing<'a>,
    room: &'a Room,
    of: Of<'a>,
    was_in: bool,
}

impl Past<'_> {
    /// What came, oldest first, with what lies between it and what is known.
    async fn told(&self, timeline: Option<&Timeline>, from: Position) -> Result<Vec<Came>, Missed> {
        let events = timeline.map_or(&[][..], |timeline| &timeline.events);
        let newest = self.came(events);
        let limited = timeline.is_none_or(|timeline| timeline.limited);
        if from.first || !(limited || from.lost) {
            return Ok(newest);
        }
        // An answer was lost: what it held lies behind what this one begins with.
        let start = timeline.filter(|_| !from.lost);
        let start = start.and_then(|timeline| timeline.prev_batch.clone());
        let (mut all, reached) = self.fetched(start).await?;
        if !reached && self.was_in {
            let missing = gather::gap(self.of.room, &all);
            all.splice(0..0, missing.map(Came::Told));
        }
        all.extend(newest);
        Ok(all)
    }

    fn came(&self, events: &[TimelineEvent]) -> Vec<Came> {
        events.iter().filter_map(|event| gather::came(self.of, event)).collect()
    }

    /// What was written before `start`, or before now, back to what is known or to when we were
    /// invited; and whether it went back that far.
    async fn fetched(&self, start: Option<String>) -> Result<(Vec<Came>, bool), Missed> {
        let (mut pages, mut start, mut reached) = (Vec::new(), start, false);
        for _ in 0..PAGES {
            let (page, next) = self.page(start.as_deref()).await?;
            let keep = self.unknown(&page).await?;
            reached = keep < page.len() || next.is_none();
            pages.extend(page.into_iter().take(keep));
            start = next;
            if reached {
                break;
            }
        }
        pages.reverse();
        Ok((pages, reached))
    }

    /// Newest first, and from where older ones go on.
    async fn page(&self, start: Option<&str>) -> Result<(Vec<Came>, Option<String>), Missed> {
        let options = MessagesOptions::backward().from(start);
        let options = assign!(options, { limit: PAGE.into() });
        let messages = Box::pin(self.room.messages(options)).await?;
        Ok((self.came(&messages.chunk), messages.end))
    }

    /// How many of a page, newest first, are new.
    async fn unknown(&self, page: &[Came]) -> Result<usize, Missed> {
        if !self.was_in {
            let invited = |came: &Came| matches!(came, Came::Entry { invited: true, .. });
            return Ok(page.iter().position(invited).map_or(page.len(), |at| at + 1));
        }
        let room = self.of.room.to_owned();
        let ids: Vec<_> = page.iter().map(|came| came.event().to_owned()).collect();
        let asked = ids.clone();
        let known =
            self.hearing.bridge.store.run(move |db| heard::known(db, &room, &asked)).await?;
        Ok(ids.iter().position(|id| known.contains(id)).unwrap_or(ids.len()))
    }
}
