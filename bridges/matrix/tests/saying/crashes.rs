//! One message for one key, whatever dies in between.

use matrix_lab::tools;
use std::{
    process::{Command, Stdio},
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use vigie_core::{
    bridge::{Bridge as _, Place},
    id::DeliveryId,
};
use vigie_matrix::Layout;

use crate::{
    desk::{Desk, Ear, Wish, main, open, post, surely},
    posts,
};

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
        assert_eq!(desk.count(&place, "m.room.encrypted").await, 2);
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
#[ignore = "a process of its own, started by the test below"]
fn the_one_that_is_killed() {
    let (Ok(home), Ok(room), Ok(key)) = (
        std::env::var("VIGIE_TEST_HOME"),
        std::env::var("VIGIE_TEST_ROOM"),
        std::env::var("VIGIE_TEST_KEY"),
    ) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bridge = open(home.as_ref(), &Wish::new(Layout::Direct));
        let key: DeliveryId = key.parse().unwrap();
        let (place, words) = (main(&room), post(posts::text("killed")));
        tokio::select! {
            ended = bridge.hear(&Ear, CancellationToken::new()) => panic!("hearing ended: {ended:?}"),
            said = surely(&bridge, &place, &words, key) => panic!("it lived to tell: {said:?}"),
        }
    });
}

#[tokio::test]
async fn one_that_is_killed_at_any_moment_says_it_once() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    let place = desk
        .hearing(async {
            let place = desk.room().await;
            desk.post(&place, posts::text("before")).await;
            place
        })
        .await;
    let mut desk = desk;
    for round in 0..6_u64 {
        let key = desk.key();
        // One that has not spoken yet has the folder's stores not open.
        desk = desk.restarted();
        killed(&desk, &place, key, Duration::from_millis(150 + round * 120)).await;
        let words = post(posts::text("killed"));
        desk.hearing(desk.surely(&place, &words, key)).await;
        let sent = desk.count(&place, "m.room.encrypted").await;
        assert_eq!(sent, 2 + usize::try_from(round).unwrap(), "round {round}");
    }
}

/// Starts one that says it, and ends it after that long as a power cut would.
async fn killed(desk: &Desk, place: &Place, key: DeliveryId, after: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crashes::the_one_that_is_killed"])
        .env("VIGIE_TEST_HOME", desk.home.path())
        .env("VIGIE_TEST_ROOM", place.chat.as_str())
        .env("VIGIE_TEST_KEY", key.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    tokio::time::sleep(after).await;
    child.kill().unwrap();
    child.wait().unwrap();
}
