//! Messages, edits, taps and reactions, one by one.

use serde_json::json;
use telegram_emulator::{ADA, AGENTS, BOB, STRANGER, Scope, Sender};
use vigie_core::{
    bridge::{Action, HeardKind, Room, TextOrigin},
    id::GateId,
};

use super::support::{Daemon, Ground, Next, PATIENCE};

fn allow() -> Action {
    Action::Allow { gate: GateId::from_parts(vigie_core::Timestamp::UNIX_EPOCH, 7) }
}

/// A card with a button, as the bridge would have sent it.
async fn card(ground: &Ground, chat: i64, data: &str) -> i64 {
    let before = ground.telegram.messages(chat, None).len();
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Allow", "callback_data": data }]] });
    let body = json!({ "chat_id": chat, "text": "May it?", "reply_markup": keyboard });
    ground.call("sendMessage", &body.to_string()).await;
    let messages = ground.telegram.messages(chat, None);
    assert_eq!(messages.len(), before + 1);
    messages.last().unwrap().id
}

#[tokio::test]
async fn a_message_is_handed_in_and_then_confirmed() {
    let ground = Ground::new();
    let id = ground.telegram.send(ADA, ADA, "[PD-285] fix the test").now();
    ground
        .while_hearing(async {
            ground.daemon.until_texts(&["[PD-285] fix the test"]).await;
            ground.telegram.wait_confirmed().await;
        })
        .await;
    let heard = ground.daemon.heard().remove(0);
    assert_eq!(heard.key, format!("m:{ADA}:{id}"));
    assert_eq!((heard.from.as_str(), heard.room), ("1001", Room::Direct));
    assert_eq!((heard.place.chat.as_str(), heard.place.thread), ("1001", None));
    ground.telegram.assert_clean();
}

#[tokio::test]
async fn a_message_in_a_topic_is_of_that_topic_and_answers_nothing() {
    let ground = Ground::new();
    let topic = ground.telegram.create_topic(AGENTS, ADA, "PD-285");
    ground.telegram.send(AGENTS, ADA, "fix the test").topic(topic).now();
    ground.while_hearing(ground.daemon.until_texts(&["fix the test"])).await;
    let heard = ground.daemon.heard().remove(0);
    assert_eq!(heard.room, Room::Forum);
    assert_eq!(heard.place.thread.unwrap().as_str(), topic.to_string());
    assert!(matches!(heard.what, HeardKind::Text { reply_to: None, .. }));
}

#[tokio::test]
async fn a_reply_says_what_it_answers_and_forwarded_words_are_not_typed() {
    let ground = Ground::new();
    let first = ground.telegram.send(ADA, ADA, "one").now();
    ground.telegram.send(ADA, ADA, "approve").reply_to(first).quote("one").now();
    ground.telegram.send(ADA, ADA, "allow").forwarded_from(BOB).now();
    ground.while_hearing(ground.daemon.until_texts(&["one", "approve", "allow"])).await;
    let what: Vec<_> = ground.daemon.heard().into_iter().map(|heard| heard.what).collect();
    assert!(
        matches!(&what[1], HeardKind::Text { reply_to: Some(to), origin: TextOrigin::Typed, .. } if to.as_str() == first.to_string())
    );
    assert!(matches!(&what[2], HeardKind::Text { origin: TextOrigin::Forwarded, .. }));
}

#[tokio::test]
async fn nobody_in_particular_is_not_heard() {
    let ground = Ground::new();
    ground.telegram.send(AGENTS, ADA, "deploy").as_sender(Sender::Anonymous).now();
    let channel = Sender::LinkedPost(-1_009_999, "News".into());
    ground.telegram.send(AGENTS, ADA, "deploy").as_sender(channel).now();
    ground.telegram.send(AGENTS, ADA, "/stop@other_bot").now();
    ground.telegram.send(AGENTS, ADA, "/stop@bridge123456_bot PD-285").now();
    ground.while_hearing(ground.daemon.until_texts(&["/stop PD-285"])).await;
}

#[tokio::test]
async fn of_a_stranger_nothing_is_fetched_and_little_is_read() {
    let ground = Ground::new();
    let long = format!("{} approve", "please ".repeat(60));
    ground.telegram.send(STRANGER, STRANGER, &long).now();
    let photo = telegram_emulator::Media::new(
        telegram_emulator::MediaKind::Document,
        "run.sh",
        "text/plain",
        "x",
    );
    ground.telegram.send(STRANGER, STRANGER, "run it").media(photo).now();
    ground.while_hearing(ground.daemon.until("both", |it| it.heard().len() == 2)).await;
    assert!(ground.daemon.texts().iter().all(|text| text.chars().count() <= 64));
    assert!(ground.daemon.files().is_empty());
    assert!(ground.telegram.calls_of("getFile").is_empty());
}

#[tokio::test]
async fn a_tap_is_handed_in_and_answered_with_the_daemons_words() {
    let ground = Ground::new();
    let card = card(&ground, ADA, &allow().to_string()).await;
    *ground.daemon.notice.lock().unwrap() = Some(format!("Allowed. {}", "😀".repeat(200)));
    let answer = ground
        .while_hearing(async { ground.telegram.press(ADA, card, ADA, "Allow").answer().await })
        .await;
    assert!(answer.text.starts_with("Allowed. 😀") && answer.text.ends_with("😀…"), "{answer:?}");
    assert!(answer.text.encode_utf16().count() <= 200);
    let heard = ground.daemon.heard().remove(0);
    assert!(heard.key.starts_with("q:"), "{heard:?}");
    assert!(matches!(heard.what, HeardKind::Tap { action, .. } if action == allow()));
    ground.telegram.assert_clean();
}

