//! Nobody knows whether it arrived, and it arrives once.

use std::time::Duration;
use telegram_emulator::{ADA, AGENTS, BOB, Emulator, Fault, FaultKind};
use vigie_core::{
    bridge::{Body, Bridge as _, Post, SayError},
    id::DeliveryId,
};

use super::{
    desk::{Desk, calm, main, post},
    posts,
};

fn texts(telegram: &Emulator, chat: i64) -> Vec<String> {
    let bots = telegram.messages(chat, None).into_iter().filter(telegram_emulator::Shown::is_bot);
    bots.map(|shown| shown.text).collect()
}

/// As the daemon marks what it says again.
fn again(mut post: Post) -> Post {
    if let Body::Text { text, .. } = &mut post.body {
        text.push("\n(may be a repeat)", None);
    }
    post
}

async fn in_doubt(desk: &Desk, chat: i64, what: Post, fault: FaultKind) -> DeliveryId {
    desk.telegram.fault(Fault::new("sendMessage", fault));
    let key = desk.key();
    let error = desk.bridge.say(&main(chat), &post(what), key).await.unwrap_err();
    assert_eq!(error, SayError::InDoubt);
    key
}

#[tokio::test]
async fn a_message_that_arrived_is_found_and_not_said_again() {
    for fault in [FaultKind::DropAfter, FaultKind::Truncate] {
        for card in [false, true] {
            let mut desk = Desk::start();
            desk.post(&main(AGENTS), posts::text("before")).await;
            let what = if card { posts::card(1, "ls") } else { posts::text("the answer") };
            let key = in_doubt(&desk, AGENTS, what.clone(), fault.clone()).await;
            desk.telegram.send(AGENTS, BOB, "meanwhile").now();
            desk.restart();
            let said =
                desk.bridge.say(&main(AGENTS), &post(again(what.clone())), key).await.unwrap();
            assert_eq!(said.calls, 1);
            let found = said.message.clone().unwrap().as_str().parse().unwrap();
            let shown = desk.telegram.message(AGENTS, found).unwrap();
            assert_eq!(shown.button("Approve").is_some(), card);
            assert_eq!(texts(&desk.telegram, AGENTS).len(), 2);
            // And once more, when the daemon died before it wrote that down.
            desk.restart();
            let same = desk.bridge.say(&main(AGENTS), &post(again(what)), key).await.unwrap();
            assert_eq!((same.message, same.calls), (said.message, 0));
            desk.assert_refused(&["message is not modified"]);
        }
    }
}

#[tokio::test]
async fn a_message_that_never_arrived_is_said_again_once() {
    let desk = Desk::start();
    desk.post(&main(AGENTS), posts::text("before")).await;
    let key = in_doubt(&desk, AGENTS, posts::text("lost"), FaultKind::DropBefore).await;
    for _ in 0..3 {
        desk.telegram.send(AGENTS, BOB, "somebody else").now();
    }
    let said =
        desk.bridge.say(&main(AGENTS), &post(again(posts::text("lost"))), key).await.unwrap();
    // Three are another's, four are not there, and then it was sent.
    assert_eq!(said.calls, 3 + 4 + 1);
    assert_eq!(
        texts(&desk.telegram, AGENTS),
        ["PD-285\nbefore", "PD-285\nlost\n(may be a repeat)"]
    );
    assert_eq!(desk.telegram.defects(), []);
}

#[tokio::test]
async fn looking_has_an_end() {
    let desk = Desk::start();
    desk.post(&main(AGENTS), posts::text("before")).await;
    let key = in_doubt(&desk, AGENTS, posts::text("lost"), FaultKind::DropBefore).await;
    for _ in 0..30 {
        desk.telegram.send(AGENTS, BOB, "a lively group").now();
    }
    let said = desk.bridge.say(&main(AGENTS), &post(posts::text("lost")), key).await.unwrap();
    assert_eq!(said.calls, 8 + 1);
}

#[tokio::test]
async fn what_was_said_meanwhile_is_not_taken_for_it() {
    let desk = Desk::start();
    desk.post(&main(AGENTS), posts::text("before")).await;
    let key = in_doubt(&desk, AGENTS, posts::text("lost"), FaultKind::DropBefore).await;
    let card = desk.post(&main(AGENTS), posts::card(1, "ls")).await;
    let said = desk.bridge.say(&main(AGENTS), &post(posts::text("lost")), key).await.unwrap();
    assert_ne!(said.message.unwrap().as_str(), card.to_string());
    let shown = desk.telegram.message(AGENTS, card).unwrap();
    assert!(shown.button("Approve").is_some() && shown.versions.is_empty());
}

#[tokio::test]
async fn a_look_that_gets_no_answer_is_no_reason_to_send() {
    let desk = Desk::start();
    desk.post(&main(AGENTS), posts::text("before")).await;
    let key = in_doubt(&desk, AGENTS, posts::text("here"), FaultKind::DropAfter).await;
    desk.telegram.fault(Fault::new("editMessageReplyMarkup", FaultKind::DropBefore));
    desk.telegram.fault(Fault::new("editMessageReplyMarkup", FaultKind::TooMany(7)));
    let say = post(again(posts::text("here")));
    let after = Duration::from_secs(2);
    assert_eq!(desk.bridge.say(&main(AGENTS), &say, key).await, Err(SayError::Later { after }));
    let after = Duration::from_millis(7_100);
    assert_eq!(desk.bridge.say(&main(AGENTS), &say, key).await, Err(SayError::Later { after }));
    desk.bridge.say(&main(AGENTS), &say, key).await.unwrap();
    assert_eq!(texts(&desk.telegram, AGENTS), ["PD-285\nbefore", "PD-285\nhere"]);
}

#[tokio::test]
async fn a_file_in_doubt_is_looked_for_too() {
    let desk = Desk::start();
    desk.post(&main(ADA), posts::text("before")).await;
    desk.telegram.fault(Fault::new("sendDocument", FaultKind::DropAfter));
    let key = desk.key();
    let say = post(posts::document("PD-285.md", "all of it"));
    assert_eq!(desk.bridge.say(&main(ADA), &say, key).await, Err(SayError::InDoubt));
    let said = desk.bridge.say(&main(ADA), &say, key).await.unwrap();
    assert_eq!((said.calls, desk.telegram.calls_of("sendDocument").len()), (1, 1));
}

#[tokio::test]
async fn a_refusal_leaves_no_doubt_behind() {
    let desk = Desk::with(calm());
    desk.post(&main(ADA), posts::text("before")).await;
    for fault in
        [FaultKind::TooMany(35), FaultKind::Refuse(400, "Bad Request: chat not found".into())]
    {
        desk.telegram.fault(Fault::new("sendMessage", fault));
        let key = desk.key();
        let say = post(posts::text("later"));
        desk.bridge.say(&main(ADA), &say, key).await.unwrap_err();
        let said = desk.bridge.say(&main(ADA), &say, key).await.unwrap();
        assert_eq!(said.calls, 1);
    }
    desk.telegram.assert_clean();
}
