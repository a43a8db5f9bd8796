//! The page in a real browser, as a person uses it: at 390 px, by thumb and by keyboard.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use browser_lab::Key;
use common::{
    Home,
    browser::{Pointer, open},
    main_chat, posts,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vigie_core::{
    Timestamp,
    bridge::{
        Action, Body, Bridge, HeardKind, Level, Mark, Post, Progress, Say, SessionLook, Weight,
    },
    id::MessageId,
    text::{Rich, Span, Style},
};

#[tokio::test]
async fn a_text_is_taken_and_a_card_is_approved() {
    let home = Home::start().await;
    let post = posts::card(1, "K7Q2", "cargo add backon");
    let card = home.post(&main_chat(), post.clone()).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };

    phone.write("the bank answers 504").await;
    phone.tap("//button[@aria-label='Send']").await;
    let heard = home.inbox.accepted(1).await;
    let HeardKind::Text { message, text, .. } = &heard[0].what else { panic!("{heard:?}") };
    assert_eq!((text.as_str(), heard[0].from.as_str()), ("the bank answers 504", "ines"));
    phone.find("//p[contains(@class, 'receipt')][contains(., 'stored')]").await;
    let taken = Mark::Taken { targets: vec!["PD-285".parse().unwrap()], at: Timestamp::default() };
    home.say(&main_chat(), Say::Mark { message: message.clone(), mark: taken }).await;
    phone.find("//p[contains(@class, 'taken')][contains(., 'taken by PD-285')]").await;

    phone.shows("1 waits for you").await;
    assert_eq!(phone.page.title().await.unwrap(), "(1) Main chat · Vigie");
    home.inbox.answer_with("Noted: approved.");
    phone.tap("//article[contains(@class, 'gate')]//button[.='Approve']").await;
    phone.shows("Noted: approved.").await;
    let heard = home.inbox.accepted(2).await;
    let action = Action::Allow { gate: posts::gate(1) };
    assert_eq!(heard[1].what, HeardKind::Tap { message: card.clone(), action });
    home.edit(&card, posts::approved(post)).await;
    phone.find("//article[contains(@class, 'decided')]//h2[contains(., 'Approved by you')]").await;
    phone.shows("Nothing waits for you.").await;
    assert_eq!(phone.page.title().await.unwrap(), "Main chat · Vigie");
    phone.close().await;
}

#[tokio::test]
async fn a_risky_card_wants_its_code() {
    let home = Home::start().await;
    let post = posts::with_card(posts::risky(posts::card(1, "K7Q2", "rm -rf x")), |card| {
        card.buttons.retain(|button| matches!(button.action, Action::Deny { .. }));
    });
    let card = home.post(&main_chat(), post).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/waiting").await else { return };

    let field = phone.find("//main[@id='waiting']//form[@class='confirm']//input").await;
    field.send_keys("K7Q3").await.unwrap();
    phone.tap("//main[@id='waiting']//form[@class='confirm']//button").await;
    phone.shows("Type K7Q2 to approve.").await;
    assert_eq!(home.inbox.handed_in(), []);
    field.clear().await.unwrap();
    field.send_keys("k7q2").await.unwrap();
    phone.tap("//main[@id='waiting']//form[@class='confirm']//button").await;
    let heard = home.inbox.accepted(1).await;
    let HeardKind::Text { text, reply_to, .. } = &heard[0].what else { panic!("{heard:?}") };
    assert_eq!((text.as_str(), reply_to), ("approve K7Q2", &Some(card.clone())));

    // Words of one's own go from the queue to the chat, as a reply to the card.
    phone.tap("//main[@id='waiting']//button[@aria-label='Reply to this card']").await;
    phone.shows("Answers").await;
    phone.write("what is in there?").await;
    phone.tap("//button[@aria-label='Send']").await;
    let heard = home.inbox.accepted(2).await;
    let HeardKind::Text { text, reply_to, .. } = &heard[1].what else { panic!("{heard:?}") };
    assert_eq!((text.as_str(), reply_to), ("what is in there?", &Some(card)));
    phone.close().await;
}

