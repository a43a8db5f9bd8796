//! Steering several sessions from one chat, in a real browser.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use common::{
    Home,
    browser::{Phone, Pointer, open},
    http::Client,
    main_chat, posts,
};
use serde_json::json;
use vigie_core::{
    bridge::{Action, CardKind, Heard, HeardKind, Mark, Post, Say, Weight},
    id::MessageId,
    text::Rich,
};

const SEND: &str = "//button[starts-with(@aria-label, 'Send')]";

fn text(heard: &Heard) -> (&str, Option<&MessageId>) {
    let HeardKind::Text { text, reply_to, .. } = &heard.what else { panic!("{heard:?}") };
    (text, reply_to.as_ref())
}

/// The message with these words, said by `session` as the main chat labels it.
async fn said_by(phone: &Phone, session: &str, words: &str) {
    let from = format!("p[@class='from'][.//b[@class='key'][.='{session}']]");
    phone.find(&format!("//article[{from}][contains(., '{words}')]")).await;
}

#[tokio::test]
async fn all_sessions_are_steered_from_the_main_chat() {
    let home = Home::start().await;
    let (refunds, docs) = (home.thread("PD-285").await, home.thread("docs").await);
    home.post(&refunds, posts::text("PD-285", "all tests pass")).await;
    let page_two = home.post(&docs, posts::text("docs", "page 2 is done")).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    said_by(&phone, "PD-285", "all tests pass").await;
    said_by(&phone, "docs", "page 2 is done").await;
    phone.shows("2 new").await;

    // A reply goes to the session by the message it answers, without a thread.
    phone.tap(&format!("//article[@id='{page_two}']//div[@class='bubble']")).await;
    phone.tap(&format!("//article[@id='{page_two}']//button[@aria-label='Reply']")).await;
    phone.shows("Answers").await;
    phone.write("well done").await;
    phone.tap(SEND).await;
    let heard = home.inbox.accepted(1).await;
    assert_eq!(text(&heard[0]), ("well done", Some(&page_two)));
    assert_eq!(heard[0].place, main_chat());
    let HeardKind::Text { message, .. } = heard[0].what.clone() else { panic!() };
    let taken = Mark::Stored { targets: vec!["docs".parse().unwrap()], words: None };
    home.say(&main_chat(), Say::Mark { message, mark: taken }).await;
    phone.find("//article[contains(@class, 'mine')]//span[@class='to'][.='docs']").await;

    // What comes meanwhile shows by itself, once, and in the thread it is the same message.
    let card = home.post(&refunds, posts::card(1, "K7Q2", "cargo add backon")).await;
    phone.find(&format!("//div[@id='log']/article[@id='{card}']")).await;
    let doubled = "const ids = [...document.querySelectorAll('#log [id]')].map((it) => it.id);
        return ids.length - new Set(ids).size";
    assert_eq!(phone.run(doubled).await, json!(0));
    phone.tap("//div[@id='log']//a[@class='way'][.='PD-285']").await;
    phone.find("//h1[contains(., 'PD-285')]").await;
    phone.find(&format!("//div[@id='log']/article[@id='{card}']")).await;
    let foreign = "return document.getElementById('log').innerText.includes('page 2 is done')";
    assert_eq!(phone.run(foreign).await, json!(false), "a thread shows only its own");
    phone.write("from the thread").await;
    phone.tap(SEND).await;
    let heard = home.inbox.accepted(2).await;
    assert_eq!((text(&heard[1]), &heard[1].place), (("from the thread", None), &refunds));

    // Back in the main chat it says whose it was, and the card is decided in both.
    home.edit(&card, posts::approved(posts::card(1, "K7Q2", "cargo add backon"))).await;
    phone.find("//article[contains(@class, 'decided')]").await;
    phone.tap("//a[@aria-label='All chats']").await;
    phone.tap("//nav[@class='threads']//a[contains(., 'Main chat')]").await;
    phone.find("//article[contains(@class, 'mine')][.//span[@class='to'][.='PD-285']][contains(., 'from the thread')]").await;
    phone.find(&format!("//article[@id='{card}'][contains(@class, 'decided')]")).await;
    phone.close().await;
}

