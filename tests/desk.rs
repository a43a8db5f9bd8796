//! The pages at the desk in a real browser, before a real daemon with real sessions.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod desk;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use browser_lab::{Key, Look};
use serde_json::{Value, json};
use support::{
    desk::{Desk, demo_home, new},
    home::Home,
};
use vigie::{clock::Clock, store::Store};
use vigie_core::{delivery::Delivery, id::DeliveryId, state::Row};

#[tokio::test]
async fn the_board_is_true_while_it_is_looked_at() {
    let home = demo_home().await;
    new(&home, "PD-285", "Retry refunds").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/board").await else { return };
    desk.shows("Nothing waits for you.").await;
    desk.find("//tr[.//b[.='PD-285']]//span[contains(@class, 'idle')]").await;

    // It begins to ask while nobody touches the page.
    home.send("PD-285", "leave a note").await;
    desk.shows("1 waits for you").await;
    desk.find("//tr[.//b[.='PD-285']]//span[contains(., 'waits for you')]").await;
    desk.holds("document.title === '(1) Board · Vigie'").await;
    desk.holds("document.getElementById('favicon').href.endsWith('favicon-waiting.svg')").await;
    desk.clean("board-1280-light").await;

    // Another appears, and a filter keeps to what it says.
    new(&home, "PD-286", "Offline tickets").await;
    desk.find("//tr[.//b[.='PD-286']]").await;
    desk.tap("//button[@value='waiting']").await;
    desk.find("//button[@value='waiting'][@aria-current='true']").await;
    desk.find("//tr[.//b[.='PD-285']]").await;
    desk.holds("!document.body.innerText.includes('PD-286')").await;
    desk.close().await;
}

#[tokio::test]
async fn a_session_is_started_from_the_board() {
    let home = demo_home().await;
    let Some(desk) = Desk::open(&home, Look::PHONE, "/board").await else { return };
    desk.shows("No session yet.").await;
    desk.tap("//a[contains(., 'New session')]").await;
    desk.find("//input[@id='name']").await.send_keys("PD 9").await.unwrap();
    desk.tap("//section[@id='new']//button[.='Start']").await;
    desk.find("//section[@id='new']//p[@role='alert'][not(@hidden)]").await;
    desk.find("//input[@id='name']").await.clear().await.unwrap();
    desk.find("//input[@id='name']").await.send_keys("PD-292").await.unwrap();
    desk.find("//textarea[@id='prompt']").await.send_keys("stream 2").await.unwrap();
    desk.clean("new-session-390-light").await;
    desk.tap("//section[@id='new']//button[.='Start']").await;
    desk.holds("location.pathname.startsWith('/sessions/ses_')").await;
    home.session_is("PD-292", "idle").await;
    desk.close().await;
}

#[tokio::test]
async fn what_waits_is_answered_with_the_keyboard_alone() {
    let home = demo_home().await;
    for (name, text) in [("PD-285", "leave a note"), ("PD-286", "ask which store")] {
        new(&home, name, "").await;
        home.send(name, text).await;
        home.session_is(name, "waiting").await;
    }
    let Some(desk) = Desk::open(&home, Look::DESK.dark(), "/waiting").await else { return };
    desk.shows("2 wait, oldest first").await;
    desk.clean("waiting-1280-dark").await;

    // No card is held: a letter answers nothing.
    desk.page_key("a").await;
    assert_eq!(home.waiting().await, 2);
    desk.page_key("j").await;
    desk.holds("document.activeElement.matches('.gate') && document.activeElement.textContent.includes('PD-285')").await;
    desk.press("a").await;
    desk.find("//ol[@id='decided']//li[contains(., 'PD-285')][contains(., 'approved')]").await;
    desk.page_key("j").await;
    desk.press("2").await;
    desk.shows("Nothing waits for you.").await;
    home.session_is("PD-286", "idle").await;
    desk.close().await;
}

#[tokio::test]
async fn a_card_is_answered_once_wherever_the_answer_comes_from() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    home.send("PD-285", "leave a note").await;
    home.session_is("PD-285", "waiting").await;
    let Some(desk) = Desk::open(&home, Look::PHONE, "/waiting").await else { return };
    let code = desk.find("//article//span[@class='code']").await.text().await.unwrap();
    desk.tap("//summary[contains(., 'Deny with a reason')]").await;
    desk.find("//article//textarea").await.send_keys("not now").await.unwrap();
    desk.clean("waiting-390-light").await;

    // What is typed stays while the page changes around it.
    new(&home, "PD-286", "").await;
    home.send("PD-286", "ask which store").await;
    desk.shows("2 wait").await;
    desk.holds("document.querySelector('article textarea').value === 'not now'").await;

    desk.run("document.querySelector('article textarea').value = ''").await;
    // What comes under a pointer when a card goes is not pressed.
    desk.run(
        "main.addEventListener('fresh', () => {
            const gate = document.querySelector('.gate:not(.decided)');
            if (!gate || window.clickedOnce || gate.textContent.includes('PD-285')) return;
            window.clickedOnce = true;
            gate.querySelector('[data-tap]').dispatchEvent(
                new MouseEvent('click', { detail: 1, bubbles: true, cancelable: true }));
        })",
    )
    .await;
    let denied: Value = home
        .desk()
        .post(&format!("/waiting/{code}/answer"), &json!({ "choice": "deny" }))
        .await
        .unwrap();
    assert!(denied["words"].as_str().is_some(), "{denied}");
    desk.find("//ol[@id='decided']//li[contains(., 'PD-285')][contains(., 'denied')]").await;
    desk.holds("document.getElementById('said').textContent.includes('The page moved just now')")
        .await;
    assert_eq!(home.waiting().await, 1);
    desk.close().await;
}

