//! The page in a real browser, where somebody new to it may go wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use common::{
    Home,
    browser::{Pointer, open},
    main_chat, posts,
};
use serde_json::json;
use vigie_core::{
    Timestamp,
    bridge::{Action, CardKind, HeardKind, Mark, Say},
    id::MessageId,
};

#[tokio::test]
async fn a_reason_half_typed_is_not_lost_to_the_bare_denial() {
    let home = Home::start().await;
    let card = home.post(&main_chat(), posts::card(1, "K7Q2", "cargo add backon")).await;
    let Some(phone) = open(&home, Pointer::Mouse, "#/waiting").await else { return };

    let until = "return [...document.querySelectorAll('#waiting .facts dd')].at(-1).textContent";
    phone.shows("then it is denied").await;
    let until = phone.run(until).await;
    let day = "const at = new Date(arguments[0] * 1000); return `${at.getDate()} `";
    let day = phone.page.execute(day, vec![json!(posts::UNTIL)]).await.unwrap();
    assert!(until.as_str().unwrap().contains(day.as_str().unwrap()), "{until}, another day");

    phone.tap("//main[@id='waiting']//button[.='Deny with a reason…']").await;
    phone.press("use the retry crate").await;
    let answers = "return [...document.querySelectorAll('#waiting .gate button')]
        .filter((it) => it.checkVisibility()).map((it) => it.textContent)";
    assert_eq!(phone.run(answers).await, json!(["Cancel", "Deny"]));
    phone.run("document.getElementById('waiting').focus()").await;
    phone.press("j").await;
    phone.press("d").await; // the key leads back to the words
    let here = "return document.activeElement.value";
    assert_eq!(phone.run(here).await, json!("use the retry crate"));
    // A new state of the card meanwhile.
    let changed = posts::with_card(posts::card(1, "K7Q2", "cargo add backon"), |card| {
        card.warnings = vec!["It reaches the network.".into()];
    });
    home.edit(&card, changed).await;
    phone.shows("It reaches the network.").await;
    assert_eq!(phone.run(here).await, json!("use the retry crate"));
    phone.tap("//main[@id='waiting']//form//button[.='Deny']").await;
    let heard = home.inbox.accepted(1).await;
    let HeardKind::Text { text, reply_to, .. } = &heard[0].what else { panic!("{heard:?}") };
    assert_eq!((text.as_str(), reply_to), ("deny K7Q2 use the retry crate", &Some(card)));

    // A plan goes back with words, or without.
    let plan = posts::with_card(posts::card(2, "T9HW", "1. Look around"), |card| {
        card.kind = CardKind::Plan;
        card.buttons[1].label = "Keep planning".into();
    });
    home.edit(&heard_card(&heard[0].what), posts::approved(posts::card(1, "K7Q2", "x"))).await;
    let plan = home.post(&main_chat(), plan).await;
    phone.tap("//main[@id='waiting']//button[.='Keep planning…']").await;
    phone.tap("//main[@id='waiting']//form//button[.='Send']").await;
    let heard = home.inbox.accepted(2).await;
    let action = Action::Deny { gate: posts::gate(2) };
    assert_eq!(heard[1].what, HeardKind::Tap { message: plan, action });
    // What was decided is told, and a denial is no alarm.
    phone.find("//section[@aria-label='Decided']//p[contains(@class, 'mono')][.='x']").await;
    phone.close().await;
}

fn heard_card(what: &HeardKind) -> MessageId {
    let HeardKind::Text { reply_to: Some(card), .. } = what else { panic!("{what:?}") };
    card.clone()
}

#[tokio::test]
async fn a_sessions_chat_shows_what_it_was_told_from_the_main_chat() {
    let home = Home::start().await;
    let docs = home.thread("docs").await;
    home.post(&docs, posts::text("docs", "good morning")).await;
    let view = format!("#/chat/{}", docs.thread.clone().unwrap());
    let Some(phone) = open(&home, Pointer::Thumb, &view).await else { return };
    phone.shows("good morning").await;

    let page = common::http::Client::new(home.address(), "ines");
    let told = page.send("client-0001", "[docs] translate page 3").await.json();
    let told = MessageId::new(told["message"].as_str().unwrap());
    home.post(&docs, posts::text("docs", "page 2 is done")).await;
    phone.shows("page 2 is done").await;
    let mark = Mark::Taken { targets: vec!["docs".parse().unwrap()], at: Timestamp::default() };
    home.say(&main_chat(), Say::Mark { message: told.clone(), mark }).await;
    phone.shows("taken by docs").await;
    let order = "return [...document.querySelectorAll('#log .msg')].map((it) => it.id)";
    let order = phone.run(order).await;
    assert_eq!(order[1], json!(told), "where it was said: {order}");
    phone.page.goto(&format!("http://{}/phone#/chat", home.address())).await.unwrap();
    phone.shows("taken by docs").await;
    let all = "return document.querySelectorAll('#log .msg').length";
    assert_eq!(phone.run(all).await, json!(3), "none twice");
    phone.close().await;
}

#[tokio::test]
async fn an_empty_page_says_how_to_begin_and_a_short_chat_fills_the_screen() {
    let home = Home::start().await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    phone.shows("lists what you can write here").await;
    phone.tap("//button[.='New session']").await;
    phone.tap("//dialog//button[.='Cancel']").await;

    let bottom =
        "return innerHeight - document.querySelector('.composer').getBoundingClientRect().bottom";
    assert_eq!(phone.run(bottom).await, json!(0));
    for number in 0..12 {
        home.post(&main_chat(), posts::text("docs", &format!("page {number}"))).await;
    }
    phone.write("the last one").await;
    phone.tap("//button[@aria-label='Send']").await;
    phone.find("//p[contains(@class, 'receipt')][contains(., 'stored')]").await;
    // The tools of the last message, by the control at its edge, above the place to write.
    phone.run("document.querySelector('.msg.mine .more').click()").await;
    let above = "const tools = document.querySelector('.picked .tools').getBoundingClientRect();
        return tools.height > 0 && tools.bottom <= document.getElementById('dock').getBoundingClientRect().top";
    assert_eq!(phone.run(above).await, json!(true));
    assert_eq!(phone.run(bottom).await, json!(0));
    phone.tap("//article[contains(@class, 'picked')]//button[@aria-label='Reply']").await;
    phone.shows("Answers").await;
    assert_eq!(phone.small_targets().await, json!([]));
    phone.close().await;
}

#[tokio::test]
async fn a_device_that_was_signed_out_says_so() {
    let mut home = Home::start().await;
    home.post(&main_chat(), posts::text("docs", "hello")).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    phone.shows("hello").await;
    phone.find("//p[@data-conn][.='Live']").await;
    // While the stream is still open, the first refused request tells.
    home.sign_out(true);
    phone.write("still here?").await;
    phone.tap("//button[@aria-label='Send']").await;
    phone.find("//p[@data-conn][.='Signed out']").await;
    phone.find("//p[@data-conn-bar]/a[.='Sign in']").await;
    home.sign_out(false);
    phone.find("//p[@data-conn][.='Live']").await;
    home.inbox.accepted(1).await;

    let address = home.address();
    home.stop().await;
    phone.find("//form//p[@data-conn-bar][contains(., 'Reconnecting')]").await;
    phone.tap("//form//p[@data-conn-bar]/button[.='Try now']").await;
    home.begin(address).await;
    phone.find("//p[@data-conn][.='Live']").await;
    home.sign_out(true);
    home.restart().await;
    phone.find("//p[@data-conn][.='Signed out']").await;
    phone.close().await;
}