#[tokio::test]
async fn reading_the_main_chat_reads_the_threads() {
    let home = Home::start().await;
    let (refunds, docs) = (home.thread("PD-285").await, home.thread("docs").await);
    home.post(&refunds, posts::text("PD-285", "one")).await;
    home.post(&docs, posts::text("docs", "two")).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/").await else { return };
    phone.find("//a[contains(., 'Main chat')]//span[@aria-label='2 unread']").await;
    phone.tap("//nav[@class='threads']//a[contains(., 'PD-285')]").await;
    phone.tap("//a[@aria-label='All chats']").await;
    phone.find("//a[contains(., 'Main chat')]//span[@aria-label='1 unread']").await;
    phone.tap("//nav[@class='threads']//a[contains(., 'Main chat')]").await;
    phone
        .find("//p[@class='day new'][.='1 new']/following-sibling::article[contains(., 'two')]")
        .await;
    phone.tap("//a[@aria-label='All chats']").await;
    phone.find("//nav[@class='threads'][not(.//span[contains(@aria-label, 'unread')])]").await;
    let state = Client::new(home.address(), "ines").state().await;
    let unread: Vec<_> =
        state["threads"].as_array().unwrap().iter().map(|it| &it["unread"]).collect();
    assert_eq!(unread, [0, 0, 0]);
    phone.close().await;
}

#[tokio::test]
async fn a_session_is_started_stopped_and_ended_by_buttons() {
    let home = Home::start().await;
    let refunds = home.thread("PD-285").await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/").await else { return };
    phone.tap("//button[@aria-label='New session']").await;
    let field = async |name: &str, words: &str| {
        let field = phone.find(&format!("//dialog//*[@name='{name}']")).await;
        field.send_keys(words).await.unwrap();
    };
    field("name", "PD-290 x").await;
    phone.tap("//dialog//button[.='Start']").await;
    assert_eq!(home.inbox.handed_in(), [], "a name has no spaces");
    phone.find("//dialog//*[@name='name']").await.clear().await.unwrap();
    field("name", "PD-290").await;
    field("words", "the scanner needs a spare battery").await;
    field("project", "quay").await;
    field("agent", "claude").await;
    assert_eq!(phone.small_targets().await, json!([]));
    phone.tap("//dialog//button[.='Start']").await;
    let heard = home.inbox.accepted(1).await;
    let command = "/new PD-290 in quay with claude the scanner needs a spare battery";
    assert_eq!((text(&heard[0]), &heard[0].place), ((command, None), &main_chat()));
    phone.find("//h1[.='Main chat']").await;
    phone.shows(command).await;

    phone.page.goto(&format!("http://{}/phone/#/", home.address())).await.unwrap();
    phone.tap("//nav[@class='threads']//a[contains(., 'PD-285')]").await;
    phone.tap("//button[@id='talk-menu']").await;
    assert_eq!(phone.small_targets().await, json!([]));
    phone.tap("//dialog//button[contains(., 'Stop')]").await;
    let heard = home.inbox.accepted(2).await;
    assert_eq!((text(&heard[1]), &heard[1].place), (("/stop", None), &refunds));
    phone.tap("//button[@id='talk-menu']").await;
    phone.tap("//dialog//button[contains(., 'End…')]").await;
    phone.shows("End PD-285?").await;
    phone.tap("//dialog//button[.='Keep it']").await;
    phone.tap("//button[@id='talk-menu']").await;
    phone.tap("//dialog//button[contains(., 'End…')]").await;
    phone.tap("//dialog//button[.='End PD-285']").await;
    let heard = home.inbox.accepted(3).await;
    assert_eq!(text(&heard[2]), ("/end", None), "and the one that was kept was not ended");
    let thread = posts::thread("PD-285", vigie_core::bridge::SessionLook::Ended);
    home.say(&refunds, Say::Thread { thread }).await;
    phone.find("//header[@id='talk-bar']//span[contains(., 'ended')]").await;
    phone.tap("//button[@id='talk-menu']").await;
    phone.tap("//dialog//button[contains(., 'Resume')]").await;
    let heard = home.inbox.accepted(4).await;
    assert_eq!((text(&heard[3]), &heard[3].place), (("/resume", None), &refunds));
    phone.close().await;
}

