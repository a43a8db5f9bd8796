//! The worker between what is written down and the daemon: whose turn it is, what runs beside what.

use chrono::TimeDelta;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};
use tracing::{debug, warn};
use vigie_bridge_kit::{
    database::DatabaseError,
    handing::{despite_panics, understood},
    pause,
};
use vigie_core::Timestamp;

use super::{
    Hearing,
    lane::{Item, Lane, Step, Turn, Work},
    read::{self, Told},
};
use crate::store::{
    heard::{self, Found, Keep, Waiting},
    rooms, said,
};

/// Rows in memory at a time; the rest waits on disk.
const HELD: usize = 1_000;

/// Rows read from disk at a time.
const PAGE: usize = 100;

/// People and places that are served at the same time. A slow download holds up one.
const LANES: usize = 32;

/// Whatever happens, the desk looks again after this long.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// How long what answers a message of ours waits until it is known what that became: after a crash it
/// is said again within seconds, and then known.
const UNTIL_IT_IS_KNOWN: TimeDelta = TimeDelta::minutes(1);

/// Whose turn is apart from others' turns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// What they tap and take back: it waits for no words.
    Taps {
        room: String,
        from: String,
    },
    Talk {
        room: String,
        thread: Option<String>,
        from: String,
    },
}

struct Finished {
    key: Key,
    turn: Turn,
    id: i64,
}

pub(super) struct Desk<'a> {
    hearing: Hearing<'a>,
    lanes: BTreeMap<Key, Lane>,
    running: FuturesUnordered<BoxFuture<'a, Finished>>,
    /// What is being handed in.
    out: HashSet<i64>,
    /// What changed on disk while it was being handed in.
    again: HashSet<i64>,
    /// Rooms that the daemon does not know of yet: it hears of a room before it hears from it.
    strange: HashSet<String>,
    /// Behind which row to go on reading.
    read: i64,
    held: usize,
}

impl<'a> Desk<'a> {
    pub(super) fn new(hearing: Hearing<'a>) -> Self {
        Self {
            hearing,
            lanes: BTreeMap::new(),
            running: FuturesUnordered::new(),
            out: HashSet::new(),
            again: HashSet::new(),
            strange: HashSet::new(),
            read: 0,
            held: 0,
        }
    }

