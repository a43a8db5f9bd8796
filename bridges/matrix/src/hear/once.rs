//! What was encrypted once is taken once. matrix-sdk opens the same sealed text as often as it comes,
//! and a homeserver could tell yesterday's yes again, as a new event.

use matrix_sdk::{
    Room as MatrixRoom,
    deserialized_responses::TimelineEventKind,
    ruma::{
        EventId, RoomId,
        api::{client::room::get_room_event, error::ErrorKind},
    },
};
use matrix_sdk_base::crypto::vodozemac::megolm::MegolmMessage;
use tracing::{debug, warn};
use vigie_bridge_kit::pause;

use super::{Hearing, event::Event, sync::Missed, trouble};
use crate::{
    markup::incoming::text,
    store::heard::{self, Waiting},
};

/// Where in its session a message was encrypted; no app uses one twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Index {
    session: String,
    number: u32,
}

impl Hearing<'_> {
    /// Whether the words were encrypted for this event and no other; asks until that is known.
    pub(super) async fn is_first(self, row: &Waiting) -> bool {
        if row.opened.megolm.is_none() {
            return true; // it was not encrypted
        }
        let mut failures = 0_u32;
        let index = loop {
            let missed = match Box::pin(index(self, row)).await {
                Ok(index) => break index,
                Err(missed) => missed,
            };
            warn!(error = %missed, event = row.event, "whether it came before is not known yet");
            let rest = trouble::rest(&missed).unwrap_or_else(|| pause::after(failures));
            tokio::time::sleep(rest).await;
            failures = failures.saturating_add(1);
        };
        let Some(Index { session, number }) = index else { return false };
        let (room, event) = (row.room.clone(), row.event.clone());
        self.written(move |db| heard::is_first(db, &session, number, &room, &event)).await
    }
}

/// `None`: the homeserver does not show the sealed event that these words came out of.
async fn index(hearing: Hearing<'_>, row: &Waiting) -> Result<Option<Index>, Missed> {
    let (Ok(id), Ok(event)) = (RoomId::parse(&row.room), EventId::parse(&row.event)) else {
        return Ok(None);
    };
    let Some(room) = hearing.client.get_room(&id) else { return Ok(None) };
    let request = get_room_event::v3::Request::new(id, event);
    let sealed = match hearing.client.send(request).await {
        Ok(answer) => answer.event,
        Err(error) => match error.client_api_error_kind() {
            Some(ErrorKind::NotFound | ErrorKind::Forbidden) => return Ok(None),
            Some(_) | None => return Err(Missed::Sdk(error.into())),
        },
    };
    let Some(number) = number(sealed.json().get()) else { return Ok(None) };
    let session = Box::pin(session(&room, &sealed.cast_unchecked(), row)).await?;
    Ok(session.map(|session| Index { session, number }))
}

/// The session, if what is sealed there opens to the words that are to be handed in: else the
/// homeserver could show any index with them.
async fn session(
    room: &MatrixRoom,
    sealed: &matrix_sdk::ruma::serde::Raw<
        matrix_sdk::ruma::events::room::encrypted::OriginalSyncRoomEncryptedEvent,
    >,
    row: &Waiting,
) -> Result<Option<String>, Missed> {
    let opened = Box::pin(room.decrypt_event(sealed, None)).await?;
    let TimelineEventKind::Decrypted(decrypted) = &opened.kind else {
        debug!(event = row.event, "it does not open again");
        return Ok(None);
    };
    let session = decrypted.encryption_info.session_id().map(ToOwned::to_owned);
    Ok(session.filter(|_| is_the_same(&row.json, opened.raw().json().get())))
}

/// Whether two tell the same event.
fn is_the_same(one: &str, other: &str) -> bool {
    let (Ok(one), Ok(other)) = (Event::read(one), Event::read(other)) else { return false };
    (one.id, one.sender, one.kind, one.content)
        == (other.id, other.sender, other.kind, other.content)
}

/// The index that a sealed event says, which its signature covers.
fn number(sealed: &str) -> Option<u32> {
    let event = Event::read(sealed).ok()?;
    let message = MegolmMessage::from_base64(text(&event.content, "ciphertext")?).ok()?;
    Some(message.message_index())
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk_base::crypto::vodozemac::megolm::{GroupSession, SessionConfig};

    #[test]
    fn the_index_is_read_from_what_is_sealed() {
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
    fn other_words_are_another_event() {
        let event = |id: &str, body: &str| {
            format!(
                r#"{{"type":"m.room.message","event_id":"{id}","sender":"@a:b","content":{{"body":"{body}"}}}}"#
            )
        };
        assert!(is_the_same(&event("$1", "yes"), &event("$1", "yes")));
        assert!(!is_the_same(&event("$1", "yes"), &event("$1", "no")));
        assert!(!is_the_same(&event("$1", "yes"), &event("$2", "yes")));
    }
}
