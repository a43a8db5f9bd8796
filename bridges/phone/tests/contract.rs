//! The promises of the port, kept by the phone page.

mod common;

use common::{Home, http::Client, in_thread, main_chat, posts};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vigie_core::{
    Timestamp,
    bridge::{Action, Bridge, HeardKind, Mark, Place, Say, SayError, SessionLook, TextOrigin},
    id::{ChatId, MessageId, ThreadId},
};

const ALL: usize = 3;

#[tokio::test]
async fn a_repeated_key_is_said_once_and_answered_alike() {
    let mut home = Home::start().await;
    let (place, key) = (main_chat(), home.key());
    let say = Say::Post { post: posts::text("PD-285", "once"), reply_to: None };
    let first = home.phone().say(&place, &say, key).await.unwrap();
    assert_eq!(home.phone().say(&place, &say, key).await.unwrap(), first);
    home.restart().await;
    assert_eq!(home.phone().say(&place, &say, key).await.unwrap(), first, "after a restart too");

    let thread = Say::Thread { thread: posts::thread("PD-285", SessionLook::Working) };
    let key = home.key();
    let made = home.phone().say(&place, &thread, key).await.unwrap();
    assert_eq!(home.phone().say(&place, &thread, key).await.unwrap(), made);

    let page = Client::new(home.address(), "ines");
    assert_eq!(page.messages().await.len(), 1);
    assert_eq!(page.state().await["threads"].as_array().unwrap().len(), 2, "the main chat and one");
}

#[tokio::test]
async fn a_repeated_edit_does_not_undo_a_later_one() {
    let home = Home::start().await;
    let message = home.post(&main_chat(), posts::text("docs", "first")).await;
    let edit = |words| Say::Edit { message: message.clone(), post: posts::text("docs", words) };
    let (early, late) = (home.key(), home.key());
    home.phone().say(&main_chat(), &edit("second"), early).await.unwrap();
    home.phone().say(&main_chat(), &edit("third"), late).await.unwrap();
    home.phone().say(&main_chat(), &edit("second"), early).await.unwrap();

    let shown = Client::new(home.address(), "ines").messages().await;
    assert_eq!(shown[0]["what"]["body"]["text"][0]["text"], "third");
}

