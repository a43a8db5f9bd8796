//! A thread for each session: by a first event, or by a room of its own.

use matrix_lab::{Membership, tools};
use vigie_core::bridge::{Bridge as _, Say, SayError, SessionLook, ThreadState};
use vigie_matrix::Layout;

use crate::{
    desk::{Desk, Wish, now, thread},
    posts,
};

pub(crate) fn state(look: SessionLook) -> Say {
    let thread = ThreadState {
        session: "PD-285".parse().unwrap(),
        title: "night trains".into(),
        state: look,
        detail: None,
        since: now(),
    };
    Say::Thread { thread }
}

#[tokio::test]
async fn a_thread_begins_with_what_it_is_about() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Threads)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let key = desk.key();
        let working = state(SessionLook::Working);
        let said = desk.bridge.say(&place, &working, key).await.unwrap();
        let first = said.thread.unwrap();
        let again = desk.bridge.say(&place, &working, key).await.unwrap();
        assert_eq!((again.thread.as_ref(), again.calls), (Some(&first), 0));
        desk.ada.wait_message(room, "PD-285 night trains\nWorking, since").await;

        let inside = thread(&place, &first);
        desk.post(&inside, posts::text("Done.")).await;
        let shown = desk.ada.wait_in_thread(room, first.as_str(), "Done.").await;
        assert_eq!((shown.body.as_str(), shown.reply_to), ("Done.", None));

        let ended = state(SessionLook::Ended);
        assert_eq!(desk.say(&inside, &ended).await.unwrap().calls, 1);
        desk.ada.wait_edit(room, first.as_str(), "Ended, since").await;
        assert_eq!(desk.say(&inside, &ended).await.unwrap().calls, 0);

        desk.ada.redact(room, first.as_str()).await;
        desk.ada.wait_redaction(room, first.as_str()).await;
        let gone = Say::Post { post: posts::text("Still there?"), reply_to: None };
        assert_eq!(desk.say(&inside, &gone).await, Err(SayError::NoThread));
    })
    .await;
}

#[tokio::test]
async fn a_session_has_a_room_in_the_one_space() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Space)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let key = desk.key();
        let said = desk.bridge.say(&place, &state(SessionLook::Working), key).await.unwrap();
        let room = said.thread.unwrap();
        let again = desk.bridge.say(&place, &state(SessionLook::Working), key).await.unwrap();
        assert_eq!(again.thread.as_ref(), Some(&room));

        // As if the process had died before it could write down what it made.
        let file = desk.home.path().join("matrix/matrix.db");
        let db = rusqlite::Connection::open(file).unwrap();
        db.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        assert_eq!(db.execute("update made set room = null", []).unwrap(), 2);
        db.execute("delete from room where kind = 'space'", []).unwrap();
        let found = desk.bridge.say(&place, &state(SessionLook::Working), key).await.unwrap();
        assert_eq!(found.thread.as_ref(), Some(&room));

        let invited = desk.ada.wait_room("PD-285").await;
        assert_eq!((invited.id.as_str(), invited.membership), (room.as_str(), Membership::Invited));
        assert!(invited.encrypted && !invited.is_direct);
        let space = desk.ada.wait_room("Vigie").await;
        desk.ada.join(&space.id).await;
        desk.ada.join(room.as_str()).await;
        let inside = thread(&place, &room);
        desk.post(&inside, posts::text("Done.")).await;
        let shown = desk.ada.wait_message(room.as_str(), "Done.").await;
        assert!(shown.sealed && shown.body == "Done.", "{shown}");
        desk.until("it is in the space", || async {
            desk.ada.view().children(&space.id).iter().any(|child| child.id == room.as_str())
        })
        .await;

        desk.say(&inside, &state(SessionLook::Ended)).await.unwrap();
        desk.ada.wait_room("✓ PD-285").await;
        let second = desk.say(&place, &state(SessionLook::Working)).await.unwrap();
        assert_ne!(second.thread.as_ref(), Some(&room));
        let spaces = desk.ada.view().rooms.values().filter(|room| room.is_space).count();
        assert_eq!(spaces, 1);
    })
    .await;
}

#[tokio::test]
async fn a_thread_of_another_layout_is_made_anew() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Threads)).await;
    let (place, root) = desk
        .hearing(async {
            let place = desk.room().await;
            let said = desk.say(&place, &state(SessionLook::Idle)).await.unwrap();
            (place, said.thread.unwrap())
        })
        .await;
    let desk = desk.reset(|wish| wish.layout = Layout::Space);
    let inside = thread(&place, &root);
    let post = Say::Post { post: posts::text("Done."), reply_to: None };
    assert_eq!(desk.say(&inside, &post).await, Err(SayError::NoThread));
    assert_eq!(desk.say(&inside, &state(SessionLook::Idle)).await, Err(SayError::NoThread));
    let desk = desk.reset(|wish| wish.layout = Layout::Direct);
    let none = desk.say(&place, &state(SessionLook::Idle)).await;
    assert_eq!(none, Err(SayError::NoThreads { reason: None }), "nobody needs to hear of it");
}
