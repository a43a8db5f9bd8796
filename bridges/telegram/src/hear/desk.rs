//! The worker between what is written down and the daemon: whose turn it is, what runs beside what.

use chrono::DateTime;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use std::{
    collections::{BTreeMap, VecDeque},
    panic::{self, AssertUnwindSafe},
    time::Duration,
};
use tokio::sync::{Notify, watch};
use tracing::{debug, warn};
use vigie_core::Timestamp;

use super::{
    hand::{Done, Hearing},
    lane::{self, Item, Step, Unit, Work},
    pause,
    read::{self, Me, Told},
};
use crate::{
    api::{TgChat, TgThread, TgUser},
    store::{
        Store, StoreError,
        heard::{self, Keep, Waiting},
    },
};

/// Rows in memory at a time; the rest waits on disk.
const HELD: usize = 1_000;

/// Rows read from disk at a time.
const PAGE: usize = 100;

/// People and places that are served at the same time. A slow download holds up one.
const LANES: usize = 32;

/// Taps are served beside them: they must be answered within 15 s.
const TAPS: usize = 32;

/// Answers to taps under way at the same time; they are best effort.
const ANSWERS: usize = 32;

/// Failures, a panic or a text that does not read, after which an update is set aside.
const TRIES: u32 = 3;

/// Whatever happens, the desk looks again after this long.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// Whose turn is apart from others' turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// What the service says about itself: before what people wrote after it.
    Service,
    Taps {
        from: TgUser,
    },
    Talk {
        chat: TgChat,
        thread: Option<TgThread>,
        from: TgUser,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Busy {
    #[default]
    No,
    HandingIn,
    /// Commands need not wait for that.
    Fetching,
}

#[derive(Debug, Default)]
struct Lane {
    queue: VecDeque<Item>,
    busy: Busy,
    /// A command is being handed in past what the lane waits for.
    overtaking: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    InOrder,
    Overtaking,
}

struct Finished {
    key: Key,
    turn: Turn,
    rows: usize,
    done: Done,
}

pub(super) struct Desk<'a> {
    hearing: Hearing<'a>,
    me: Me,
    /// Changes when the bot says that it is somebody else now.
    known: watch::Receiver<Option<Me>>,
    lanes: BTreeMap<Key, Lane>,
    running: FuturesUnordered<BoxFuture<'a, Finished>>,
    answers: FuturesUnordered<BoxFuture<'a, ()>>,
    /// Behind which row to go on reading: taps, and everything else.
    read: [i64; 2],
    /// Up to here are rows of an earlier run, which may have ended it.
    old: i64,
    since: Timestamp,
    held: usize,
    /// The daemon is being told of a silence.
    telling_silence: bool,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        hearing: Hearing<'a>,
        me: Me,
        known: watch::Receiver<Option<Me>>,
        old: i64,
    ) -> Self {
        Self {
            since: hearing.bridge.now(),
            hearing,
            me,
            known,
            lanes: BTreeMap::new(),
            running: FuturesUnordered::new(),
            answers: FuturesUnordered::new(),
            read: [0, 0],
            old,
            held: 0,
            telling_silence: false,
        }
    }

    /// Runs until it is dropped; what was not finished then is on disk.
    pub(super) async fn run(mut self, arrived: &Notify) {
        let mut failures = 0;
        loop {
            if let Some(me) = self.known.borrow_and_update().clone() {
                self.me = me;
            }
            let mut wait = LOOK_AGAIN;
            match self.load().await {
                Ok(()) => failures = 0,
                Err(error) => {
                    warn!(%error, "what Telegram told cannot be read from disk");
                    wait = pause::after(failures);
                    failures += 1;
                }
            }
            if let Some(due) = self.start() {
                let left = (due - self.hearing.bridge.now()).to_std().unwrap_or_default();
                wait = wait.min(left);
            }
            tokio::select! {
                () = arrived.notified() => {}
                Some(finished) = self.running.next() => self.finished(finished),
                Some(()) = self.answers.next() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn load(&mut self) -> Result<(), StoreError> {
        let store = &self.hearing.bridge.store;
        let bot = self.me.id;
        if !self.telling_silence
            && let Some(silent) = store.run(move |db| heard::silence(db, bot)).await?
        {
            self.telling_silence = true;
            self.put(Key::Service, 0, self.since, None, Work::Silent(silent));
        }
        for (kind, urgent) in [true, false].into_iter().enumerate() {
            while self.held < HELD || urgent {
                let after = self.read[kind];
                let rows =
                    store.run(move |db| heard::waiting(db, bot, urgent, after, PAGE)).await?;
                let more = rows.len() == PAGE;
                for row in rows {
                    let id = row.id;
                    self.place(row).await?;
                    self.read[kind] = id;
                }
                if !more || (urgent && self.held >= 2 * HELD) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Gives a row its place in a queue, or is done with it.
    async fn place(&mut self, row: Waiting) -> Result<(), StoreError> {
        let store = &self.hearing.bridge.store;
        let (id, batch) = (row.id, row.batch);
        let received = DateTime::from_timestamp_millis(row.received).unwrap_or(self.since);
        let told = match understand(store, &self.me, self.old, &row).await? {
            Ok(told) => told,
            Err(why) => {
                let work = Work::Unread { number: row.number, why };
                self.put(Key::Service, id, received, batch, work);
                return Ok(());
            }
        };
        let (key, work) = match told {
            Told::Nothing(why) => {
                debug!(update = row.number, why, "nothing to hand in");
                return store.run(move |db| heard::done(db, &[id], Keep::Nothing)).await;
            }
            Told::Said(piece) => (talk(&piece), Work::Said(piece)),
            Told::Edited { piece, edited } => (talk(&piece), Work::Edited { piece, edited }),
            Told::Tapped(tapped) => (Key::Taps { from: tapped.from }, Work::Tapped(tapped)),
            Told::Reacted(from, put) => (Key::Taps { from }, Work::Reacted(put)),
            Told::Noted(noted) => (Key::Service, Work::Noted(noted)),
            Told::Moved { from, to } => (Key::Service, Work::Moved { from, to }),
            Told::Topic { chat, thread, change } => {
                (Key::Service, Work::Topic { chat, thread, change })
            }
        };
        self.put(key, id, received, batch, work);
        Ok(())
    }

    fn put(&mut self, key: Key, id: i64, received: Timestamp, batch: Option<i64>, work: Work) {
        self.held += 1;
        let lane = self.lanes.entry(key).or_default();
        lane.queue.push_back(Item { id, received, batch, work });
    }

    /// Starts whatever may be handed in now; says when to look again.
    fn start(&mut self) -> Option<Timestamp> {
        let now = self.hearing.bridge.now();
        let mut due = None;
        let mut units = Vec::new();
        let mut free = [LANES, TAPS];
        for (key, lane) in &self.lanes {
            if lane.busy != Busy::No {
                let kind = usize::from(matches!(key, Key::Taps { .. }));
                free[kind] = free[kind].saturating_sub(1);
            }
        }
        // What the service said earlier is told first. Row 0 is a silence, before everything.
        let service = self.lanes.get(&Key::Service);
        let service_busy =
            service.is_some_and(|lane| lane.busy != Busy::No || !lane.queue.is_empty());
        let barrier = service.and_then(|lane| lane.queue.front()).map_or(i64::MAX, |item| item.id);
        for (key, lane) in &mut self.lanes {
            let talk = matches!(key, Key::Talk { .. });
            let room = match key {
                Key::Service => true,
                Key::Taps { .. } => free[1] > 0,
                Key::Talk { .. } => free[0] > 0,
            };
            let behind = |item: &Item| talk && service_busy && item.id > barrier;
            let mut held_up = lane.busy == Busy::Fetching;
            if lane.busy == Busy::No && room && !lane.queue.front().is_some_and(behind) {
                match lane::next(&mut lane.queue, now, self.since) {
                    Step::Nothing => {}
                    Step::Wait(until) => {
                        due = due.map_or(Some(until), |due: Timestamp| Some(due.min(until)));
                        held_up = true;
                    }
                    Step::HandIn(unit) => {
                        lane.busy = if unit.has_files() { Busy::Fetching } else { Busy::HandingIn };
                        units.push((*key, Turn::InOrder, unit));
                        match key {
                            Key::Service => {}
                            Key::Taps { .. } => free[1] -= 1,
                            Key::Talk { .. } => free[0] -= 1,
                        }
                        held_up = lane.busy == Busy::Fetching;
                    }
                }
            }
            if held_up
                && !lane.overtaking
                && let Some(unit) = lane::command(&mut lane.queue)
            {
                lane.overtaking = true;
                units.push((*key, Turn::Overtaking, unit));
            }
        }
        for (key, turn, unit) in units {
            let task = serve(self.hearing, self.me.clone(), key, turn, unit);
            self.running.push(task.boxed());
        }
        due
    }

    fn finished(&mut self, finished: Finished) {
        let Finished { key, turn, rows, done } = finished;
        self.held = self.held.saturating_sub(rows);
        if let Some(lane) = self.lanes.get_mut(&key) {
            match turn {
                Turn::InOrder => lane.busy = Busy::No,
                Turn::Overtaking => lane.overtaking = false,
            }
            if lane.queue.is_empty() && lane.busy == Busy::No && !lane.overtaking {
                self.lanes.remove(&key);
            }
        }
        match done {
            Done::Quietly => {}
            Done::Silence => self.telling_silence = false,
            Done::Answer { query, notice } => {
                if self.answers.len() < ANSWERS {
                    self.answers.push(self.hearing.answer(query, notice).boxed());
                }
            }
        }
    }
}

fn talk(piece: &read::Piece) -> Key {
    let read::Spot { chat, thread, from, .. } = piece.spot;
    Key::Talk { chat, thread, from }
}

/// What the row means, or why nothing can be made of it after [`TRIES`]. The first try of a row
/// that just came is not counted ahead: that would be a write for every message.
async fn understand(
    store: &Store,
    me: &Me,
    old: i64,
    row: &Waiting,
) -> Result<Result<Told, String>, StoreError> {
    let id = row.id;
    let mut counted = 0;
    let mut why = "it ended the program each time".to_owned();
    if row.id > old {
        match guarded(&row.json, me) {
            Ok(told) => return Ok(Ok(told)),
            Err(failed) => {
                why = failed;
                counted = store.run(move |db| heard::trying(db, id)).await?;
            }
        }
    }
    while counted < TRIES {
        counted = store.run(move |db| heard::trying(db, id)).await?;
        if counted > TRIES {
            break;
        }
        match guarded(&row.json, me) {
            Ok(told) => {
                store.run(move |db| heard::went_well(db, id)).await?;
                return Ok(Ok(told));
            }
            Err(failed) => why = failed,
        }
    }
    Ok(Err(why))
}

/// Reads an update; a mistake of ours that ends in a panic is an answer too.
fn guarded(json: &str, me: &Me) -> Result<Told, String> {
    panic::catch_unwind(|| read::read(json, me))
        .unwrap_or_else(|_| Err("Vigie made a mistake while reading it".into()))
}

/// Hands a unit in, again after a panic, and sets it aside after too many.
async fn serve<'a>(hearing: Hearing<'a>, me: Me, key: Key, turn: Turn, unit: Unit) -> Finished {
    let rows = unit.items.len();
    let finished = |done| Finished { key, turn, rows, done };
    loop {
        let task = AssertUnwindSafe(hearing.hand_in(&me, &unit)).catch_unwind().await;
        if let Ok(done) = task {
            return finished(done);
        }
        let id = unit.items.first().map_or(0, |item| item.id);
        if hearing.written(move |db| heard::trying(db, id)).await >= TRIES {
            hearing.unread(&unit.ids(), id, "Vigie made a mistake while handing it in").await;
            return finished(Done::Quietly);
        }
    }
}
