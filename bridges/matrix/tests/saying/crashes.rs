//! One message for one key, whatever dies in between.

use matrix_lab::{Membership, PATIENCE, Passage, Proxy, shared, tools};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use vigie_core::{
    bridge::{Bridge as _, Place, SayError, SessionLook},
    id::DeliveryId,
};
use vigie_matrix::Layout;

use crate::{
    desk::{Desk, Ear, Wish, edit, main, open, post, surely},
    posts,
    threads::state,
};

/// What the homeserver sees of a message.
const SEALED: &str = "m.room.encrypted";

#[tokio::test]
async fn a_key_said_again_is_one_message_and_shows_the_newest() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    let key = desk.key();
    let (place, first) = desk
        .hearing(async {
            let place = desk.room().await;
            let first = desk.bridge.say(&place, &post(posts::text("once")), key).await.unwrap();
            let again = desk.bridge.say(&place, &post(posts::text("once")), key).await.unwrap();
            assert_eq!((again.message.as_ref(), again.calls), (first.message.as_ref(), 0));
            (place, first)
        })
        .await;
    let desk = desk.restarted();
    desk.hearing(async {
        let again = desk.surely(&place, &post(posts::text("once")), key).await;
        assert_eq!(again.message, first.message);
        forget(&desk, key);
        let again =
            desk.bridge.say(&place, &post(posts::text("once, changed")), key).await.unwrap();
        assert_eq!((again.message.as_ref(), again.calls), (first.message.as_ref(), 2));
        let id = first.message.unwrap();
        let shown = desk.ada.wait_edit(place.chat.as_str(), id.as_str(), "once, changed").await;
        assert_eq!(shown.versions.len(), 1);
        assert_eq!(desk.count(&place, SEALED).await, 2);
    })
    .await;
}

/// As if the process had died between the send and its row.
fn forget(desk: &Desk, key: DeliveryId) {
    let file = desk.home.path().join("matrix/matrix.db");
    let db = rusqlite::Connection::open(file).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    let forget = "update said set event = null where key = ?1";
    assert_eq!(db.execute(forget, [key.to_string()]).unwrap(), 1);
}

#[tokio::test]
async fn what_the_server_has_forgotten_is_found_by_its_key() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let key = desk.key();
        let first = desk.bridge.say(&place, &post(posts::text("long ago")), key).await.unwrap();
        forget(&desk, key);
        let file = desk.home.path().join("matrix/matrix.db");
        let db = rusqlite::Connection::open(file).unwrap();
        db.busy_timeout(Duration::from_secs(5)).unwrap();
        let age = "update said set first = first - 90000000 where key = ?1";
        db.execute(age, [key.to_string()]).unwrap();
        let again = desk.bridge.say(&place, &post(posts::text("long ago")), key).await.unwrap();
        assert_eq!((again.message, again.calls), (first.message, 0));
    })
    .await;
}

/// Says one thing and is killed before it can write down that it did.
#[test]
#[ignore = "a process of its own, started by the tests below"]
fn the_one_that_is_killed() {
    let (Ok(home), Ok(room), Ok(key), Ok(layout)) = (
        std::env::var("VIGIE_TEST_HOME"),
        std::env::var("VIGIE_TEST_ROOM"),
        std::env::var("VIGIE_TEST_KEY"),
        std::env::var("VIGIE_TEST_LAYOUT"),
    ) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (layout, what) = match layout.as_str() {
            "space" => (Layout::Space, state(SessionLook::Working)),
            _ => (Layout::Direct, post(posts::text("killed"))),
        };
        let bridge = open(home.as_ref(), &Wish::new(layout));
        let (place, key): (_, DeliveryId) = (main(&room), key.parse().unwrap());
        tokio::select! {
            ended = bridge.hear(&Ear, CancellationToken::new()) => panic!("hearing ended: {ended:?}"),
            said = surely(&bridge, &place, &what, key) => panic!("it lived to tell: {said:?}"),
        }
    });
}

/// Which requests of the one that is killed are not answered any more.
fn lost(which: &'static str, passage: Passage) -> impl Fn(&str, &str) -> Passage {
    move |method, path| {
        let is_it = method != "GET" && path.contains(which);
        if is_it { passage } else { Passage::Through }
    }
}