#[tokio::test]
async fn hostile_names_and_words_are_text() {
    let home = demo_home().await;
    let title = "<img src=x onerror=\"document.title='owned'\"> \u{202e}gnp.exe";
    new(&home, "PD-285", title).await;
    home.send("PD-285", "say <script>document.title='owned'</script>").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/board").await else { return };
    desk.shows("<img src=x onerror=").await;
    desk.holds("!document.body.innerHTML.includes('\\u202e')").await;
    desk.holds("document.querySelector('main img, main script') === null").await;
    desk.holds("!document.title.includes('owned')").await;
    desk.close().await;
}

#[tokio::test]
async fn a_tab_that_slept_shows_how_things_stand() {
    let mut home = demo_home().await;
    new(&home, "PD-285", "").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/board").await else { return };
    desk.find("//p[@id='conn'][.='Live']").await;
    home.kill();
    desk.find("//p[@id='conn-bar'][contains(., 'Nothing will be missed')]").await;
    home.up().await;
    new(&home, "PD-286", "").await;
    desk.find("//tr[.//b[.='PD-286']]").await;
    desk.find("//p[@id='conn'][.='Live']").await;
    desk.tab_to("it.matches('a.title') && it.textContent.includes('PD-285')").await;
    desk.press(&char::from(Key::Enter).to_string()).await;
    desk.holds("location.pathname.startsWith('/sessions/')").await;
    desk.close().await;
}

/// A browser keeps six connections to one place: a page that is left must give back its own.
#[tokio::test]
async fn one_walks_through_all_pages_and_each_is_live() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/board").await else { return };
    for page in ["Waiting", "Board", "Runs", "Audit", "System"].iter().cycle().take(15) {
        desk.tap(&format!("//nav[@aria-label='Main']//a[contains(., '{page}')]")).await;
        desk.find(&format!("//h1[.='{page}']")).await;
        desk.find("//p[@id='conn'][.='Live']").await;
    }
    desk.close().await;
}

#[tokio::test]
async fn words_of_ones_own_outlive_the_card_they_were_for() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    home.send("PD-285", "leave a note").await;
    home.session_is("PD-285", "waiting").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/waiting").await else { return };
    let code = desk.find("//article//span[@class='code']").await.text().await.unwrap();
    desk.tap("//summary[contains(., 'Deny with a reason')]").await;
    desk.find("//article//textarea").await.send_keys("half a reason").await.unwrap();
    let answer = format!("/waiting/{code}/answer");
    let _: Value = home.desk().post(&answer, &json!({ "choice": "approve" })).await.unwrap();
    desk.shows("This is over meanwhile. Your words were not sent").await;
    desk.holds("document.querySelector('article textarea').value === 'half a reason'").await;
    desk.close().await;
}