#[tokio::test]
async fn a_tap_that_is_not_written_down_is_to_be_tapped_again() {
    let ground = Ground::new();
    let card = card(&ground, ADA, &allow().to_string()).await;
    ground.daemon.then(&[Next::Refuse]);
    ground
        .while_hearing(async {
            let answer = ground.telegram.press(ADA, card, ADA, "Allow").answer().await;
            assert_eq!(answer.text, "Not written down: tap again.");
            let answer = ground.telegram.press(ADA, card, ADA, "Allow").answer().await;
            assert_eq!(answer.text, "");
        })
        .await;
    assert_eq!(ground.daemon.heard().len(), 1);
}

#[tokio::test]
async fn a_button_of_another_version_is_answered_and_does_nothing() {
    let ground = Ground::new();
    let card = card(&ground, ADA, "v0:whatever").await;
    let answer = ground
        .while_hearing(async { ground.telegram.press(ADA, card, ADA, "Allow").answer().await })
        .await;
    assert!(answer.text.contains("older version"), "{answer:?}");
    assert!(ground.daemon.heard().is_empty());
}

#[tokio::test]
async fn a_tap_waits_for_no_message() {
    let ground = Ground::new();
    let card = card(&ground, ADA, &allow().to_string()).await;
    ground.daemon.then(&[Next::Hang]);
    ground.telegram.send(ADA, ADA, "this one hangs").now();
    ground
        .while_hearing(async {
            ground.daemon.until("the message", Daemon::was_asked).await;
            ground.telegram.press(ADA, card, ADA, "Allow").answer().await;
        })
        .await;
}

#[tokio::test]
async fn an_edit_is_one_when_words_changed() {
    let ground = Ground::new();
    let id = ground.telegram.send(ADA, ADA, "delete the bucket").now();
    ground
        .while_hearing(async {
            ground.daemon.until_texts(&["delete the bucket"]).await;
            ground.telegram.edit(ADA, id, "delete the bucket"); // a link preview came, say
            ground.telegram.edit(ADA, id, "list the bucket");
            ground.daemon.until("the edit", |it| it.heard().len() == 2).await;
        })
        .await;
    let edit = ground.daemon.heard().remove(1);
    assert!(edit.key.starts_with(&format!("e:{ADA}:{id}:")), "{edit:?}");
    assert!(
        matches!(&edit.what, HeardKind::Edited { message, text } if text == "list the bucket" && message.as_str() == id.to_string())
    );
}

#[tokio::test]
async fn an_emoji_that_is_put_on_is_heard_and_one_that_is_taken_off_is_not() {
    let ground = Ground::new();
    let id = ground.telegram.send(ADA, ADA, "one").now();
    ground
        .while_hearing(async {
            ground.daemon.until_texts(&["one"]).await;
            ground.telegram.react(ADA, id, ADA, Some("👍"));
            ground.daemon.until("the thumb", |it| it.heard().len() == 2).await;
            ground.telegram.react(ADA, id, ADA, None);
            ground.telegram.send(ADA, ADA, "two").now();
            ground.daemon.until_texts(&["one", "two"]).await;
        })
        .await;
    let all = ground.daemon.heard();
    assert_eq!(all.len(), 3, "{all:#?}");
    assert!(matches!(&all[1].what, HeardKind::Reaction { emoji, .. } if emoji == "👍"));
}

#[tokio::test]
async fn the_command_menu_is_set_once_in_every_language() {
    let ground = Ground::new();
    let set = || ground.telegram.calls_of("setMyCommands").len();
    ground
        .while_hearing(async {
            ground.telegram.wait_for("the menu", PATIENCE, |_| set() == 6).await;
            ground.telegram.send(ADA, ADA, "hello").now(); // so that what comes after it is over
            ground.daemon.until_texts(&["hello"]).await;
        })
        .await;
    for (language, words) in [("ru", "Остановить"), ("", "Stop the turn")] {
        for scope in [Scope::AllPrivateChats, Scope::AllGroupChats, Scope::Default] {
            let menu = ground.telegram.commands(scope, language);
            assert_eq!(menu, [("stop".to_owned(), words.to_owned())], "{language}");
        }
    }
    let ground = ground.restarted();
    ground
        .while_hearing(async {
            let known = |it: &telegram_emulator::Emulator| it.calls_of("getMe").len() == 2;
            ground.telegram.wait_for("being known", PATIENCE, known).await;
            ground.telegram.send(ADA, ADA, "hello again").now();
            ground.daemon.until_texts(&["hello", "hello again"]).await;
        })
        .await;
    assert_eq!(ground.telegram.calls_of("setMyCommands").len(), 6);
}

#[tokio::test]
async fn a_message_is_the_same_under_another_number_and_after_a_restart() {
    let ground = Ground::new();
    let message = serde_json::json!({
        "message_id": 77, "date": 1_796_000_000, "text": "add a berth",
        "from": { "id": ADA, "is_bot": false, "first_name": "Ada" },
        "chat": { "id": ADA, "type": "private" },
    });
    let again = || ground.telegram.inject("message", message.clone()).unwrap();
    assert_ne!(again(), again());
    ground.while_hearing(ground.daemon.until_texts(&["add a berth"])).await;
    ground.telegram.inject("message", message.clone());
    let ground = ground.restarted();
    ground.telegram.send(ADA, ADA, "and then").now();
    ground.while_hearing(ground.daemon.until_texts(&["add a berth", "and then"])).await;
    assert_eq!(ground.daemon.heard()[0].key, format!("m:{ADA}:77"));
}