#[tokio::test]
async fn what_is_said_shows_in_its_place_and_order() {
    let home = Home::start().await;
    let state = posts::thread("PD-285", SessionLook::Working);
    let thread = home.say(&main_chat(), Say::Thread { thread: state }).await.thread.unwrap();
    home.post(&main_chat(), posts::text("PD-285", "one")).await;
    home.post(&in_thread(Some(thread.clone())), posts::text("PD-285", "aside")).await;
    home.post(&main_chat(), posts::text("PD-285", "two")).await;

    let page = Client::new(home.address(), "ines");
    let words = |messages: &[serde_json::Value]| {
        let text = |it: &serde_json::Value| it["what"]["body"]["text"][0]["text"].clone();
        messages.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(words(&page.messages().await), ["one", "aside", "two"]);
    let aside = page.get(&format!("/phone/api/messages?thread={thread}")).await.json();
    assert_eq!(words(aside["messages"].as_array().unwrap()), ["aside"]);
}

#[tokio::test]
async fn a_thread_shows_its_newest_state() {
    let home = Home::start().await;
    let working = posts::thread("PD-285", SessionLook::Working);
    let thread = home.say(&main_chat(), Say::Thread { thread: working }).await.thread;
    let ended = posts::thread("PD-285", SessionLook::Ended);
    let again = home.say(&in_thread(thread.clone()), Say::Thread { thread: ended }).await;
    assert_eq!(again.thread, thread);

    let threads = Client::new(home.address(), "ines").state().await["threads"].clone();
    assert_eq!(threads[1]["id"], json!(thread));
    assert_eq!(threads[1]["state"], "ended");
    assert_eq!(threads.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_later_mark_replaces_the_earlier_one() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let sent = page.send("client-0001", "[PD-285] go on").await.json();
    let message = MessageId::new(sent["message"].as_str().unwrap());
    let mark = |mark| Say::Mark { message: message.clone(), mark };
    let words = Some("PD-285 takes it after this turn".into());
    home.say(&main_chat(), mark(Mark::Stored { targets: vec![], words })).await;
    let stored = page.messages().await;
    assert_eq!(stored[0]["what"]["mark"]["words"], "PD-285 takes it after this turn");
    let taken = Mark::Taken { targets: vec!["PD-285".parse().unwrap()], at: Timestamp::default() };
    home.say(&main_chat(), mark(taken)).await;
    assert_eq!(page.messages().await[0]["what"]["mark"]["mark"], "taken");
}

#[tokio::test]
async fn what_can_never_be_said_is_refused_for_good() {
    let home = Home::start().await;
    let post = |words: &str| Say::Post { post: posts::text("docs", words), reply_to: None };
    let elsewhere = Place { chat: ChatId::new("other"), ..main_chat() };
    let mine = home.post(&main_chat(), posts::text("docs", "a post")).await;
    let mark = Mark::Kept { why: "x".into() };
    let cases = [
        (elsewhere, post("x")),
        (in_thread(Some(ThreadId::new("nowhere-t1"))), post("x")),
        (main_chat(), post(&"x".repeat(vigie_phone::TEXT_LIMIT + 1))),
        (main_chat(), Say::Edit { message: MessageId::new("17"), post: posts::text("docs", "x") }),
        (main_chat(), Say::Mark { message: mine, mark }),
    ];
    for (place, say) in cases {
        let said = home.phone().say(&place, &say, home.key()).await;
        assert!(matches!(said, Err(SayError::Never { .. })), "{say:?}: {said:?}");
    }
    let fits = post(&"x".repeat(vigie_phone::TEXT_LIMIT));
    home.phone().say(&main_chat(), &fits, home.key()).await.unwrap();
}

#[tokio::test]
async fn what_people_do_is_handed_in_as_they_did_it() {
    let home = Home::start().await;
    let card = home.post(&main_chat(), posts::card(1, "K7Q2", "ls")).await;
    let page = Client::new(home.address(), "ines");
    let body = json!({ "client": "client-0001", "text": "why?", "reply_to": card });
    let sent = page.post("/phone/api/send", &body).await.json();
    let message = sent["message"].as_str().unwrap();
    let body = json!({ "client": "client-0002", "message": message, "text": "why now?" });
    page.post("/phone/api/edit", &body).await;
    let action = Action::Allow { gate: posts::gate(1) };
    page.tap("client-0003", card.as_str(), &json!(action)).await;

    let heard = home.inbox.accepted(ALL).await;
    let message = MessageId::new(message);
    let text = HeardKind::Text {
        message: message.clone(),
        text: "why?".into(),
        reply_to: Some(card.clone()),
        origin: TextOrigin::Typed,
        files: vec![],
    };
    assert_eq!(heard[0].what, text);
    assert_eq!(heard[1].what, HeardKind::Edited { message, text: "why now?".into() });
    assert_eq!(heard[2].what, HeardKind::Tap { message: card, action });
    assert!(heard.iter().all(|it| it.from == "ines" && it.place == main_chat()));
    let keys: std::collections::BTreeSet<_> = heard.iter().map(|it| &it.key).collect();
    assert_eq!(keys.len(), ALL);
}

#[tokio::test]
async fn a_refused_update_comes_again_before_the_next() {
    let home = Home::start().await;
    home.inbox.refuse_next("the disk is full");
    home.inbox.refuse_next("the disk is slow");
    home.inbox.refuse_next("the disk is full");
    let page = Client::new(home.address(), "ines");
    page.send("client-0001", "first").await;
    page.send("client-0002", "second").await;

    let accepted = home.inbox.accepted(2).await;
    let handed_in = home.inbox.handed_in();
    let keys: Vec<_> = handed_in.iter().map(|(heard, _)| heard.key.as_str()).collect();
    let (first, second) = (accepted[0].key.as_str(), accepted[1].key.as_str());
    assert_eq!(keys, [first, first, first, first, second]);
}

#[tokio::test]
async fn an_update_not_yet_accepted_survives_a_restart_with_its_key() {
    let mut home = Home::start().await;
    // It is handed in over and over, and each time for another reason it stays.
    let reasons = ["a", "b"].iter().cycle().take(10_000);
    reasons.for_each(|reason| home.inbox.refuse_next(reason));
    let page = Client::new(home.address(), "ines");
    let sending = page.send("client-0001", "keep this");
    tokio::select! {
        answer = sending => assert_eq!(answer.json()["taken"], false),
        () = home.inbox.tried(2) => {}
    }
    let (before, _) = home.inbox.handed_in()[0].clone();
    home.stop().await;
    home.inbox = std::sync::Arc::default();
    home.begin("127.0.0.1:0".parse().unwrap()).await;

    assert_eq!(home.inbox.accepted(1).await, [before]);
    let page = Client::new(home.address(), "ines");
    let next = page.send("client-0002", "the next one").await.json();
    assert_eq!(next["taken"], true, "so what came before it is written down as accepted");
    home.restart().await;
    let page = Client::new(home.address(), "ines");
    page.send("client-0003", "a later one").await;
    assert_eq!(home.inbox.accepted(3).await.len(), 3, "and once accepted it does not come again");
}

#[tokio::test]
async fn a_poisonous_update_is_set_aside_and_holds_up_nobody() {
    let home = Home::start().await;
    home.inbox.refuse_always(Some("poison"));
    let page = Client::new(home.address(), "ines");
    let answer = page.send("client-0001", "poison").await.json();
    assert_eq!(answer["notice"], "Vigie did not take it: it cannot be written down");
    page.send("client-0002", "a good one").await;
    assert_eq!(home.inbox.accepted(1).await.len(), 1);
    assert_eq!(home.inbox.handed_in().len(), 4, "three tries for one, one for the other");
    let shown = page.messages().await;
    assert_eq!(shown[0]["what"]["aside"], "it cannot be written down");
    assert_eq!(shown[1]["what"]["aside"], json!(null));

    home.inbox.refuse_always(None);
    let again = json!({ "message": shown[0]["id"] });
    assert_eq!(page.post("/phone/api/again", &again).await.json()["taken"], true);
    assert_eq!(page.messages().await[0]["what"]["aside"], json!(null));
    assert_eq!(page.post("/phone/api/again", &again).await.status, 410);
}

#[tokio::test]
async fn a_poisonous_tap_leaves_a_line_in_the_chat() {
    let home = Home::start().await;
    let card = home.post(&main_chat(), posts::card(1, "K7Q2", "ls")).await;
    home.inbox.refuse_always(Some("Allow"));
    let page = Client::new(home.address(), "ines");
    let action = json!(Action::Allow { gate: posts::gate(1) });
    page.tap("client-0001", card.as_str(), &action).await;
    let shown = page.messages().await;
    let line = shown[1]["what"]["text"].as_str().unwrap();
    assert!(line.starts_with("A tap on a button was set aside"), "{line}");
}

#[tokio::test]
async fn one_listens_at_a_time_and_ends_when_asked() {
    let home = Home::start().await;
    home.inbox.answer_with("ready");
    let page = Client::new(home.address(), "ines");
    page.send("client-0001", "so the first one listens for sure").await;
    home.inbox.accepted(1).await;
    let second = home.phone().hear(&*home.inbox, CancellationToken::new()).await;
    assert!(second.unwrap_err().reason.contains("already"));

    let other = home.open(CancellationToken::new());
    let stop = CancellationToken::new();
    stop.cancel();
    other.hear(&*home.inbox, stop).await.unwrap();
}