#[tokio::test]
async fn what_happened_while_vigie_was_away_shows_by_itself() {
    let mut home = Home::start().await;
    let first = home.post(&main_chat(), posts::text("docs", "before")).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    phone.shows("before").await;
    let address = home.address();
    home.stop().await;
    phone.shows("Reconnecting").await;
    phone.write("written meanwhile").await;
    phone.tap("//button[@aria-label='Send']").await;
    phone.shows("kept on this phone, no connection").await;

    let away = home.open(CancellationToken::new());
    let edit = Say::Edit { message: first, post: posts::text("docs", "before, then edited") };
    away.say(&main_chat(), &edit, home.key()).await.unwrap();
    let post = Say::Post { post: posts::text("docs", "said meanwhile"), reply_to: None };
    away.say(&main_chat(), &post, home.key()).await.unwrap();
    home.begin(address).await;

    phone.shows("before, then edited").await;
    phone.shows("said meanwhile").await;
    phone.find("//p[@data-conn][.='Live']").await;
    let heard = home.inbox.accepted(1).await;
    assert!(matches!(&heard[0].what, HeardKind::Text { text, .. } if text == "written meanwhile"));
    phone.find("//p[contains(@class, 'receipt')][contains(., 'stored')]").await;
    phone.close().await;
}

#[tokio::test]
async fn a_log_that_was_replaced_is_loaded_anew() {
    let mut home = Home::start().await;
    home.post(&main_chat(), posts::card(1, "K7Q2", "an old command")).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    phone.shows("an old command").await;
    let address = home.address();
    home.stop().await;
    phone.shows("Reconnecting").await;
    home.forget_everything();
    home.begin(address).await;
    home.post(&main_chat(), posts::text("docs", "a new beginning")).await;

    phone.shows("a new beginning").await;
    phone.shows("Nothing waits for you.").await;
    let desk = Say::Thread { thread: posts::thread("PD-286", SessionLook::NeedsDesk) };
    home.say(&main_chat(), desk).await;
    phone
        .find("//main[@id='main']//a[@class='strip'][contains(., 'PD-286 needs you at the desk')]")
        .await;
    let old = "return document.body.innerText.includes('an old command')";
    assert_eq!(phone.run(old).await, json!(false));
    phone.close().await;
}

#[tokio::test]
async fn a_phone_without_connection_says_so_and_keeps_what_was_written() {
    let mut home = Home::start().await;
    home.post(&main_chat(), posts::text("docs", "hello")).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };
    phone.shows("hello").await;
    phone.run_until_done("navigator.serviceWorker.ready.then(() => arguments[0](true))").await;
    let address = home.address();
    home.stop().await;
    phone.shows("Reconnecting").await;
    phone.write("survives a reload").await;
    phone.tap("//button[@aria-label='Send']").await;
    phone.shows("kept on this phone").await;
    phone.write("half a thou").await;

    phone.page.refresh().await.unwrap();
    phone.shows("Vigie cannot be reached").await;
    assert!(!phone.page.source().await.unwrap().contains("hello"), "nothing old passes for live");
    home.begin(address).await;
    phone.tap("//a[.='Try again']").await;
    let heard = home.inbox.accepted(1).await;
    assert!(matches!(&heard[0].what, HeardKind::Text { text, .. } if text == "survives a reload"));
    phone.page.goto(&format!("http://{address}/phone#/chat")).await.unwrap();
    phone.shows("survives a reload").await;
    let draft = phone.find("//textarea[@id='write']").await;
    assert_eq!(draft.prop("value").await.unwrap().as_deref(), Some("half a thou"));
    phone.close().await;
}

