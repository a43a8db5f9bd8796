//! Why something is not said, as the daemon hears it.

use matrix_lab::{Homeserver, Invitation, PATIENCE, Passage, Proxy, View, shared, tools};
use serde_json::json;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};
use vigie_core::bridge::{Bridge as _, SayError};
use vigie_matrix::{Layout, Rule};

use crate::{
    desk::{Desk, Wish, main, post},
    posts,
};

#[tokio::test]
async fn nothing_goes_in_the_clear_unless_that_is_allowed() {
    let Some(tools) = tools() else { return };
    let desk =
        Desk::new(&tools, Wish { plain_rooms: Rule::Accept, ..Wish::new(Layout::Direct) }).await;
    let place = desk
        .hearing(async {
            let place = desk.room_like(&Invitation::of(&[&desk.me]).plain()).await;
            desk.post(&place, posts::text("in the clear")).await;
            let shown = desk.ada.wait_message(place.chat.as_str(), "in the clear").await;
            assert!(!shown.sealed);
            place
        })
        .await;
    // Nobody hears, so nobody has told us of the switch.
    let kind = "m.room.encryption";
    let sealed = json!({ "algorithm": "m.megolm.v1.aes-sha2" });
    desk.ada.set_state(place.chat.as_str(), kind, "", sealed).await;
    let later = desk.say(&place, &post(posts::text("a secret"))).await;
    assert!(matches!(later, Err(SayError::Later { .. })), "{later:?}");
    desk.hearing(async {
        desk.until("the switch is known", || async {
            desk.say(&place, &post(posts::text("a secret"))).await.is_ok()
        })
        .await;
        let shown = desk.ada.wait_message(place.chat.as_str(), "a secret").await;
        assert!(shown.sealed, "{shown}");
    })
    .await;
    let all = desk.server.events(place.chat.as_str()).await;
    assert!(!json!(all).to_string().contains("a secret"));
}

#[tokio::test]
async fn a_plain_room_is_refused_and_says_what_to_do() {
    let Some(tools) = tools() else { return };
    let desk =
        Desk::new(&tools, Wish { plain_rooms: Rule::Accept, ..Wish::new(Layout::Direct) }).await;
    let place = desk.hearing(desk.room_like(&Invitation::of(&[&desk.me]).plain())).await;
    let desk = desk.reset(|wish| wish.plain_rooms = Rule::Refuse);
    let shut = desk.say(&place, &post(posts::text("x"))).await;
    let Err(SayError::Shut { reason }) = shut else { panic!("{shut:?}") };
    assert!(reason.contains("switch encryption on"), "{reason}");
}

#[tokio::test]
async fn a_room_we_are_put_out_of_is_shut() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        desk.ada.kick(place.chat.as_str(), &desk.me).await;
        desk.until("it is shut", || async {
            let said = desk.say(&place, &post(posts::text("x"))).await;
            matches!(said, Err(SayError::Shut { .. }))
        })
        .await;
        let shut = desk.say(&place, &post(posts::text("x"))).await;
        assert!(
            matches!(shut, Err(SayError::Shut { ref reason }) if reason.contains("invite")),
            "{shut:?}"
        );
        let never = desk.say(&main("nowhere"), &post(posts::text("x"))).await;
        assert!(matches!(never, Err(SayError::Never { .. })), "{never:?}");
    })
    .await;
}