#[tokio::test]
async fn one_that_is_killed_at_any_moment_says_it_once() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let proxy = Proxy::before(server).await;
    let mut desk = Desk::by_way_of(server, &proxy.url(), Wish::new(Layout::Direct)).await;
    let place = desk
        .hearing(async {
            let place = desk.room().await;
            desk.post(&place, posts::text("before")).await;
            place
        })
        .await;
    for (round, (passage, arrived)) in
        [(Passage::Unasked, 0), (Passage::Never, 1), (Passage::Never, 1)].into_iter().enumerate()
    {
        let (key, before) = (desk.key(), desk.count(&place, SEALED).await);
        proxy.stop(lost("/send/m.room.encrypted/", passage));
        let killed = async |home: &Path| killed(home, &place, key, "direct", &proxy).await;
        desk = desk.while_closed(killed).await;
        let sent = desk.count(&place, SEALED).await;
        assert_eq!(sent, before + arrived, "round {round}: it died at another moment");
        proxy.be_honest();
        let words = post(posts::text("killed"));
        desk.hearing(desk.surely(&place, &words, key)).await;
        let sent = desk.count(&place, SEALED).await;
        assert_eq!(sent, before + 1, "round {round}");
    }
}

#[tokio::test]
async fn what_is_said_while_its_room_is_replaced_is_there_once() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let proxy = Proxy::before(server).await;
    let desk = Desk::by_way_of(server, &proxy.url(), Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        for (passage, arrived) in [(Passage::Unasked, 0), (Passage::Never, 1)] {
            let place = desk.room().await;
            let room = place.chat.as_str();
            desk.post(&place, posts::text("before")).await;
            let (key, words) = (desk.key(), post(posts::text("meanwhile")));
            let next = proxy.kept() + 1;
            proxy.stop(lost("/send/m.room.encrypted/", passage));
            tokio::select! {
                said = desk.bridge.say(&place, &words, key) => panic!("it was answered: {said:?}"),
                () = proxy.until_kept(next) => {}
            }
            let next = desk.ada.upgrade(room, "12").await;
            desk.ada.invite(&next, &desk.me).await;
            desk.ada.wait_member(&next, &desk.me, Membership::Joined).await;
            let nothing = edit("none", posts::text(""));
            desk.until("it has moved", || async {
                let said = desk.bridge.say(&place, &nothing, desk.key()).await;
                matches!(said, Err(SayError::Moved { .. }))
            })
            .await;
            proxy.be_honest();
            let new = main(&next);
            let said = match desk.bridge.say(&place, &words, key).await {
                Err(SayError::Moved { to }) if to == new.chat => {
                    desk.surely(&new, &words, key).await
                }
                said => said.unwrap(),
            };
            assert!(said.message.is_some());
            let (old, new) = (desk.count(&place, SEALED).await, desk.count(&new, SEALED).await);
            assert_eq!((old, new), (1 + arrived, 1 - arrived), "{passage:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn one_that_is_killed_while_it_makes_rooms_makes_each_once() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let proxy = Proxy::before(server).await;
    let mut desk = Desk::by_way_of(server, &proxy.url(), Wish::new(Layout::Space)).await;
    let place = desk.hearing(desk.room()).await;
    let key = desk.key();
    // The space first, and then the session's room.
    for _ in 0..2 {
        proxy.stop(lost("/createRoom", Passage::Never));
        let killed = async |home: &Path| killed(home, &place, key, "space", &proxy).await;
        desk = desk.while_closed(killed).await;
        proxy.be_honest();
    }
    let said = desk
        .hearing(async {
            desk.ada.wait_room("Vigie").await;
            desk.until("the room is made", || async {
                desk.bridge.say(&place, &state(SessionLook::Working), key).await.is_ok()
            })
            .await;
            desk.bridge.say(&place, &state(SessionLook::Working), key).await.unwrap()
        })
        .await;
    let room = desk.ada.wait_room("PD-285").await;
    assert_eq!(said.thread.unwrap().as_str(), room.id);
    let rooms = desk.ada.view().rooms;
    let called = |name: &str| rooms.values().filter(|it| it.name.as_deref() == Some(name)).count();
    assert_eq!((called("Vigie"), called("PD-285")), (1, 1));
}

/// Starts one that says it, and ends it as a power cut would when its next request is kept back.
async fn killed(home: &Path, place: &Place, key: DeliveryId, layout: &str, proxy: &Proxy) {
    let next = proxy.kept() + 1;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crashes::the_one_that_is_killed"])
        .env("VIGIE_TEST_HOME", home)
        .env("VIGIE_TEST_ROOM", place.chat.as_str())
        .env("VIGIE_TEST_KEY", key.to_string())
        .env("VIGIE_TEST_LAYOUT", layout)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let spoke = tokio::time::timeout(PATIENCE, proxy.until_kept(next)).await;
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    assert!(spoke.is_ok(), "it said nothing, and ended with {ended}");
}
