//! What people do in a room arrives as what they meant.

use matrix_lab::{Invitation, Phone, Text, shared, tools};
use std::fs;
use vigie_core::bridge::{Got, Heard, HeardKind, Noted, Room};

use super::support::{Ground, STRICT, Wish};
use vigie_matrix::{Policy, Rule};

#[tokio::test]
async fn what_is_written_right_after_the_invitation_is_heard() {
    let Some(tools) = tools() else { return };
    // This phone gives keys to those who are in a room and not to those who are invited; others do.
    let policy = Policy { unencrypted: Rule::Accept, ..STRICT };
    let wish = |_: &str| Wish { policy, ..Wish::default() };
    let ground = Ground::with(shared(&tools).await, wish).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        ground.until_well().await;
        let room = ada.create_room(&Invitation::of(&[&ground.me]).direct()).await;
        let hello = ada.say_bare(&room, "hello").await;
        daemon.until_texts(&["hello"]).await;
        (room, hello)
    };
    let (room, hello) = ground.while_hearing(story).await;
    let heard = &daemon.heard()[0];
    assert_eq!((heard.from.as_str(), heard.place.chat.as_str()), (ada.user(), room.as_str()));
    assert_eq!(
        (heard.key.as_str(), heard.room),
        (format!("m:{hello}").as_str(), Room::DirectThreads)
    );
    let noted = daemon.noted();
    let opened = |noted: &Noted| matches!(noted, Noted::Open { chat, .. } if chat.as_str() == room);
    let met = |noted: &Noted| matches!(noted, Noted::Met { from, .. } if from == ada.user());
    assert_eq!(noted.iter().filter(|it| opened(it)).count(), 1, "{noted:?}");
    assert_eq!(noted.iter().filter(|it| met(it)).count(), 1, "{noted:?}");
}

#[tokio::test]
async fn words_replies_threads_edits_and_reactions() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        let first = ada.say(&room, "list the branches").await;
        ada.reply(&room, &first, "and the tags").await;
        ada.say_in_thread(&room, &first, "in a thread").await;
        ada.send(&room, &Text::plain("beep").notice()).await;
        ada.edit(&room, &first, "list the open branches").await;
        ada.react(&room, &first, "👍🏽").await;
        daemon.until("all of it", |daemon| daemon.heard().len() == 5).await;
        let heard = daemon.heard();
        let by_key = |kind: &str| heard.iter().find(|it| it.key.starts_with(kind)).unwrap();
        let mut texts = daemon.texts();
        texts.sort(); // a thread is a place of its own, and no order holds between places
        assert_eq!(texts, ["and the tags", "in a thread", "list the branches"]);
        let reply_to = |heard: &HeardKind| match heard {
            HeardKind::Text { reply_to, .. } => reply_to.as_ref().map(ToString::to_string),
            other => panic!("{other:?}"),
        };
        let of = |words: &str| {
            let says = |heard: &&Heard| matches!(&heard.what, HeardKind::Text { text, .. } if text == words);
            heard.iter().find(says).unwrap()
        };
        assert_eq!(reply_to(&of("and the tags").what), Some(first.clone()));
        let threaded = of("in a thread");
        assert_eq!(reply_to(&threaded.what), None);
        assert_eq!(threaded.place.thread.as_ref().unwrap().as_str(), first);
        let edited = HeardKind::Edited {
            message: vigie_core::id::MessageId::new(&first),
            text: "list the open branches".into(),
        };
        assert_eq!(by_key("e:").what, edited);
        assert!(matches!(&by_key("r:").what, HeardKind::Reaction { emoji, .. } if emoji == "👍🏽"));
        let reaction = by_key("r:").key.trim_start_matches("r:").to_owned();
        ada.redact(&room, &reaction).await;
        daemon.until("the reaction back", |daemon| daemon.heard().len() == 6).await;
        let last = daemon.heard().pop().unwrap();
        assert!(matches!(last.what, HeardKind::TakenBack { emoji, .. } if emoji == "👍🏽"));
        ada.redact(&room, &first).await;
        daemon.until("the message back", |daemon| daemon.heard().len() == 7).await;
        let last = daemon.heard().pop().unwrap().what;
        assert!(matches!(last, HeardKind::Withdrawn { message } if message.as_str() == first));
    };
    ground.while_hearing(story).await;
}

#[tokio::test]
async fn only_who_wrote_a_message_edits_it() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, server, .. } = &ground;
    let bob = Phone::login(server, &server.user("bob").await).await;
    daemon.admit(bob.user());
    let story = async {
        let room = ground.room().await;
        ada.invite(&room, bob.user()).await;
        bob.wait_invitation(ada.user()).await;
        bob.join(&room).await;
        ada.wait_member(&room, bob.user(), matrix_lab::Membership::Joined).await;
        let first = ada.say(&room, "keep it").await;
        bob.wait_message(&room, "keep it").await;
        bob.edit(&room, &first, "delete it").await;
        bob.say(&room, "done").await;
        daemon.until("what Bob says", |daemon| daemon.texts().contains(&"done".into())).await;
        assert!(daemon.heard().iter().all(|heard| !heard.key.starts_with("e:")));
        assert_eq!(daemon.heard().last().unwrap().room, Room::Forum);
    };
    ground.while_hearing(story).await;
}

#[tokio::test]
async fn files_are_opened_and_lie_there() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let bytes: Vec<u8> = (0..=255).cycle().take(90_000).collect();
    let story = async {
        let room = ground.room().await;
        ada.send_file(&room, "leaves.bin", "application/octet-stream", &bytes).await;
        ada.say(&room, "after it").await;
        daemon.until("both", |daemon| daemon.heard().len() == 2).await;
    };
    ground.while_hearing(story).await;
    assert_eq!(daemon.texts(), ["", "after it"]);
    let file = &daemon.files()[0];
    let Got::File { path, bytes: size } = &file.got else { panic!("{file:?}") };
    assert_eq!((file.name.as_str(), *size), ("leaves.bin", 90_000));
    assert!(fs::read(path).unwrap() == bytes);
}

#[tokio::test]
async fn a_stranger_leaves_no_more_than_a_code() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, server, .. } = &ground;
    let eve = Phone::login(server, &server.user("eve").await).await;
    let story = async {
        let room = ground.room().await;
        ada.invite(&room, eve.user()).await;
        eve.wait_invitation(ada.user()).await;
        eve.join(&room).await;
        let long = format!("/pair K7Q2 {}", "x".repeat(200));
        eve.say(&room, &long).await;
        eve.send_file(&room, "a.bin", "application/octet-stream", b"bytes").await;
        daemon.until("both", |daemon| daemon.heard().len() == 2).await;
        assert_eq!(daemon.texts()[0], long.chars().take(64).collect::<String>());
        assert!(daemon.files().is_empty());
    };
    ground.while_hearing(story).await;
}

#[tokio::test]
async fn what_is_taken_back_before_it_was_handed_in_is_not() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let room = ground.while_hearing(ground.room()).await;
    let wrong = ada.say(&room, "delete everything").await;
    ada.redact(&room, &wrong).await;
    ada.say(&room, "never mind").await;
    ground.while_hearing(daemon.until_texts(&["never mind"])).await;
}
