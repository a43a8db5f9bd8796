//! A session's page at the desk in a real browser, before a real daemon with real sessions.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod desk;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use browser_lab::Look;
use serde_json::{Value, json};
use std::fs;
use support::{
    desk::{Desk, demo_home, new, vigie_up},
    home::Home,
};

const SCREEN: &str = "document.querySelector('[data-term]')";

/// Waits until the live screen holds the words.
async fn screen_shows(desk: &Desk, words: &str) {
    desk.holds(&format!("{SCREEN}?.textContent.includes('{words}')")).await;
}

#[tokio::test]
async fn the_terminal_shows_what_is_printed_as_it_is_printed() {
    let home = demo_home().await;
    new(&home, "PD-285", "Retry refunds").await;
    let Some(desk) = Desk::open(&home, Look::DESK.dark(), "/sessions/PD-285").await else { return };
    screen_shows(&desk, "This is the demo agent.").await;
    desk.holds("document.querySelectorAll('[data-term] > .row').length > 5").await;
    desk.find("//nav[@aria-label='PD-285']/a[@aria-current='page'][.='Terminal']").await;

    // Nobody touches the page, and it follows.
    home.send("PD-285", "stream 3").await;
    screen_shows(&desk, "3 lines printed.").await;
    desk.holds("document.querySelectorAll('[data-term] .cur').length === 1").await;
    desk.clean("session-1280-dark").await;
    desk.close().await;
}

#[tokio::test]
async fn keys_go_in_from_a_phone_once_they_are_unlocked() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    let Some(desk) = Desk::open(&home, Look::PHONE, "/sessions/PD-285").await else { return };
    screen_shows(&desk, "This is the demo agent.").await;
    desk.holds("document.querySelector('#keys textarea').disabled").await;
    desk.holds("[...document.querySelectorAll('[data-press]')].every((key) => key.disabled)").await;

    desk.tap("//input[@id='unlock']").await;
    desk.holds("!document.querySelector('#keys textarea').disabled").await;
    desk.find("//form[@id='keys']//textarea").await.send_keys("stream 2").await.unwrap();
    desk.clean("session-keys-390-light").await;
    desk.tap("//button[@aria-label='Type it']").await;
    screen_shows(&desk, "stream 2").await;
    desk.tap("//button[@data-press='enter']").await;
    screen_shows(&desk, "2 lines printed.").await;

    // With the focus in the screen: what takes Alt or AltGr on some keyboards, and Tab; F2 is the way out.
    let key = |key: &str, more: &str| {
        format!(
            "document.querySelector('[data-term]').dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true, cancelable: true, {more} }}))"
        )
    };
    for (letter, more) in [
        ("[", "altKey: true"),
        ("@", "altKey: true, ctrlKey: true"),
        ("x", "altKey: true"),
        ("}", ""),
    ] {
        desk.run(&key(letter, more)).await;
    }
    screen_shows(&desk, "[@}").await;
    let tab = format!("return {}", key("Tab", ""));
    assert_eq!(desk.run(&tab).await, false, "it is typed and moves no focus");
    desk.run(&key("F2", "")).await;
    desk.holds("document.activeElement.matches('.keys button')").await;

    // The page around them changes, and they stay unlocked until it is left.
    new(&home, "PD-286", "").await;
    home.send("PD-286", "leave a note").await;
    desk.holds("document.title.startsWith('(1)')").await;
    desk.holds("document.getElementById('unlock').checked").await;
    desk.run("location.reload()").await;
    desk.holds("document.getElementById('unlock')?.checked === false").await;

    // Who typed how much is known afterwards, and not what.
    let audit = format!("http://{}/audit?show=sessions&session=PD-285", home.address);
    desk.page.goto(&audit).await.unwrap();
    let keys = "//tr[th[.='keys typed']][contains(., 'Inès Caradec')]//pre";
    desk.find(&format!("{keys}[contains(., '\"characters\":8')]")).await;
    desk.find(&format!("{keys}[contains(., 'enter')]")).await;
    desk.holds("![...document.querySelectorAll('.audit pre')].some((it) => it.textContent.includes('stream'))").await;
    desk.close().await;
}

