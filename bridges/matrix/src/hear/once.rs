//! What was encrypted once is taken once. matrix-sdk opens the same sealed text as often as it comes,
//! and a homeserver could tell yesterday's yes again, as a new event.
//!
//! The same sealed text has the same words in the same session. So other words are new, and nobody has
//! to be asked; only of words that were taken before the homeserver is asked for what is sealed, which
//! says where in its session it stands. No app uses a place twice.

use matrix_sdk::{
    Room as MatrixRoom,
    deserialized_responses::TimelineEventKind,
    ruma::{
        EventId, RoomId,
        api::{client::room::get_room_event, error::ErrorKind},
        events::room::encrypted::OriginalSyncRoomEncryptedEvent,
        serde::Raw,
    },
};
use matrix_sdk_base::crypto::vodozemac::megolm::MegolmMessage;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, time::Duration};
use tokio::time::Instant;
use tracing::{debug, warn};
use vigie_bridge_kit::pause;

use super::{Hearing, KEPT, event::Event, policy::Refusal, sync::Missed, trouble};
use crate::{
    markup::incoming::text,
    store::{
        heard::Waiting,
        used::{self, Claim, Sealed, Twin},
    },
};

/// Whoever wrote it waits, and so does all that they write there later.
const PATIENCE: Duration = Duration::from_secs(30);

impl Hearing<'_> {
    /// Takes the words for this event, unless they were taken for another one.
    pub(super) async fn taken_once(self, row: &Waiting) -> Result<(), Refusal> {
        let Some(session) = row.opened.megolm.clone() else {
            return Ok(()); // it was not encrypted
        };
        let Ok(event) = Event::read(&row.json) else { return Err(Refusal::Again) };
        let (digest, room) = (digest(&event), row.room.clone());
        let sealed = Sealed { session, digest, room, event: row.event.clone() };
        let (now, claimed) = (self.bridge.now(), sealed.clone());
        let (since, at) = ((now - KEPT).timestamp_millis(), now.timestamp_millis());
        let claim = move |db: &mut _| used::claim(db, &claimed, since, at);
        match self.written(claim).await {
            Claim::First => Ok(()),
            Claim::Again => Err(Refusal::Again),
            Claim::Closed => Err(Refusal::OldKey),
            Claim::Twins(twins) => {
                let until = Instant::now() + PATIENCE;
                let told_apart = self.told_apart(&sealed, &twins, at);
                let in_time = tokio::time::timeout_at(until, told_apart).await;
                in_time.unwrap_or(Err(Refusal::Unasked))
            }
        }
    }

    /// The same words again: taken where they stand elsewhere in the session.
    async fn told_apart(self, sealed: &Sealed, twins: &[Twin], now: i64) -> Result<(), Refusal> {
        for twin in twins.iter().filter(|twin| twin.number.is_none()) {
            let other =
                Sealed { room: twin.room.clone(), event: twin.event.clone(), ..sealed.clone() };
            if let Some(number) = self.place(&other).await {
                let (session, twin) = (sealed.session.clone(), twin.clone());
                self.written(move |db| used::is_at(db, &session, &twin, number)).await;
            }
        }
        let Some(number) = self.place(sealed).await else { return Err(Refusal::Again) };
        let sealed = sealed.clone();
        let taken = self.written(move |db| used::claim_at(db, &sealed, number, now)).await;
        if taken { Ok(()) } else { Err(Refusal::Again) }
    }

    /// Where it stands in its session; asks until that is known. `None`: the homeserver does not show the
    /// sealed event that these words came out of.
    async fn place(self, sealed: &Sealed) -> Option<u32> {
        let mut failures = 0_u32;
        loop {
            let missed = match Box::pin(place(self, sealed)).await {
                Ok(place) => return place,
                Err(missed) => missed,
            };
            warn!(error = %missed, event = sealed.event, "whether it came before is not known yet");
            let rest = trouble::rest(&missed).unwrap_or_else(|| pause::after(failures));
            tokio::time::sleep(rest).await;
            failures = failures.saturating_add(1);
        }
    }
}

