//! The worker between what is written down and the daemon: whose turn it is, what runs beside what.

use chrono::DateTime;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use rusqlite::Connection;
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};
use tokio::sync::{Notify, watch};
use tracing::{debug, warn};
use vigie_bridge_kit::{database::DatabaseError, handing, pause};
use vigie_core::Timestamp;

use super::{
    hand::{Done, Hearing},
    lane::{self, Item, Step, Unit, Work},
    read::{self, Me, Told, TopicChange},
};
use crate::{
    api::{TgChat, TgThread, TgUser},
    store::{
        Store,
        heard::{self, Keep, Waiting},
        topics,
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
    /// The first row of what is being handed in.
    first: Option<i64>,
    /// A command is being handed in past what the lane waits for.
    overtaking: bool,
}

impl Lane {
    /// The oldest row that is not handed in.
    fn oldest(&self) -> Option<i64> {
        self.first.into_iter().chain(self.queue.front().map(|item| item.id)).min()
    }

    fn is_over(&self) -> bool {
        self.queue.is_empty() && self.busy == Busy::No && !self.overtaking
    }

    /// What may be handed in next, unless that is to wait.
    fn next(&mut self, now: Timestamp, since: Timestamp) -> Step {
        let step = lane::next(&mut self.queue, now, since);
        if let Step::HandIn(unit) = &step {
            self.first = unit.items.first().map(|item| item.id);
            self.busy = if unit.has_files() { Busy::Fetching } else { Busy::HandingIn };
        }
        step
    }

    fn overtake(&mut self) -> Option<Unit> {
        let unit = if self.overtaking { None } else { lane::command(&mut self.queue) };
        self.overtaking |= unit.is_some();
        unit
    }

    fn finished(&mut self, turn: Turn) {
        match turn {
            Turn::InOrder => (self.busy, self.first) = (Busy::No, None),
            Turn::Overtaking => self.overtaking = false,
        }
    }
}

/// How many more lanes may be busy.
struct Free {
    service: usize,
    taps: usize,
    talk: usize,
}

impl Free {
    fn beside<'l>(lanes: impl Iterator<Item = (&'l Key, &'l Lane)>) -> Self {
        let mut free = Self { service: 1, taps: TAPS, talk: LANES };
        for (key, _) in lanes.filter(|(_, lane)| lane.busy != Busy::No) {
            let left = free.of(key);
            *left = left.saturating_sub(1);
        }
        free
    }

    fn of(&mut self, key: &Key) -> &mut usize {
        match key {
            Key::Service => &mut self.service,
            Key::Taps { .. } => &mut self.taps,
            Key::Talk { .. } => &mut self.talk,
        }
    }
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
    since: Timestamp,
    held: usize,
    /// The daemon is being told of a silence.
    telling_silence: bool,
}