#[tokio::test]
async fn what_it_asks_stands_beside_it_and_is_answered_there() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/sessions/PD-285").await else { return };
    screen_shows(&desk, "This is the demo agent.").await;
    home.send("PD-285", "leave a note").await;
    desk.find("//aside//article[contains(., 'PD-285')]").await;
    desk.find("//h1/following-sibling::span[contains(., 'waits for you')]").await;
    // What is sent meanwhile waits for its turn.
    home.send("PD-285", "stream 2").await;
    desk.find("//section[h2[.='Next for it']]//li[contains(., 'stream 2')]").await;
    desk.clean("session-asks-1280-light").await;
    desk.tap("//aside//article//button[@data-key='a']").await;
    screen_shows(&desk, "2 lines printed.").await;
    desk.holds("document.querySelector('aside article') === null").await;
    desk.holds("!document.querySelector('aside').textContent.includes('Next for it')").await;
    desk.close().await;
}

#[tokio::test]
async fn one_that_is_over_shows_its_last_screen_and_goes_on() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    home.send("PD-285", "stream 2").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/sessions/PD-285").await else { return };
    screen_shows(&desk, "2 lines printed.").await;
    desk.tap("//form[contains(@data-post, '/end')]//button").await;
    desk.shows("Its last screen; the program is gone.").await;
    desk.find("//pre[@aria-label='Last screen of PD-285'][contains(., '2 lines printed.')]").await;
    desk.holds("document.getElementById('keys') === null").await;
    desk.tap("//form[contains(@data-post, '/resume')]//button").await;
    screen_shows(&desk, "demo agent").await;
    desk.close().await;
}

#[tokio::test]
async fn a_recording_is_played_back() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    home.send("PD-285", "stream 3").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/sessions/PD-285").await else { return };
    screen_shows(&desk, "3 lines printed.").await;
    desk.tap("//nav[@aria-label='PD-285']/a[.='Recording']").await;
    desk.tap("//button[.='Play']").await;
    desk.holds(
        "document.querySelector('[data-player] .term').textContent.includes('3 lines printed.')",
    )
    .await;
    desk.find("//button[.='Play']").await;
    desk.clean("recording-1280-light").await;
    desk.close().await;
}

#[tokio::test]
async fn every_page_of_a_session_says_what_there_is() {
    let home = demo_home().await;
    new(&home, "PD-285", "Retry refunds").await;
    let Some(desk) = Desk::open(&home, Look::PHONE, "/sessions/PD-285").await else { return };
    for (tab, shows) in [
        ("Conversation", "What its terminal printed"),
        ("Diff", "is in no git repository"),
        ("Files", "Get a file of its folder"),
        ("Mail", "It has written to no other session"),
        ("Cost", "The whole session"),
        ("Recording", "Pauses are shortened"),
        ("Terminal", "vigie attach"),
    ] {
        desk.tap(&format!("//nav[@aria-label='PD-285']/a[.='{tab}']")).await;
        desk.shows(shows).await;
        desk.clean(&format!("session-{}-390-light", tab.to_lowercase())).await;
    }
    // Nothing outside of its folder is handed out.
    let status = desk
        .run_until_done(
            "const done = arguments[0];
             fetch('/sessions/PD-285/file?path=../../etc/passwd').then((answer) => done(answer.status))",
        )
        .await;
    assert_eq!(status, json!(404));
    desk.close().await;
}