/// Tells words apart by all that is sealed in an event; where it stands may be said outside of that.
fn digest(event: &Event) -> String {
    let mut content = event.content.clone();
    content.remove("m.relates_to");
    let hash = Sha256::digest(json!([event.kind, content]).to_string());
    hash.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}"); // a String takes everything
        hex
    })
}

async fn place(hearing: Hearing<'_>, sealed: &Sealed) -> Result<Option<u32>, Missed> {
    let (Ok(id), Ok(event)) = (RoomId::parse(&sealed.room), EventId::parse(&sealed.event)) else {
        return Ok(None);
    };
    let Some(room) = hearing.client.get_room(&id) else { return Ok(None) };
    let request = get_room_event::v3::Request::new(id, event);
    let shown = match hearing.client.send(request).await {
        Ok(answer) => answer.event,
        Err(error) => match error.client_api_error_kind() {
            Some(ErrorKind::NotFound | ErrorKind::Forbidden) => return Ok(None),
            Some(_) | None => return Err(Missed::Sdk(error.into())),
        },
    };
    let Some(number) = number(shown.json().get()) else { return Ok(None) };
    let same = Box::pin(opens_to(&room, &shown.cast_unchecked(), sealed)).await?;
    Ok(same.then_some(number))
}

/// Whether what is sealed there opens to those words: else the homeserver could show any place with them.
async fn opens_to(
    room: &MatrixRoom,
    shown: &Raw<OriginalSyncRoomEncryptedEvent>,
    sealed: &Sealed,
) -> Result<bool, Missed> {
    let opened = Box::pin(room.decrypt_event(shown, None)).await?;
    let TimelineEventKind::Decrypted(decrypted) = &opened.kind else {
        debug!(event = sealed.event, "it does not open again");
        return Ok(false);
    };
    let session = decrypted.encryption_info.session_id();
    let Ok(event) = Event::read(opened.raw().json().get()) else { return Ok(false) };
    Ok(session == Some(sealed.session.as_str()) && digest(&event) == sealed.digest)
}

/// The place that a sealed event says, which its signature covers.
fn number(sealed: &str) -> Option<u32> {
    let event = Event::read(sealed).ok()?;
    let message = MegolmMessage::from_base64(text(&event.content, "ciphertext")?).ok()?;
    Some(message.message_index())
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk_base::crypto::vodozemac::megolm::{GroupSession, SessionConfig};
    use serde_json::Value;

    #[test]
    fn the_place_is_read_from_what_is_sealed() {
        let mut session = GroupSession::new(SessionConfig::version_1());
        for expected in 0..300 {
            let ciphertext = session.encrypt("words").to_base64();
            let json = format!(
                r#"{{"type":"m.room.encrypted","event_id":"$1","sender":"@ines:example.org","content":{{"ciphertext":"{ciphertext}"}}}}"#
            );
            assert_eq!(number(&json), Some(expected));
        }
        let bare = r#"{"type":"m.room.message","event_id":"$1","sender":"@a:b","content":{}}"#;
        assert_eq!(number(bare), None);
    }

    #[test]
    fn what_a_homeserver_can_change_makes_no_other_words() {
        let of = |id: &str, sent: i64, kind: &str, content: Value| {
            let event = json!({ "type": kind, "event_id": id, "sender": "@a:b",
                "origin_server_ts": sent, "unsigned": { "age": sent }, "content": content });
            digest(&Event::read(&event.to_string()).unwrap())
        };
        let yes = of("$1", 1, "m.room.message", json!({ "body": "yes" }));
        let elsewhere = json!({ "body": "yes", "m.relates_to": { "event_id": "$card" } });
        assert_eq!(of("$2", 2, "m.room.message", elsewhere), yes);
        assert_ne!(of("$1", 1, "m.room.message", json!({ "body": "no" })), yes);
        assert_ne!(of("$1", 1, "m.sticker", json!({ "body": "yes" })), yes);
    }
}