#[tokio::test]
async fn without_a_server_it_comes_later_and_ever_more_rarely() {
    let Some(tools) = tools() else { return };
    let server: &'static Homeserver = Box::leak(Box::new(Homeserver::start(&tools).await));
    let desk = Desk::on(server, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        desk.post(&place, posts::text("before")).await;
        let key = desk.key();
        server.kill();
        let mut waits = Vec::new();
        while waits.len() < 3 {
            match desk.bridge.say(&place, &post(posts::text("after")), key).await {
                Err(SayError::Later { after }) => waits.push(after.as_secs()),
                // It went out over a connection that was not yet known to be broken.
                Err(SayError::InDoubt) if waits.is_empty() => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(waits[0] < waits[1] && waits[1] < waits[2], "{waits:?}");
        server.restart().await;
        desk.bridge.say(&place, &post(posts::text("after")), key).await.unwrap();
        desk.ada.wait_message(place.chat.as_str(), "after").await;
        // Over a restart of the server, the same key is the same event.
        let before = desk.count(&place, "m.room.encrypted").await;
        desk.bridge.say(&place, &post(posts::text("after")), key).await.unwrap();
        assert_eq!(desk.count(&place, "m.room.encrypted").await, before);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_gives_no_answer_holds_nothing_up_once_it_does() {
    let Some(tools) = tools() else { return };
    let server: &'static Homeserver = Box::leak(Box::new(Homeserver::start(&tools).await));
    let desk = Desk::on(server, Wish::new(Layout::Direct)).await;
    let place = desk
        .hearing(async {
            let place = desk.room().await;
            desk.post(&place, posts::text("before")).await;
            place
        })
        .await;
    let desk = desk.restarted();
    server.freeze();
    desk.hearing(async {
        let key = desk.key();
        let begun = Instant::now();
        // Hearing gives its question up after 15 s and wants another client.
        let said = desk.bridge.say(&place, &post(posts::text("after")), key).await;
        assert!(matches!(said, Err(SayError::InDoubt | SayError::Later { .. })), "{said:?}");
        assert!(begun.elapsed() < Duration::from_secs(28), "{:?}", begun.elapsed());
        server.thaw();
        let again = Instant::now();
        desk.until("it is said", || async {
            desk.bridge.say(&place, &post(posts::text("after")), key).await.is_ok()
        })
        .await;
        desk.ada.wait_message(place.chat.as_str(), "after").await;
        assert!(again.elapsed() < Duration::from_secs(30), "{:?}", again.elapsed());
        let view = desk.ada.view();
        let all = &view.rooms[place.chat.as_str()].messages;
        assert_eq!(all.iter().filter(|message| message.says("after")).count(), 1, "{view}");
        assert!(view.unreadable().is_empty(), "{view}");
    })
    .await;
}

#[tokio::test]
async fn too_much_at_once_comes_as_late_as_the_server_says() {
    let Some(tools) = tools() else { return };
    let server: &'static Homeserver = Box::leak(Box::new(Homeserver::strict(&tools).await));
    let desk = Desk::on(server, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let mut said = 0;
        let refused = loop {
            assert!(said < 40, "nothing is ever too much");
            match desk.say(&place, &post(posts::text(&format!("part {said}.")))).await {
                Ok(_) => said += 1,
                Err(error) => break error,
            }
        };
        let SayError::Later { after } = refused else { panic!("{refused:?}") };
        assert!(after > Duration::from_millis(250) && after < Duration::from_secs(30), "{after:?}");
        assert!(said >= 5, "{said}");
    })
    .await;
}

#[tokio::test]
async fn what_the_server_finds_too_large_comes_short_and_then_as_a_document() {
    let Some(tools) = tools() else { return };
    let server = shared(&tools).await;
    let proxy = Proxy::before(server).await;
    let desk = Desk::by_way_of(server, &proxy.url(), Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let long = "a line of words that is not a short one\n".repeat(180);
        for refusals in 1..=2 {
            let left = AtomicUsize::new(refusals);
            proxy.stop(move |method, path| {
                let is_it = method == "PUT" && path.contains("/send/m.room.encrypted/");
                let one_less = |left: usize| left.checked_sub(1);
                let order = Ordering::Relaxed;
                if is_it && left.fetch_update(order, order, one_less).is_ok() {
                    return Passage::Refused(413, "M_TOO_LARGE");
                }
                Passage::Through
            });
            desk.post(&place, posts::text(&format!("{refusals} {long}"))).await;
        }
        let short = desk.ada.wait_message(room, "cut: it is longer than Matrix takes").await;
        assert!(short.body.len() < 4_200, "{short}");
        let is_whole = |view: &View| {
            view.rooms[room].messages.iter().find(|message| message.file.is_some()).cloned()
        };
        let whole = desk.ada.wait_value("a document", PATIENCE, is_whole).await;
        let whole = String::from_utf8(desk.ada.download(&whole).await).unwrap();
        assert!(whole.contains(&format!("2 {}", long.trim_end())), "{whole}");
        assert_eq!(desk.count(&place, "m.room.encrypted").await, 2);
    })
    .await;
}