/// A question that takes several, with these options ticked.
fn several(ticked: &[usize]) -> Post {
    posts::with_card(posts::card(1, "H3RK", "Which harbours?"), |card| {
        card.kind = CardKind::Question;
        card.content = Rich::plain("Which harbours?\n1. Port Isaac\n2. Lindholm");
        let gate = card.gate;
        let option = |(option, name): (usize, &str)| {
            let tick = if ticked.contains(&option) { "☑" } else { "☐" };
            let action = Action::Choose { gate, question: 0, option };
            posts::button(&format!("{tick} {name}"), action)
        };
        card.buttons = ["Port Isaac", "Lindholm"].into_iter().enumerate().map(option).collect();
        let mut done = posts::button("Done", Action::Submit { gate, question: 0 });
        done.weight = Weight::Go;
        card.buttons.push(done);
    })
}

#[tokio::test]
async fn several_options_are_ticked_in_place_and_sent_by_done() {
    let home = Home::start().await;
    let docs = home.thread("docs").await;
    for number in 0..20 {
        home.post(&docs, posts::text("docs", &format!("line {number}"))).await;
    }
    let card = home.post(&docs, several(&[])).await;
    for number in 20..40 {
        home.post(&docs, posts::text("docs", &format!("line {number}"))).await;
    }
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    phone.shows("line 39").await;
    let lindholm = |on: bool| {
        format!(
            "//div[@id='log']//button[@aria-pressed='{on}'][contains(., 'Lindholm')][not(contains(., '☐'))]"
        )
    };
    let listed =
        format!("return document.getElementById('{card}').innerText.split('Lindholm').length - 1");
    assert_eq!(phone.run(&listed).await, json!(1), "an option is a button, not a line as well");
    phone.tap(&lindholm(false)).await;
    let heard = home.inbox.accepted(1).await;
    let action = Action::Choose { gate: posts::gate(1), question: 0, option: 1 };
    assert_eq!(heard[0].what, HeardKind::Tap { message: card.clone(), action });
    let top =
        format!("return Math.round(document.getElementById('{card}').getBoundingClientRect().top)");
    let before = phone.run(&top).await;
    home.edit(&card, several(&[1])).await;
    phone.find(&lindholm(true)).await;
    assert_eq!(phone.run(&top).await, before, "the card stays where the thumb is");
    let held = "return document.activeElement.dataset.key";
    assert_eq!(phone.run(held).await, json!("2"), "and so does the focus");
    assert_eq!(phone.small_targets().await, json!([]));
    phone.tap("//div[@id='log']//button[.='Done']").await;
    let heard = home.inbox.accepted(2).await;
    let action = Action::Submit { gate: posts::gate(1), question: 0 };
    assert_eq!(heard[1].what, HeardKind::Tap { message: card, action });
    phone.close().await;
}

#[tokio::test]
async fn a_banner_says_that_vigie_cannot_write() {
    let home = Home::start().await;
    home.post(&main_chat(), posts::text("docs", "hello")).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    phone.shows("hello").await;
    home.phone().health(Some("no space left on device".into()));
    let words = "Vigie cannot write to its disk. What you write is kept on this phone.";
    let bar = format!(
        "//main[@id='main']//p[starts-with(@class, 'conn-bar')][not(@hidden)][contains(., '{words}')]"
    );
    phone.find(&bar).await;
    phone.page.refresh().await.unwrap();
    phone.find(&bar).await;
    home.phone().health(None);
    phone.find("//main[@id='main']//p[starts-with(@class, 'conn-bar')][@hidden]").await;
    phone.close().await;
}
