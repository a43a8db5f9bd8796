//! Each way a message does not arrive.

use std::time::Duration;
use telegram_emulator::{ADA, AGENTS, Fault, FaultKind, Group, GroupKind, Membership, Status};
use vigie_core::bridge::{Bridge as _, SayError};
use vigie_telegram::api::Patience;

use super::{
    common::{Reply, Server},
    desk::{Desk, bridge, calm, edit, main, post, topic},
    posts,
};

/// A group of the old kind.
const OLD: i64 = -4_000_123;

async fn refused(desk: &Desk, place: &vigie_core::bridge::Place) -> SayError {
    desk.say(place, &post(posts::text("hello"))).await.unwrap_err()
}

#[tokio::test]
async fn a_wait_is_handed_on_and_no_call_is_made_within_it() {
    let desk = Desk::start();
    desk.telegram.fault(Fault::new("sendMessage", FaultKind::TooMany(35)));
    let after = Duration::from_millis(35_100);
    assert_eq!(refused(&desk, &main(ADA)).await, SayError::Later { after });
    assert_eq!(desk.telegram.calls().len(), 1);
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn without_a_connection_it_is_tried_again_soon() {
    let desk = Desk::start();
    desk.telegram.stop_listening();
    let after = Duration::from_secs(2);
    assert_eq!(refused(&desk, &main(ADA)).await, SayError::Later { after });
    desk.telegram.listen_again();
    desk.post(&main(ADA), posts::text("hello")).await;
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn a_topic_that_somebody_deleted_is_gone() {
    let desk = Desk::start();
    let thread = desk.telegram.create_topic(AGENTS, ADA, "PD-285");
    let place = topic(AGENTS, thread);
    let id = desk.post(&place, posts::progress(&["reading"], None)).await;
    desk.telegram.delete_topic(AGENTS, thread);
    assert_eq!(refused(&desk, &place).await, SayError::NoThread);
    let change = edit(id, posts::progress(&["testing"], None));
    assert_eq!(desk.say(&place, &change).await, Err(SayError::NoMessage));
    assert!(desk.telegram.messages(AGENTS, None).is_empty());
    desk.assert_refused(&["message thread not found", "message to edit not found"]);
}

#[tokio::test]
async fn a_closed_topic_still_takes_what_an_administrator_says() {
    let desk = Desk::start();
    let thread = desk.telegram.create_topic(AGENTS, ADA, "PD-285");
    desk.telegram.close_topic(AGENTS, ADA, thread);
    desk.post(&topic(AGENTS, thread), posts::text("late")).await;
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn a_group_that_grew_says_where_it_is() {
    let mut world = calm();
    let mut group = Group::basic(OLD, "Old");
    group.members = vec![(ADA, Membership::of(Status::Creator))];
    world.groups.push(group);
    let desk = Desk::with(world);
    desk.post(&main(OLD), posts::text("before")).await;
    let new = desk.telegram.migrate(OLD, ADA, GroupKind::Supergroup);
    let key = desk.key();
    let say = post(posts::text("after"));
    let SayError::Moved { to } = desk.bridge.say(&main(OLD), &say, key).await.unwrap_err() else {
        panic!("it did not move")
    };
    assert_eq!(to.as_str(), new.to_string());
    desk.bridge.say(&main(new), &say, key).await.unwrap();
    desk.assert_refused(&["group chat was upgraded"]);
}

#[tokio::test]
async fn a_chat_that_takes_nothing_is_shut_and_says_what_to_do() {
    let desk = Desk::start();
    desk.telegram.block(ADA);
    let bot = desk.telegram.bot_id();
    desk.telegram.member(AGENTS, ADA, bot, Membership::of(Status::Kicked));
    let mut reasons = Vec::new();
    for chat in [ADA, AGENTS, 424_242] {
        let SayError::Shut { reason } = refused(&desk, &main(chat)).await else {
            panic!("{chat} is not shut")
        };
        reasons.push(reason);
    }
    assert_eq!(
        reasons,
        [
            "Telegram says \"bot was blocked by the user\"; it is for the people there to let the bot in again",
            "Telegram says \"bot was kicked from the supergroup chat\"; it is for the people there to let the bot in again",
            "Telegram does not know this chat; write to the bot from there once",
        ]
    );
}

#[tokio::test]
async fn a_revoked_token_is_trouble_and_no_hot_loop() {
    let desk = Desk::start();
    desk.telegram.revoke(true);
    let after = Duration::from_mins(1);
    assert_eq!(refused(&desk, &main(ADA)).await, SayError::Later { after });
    let trouble = desk.bridge.health().trouble.unwrap();
    assert!(trouble.contains("get a new one from BotFather"), "{trouble}");
    assert!(!trouble.contains("TEST-TOKEN"), "{trouble}");
}

#[tokio::test]
async fn what_lands_in_the_main_chat_by_mistake_is_taken_back() {
    let server = Server::start([Reply::ok(r#"{"message_id":9,"date":1}"#), Reply::ok("true")]);
    let folder = tempfile::tempdir().unwrap();
    let bridge = bridge(server.api(Patience::default()), folder.path());
    let say = post(posts::text("for the topic"));
    let key = vigie_core::id::DeliveryId::from_parts(vigie_core::Timestamp::default(), 1);
    assert_eq!(bridge.say(&topic(ADA, 4), &say, key).await, Err(SayError::NoThread));
    let requests = server.requests(2);
    assert!(requests[0].body.contains(r#""message_thread_id":4"#), "{}", requests[0].body);
    assert!(requests[1].line.contains("/deleteMessage "), "{}", requests[1].line);
    assert_eq!(requests[1].body, r#"{"chat_id":1001,"message_id":9}"#);
}

#[tokio::test]
async fn what_telegram_finds_malformed_goes_without_its_looks() {
    let desk = Desk::start();
    let bad = "Bad Request: can't parse entities: Entity begins in a middle of a UTF-16 symbol at byte offset 3";
    for words in [bad, "Bad Request: message is too long"] {
        desk.telegram.fault(Fault::new("sendMessage", FaultKind::Refuse(400, words.into())));
        let said = desk.say(&main(ADA), &post(posts::card(1, &"ls\n".repeat(900)))).await.unwrap();
        assert_eq!(said.calls, 2);
        let id = said.message.unwrap().as_str().parse().unwrap();
        let shown = desk.telegram.message(ADA, id).unwrap();
        assert!(shown.text.starts_with("PD-285 asks to run a command\n"));
        assert_eq!(shown.text.contains("… (cut: Telegram found it too long)"), words != bad);
        assert!(shown.button("Approve").is_some());
    }
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn places_that_are_none_of_telegrams_get_nothing() {
    let desk = Desk::start();
    let mut place = main(ADA);
    place.chat = vigie_core::id::ChatId::new("main");
    let error = refused(&desk, &place).await;
    assert_eq!(
        error.to_string(),
        "the service refuses it: `main` is not the number of a chat in Telegram"
    );
    assert_eq!(refused(&desk, &topic(ADA, 1)).await, SayError::NoThread);
    assert!(desk.telegram.calls().is_empty());
}