    /// Runs until it is dropped; what was not finished then is on disk.
    pub(super) async fn run(mut self) {
        let mut failures = 0;
        loop {
            let mut wait = LOOK_AGAIN;
            let loaded = match self.load().await {
                Ok(()) => self.release().await,
                failed => failed,
            };
            match loaded {
                Ok(()) => failures = 0,
                Err(error) => {
                    warn!(%error, "what Matrix told cannot be read from disk");
                    wait = pause::after(failures);
                    failures += 1;
                }
            }
            if let Some(due) = self.start() {
                let left = (due - self.hearing.bridge.now()).to_std().unwrap_or_default();
                wait = wait.min(left);
            }
            tokio::select! {
                () = self.hearing.wake.desk.notified() => {}
                () = self.hearing.bridge.saying.settled.notified() => {}
                Some(finished) = self.running.next() => self.finished(&finished),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn load(&mut self) -> Result<(), DatabaseError> {
        let store = &self.hearing.bridge.store;
        self.strange = store.run(rooms::strange).await?;
        self.again.extend(self.hearing.wake.take_changed());
        for id in self.again.difference(&self.out).copied().collect::<Vec<_>>() {
            self.place_again(id).await?;
            self.again.remove(&id);
        }
        while self.held < HELD {
            let after = self.read;
            let rows = store.run(move |db| heard::waiting(db, after, PAGE)).await?;
            let Some(last) = rows.last().map(|row| row.id) else { break };
            for row in rows {
                self.place(row).await?;
            }
            self.read = last;
        }
        Ok(())
    }

    /// What was held and answers something known now need not wait longer.
    async fn release(&mut self) -> Result<(), DatabaseError> {
        for lane in self.lanes.values_mut() {
            if let Some(item) = lane.held()
                && !is_held(self.hearing, item).await?
            {
                lane.release();
            }
        }
        Ok(())
    }

    /// A row reads otherwise than before: it keeps its place in the order.
    async fn place_again(&mut self, id: i64) -> Result<(), DatabaseError> {
        if self.withdraw(id).is_none() && id > self.read {
            return Ok(()); // it comes in its turn
        }
        match self.hearing.bridge.store.run(move |db| heard::one(db, id)).await? {
            Some(row) => self.place(row).await,
            None => Ok(()),
        }
    }

    /// Takes out of its queue what is not being handed in yet.
    fn withdraw(&mut self, id: i64) -> Option<Item> {
        let item = self.lanes.values_mut().find_map(|lane| lane.take(id))?;
        self.held = self.held.saturating_sub(1);
        self.lanes.retain(|_, lane| !lane.is_over());
        Some(item)
    }

    /// Gives a row its place in a queue, or is done with it.
    async fn place(&mut self, mut row: Waiting) -> Result<(), DatabaseError> {
        let (store, id) = (&self.hearing.bridge.store, row.id);
        let failed = || store.run(move |db| heard::failed(db, id));
        let read = || read::read(&row, self.hearing.me());
        let told: Result<Told, String> = understood::<_, DatabaseError, _>(read, failed).await?;
        let work = match told {
            Err(why) => Work::Unread(why),
            Ok(Told::Nothing(why)) => return nothing(self.hearing, &row, why).await,
            Ok(Told::Edited { message, text }) => {
                let original = find(self.hearing, &row, &message).await?;
                if original.as_ref().is_some_and(|original| original.sender != row.sender) {
                    return nothing(self.hearing, &row, "an edit of somebody else's").await;
                }
                row.thread = original.and_then(|original| original.thread);
                Work::Told(Told::Edited { message, text })
            }
            Ok(Told::Redacted { event }) => {
                let target = find(self.hearing, &row, &event).await?;
                if let Some(target) = target.filter(|target| target.waits) {
                    if target.sender != row.sender {
                        return nothing(self.hearing, &row, "a redaction of somebody else's").await;
                    }
                    return self.take_back(&row, target.id).await;
                }
                Work::Told(Told::Redacted { event })
            }
            Ok(told) => Work::Told(told),
        };
        let mut item = Item { row, work, held: None };
        if is_held(self.hearing, &item).await? {
            item.held = Some(self.hearing.bridge.now() + UNTIL_IT_IS_KNOWN);
        }
        self.held += 1;
        self.lanes.entry(key(&item.row, &item.work)).or_default().put(item);
        Ok(())
    }

    /// Somebody took back what the daemon does not have: then it does not get it. What it is getting
    /// just now, it gets.
    async fn take_back(&mut self, row: &Waiting, target: i64) -> Result<(), DatabaseError> {
        if !self.out.contains(&target) {
            self.withdraw(target);
            let forget = move |db: &mut _| heard::done(db, target, Keep::Nothing);
            self.hearing.bridge.store.run(forget).await?;
        }
        nothing(self.hearing, row, "it took back what was not handed in").await
    }

    /// Starts whatever may be handed in now; says when to look again.
    fn start(&mut self) -> Option<Timestamp> {
        let now = self.hearing.bridge.now();
        let mut free = LANES.saturating_sub(self.lanes.values().filter(|it| it.is_busy()).count());
        let (mut due, mut turns) = (None::<Timestamp>, Vec::new());
        for (key, lane) in &mut self.lanes {
            while free > 0 && lane.next_room().is_some_and(|room| !self.strange.contains(room)) {
                match lane.next(now) {
                    Step::Nothing => break,
                    Step::Wait(until) => {
                        due = Some(due.map_or(until, |due| due.min(until)));
                        break;
                    }
                    Step::HandIn(turn, item) => {
                        free -= 1;
                        turns.push((key.clone(), turn, item));
                    }
                }
            }
        }
        for (key, turn, item) in turns {
            self.out.insert(item.row.id);
            self.running.push(serve(self.hearing, key, turn, *item).boxed());
        }
        due
    }

    fn finished(&mut self, finished: &Finished) {
        self.held = self.held.saturating_sub(1);
        self.out.remove(&finished.id);
        if let Some(lane) = self.lanes.get_mut(&finished.key) {
            lane.finished(finished.turn);
            if lane.is_over() {
                self.lanes.remove(&finished.key);
            }
        }
    }
}

async fn nothing(hearing: Hearing<'_>, row: &Waiting, why: &str) -> Result<(), DatabaseError> {
    debug!(event = row.event, why, "nothing to hand in");
    let id = row.id;
    hearing.bridge.store.run(move |db| heard::done(db, id, Keep::Nothing)).await
}

/// Whether it answers something of ours of which it is not known yet what it became, or may.
async fn is_held(hearing: Hearing<'_>, item: &Item) -> Result<bool, DatabaseError> {
    let Some(on) = item.answers() else { return Ok(false) };
    let (room, on) = (item.row.room.clone(), on.to_owned());
    hearing.bridge.store.run(move |db| said::is_unsettled(db, &room, &on)).await
}

async fn find(
    hearing: Hearing<'_>,
    row: &Waiting,
    event: &str,
) -> Result<Option<Found>, DatabaseError> {
    let (room, event) = (row.room.clone(), event.to_owned());
    hearing.bridge.store.run(move |db| heard::find(db, &room, &event)).await
}

fn key(row: &Waiting, work: &Work) -> Key {
    let from = row.sender.clone();
    let tap = matches!(
        work,
        Work::Told(Told::Reacted { .. } | Told::Voted { .. } | Told::Redacted { .. })
    );
    if tap {
        return Key::Taps { room: row.room.clone(), from };
    }
    Key::Talk { room: row.room.clone(), thread: row.thread.clone(), from }
}

/// Hands an item in, again after a panic, and sets it aside after too many.
async fn serve(hearing: Hearing<'_>, key: Key, turn: Turn, item: Item) -> Finished {
    let id = item.row.id;
    let failed = || hearing.written(move |db| heard::failed(db, id));
    if despite_panics(|| hearing.hand_in(&item), failed).await.is_none() {
        hearing.unread(&item.row, "Vigie made a mistake while handing it in").await;
    }
    Finished { key, turn, id }
}
