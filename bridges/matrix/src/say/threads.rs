//! A thread for each session: its first event says what it is, or it is a room of its own.

use matrix_sdk::ruma::{EventId, RoomId};
use vigie_bridge_kit::sheet::Sheet;
use vigie_core::{
    bridge::{Said, SayError, SessionLook, ThreadState},
    id::{DeliveryId, ThreadId},
    text::Rich,
};

use super::{
    content::{self, Standing},
    door::Door,
    layout::fit,
    once::{Changes, MESSAGE, Outgoing},
    outcome, posts, space,
};
use crate::{Layout, MatrixBridge, markup::Kind, store::Part};

/// Makes the session's thread, or brings its title and state up to date.
pub(super) async fn show(
    bridge: &MatrixBridge,
    chat: &RoomId,
    thread: Option<&ThreadId>,
    state: &ThreadState,
    key: DeliveryId,
) -> Result<Said, SayError> {
    match (bridge.layout, thread) {
        (Layout::Direct, _) => Err(SayError::NoThreads { reason: None }),
        (Layout::Threads, None) => begin(bridge, chat, state, key).await,
        (Layout::Threads, Some(thread)) => {
            let root = EventId::parse(thread.as_str()).map_err(|_| SayError::NoThread)?;
            update(bridge, chat, &root, state, key).await
        }
        (Layout::Space, None) => space::make(bridge, chat, state, key).await,
        (Layout::Space, Some(thread)) => {
            let room = RoomId::parse(thread.as_str()).map_err(|_| SayError::NoThread)?;
            space::update(bridge, chat, &room, state).await
        }
    }
}

async fn begin(
    bridge: &MatrixBridge,
    chat: &RoomId,
    state: &ThreadState,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let door = Door::open(bridge, chat).await?;
    let part = Part::first(key);
    let words = content::words(&fit(&sheet(state), Kind::Edit), None);
    let digest = content::digest(&words);
    let root = Outgoing {
        kind: MESSAGE,
        digest: digest.clone(),
        content: content::placed(words, &Standing::default(), part),
        changes: Changes::ByEdit,
        door: &door,
    };
    let arrived = root.once(part).await?;
    let thread = arrived.event.as_str();
    bridge.store.keep_shown(chat, thread, digest).await.map_err(outcome::unwritten)?;
    Ok(Said { message: None, thread: Some(ThreadId::new(thread)), calls: arrived.calls })
}

async fn update(
    bridge: &MatrixBridge,
    chat: &RoomId,
    root: &EventId,
    state: &ThreadState,
    key: DeliveryId,
) -> Result<Said, SayError> {
    let said = |calls| Said { message: None, thread: Some(ThreadId::new(root.as_str())), calls };
    let words = content::words(&fit(&sheet(state), Kind::Edit), None);
    let digest = content::digest(&words);
    let shown = bridge.store.shown(chat, root.as_str()).await.map_err(outcome::unwritten)?;
    if shown.content == digest {
        return Ok(said(0));
    }
    let door = Door::open(bridge, chat).await?;
    let calls = match posts::change(&door, root, &words, key, false).await {
        Err(SayError::NoMessage) => return Err(SayError::NoThread),
        calls => calls?,
    };
    bridge.store.keep_shown(chat, root.as_str(), digest).await.map_err(outcome::unwritten)?;
    Ok(said(calls))
}

/// What a thread's first event says.
fn sheet(state: &ThreadState) -> Sheet {
    let contents = vec![Rich::plain(standing_of(state))];
    Sheet { title: name_of(state), contents, cut: "…".into(), ..Sheet::default() }
}

/// `PD-285 import of timetables`.
fn name_of(state: &ThreadState) -> String {
    let session = state.session.as_str();
    let title = vigie_core::text::reveal(&state.title).text;
    let mut words = title.text.split_whitespace().peekable();
    words.next_if_eq(&session); // a title that begins with the name says it once
    words.fold(session.to_owned(), |name, word| name + " " + word)
}

/// `◆ Waits for you: permission, since 09:08 UTC`.
fn standing_of(state: &ThreadState) -> String {
    let words = words_of(state.state);
    let detail = state.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{words}{detail}, since {}", state.since.format("%-d %B, %H:%M UTC"))
}

/// The state alone, in words of our own.
pub(super) fn words_of(look: SessionLook) -> &'static str {
    match look {
        SessionLook::Starting => "Starting",
        SessionLook::Idle => "Idle",
        SessionLook::Working => "Working",
        SessionLook::Waiting => "◆ Waits for you",
        SessionLook::NeedsDesk => "◆ Needs you at the desk",
        SessionLook::Limited => "◐ At its limit",
        SessionLook::Ended => "Ended",
        SessionLook::Lost => "✕ Lost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::Timestamp;

    fn state(title: &str, look: SessionLook, detail: Option<&str>) -> ThreadState {
        let since = Timestamp::from_timestamp(1_796_000_000, 0).unwrap();
        let session = "PD-285".parse().unwrap();
        ThreadState {
            session,
            title: title.into(),
            state: look,
            detail: detail.map(Into::into),
            since,
        }
    }

    #[test]
    fn a_first_event_says_which_session_and_how_it_stands() {
        let text = fit(
            &sheet(&state("night\n trains", SessionLook::Waiting, Some("permission"))),
            Kind::Edit,
        );
        assert_eq!(
            text.body,
            "PD-285 night trains\n◆ Waits for you: permission, since 30 November, 00:53 UTC"
        );
        assert!(text.html.unwrap().starts_with("<strong>PD-285 night trains</strong><br>"));
    }

    #[test]
    fn a_name_says_nothing_twice() {
        let name = |title: &str| name_of(&state(title, SessionLook::Idle, None));
        assert_eq!(name(""), "PD-285");
        assert_eq!(name("PD-285 trains"), "PD-285 trains");
        assert_eq!(name("PD-285"), "PD-285");
    }
}