/// A message about PD-285 that the phone's chat refused.
async fn refused(home: &Home, session: &Value, words: &str) {
    let now = Clock::system().now();
    let delivery: Delivery = serde_json::from_value(json!({
        "id": DeliveryId::from_parts(now, 7), "number": 1_000,
        "to": { "bridge": "phone", "chat": "main", "spot": { "spot": "main" } },
        "what": { "what": "post", "reply_to": null, "post": { "from": null, "level": "note",
            "body": { "body": "text", "text": { "text": words, "spans": [] }, "part": null, "buttons": [] } } },
        "rank": "final", "session": session["id"], "newest": null,
        "state": { "delivery": "missed", "why": "<b>too strange</b>\u{202e}", "at": now },
    }))
    .unwrap();
    let store = Store::open(&home.data()).unwrap();
    store.write(vec![Row::Delivery(delivery)]).await.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_did_not_arrive_is_known_after_a_start_and_tried_again_from_the_page() {
    let mut home = demo_home().await;
    new(&home, "PD-285", "").await;
    let Some(desk) = Desk::open(&home, Look::PHONE, "/system").await else { return };
    desk.shows("Nothing of the last seven days").await;
    desk.find("//dl//dt[.='Sessions']/following-sibling::dd[contains(., '1 live')]").await;
    let session = home.session("PD-285").await;
    home.kill();
    refused(&home, &session, "the ferries are counted").await;
    home.up().await;
    desk.find(
        "//li[contains(., 'A message about PD-285 did not reach phone: <b>too strange</b>')]",
    )
    .await;
    desk.clean("system-undelivered-390-light").await;
    desk.tap("//section[@id='undelivered']//button[.='Try again']").await;
    desk.shows("It goes to phone once more.").await;
    desk.shows("Nothing of the last seven days").await;
    desk.page.goto(&format!("http://{}/phone#/chat", home.address)).await.unwrap();
    desk.shows("the ferries are counted").await;
    desk.close().await;
}

/// Whatever a page shows: bytes as they come.
const LIGHT: u64 = 100_000;

#[tokio::test]
async fn every_page_is_whole_and_light_in_every_look_and_asks_nobody_else() {
    let home = demo_home().await;
    let long = "Wechselkursabsicherungsvertragsverlängerung".repeat(4);
    new(&home, "PD-285", &format!("{long} <b>\u{202e}gnp.exe</b>")).await;
    new(&home, "a-name-as-long-as-a-session-can-have-one", "Offline tickets").await;
    home.send("PD-285", "leave a note").await;
    home.session_is("PD-285", "waiting").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/board").await else { return };
    for (page, path) in [
        ("board", "/board"),
        ("board-none", "/board?find=nothing-is-called-so"),
        ("waiting", "/waiting"),
        ("session", "/sessions/PD-285"),
        ("conversation", "/sessions/PD-285?view=conversation"),
        ("runs", "/runs"),
        ("workflow", "/workflows/quick-change"),
        ("ledger", "/ledger"),
        ("audit", "/audit"),
        ("system", "/system"),
        ("unreadable", "/ledger?days=-1"),
        ("nothing", "/there-is-no-such-page"),
    ] {
        desk.page.goto(&format!("http://{}{path}", home.address)).await.unwrap();
        desk.holds("(document.getElementById('conn')?.textContent ?? 'Live') === 'Live'").await;
        let weight = desk.weighs().await;
        assert!(weight < LIGHT, "{page} weighs {weight}");
        for look in [Look::DESK, Look::PHONE] {
            for look in [look, look.dark()] {
                desk.seen_as(look).await;
                let scheme = if look.dark { "dark" } else { "light" };
                desk.clean(&format!("every-{page}-{}-{scheme}", look.width)).await;
            }
        }
        desk.seen_as(Look::DESK).await;
        if ["board", "waiting", "session", "workflow", "system"].contains(&page) {
            desk.walk().await;
        }
    }
    desk.page.goto(&format!("http://{}/board", home.address)).await.unwrap();
    desk.tap("//summary[contains(@class, 'me')]").await;
    desk.tap("//button[.='Sign out']").await;
    desk.find("//form[@action='/login']").await;
    for look in [Look::DESK.dark(), Look::PHONE] {
        desk.seen_as(look).await;
        desk.clean(&format!("every-login-{}", look.width)).await;
    }
    desk.close().await;
}

#[tokio::test]
async fn an_answer_goes_out_whatever_else_is_open() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    home.send("PD-285", "leave a note").await;
    home.session_is("PD-285", "waiting").await;
    // Each of these is told how things stand, and its terminal: more than a browser has connections.
    let page = "/sessions/PD-285";
    let Some(desk) = Desk::open(&home, Look::DESK, page).await else { return };
    for _ in 0..6 {
        let window = desk.page.new_window(false).await.unwrap().handle;
        desk.page.switch_to_window(window).await.unwrap();
        desk.page.goto(&format!("http://{}{page}", home.address)).await.unwrap();
        desk.find("//p[@id='conn'][.='Live']").await;
    }
    desk.tap("//button[@data-tap][@data-key='a']").await;
    home.session_is("PD-285", "idle").await;
    // Who has no seat is told too.
    desk.holds("!document.querySelector('.gate:not(.decided)')").await;
    desk.close().await;
}

/// As a browser tells a page that another tab is in front of it.
const HIDDEN: &str = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => window.away }); \
    window.away = arguments[0]; document.dispatchEvent(new Event('visibilitychange'))";

#[tokio::test]
async fn a_tab_behind_another_lets_go_and_goes_on_where_things_stand() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/board").await else { return };
    desk.find("//p[@id='conn'][.='Live']").await;
    desk.page.execute(HIDDEN, vec![json!(true)]).await.unwrap();
    desk.find("//p[@id='conn'][.='Paused']").await;
    new(&home, "PD-286", "").await;
    new(&home, "PD-287", "").await;
    desk.holds("!document.body.innerText.includes('PD-286')").await;
    desk.page.execute(HIDDEN, vec![json!(false)]).await.unwrap();
    desk.find("//p[@id='conn'][.='Live']").await;
    desk.find("//tr[.//b[.='PD-287']]").await;
    desk.holds("document.querySelectorAll('table.board tbody tr').length === 3").await;
    desk.close().await;
}