#[tokio::test]
async fn hostile_words_show_as_words() {
    const EVIL: &str = "<img src=x onerror=window.hit=1><script>window.hit=1</script>";
    let home = Home::start().await;
    let mut thread = posts::thread("PD-285", SessionLook::Working);
    thread.title = EVIL.into();
    thread.detail = Some(EVIL.into());
    home.say(&main_chat(), Say::Thread { thread }).await;
    // Beside what nobody sees, what only looks like it: a family is one emoji, joined.
    let text = format!("{EVIL} a\u{202e}b\u{e0041} 👨\u{200d}👩\u{200d}👧 click");
    let link = text.len() - 5..text.len();
    let span = Span { range: link, style: Style::Link { url: "javascript:window.hit=1".into() } };
    let body = Body::Text {
        text: Rich { text, spans: vec![span] },
        part: None,
        buttons: vec![posts::button(EVIL, Action::Allow { gate: posts::gate(9) })],
    };
    home.post(&main_chat(), Post { from: None, level: Level::Note, body }).await;
    let card = posts::with_card(posts::card(1, "K7Q2", EVIL), |card| {
        card.title = EVIL.into();
        card.diff = Some(format!(
            "--- a/{EVIL}\n+++ b/{EVIL}\n@@ -1 +1 @@ {EVIL}\n-{EVIL}\n+{EVIL}\u{200b}\n"
        ));
        card.warnings = vec![EVIL.into()];
        card.answer = EVIL.into();
        card.buttons[0].label = EVIL.into();
    });
    home.post(&main_chat(), card).await;
    let progress = Progress {
        lines: vec![EVIL.into()],
        since: Timestamp::default(),
        ended: None,
        buttons: vec![],
    };
    let from = Some("docs".parse().unwrap());
    home.post(&main_chat(), Post { from, level: Level::Note, body: Body::Progress(progress) })
        .await;
    home.post(&main_chat(), posts::document(EVIL, EVIL)).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };

    phone.find("//article[contains(@class, 'gate')]//pre[contains(., '<script>')]").await;
    phone.find("//div[@class='diff']//span[@class='hid'][.='U+200B']").await;
    phone.find("//div[@class='bubble']//span[@class='hid'][.='U+202E']").await;
    phone.find("//a[@class='file']//b[contains(., '<img')]").await;
    let boxes =
        "return [...document.querySelectorAll('.bubble > p .hid')].map((it) => it.textContent)";
    assert_eq!(phone.run(boxes).await, json!(["U+202E", "U+E0041"]));
    for view in ["#/", "#/waiting", "#/chat"] {
        let go = format!("http://{}/phone{view}", home.address());
        phone.page.goto(&go).await.unwrap();
        phone.find("//p[@data-conn][.='Live']").await;
        let found = "return document.querySelectorAll('main img, nav.threads img, main script, main a[href^=javascript]').length";
        assert_eq!(phone.run(found).await, json!(0), "{view}");
        assert_eq!(phone.run("return window.hit === undefined").await, json!(true), "{view}");
    }
    phone.close().await;
}

#[tokio::test]
async fn everything_goes_by_keyboard() {
    let home = Home::start().await;
    home.post(&main_chat(), posts::text("docs", "a long day")).await;
    let card = home.post(&main_chat(), posts::card(1, "K7Q2", "cargo add backon")).await;
    let Some(phone) = open(&home, Pointer::Mouse, "#/").await else { return };
    let enter = char::from(Key::Enter).to_string();

    phone.tab_to("it.matches('a.thread') && it.textContent.includes('Main chat')").await;
    phone.press(&enter).await;
    phone.shows("a long day").await;
    phone.press("/").await;
    phone.press("hello there").await;
    phone.press(&enter).await;
    let heard = home.inbox.accepted(1).await;
    assert!(matches!(&heard[0].what, HeardKind::Text { text, .. } if text == "hello there"));

    // A reply to a message, and an edit of one's own.
    phone.run("document.getElementById('main').focus()").await;
    phone
        .tab_to("it.ariaLabel === 'Reply' && it.closest('.msg').textContent.includes('a long day')")
        .await;
    phone.press(&enter).await;
    phone.shows("Answers").await;
    phone.press("indeed").await;
    phone.press(&enter).await;
    let heard = home.inbox.accepted(2).await;
    let HeardKind::Text { reply_to, message, .. } = heard[1].what.clone() else { panic!() };
    assert!(reply_to.is_some());
    phone.find(&format!("//article[@id='{message}']")).await;
    phone.run("document.getElementById('main').focus()").await;
    phone
        .tab_to(&format!("it.ariaLabel === 'Edit' && it.closest('.msg').id === '{message}'"))
        .await;
    phone.press(&enter).await;
    phone.shows("Edits your message").await;
    phone.press(", very long").await;
    phone.press(&enter).await;
    let heard = home.inbox.accepted(3).await;
    let edited = HeardKind::Edited { message, text: "indeed, very long".into() };
    assert_eq!(heard[2].what, edited);

    // The card, by Tab and Enter; and the queue's own keys.
    phone.run("document.getElementById('main').focus()").await;
    phone.tab_to("it.dataset.act === 'approve'").await;
    phone.press(&enter).await;
    let heard = home.inbox.accepted(4).await;
    assert!(matches!(&heard[3].what, HeardKind::Tap { message, .. } if *message == card));
    phone.page.goto(&format!("http://{}/phone#/waiting", home.address())).await.unwrap();
    phone.find("//main[@id='waiting']//button[@data-act='deny']").await;
    phone.run("document.getElementById('waiting').focus()").await;
    phone.press("j").await;
    phone.press("d").await;
    let heard = home.inbox.accepted(5).await;
    assert!(matches!(&heard[4].what, HeardKind::Tap { action: Action::Deny { .. }, .. }));
    phone.close().await;
}

