//! What came sealed is tried again when its key comes, for as long as it is kept. The key itself is
//! asked for by matrix-sdk: in the backup, and of the sender's devices.

use chrono::TimeDelta;
use futures_util::{Stream, StreamExt as _};
use matrix_sdk::ruma::{EventId, RoomId, UserId};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
use tracing::{debug, warn};
use vigie_bridge_kit::pause;

use super::{Hearing, event::Event, gather, rooms, sync::Missed};
use crate::store::heard::{self, Hindrance, Opened, Trust, Waiting};

/// How many are looked after; who has more has another trouble.
const MOST: usize = 500;

/// Who has signed a device is asked for when its first message is there: a moment later it is known.
const SIGNATURES: TimeDelta = TimeDelta::seconds(10);
const LOOK_SOON: Duration = Duration::from_secs(1);

/// What they write there later waits too.
const PATIENCE: Duration = Duration::from_secs(30);

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
    if trial.due || (unsigned && young) {
        match Box::pin(fetched(hearing, row)).await {
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
/// whoever wrote it can be kept waiting.
pub(super) async fn with_signatures(hearing: Hearing<'_>, row: &Waiting) {
    let asked = asked_for_signatures(hearing, row);
    if tokio::time::timeout(PATIENCE, Box::pin(asked)).await.is_err() {
        warn!(event = row.event, "who signed its device could not be asked");
    }
}

async fn asked_for_signatures(hearing: Hearing<'_>, row: &Waiting) {
    let Ok(sender) = UserId::parse(&row.sender) else { return };
    let mut failures = 0_u32;
    loop {
        let asked = async {
            Box::pin(hearing.client.encryption().request_user_identity(&sender)).await?;
            Box::pin(fetched(hearing, row)).await
        };
        match asked.await {
            Ok(()) => return,
            Err(error) => warn!(%error, event = row.event, "who signed its device is not known"),
        }
        tokio::time::sleep(pause::after(failures)).await;
        failures = failures.saturating_add(1);
    }
}

/// Fetches the event once more and keeps what it is now.
async fn fetched(hearing: Hearing<'_>, row: &Waiting) -> Result<(), Missed> {
    let (Ok(room), Ok(event)) = (RoomId::parse(&row.room), EventId::parse(&row.event)) else {
        return Ok(());
    };
    let Some(room) = hearing.client.get_room(&room) else { return Ok(()) };
    let fetched = match room.event(&event, None).await {
        Ok(fetched) => fetched,
        // Taken back, or out of our sight: it stays as it is.
        Err(error) if error.client_api_error_kind().is_some() => {
            debug!(%error, event = row.event, "it is not handed out");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let json = fetched.raw().json().get().to_owned();
    let Ok(read) = Event::read(&json) else { return Ok(()) };
    if !is_of(&read, row) {
        // The homeserver could put one person's words under another's name.
        warn!(event = row.event, "another event was handed out in its place");
        return Ok(());
    }
    let encrypted = rooms::is_encrypted(&room).await?;
    let mut opened = gather::opened(&fetched.kind, &read, encrypted);
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

/// Whether what was fetched is the event that was asked for, as far as it says.
fn is_of(event: &Event, row: &Waiting) -> bool {
    let room = event.room.as_ref().is_none_or(|room| *room == row.room);
    room && event.id == row.event && event.sender == row.sender
}

/// Which device has sent it, as far as its session tells.
async fn device(room: &matrix_sdk::Room, opened: &Opened, row: &Waiting) -> Option<String> {
    let sender = UserId::parse(&row.sender).ok()?;
    let info = room.get_encryption_info(opened.megolm.as_deref()?, &sender).await?;
    info.sender_device.as_ref().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Waiting {
        Waiting {
            id: 1,
            room: "!room".into(),
            event: "$1".into(),
            sender: "@ines:example.org".into(),
            thread: None,
            sent: 0,
            received: 0,
            json: "{}".into(),
            opened: Opened::as_is(Trust::Sealed),
            told: 0,
        }
    }

    #[test]
    fn another_event_in_its_place_is_not_taken() {
        for (event, sender, room, expected) in [
            ("$1", "@ines:example.org", r#","room_id":"!room""#, true),
            ("$1", "@ines:example.org", "", true),
            ("$2", "@ines:example.org", "", false),
            ("$1", "@eve:example.org", "", false),
            ("$1", "@ines:Example.org", "", false),
            ("$1", "@ines:example.org", r#","room_id":"!other""#, false),
        ] {
            let json = format!(
                r#"{{"type":"m.room.message","event_id":"{event}","sender":"{sender}"{room}}}"#
            );
            assert_eq!(is_of(&Event::read(&json).unwrap(), &row()), expected, "{json}");
        }
    }
}