impl<'a> Desk<'a> {
    pub(super) fn new(hearing: Hearing<'a>, me: Me, known: watch::Receiver<Option<Me>>) -> Self {
        Self {
            since: hearing.bridge.now(),
            hearing,
            me,
            known,
            lanes: BTreeMap::new(),
            running: FuturesUnordered::new(),
            answers: FuturesUnordered::new(),
            read: [0, 0],
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

    async fn load(&mut self) -> Result<(), DatabaseError> {
        let store = &self.hearing.bridge.store;
        let bot = self.me.id;
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
        // Looked for last: a silence before what is read above was written with it or earlier.
        if !self.telling_silence
            && let Some(silent) =
                self.hearing.bridge.store.run(move |db| heard::silence(db, bot)).await?
        {
            self.telling_silence = true;
            self.put(Key::Service, 0, self.since, None, Work::Silent(silent));
        }
        Ok(())
    }

    /// Gives a row its place in a queue, or is done with it.
    async fn place(&mut self, row: Waiting) -> Result<(), DatabaseError> {
        let store = &self.hearing.bridge.store;
        let (id, batch) = (row.id, row.batch);
        let received = DateTime::from_timestamp_millis(row.received).unwrap_or(self.since);
        let told = match understand(store, &self.me, &row).await? {
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
            // The daemon learns of topics where it writes to them; nothing waits for this.
            Told::Topic { chat, thread, change } => {
                let topic = move |db: &mut _| {
                    topic(db, chat.0, thread.number(), &change)?;
                    heard::done(db, &[id], Keep::Nothing)
                };
                return store.run(topic).await;
            }
        };
        self.put(key, id, received, batch, work);
        Ok(())
    }

    fn put(&mut self, key: Key, id: i64, received: Timestamp, batch: Option<i64>, work: Work) {
        self.held += 1;
        let lane = self.lanes.entry(key).or_default();
        let item = Item { id, received, batch, work };
        if id == 0 { lane.queue.push_front(item) } else { lane.queue.push_back(item) }
    }

    /// Starts whatever may be handed in now; says when to look again.
    fn start(&mut self) -> Option<Timestamp> {
        let now = self.hearing.bridge.now();
        let mut free = Free::beside(self.lanes.iter());
        // What the service said is told before what people wrote after it.
        let note = self.lanes.get(&Key::Service).and_then(Lane::oldest).unwrap_or(i64::MAX);
        let (mut due, mut turns) = (None::<Timestamp>, Vec::new());
        for (key, lane) in &mut self.lanes {
            let talk = matches!(key, Key::Talk { .. });
            let behind_a_note = talk && lane.queue.front().is_some_and(|item| item.id > note);
            let mut held_up = lane.busy == Busy::Fetching;
            if lane.busy == Busy::No && !behind_a_note && *free.of(key) > 0 {
                match lane.next(now, self.since) {
                    Step::Nothing => {}
                    Step::Wait(until) => {
                        due = Some(due.map_or(until, |due| due.min(until)));
                        held_up = true;
                    }
                    Step::HandIn(unit) => {
                        *free.of(key) -= 1;
                        held_up = lane.busy == Busy::Fetching;
                        turns.push((*key, Turn::InOrder, unit));
                    }
                }
            }
            if held_up {
                turns.extend(lane.overtake().map(|unit| (*key, Turn::Overtaking, unit)));
            }
        }
        for (key, turn, unit) in turns {
            self.running.push(serve(self.hearing, self.me.clone(), key, turn, unit).boxed());
        }
        due
    }

    fn finished(&mut self, finished: Finished) {
        let Finished { key, turn, rows, done } = finished;
        self.held = self.held.saturating_sub(rows);
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.finished(turn);
            if lane.is_over() {
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

fn topic(db: &Connection, chat: i64, thread: i64, change: &TopicChange) -> rusqlite::Result<()> {
    match change {
        TopicChange::Made { name, ours } => topics::topic_seen(db, chat, thread, name, *ours),
        TopicChange::Named(name) => topics::topic_named(db, chat, thread, name),
        TopicChange::Closed => topics::topic_closed(db, chat, thread, true),
        TopicChange::Reopened => topics::topic_closed(db, chat, thread, false),
    }
}

fn talk(piece: &read::Piece) -> Key {
    let read::Spot { chat, thread, from, .. } = piece.spot;
    Key::Talk { chat, thread, from }
}

/// What the row means, or why nothing can be made of it.
async fn understand(
    store: &Store,
    me: &Me,
    row: &Waiting,
) -> Result<Result<Told, String>, DatabaseError> {
    let id = row.id;
    let failed = || store.run(move |db| heard::failed(db, id));
    handing::understood(|| read::read(&row.json, me), failed).await
}

/// Hands a unit in, again after a panic, and sets it aside after too many.
async fn serve(hearing: Hearing<'_>, me: Me, key: Key, turn: Turn, unit: Unit) -> Finished {
    let id = unit.items.first().map_or(0, |item| item.id);
    let failed = || hearing.written(move |db| heard::failed(db, id));
    let finished = |done| Finished { key, turn, rows: unit.items.len(), done };
    if let Some(done) = handing::despite_panics(|| hearing.hand_in(&me, &unit), failed).await {
        return finished(done);
    }
    hearing.unread(&unit.ids(), id, "Vigie made a mistake while handing it in").await;
    finished(Done::Quietly)
}
