//! Who reads along: told before anything is said to them.

use matrix_lab::{Membership, Phone, tools};
use serde_json::json;
use vigie_core::{
    bridge::{Body, Bridge as _, Entry, Level, Noted, Place, Post, Reader, Say, SayError},
    id::{BridgeName, ChatId, DeliveryId},
    text::Rich,
};

use super::support::{Daemon, Ground, now};

/// The newest that was told of who is in that room.
fn told(daemon: &Daemon, room: &str) -> Option<Vec<Reader>> {
    daemon.noted().into_iter().rev().find_map(|noted| match noted {
        Noted::Readers { chat, readers } if chat.as_str() == room => Some(readers),
        _ => None,
    })
}

async fn until_told(daemon: &Daemon, room: &str, who: &[&str]) -> Vec<Reader> {
    let mut wanted = who.to_vec();
    wanted.sort_unstable();
    let same = |daemon: &Daemon| {
        let told = told(daemon, room).unwrap_or_default();
        told.iter().map(|reader| reader.who.as_str()).collect::<Vec<_>>() == wanted
    };
    daemon.until(&format!("{wanted:?} in {room}"), same).await;
    told(daemon, room).unwrap()
}

fn place(room: &str) -> Place {
    Place { bridge: BridgeName::new("matrix"), chat: ChatId::new(room), thread: None }
}

fn words(text: &str) -> Say {
    let body = Body::Text { text: Rich::plain(text), part: None, buttons: vec![] };
    Say::Post { post: Post { from: None, level: Level::Note, body }, reply_to: None }
}

async fn say(ground: &Ground, room: &str, number: u128, text: &str) -> Result<(), SayError> {
    let key = DeliveryId::from_parts(now(), number);
    ground.bridge.say(&place(room), &words(text), key).await.map(drop)
}

async fn said(ground: &Ground, room: &str, number: u128, text: &str) {
    let wait = async {
        while let Err(error) = say(ground, room, number, text).await {
            assert!(matches!(error, SayError::Later { .. }), "{error:?}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), wait).await.unwrap();
}

#[tokio::test]
async fn nobody_reads_what_was_decided_before_the_daemon_knew_of_them() {
    let Some(tools) = tools() else { return };
    let mut ground = Ground::new(&tools).await;
    let ada = ground.ada.user().to_owned();
    let eve = Phone::login(ground.server, &ground.server.user("eve").await).await;
    let story = async {
        let room = ground.room().await;
        until_told(&ground.daemon, &room, &[&ada]).await;
        said(&ground, &room, 1, "among us").await;
        // Something is on its way that was decided before: it does not go out to her.
        ground.daemon.in_flight(true);
        ground.ada.invite(&room, eve.user()).await;
        let readers = until_told(&ground.daemon, &room, &[&ada, eve.user()]).await;
        let her = readers.iter().find(|reader| reader.who == eve.user()).unwrap();
        assert_eq!((her.entry, her.by.as_deref()), (Entry::Invited, Some(ada.as_str())));
        eve.wait_invitation(&ada).await;
        eve.join(&room).await;
        let refused = say(&ground, &room, 2, "the secret").await;
        assert!(matches!(refused, Err(SayError::Later { .. })), "{refused:?}");
        ground.daemon.in_flight(false);
        said(&ground, &room, 3, "why nothing is said").await;
        eve.wait_message(&room, "why nothing is said").await;
        ground.ada.kick(&room, eve.user()).await;
        until_told(&ground.daemon, &room, &[&ada]).await;
        said(&ground, &room, 2, "the secret").await;
        ground.ada.wait_message(&room, "the secret").await;
        room
    };
    let room = ground.while_hearing(story).await;
    let view = eve.view();
    let shown = view.rooms[&room].messages.iter().filter(|one| one.says("the secret"));
    assert_eq!(shown.count(), 0, "{view}");

    // It is told again after a start, all of it, before anything is said.
    ground.daemon.forget_noted();
    ground = ground.restarted();
    let early = say(&ground, &room, 4, "too early").await;
    assert!(matches!(early, Err(SayError::Later { .. })), "{early:?}");
    ground.while_hearing(until_told(&ground.daemon, &room, &[&ada])).await;
}

#[tokio::test]
async fn whoever_knocks_or_is_banned_reads_nothing_and_is_not_told_of() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let ada = ground.ada.user().to_owned();
    let eve = Phone::login(ground.server, &ground.server.user("eve").await).await;
    let story = async {
        let room = ground.room().await;
        until_told(&ground.daemon, &room, &[&ada]).await;
        ground.ada.set_state(&room, "m.room.join_rules", "", json!({ "join_rule": "knock" })).await;
        eve.call("POST", &format!("/knock/{room}"), json!({})).await;
        ground.ada.say(&room, "somebody knocks").await;
        ground.daemon.until_texts(&["somebody knocks"]).await;
        said(&ground, &room, 1, "it goes on").await;
        ground.ada.invite(&room, eve.user()).await;
        until_told(&ground.daemon, &room, &[&ada, eve.user()]).await;
        eve.join(&room).await;
        let body = json!({ "user_id": eve.user() });
        ground.ada.call("POST", &format!("/rooms/{room}/ban"), body).await;
        until_told(&ground.daemon, &room, &[&ada]).await;
        said(&ground, &room, 2, "without her").await;
    };
    ground.while_hearing(story).await;
    let told = ground.daemon.noted();
    let of_her = |noted: &&Noted| matches!(noted, Noted::Readers { readers, .. } if readers.iter().any(|it| it.who == eve.user()));
    assert!(told.iter().filter(of_her).count() <= 2, "{told:#?}");
}

/// Of a room in which much happened the homeserver tells no members by itself.
#[tokio::test]
async fn somebody_who_came_while_nobody_heard_is_told_of_behind_a_gap() {
    let Some(tools) = tools() else { return };
    let mut ground = Ground::new(&tools).await;
    let ada = ground.ada.user().to_owned();
    let eve = Phone::login(ground.server, &ground.server.user("eve").await).await;
    let room = ground
        .while_hearing(async {
            let room = ground.room().await;
            until_told(&ground.daemon, &room, &[&ada]).await;
            room
        })
        .await;
    ground.ada.invite(&room, eve.user()).await;
    eve.wait_invitation(&ada).await;
    eve.join(&room).await;
    for number in 0..130 {
        let content = json!({ "name": format!("room {number}") });
        ground.ada.set_state(&room, "m.room.name", "", content).await;
    }
    ground.daemon.forget_noted();
    ground = ground.restarted();
    ground.while_hearing(until_told(&ground.daemon, &room, &[&ada, eve.user()])).await;
    ground.ada.wait_member(&room, eve.user(), Membership::Joined).await;
}