#[tokio::test]
async fn a_key_answers_the_card_that_was_chosen_and_no_other() {
    let home = Home::start().await;
    let first = home.post(&main_chat(), posts::card(1, "K7Q2", "cargo add backon")).await;
    let second = home.post(&main_chat(), posts::card(2, "M4XD", "cargo add rand")).await;
    let third = home.post(&main_chat(), posts::card(3, "T9HW", "cargo add uuid")).await;
    let Some(phone) = open(&home, Pointer::Mouse, "#/waiting").await else { return };
    let shows =
        |words: &str| format!("//article[contains(@class, 'gate')][contains(., '{words}')]");
    phone.find(&shows("backon")).await;

    // Nothing is chosen, or a key is held: nothing is answered.
    phone.press("a").await;
    phone.shows("No card is chosen").await;
    phone.press("j").await;
    let hold = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', repeat: true, bubbles: true }))";
    phone.run(hold).await;
    // The card that was chosen is answered elsewhere: the next is nobody's choice.
    home.edit(&first, posts::approved(posts::card(1, "K7Q2", "cargo add backon"))).await;
    phone.find(&shows("rand")).await;
    phone.press("a").await;
    // Chosen once is answered once, whatever comes into its place.
    phone.press("j").await;
    phone.press("a").await;
    phone.press("a").await;
    let heard = home.inbox.accepted(1).await;
    assert!(matches!(&heard[0].what, HeardKind::Tap { message, .. } if *message == second));
    home.edit(&second, posts::approved(posts::card(2, "M4XD", "cargo add rand"))).await;
    phone.find(&shows("uuid")).await;
    phone.press("a").await;
    phone.press("j").await;
    phone.press("d").await;
    let heard = home.inbox.accepted(2).await;
    assert_eq!(heard.len(), 2);
    assert!(matches!(&heard[1].what, HeardKind::Tap { message, .. } if *message == third));
    phone.close().await;
}

#[tokio::test]
async fn a_question_is_answered_by_a_choice_and_all_targets_are_large_enough() {
    let home = Home::start().await;
    let gate = posts::gate(1);
    let choice = |question, option, label: &str| {
        let mut button = posts::button(label, Action::Choose { gate, question, option });
        button.weight = Weight::Plain;
        button.detail = Some("a second line".into());
        button
    };
    let post = posts::with_card(posts::card(1, "M4XD", "Which store?"), |card| {
        card.kind = vigie_core::bridge::CardKind::Question;
        card.buttons = vec![
            choice(0, 0, "SQLite"),
            choice(0, 1, "Files"),
            choice(1, 0, "Now"),
            choice(1, 1, "Later"),
        ];
    });
    let card: MessageId = home.post(&main_chat(), post).await;
    let Some(phone) = open(&home, Pointer::Thumb, "#/chat").await else { return };

    phone.tap("//div[@aria-label='Question 2']//button[contains(., 'Later')]").await;
    let heard = home.inbox.accepted(1).await;
    let action = Action::Choose { gate, question: 1, option: 1 };
    assert_eq!(heard[0].what, HeardKind::Tap { message: card, action });
    assert_eq!(phone.small_targets().await, json!([]));
    let nameless = "return [...document.querySelectorAll('button, a, input, textarea')]
        .filter((it) => it.checkVisibility() && !it.ariaLabel && !it.textContent.trim() && !it.labels?.length)
        .map((it) => it.className)";
    assert_eq!(phone.run(nameless).await, json!([]), "everything has a name for who cannot see it");
    let wide = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(phone.run(wide).await, json!(false), "nothing sticks out to the right");
    phone.close().await;
}
