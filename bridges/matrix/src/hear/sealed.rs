//! What came sealed is tried again when its key comes, for as long as it is kept. The key itself is
//! asked for by matrix-sdk: in the backup, and of the sender's devices.

use chrono::{DateTime, TimeDelta};
use futures_util::{Stream, StreamExt as _};
use matrix_sdk::ruma::{RoomId, UserId, serde::Raw};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
use tracing::{debug, warn};
use vigie_bridge_kit::pause;
use vigie_core::Timestamp;

use super::{Hearing, event::Event, gather, rooms, sync::Missed};
use crate::store::heard::{self, Hindrance, Opened, Trust, Waiting};

/// How many are looked after; who has more has another trouble.
const MOST: usize = 500;

/// Who has signed a device may be known a moment later: so long it is looked at again and again.
const SIGNATURES: TimeDelta = TimeDelta::seconds(10);
const LOOK_SOON: Duration = Duration::from_secs(1);

/// The keys of one person are not asked for oftener than that, whatever comes from there.
const ASK_AGAIN: TimeDelta = TimeDelta::seconds(2);

/// Asked before the person hears of it, keys that are older than that are asked for once more.
const FRESH: TimeDelta = TimeDelta::seconds(5);

/// One question of many: others wait behind it.
const ASKED: Duration = Duration::from_secs(5);

/// What they write there later waits too.
const PATIENCE: Duration = Duration::from_secs(30);

/// People of whom it is remembered when their keys were asked for.
const PEOPLE: usize = 1_000;

/// How often to look otherwise.
const LOOK: Duration = Duration::from_secs(20);

/// After that the person hears once more that it cannot be read.
const STILL: TimeDelta = TimeDelta::minutes(5);

/// Sessions whose keys came, with their rooms; `None`: some came that were not seen.
type Keys = Option<HashSet<(String, String)>>;

/// Opens late what came sealed, for ever.
pub(super) async fn open_late(hearing: Hearing<'_>) {
    let mut keys = std::pin::pin!(keys_of(hearing));
    let mut tried: HashMap<i64, Trial> = HashMap::new();
    loop {
        let rows = hearing.written(|db| heard::sealed(db, MOST)).await;
        tried.retain(|id, _| rows.iter().any(|row| row.id == *id));
        let mut soon = false;
        for row in &rows {
            let trial = tried.entry(row.id).or_default();
            soon |= one(hearing, row, trial).await;
        }
        tokio::select! {
            came = keys.next() => for row in &rows {
                let is_for = came.as_ref().is_none_or(|keys| has_come(keys.as_ref(), row));
                if is_for && let Some(trial) = tried.get_mut(&row.id) {
                    trial.due = true;
                }
            },
            () = hearing.wake.sealed.notified() => {}
            () = tokio::time::sleep(if soon { LOOK_SOON } else { LOOK }) => {}
        }
    }
}

/// Whether a row is to be tried; a new one is.
struct Trial {
    due: bool,
}

impl Default for Trial {
    fn default() -> Self {
        Self { due: true }
    }
}

fn has_come(keys: Option<&HashSet<(String, String)>>, row: &Waiting) -> bool {
    let Some(keys) = keys else { return true };
    let Some(megolm) = &row.opened.megolm else { return false };
    keys.contains(&(row.room.clone(), megolm.clone()))
}

fn keys_of(hearing: Hearing<'_>) -> impl Stream<Item = Keys> {
    let stream = async move { hearing.client.encryption().room_keys_received_stream().await };
    futures_util::stream::once(stream)
        .filter_map(|stream| async { stream })
        .flatten()
        .map(|came| {
            let keys = came.ok()?.into_iter().map(|key| (key.room_id.to_string(), key.session_id));
            Some(keys.collect())
        })
        .chain(futures_util::stream::pending())
}

