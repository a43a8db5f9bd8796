//! What cannot be read, what may not be, and what is said about it.

use matrix_lab::{Invitation, Membership, Passage, Phone, Proxy, shared, tools};
use serde_json::json;
use std::time::{Duration, Instant};

use super::support::{Daemon, Ground, Wish, until_on_disk};

#[tokio::test]
async fn a_late_key_opens_what_it_is_for_and_holds_nobody_up() {
    let Some(tools) = tools() else { return };
    let mut ground = Ground::new(&tools).await;
    let room = ground.while_hearing(ground.room()).await;
    let withheld = ground.ada.say_without_key(&room, "sealed words").await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let since = Instant::now();
        ada.new_room_key(&room).await;
        ada.say(&room, "later words").await;
        daemon.until_texts(&["later words"]).await;
        assert!(since.elapsed() > Duration::from_secs(5), "it waited for the key");
        let why = daemon.not_read();
        assert!(why.len() == 1 && why[0].contains("cannot read your last message yet"), "{why:?}");
    };
    ground.while_hearing(story).await;
    // It waits for its key over a restart too.
    ground = ground.restarted();
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        ada.give_key(&withheld).await;
        daemon.until_texts(&["later words", "sealed words"]).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.not_read().len(), 1, "it was said once");
}

#[tokio::test]
async fn a_key_in_time_keeps_the_order_and_says_nothing() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        let withheld = ada.say_without_key(&room, "first").await;
        ada.new_room_key(&room).await;
        ada.say(&room, "second").await;
        ada.give_key(&withheld).await;
        daemon.until_texts(&["first", "second"]).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.not_read(), Vec::<String>::new());
}

#[tokio::test]
async fn words_without_encryption_are_refused_and_that_is_said_once() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        ada.say_bare(&room, "bare one").await;
        ada.say_bare(&room, "bare two").await;
        ada.say(&room, "sealed").await;
        daemon.until_texts(&["sealed"]).await;
    };
    ground.while_hearing(story).await;
    let why = daemon.not_read();
    assert!(why.len() == 1 && why[0].contains("without encryption"), "{why:?}");
}

#[tokio::test]
async fn a_vote_without_encryption_decides_nothing() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        let poll = ada.say(&room, "a poll, say").await;
        let relation = json!({ "rel_type": "m.reference", "event_id": poll });
        let unstable = "org.matrix.msc3381.poll.response";
        let vote = json!({ "m.relates_to": relation, unstable: { "answers": ["allow"] } });
        ada.send_bare(&room, unstable, vote).await;
        daemon.until("words about it", |daemon| !daemon.not_read().is_empty()).await;
        let stable = json!({ "m.relates_to": relation, "m.selections": ["allow"] });
        ada.send_bare(&room, "m.poll.response", stable).await;
        ada.say(&room, "later").await;
        daemon.until_texts(&["a poll, say", "later"]).await;
        until_on_disk(&ground, ada.user(), "done", 4).await;
    };
    ground.while_hearing(story).await;
    let why = daemon.not_read();
    assert!(why.len() == 1 && why[0].contains("without encryption"), "{why:?}");
    assert_eq!(daemon.heard().len(), 2, "{:#?}", daemon.heard());
}

#[tokio::test]
async fn a_device_that_nobody_signed_is_refused_and_that_is_said_once() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { daemon, server, .. } = &ground;
    let zoe = Phone::unsigned(server, &server.user("zoe").await).await;
    daemon.admit(zoe.user());
    let story = async {
        let room = zoe.create_room(&Invitation::of(&[&ground.me]).direct()).await;
        zoe.wait_member(&room, &ground.me, Membership::Joined).await;
        zoe.say(&room, "one").await;
        zoe.say(&room, "two").await;
        daemon.until("words about it", |daemon| !daemon.not_read().is_empty()).await;
        zoe.say(&room, "three").await;
        // Ada's device is signed: what she says comes after all of that.
        let other = ground.room().await;
        ground.ada.say(&other, "from Ada").await;
        daemon.until_texts(&["from Ada"]).await;
    };
    ground.while_hearing(story).await;
    let why = daemon.not_read();
    assert!(why.len() == 1 && why[0].contains("that you have not verified"), "{why:?}");
    assert!(why[0].contains(zoe.device()), "{why:?}");
}

/// A homeserver that can be stopped, and Zoe, who wrote from a device that nobody had signed: the daemon
/// knows her keys as they were then.
async fn known_unsigned() -> Option<(Proxy, Ground, Phone, String)> {
    let tools = tools()?;
    let server = shared(&tools).await;
    let proxy = Proxy::before(server).await;
    let ground = Ground::by_way_of(server, &proxy.url(), |_| Wish::default()).await;
    let zoe = Phone::unsigned(server, &server.user("zoe").await).await;
    ground.daemon.admit(zoe.user());
    let story = async {
        let room = zoe.create_room(&Invitation::of(&[&ground.me]).direct()).await;
        zoe.wait_member(&room, &ground.me, Membership::Joined).await;
        zoe.say(&room, "too early").await;
        let refused = |daemon: &Daemon| !daemon.not_read().is_empty();
        ground.daemon.until("words about it", refused).await;
        room
    };
    let room = ground.while_hearing(story).await;
    ground.daemon.forget_noted();
    Some((proxy, ground, zoe, room))
}

#[tokio::test]
async fn whose_signature_came_after_their_keys_were_known_is_heard_at_once() {
    let Some((proxy, ground, zoe, room)) = known_unsigned().await else { return };
    // That her devices changed is not told at all, and what she wrote is told once.
    proxy.change(|answer| {
        if answer.path.contains("/event/") {
            (*answer.status, *answer.body) = (404, json!({ "errcode": "M_NOT_FOUND" }));
        }
        if answer.path.contains("/sync") && !answer.body["device_lists"].is_null() {
            answer.body["device_lists"] = json!({});
        }
    });
    let story = async {
        zoe.sign().await;
        zoe.say(&room, "signed now").await;
        let is_heard = |daemon: &Daemon| daemon.texts().contains(&"signed now".into());
        ground.daemon.until("what she wrote", is_heard).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(ground.daemon.not_read(), Vec::<String>::new());
}

#[tokio::test]
async fn keys_that_cannot_be_asked_for_are_not_said_to_be_unsigned() {
    let Some((proxy, ground, zoe, room)) = known_unsigned().await else { return };
    proxy.stop(
        |_, path| {
            if path.contains("/keys/query") { Passage::Unasked } else { Passage::Through }
        },
    );
    let story = async {
        zoe.sign().await;
        zoe.say(&room, "signed now").await;
        let refused = |daemon: &Daemon| !daemon.not_read().is_empty();
        ground.daemon.until("words about it", refused).await;
    };
    ground.while_hearing(story).await;
    let why = ground.daemon.not_read();
    assert!(why.len() == 1 && why[0].contains("when the homeserver answers"), "{why:?}");
}