#[tokio::test]
async fn what_a_terminal_prints_is_text() {
    let home = demo_home().await;
    new(&home, "PD-285", "<img src=x onerror=\"document.title='owned'\">").await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/sessions/PD-285").await else { return };
    let evil = "recall <b id=owned>x</b><img src=x onerror=alert(1)>";
    let _: Value =
        home.desk().post("/sessions/PD-285/send", &json!({ "text": evil })).await.unwrap();
    screen_shows(&desk, "<b id=owned>").await;
    desk.holds("document.getElementById('owned') === null").await;
    desk.holds("document.querySelector('main img') === null").await;
    desk.holds("!document.title.startsWith('owned')").await;
    desk.close().await;
}

/// Prints what terminals of other kinds would obey: a link, a title, a picture, letters that turn a line
/// round, a line of a megabyte.
const HOSTILE: &str = r#"head -c 1000000 /dev/zero | tr '\0' x; echo; printf '\033]8;;javascript:alert(1)\033\\click\033]8;;\033\\ \033]0;owned\007\033P0;0;0q"1;1;9;9#0;2;0;0;0#0~~@@-\033\\ \342\200\256gnp.exe\n'; printf '\n<i id=owned>the end</i>\n'"#;

#[tokio::test]
async fn what_a_terminal_is_told_to_do_stays_in_it() {
    let mut home = Home::new(vigie_up);
    home.configure("\n[[agent]]\nname = \"bash\"\nkind = \"shell\"\nprogram = \"/bin/bash\"\n");
    home.up().await;
    let body = json!({ "name": "PD-285", "title": "", "agent": "bash" });
    let _: Value = home.desk().post("/sessions", &body).await.unwrap();
    home.session_is("PD-285", "idle").await;
    fs::write(home.project().join("hostile.sh"), HOSTILE).unwrap();
    let Some(desk) = Desk::open(&home, Look::PHONE, "/sessions/PD-285").await else { return };
    home.send("PD-285", "bash hostile.sh").await;
    screen_shows(&desk, "<i id=owned>the end</i>").await;
    desk.holds("document.querySelector('[data-term] a, [data-term] img, #owned') === null").await;
    desk.holds("!document.title.includes('owned') && !document.body.innerHTML.includes('\\u202e')")
        .await;
    // What went by is looked up, and is as harmless.
    screen_shows(&desk, "gnp.exe").await;
    desk.tap("//button[@data-before]").await;
    desk.holds("document.querySelector('.earlier')?.textContent.includes('xxxxxxxx')").await;
    desk.holds("!document.body.innerHTML.includes('\\u202e') && !document.body.innerHTML.includes('javascript:')")
        .await;
    desk.clean("session-hostile-390-light").await;
    desk.close().await;
}

/// A file that a session holds under a name made to be more than one.
#[tokio::test]
async fn a_files_name_is_text_and_its_content_no_page() {
    let home = demo_home().await;
    new(&home, "PD-285", "").await;
    let name = "<img src=x onerror=alert(1)>\u{202e}gnp.html";
    fs::write(home.project().join(name), "<script>document.title='owned'</script>").unwrap();
    let Some(desk) = Desk::open(&home, Look::DESK, "/sessions/PD-285?view=files").await else {
        return;
    };
    desk.find("//input[@name='path']").await.send_keys(name).await.unwrap();
    let fetched = desk
        .run_until_done(
            "const done = arguments[0], path = encodeURIComponent(document.querySelector('input[name=path]').value);
             fetch(`/sessions/PD-285/file?path=${path}`).then(async (it) => done([it.status, it.headers.get('content-type'),
               it.headers.get('content-disposition'), it.headers.get('x-content-type-options'), (await it.text()).length]))",
        )
        .await;
    assert_eq!(fetched[0], 200);
    assert_eq!(fetched[1], "application/octet-stream");
    let disposition = fetched[2].as_str().unwrap();
    assert!(disposition.starts_with("attachment;"), "{disposition}");
    assert!(!disposition.contains(['<', '>', '\u{202e}']), "{disposition}");
    assert_eq!(fetched[3], "nosniff");
    desk.close().await;
}