/// Tries one row if it is time to; says whether it is to be looked at again soon.
async fn one(hearing: Hearing<'_>, row: &Waiting, trial: &mut Trial) -> bool {
    let age = hearing.bridge.now().timestamp_millis() - row.received;
    let unsigned = matches!(row.opened.hindrance, Some(Hindrance::Unsigned));
    let young = row.told == 0 && age < SIGNATURES.num_milliseconds();
    if unsigned && young {
        let asked = fresh_keys(hearing, row, received(row));
        match tokio::time::timeout(ASKED, Box::pin(asked)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, event = row.event, "its sender's keys are not known"),
            Err(_) => warn!(event = row.event, "its sender's keys were not told in time"),
        }
    }
    if trial.due || (unsigned && young) {
        match Box::pin(reopened(hearing, row)).await {
            Ok(()) => trial.due = false,
            Err(error) => warn!(%error, event = row.event, "what is sealed is tried again later"),
        }
    }
    if row.told == 1 && age > STILL.num_milliseconds() {
        hearing.still_sealed(row).await;
    }
    unsigned && young
}

/// Asks the homeserver who signed the sender's devices, and tries the row once more with that, while
/// whoever wrote it can be kept waiting. Whether that could be asked.
pub(super) async fn with_signatures(hearing: Hearing<'_>, row: &Waiting) -> bool {
    let asked = asked_for_signatures(hearing, row);
    let known = tokio::time::timeout(PATIENCE, Box::pin(asked)).await.is_ok();
    if !known {
        warn!(event = row.event, "who signed its device could not be asked");
    }
    known
}

async fn asked_for_signatures(hearing: Hearing<'_>, row: &Waiting) {
    let since = received(row).max(hearing.bridge.now() - FRESH);
    let mut failures = 0_u32;
    loop {
        let asked = async {
            Box::pin(fresh_keys(hearing, row, since)).await?;
            Box::pin(reopened(hearing, row)).await
        };
        match asked.await {
            Ok(()) => return,
            Err(error) => warn!(%error, event = row.event, "who signed its device is not known"),
        }
        tokio::time::sleep(pause::after(failures)).await;
        failures = failures.saturating_add(1);
    }
}

fn received(row: &Waiting) -> Timestamp {
    DateTime::from_timestamp_millis(row.received).unwrap_or_default()
}

/// Asks for the sender's keys, unless that was done since then, or only just now.
async fn fresh_keys(hearing: Hearing<'_>, row: &Waiting, since: Timestamp) -> Result<(), Missed> {
    let Ok(sender) = UserId::parse(&row.sender) else { return Ok(()) };
    let now = hearing.bridge.now();
    let last = hearing.wake.keys_asked(&row.sender);
    if last.is_some_and(|last| last >= since || now - last < ASK_AGAIN) {
        return Ok(());
    }
    Box::pin(hearing.client.encryption().request_user_identity(&sender)).await?;
    hearing.wake.set_keys_asked(&row.sender, now, PEOPLE);
    Ok(())
}

/// Opens what is on disk once more, and keeps what it is now.
async fn reopened(hearing: Hearing<'_>, row: &Waiting) -> Result<(), Missed> {
    let Ok(id) = RoomId::parse(&row.room) else { return Ok(()) };
    let Some(room) = hearing.client.get_room(&id) else { return Ok(()) };
    let Ok(sealed) = Raw::from_json_string(row.json.clone()) else { return Ok(()) };
    let tried = match Box::pin(room.decrypt_event(&sealed, None)).await {
        Ok(tried) => tried,
        Err(error @ (matrix_sdk::Error::Io(_) | matrix_sdk::Error::StateStore(_))) => {
            return Err(error.into());
        }
        Err(error) => {
            debug!(%error, event = row.event, "it is not sealed as it should be");
            return Ok(());
        }
    };
    let json = tried.raw().json().get().to_owned();
    let Ok(read) = Event::read(&json) else { return Ok(()) };
    let encrypted = rooms::is_encrypted(&room).await?;
    let mut opened = gather::opened(&tried.kind, &read, encrypted);
    if opened.trust == Trust::Sealed {
        opened.device = device(&room, &opened, row).await.or(opened.device);
    }
    if opened == row.opened {
        return Ok(());
    }
    let (id, thread) = (row.id, read.relation().thread);
    hearing.written(move |db| heard::opened(db, id, &json, thread.as_deref(), &opened)).await;
    hearing.wake.row_changed(id);
    Ok(())
}

/// Which device has sent it, as far as its session tells.
async fn device(room: &matrix_sdk::Room, opened: &Opened, row: &Waiting) -> Option<String> {
    let sender = UserId::parse(&row.sender).ok()?;
    let info = room.get_encryption_info(opened.megolm.as_deref()?, &sender).await?;
    info.sender_device.as_ref().map(ToString::to_string)
}
