//! What each role sees at the desk and may press there, in a real browser.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod desk;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use browser_lab::Look;
use serde_json::json;
use support::{
    desk::{Desk, new, vigie_up},
    home::Home,
};

const PEOPLE: &str = "\n[[human]]\nid = \"awa\"\nname = \"Awa Diop\"\nrole = \"viewer\"\n\
     \n[[human]]\nid = \"tomas\"\nname = \"Tomas Lindqvist\"\nrole = \"talker\"\n\
     \n[[human]]\nid = \"maud\"\nname = \"Maud Okafor\"\nrole = \"approver\"\n";

/// A daemon with a person of each role, and a session that waits for a yes.
async fn home() -> Home {
    let mut home = Home::new(vigie_up);
    home.configure(PEOPLE);
    home.up().await;
    new(&home, "PD-285", "Retry refunds").await;
    home.send("PD-285", "leave a note").await;
    home.session_is("PD-285", "waiting").await;
    home
}

/// Opens a page of the desk and waits for its heading.
async fn visit(home: &Home, desk: &Desk, path: &str, heading: &str) {
    desk.page.goto(&format!("http://{}{path}", home.address)).await.unwrap();
    desk.find(&format!("//h1[contains(., '{heading}')]")).await;
    desk.find("//p[@id='conn'][.='Live']").await;
}

async fn offers(desk: &Desk, words: &str) -> bool {
    let script = format!(
        "return [...document.querySelectorAll('main button, main summary, main a.btn')].some((it) => it.textContent.includes('{words}'))"
    );
    desk.run(&script).await == json!(true)
}

/// What the server says to a request that no button offers.
async fn asked(desk: &Desk, path: &str, body: &str) -> i64 {
    let script = format!(
        "const done = arguments[0]; fetch('/api/v1{path}', {{ method: 'POST', body: '{body}', headers: {{ 'x-vigie-pass': localStorage.getItem('vigie.pass') }} }}).then((it) => done(it.status))"
    );
    desk.run_until_done(&script).await.as_i64().unwrap()
}

#[tokio::test]
async fn a_viewer_sees_everything_and_is_offered_nothing() {
    let home = home().await;
    let look = Look::DESK;
    let Some(desk) = Desk::open_as(&home, Some("awa"), look, "/board").await else { return };
    desk.shows("1 waits for you").await;
    assert!(!offers(&desk, "New session").await);
    visit(&home, &desk, "/waiting", "Waiting").await;
    desk.shows("PD-285").await;
    desk.holds("document.querySelector('main .gate:not(.decided) button') === null").await;
    desk.clean("waiting-viewer-1280-light").await;
    visit(&home, &desk, "/sessions/PD-285", "PD-285").await;
    for words in ["Send…", "Stop", "End", "Kill", "Approve"] {
        assert!(!offers(&desk, words).await, "{words}");
    }
    desk.shows("Only an owner may type into a terminal").await;
    visit(&home, &desk, "/system", "System").await;
    assert!(!offers(&desk, "Run the doctor").await);
    visit(&home, &desk, "/runs", "Runs").await;
    assert!(!offers(&desk, "New workflow").await);
    for (path, body) in [
        ("/sessions/PD-285/send", "{\"text\":\"hello\"}"),
        ("/sessions/PD-285/keys", "{\"text\":\"hello\"}"),
        ("/sessions/PD-285/kill", ""),
        ("/workflows", "{\"name\":\"mine\"}"),
        ("/doctor", ""),
    ] {
        assert_eq!(asked(&desk, path, body).await, 403, "{path}");
    }
    home.session_is("PD-285", "waiting").await;
    desk.close().await;
}

#[tokio::test]
async fn a_talker_writes_changes_what_is_theirs_and_answers_nothing() {
    let home = home().await;
    let look = Look::DESK;
    home.send("PD-285", "stream 2").await;
    let Some(desk) = Desk::open_as(&home, Some("tomas"), look, "/board").await else { return };
    desk.find("//a[contains(., 'New session')]").await;
    visit(&home, &desk, "/sessions/PD-285", "PD-285").await;
    assert!(offers(&desk, "Send…").await && !offers(&desk, "Approve").await);
    desk.tap("//summary[contains(., 'Send…')]").await;
    desk.find("//textarea[@id='tell']").await.send_keys("stream 9").await.unwrap();
    desk.tap("//form//button[contains(., 'Send to')]").await;
    // Of the two that wait, one is theirs to change.
    let own = "//section[h2[.='Next for it']]//li[contains(., 'stream 9')]";
    desk.tap(&format!("{own}//summary")).await;
    let field = desk.find(&format!("{own}//textarea")).await;
    field.clear().await.unwrap();
    field.send_keys("stream 4").await.unwrap();
    desk.clean("session-talker-1280-light").await;
    desk.tap(&format!("{own}//button[.='Change']")).await;
    desk.find("//section[h2[.='Next for it']]//li[contains(., 'stream 4')]").await;
    desk.holds("document.querySelectorAll('#queue ~ ol details').length === 1").await;
    desk.tap("//section[h2[.='Next for it']]//li[contains(., 'stream 4')]//button[.='Take back']")
        .await;
    desk.holds("!document.querySelector('#queue ~ ol').textContent.includes('stream 4')").await;
    assert_eq!(asked(&desk, "/sessions/PD-285/keys", "{\"text\":\"y\"}").await, 403);
    home.session_is("PD-285", "waiting").await;
    desk.close().await;
}

#[tokio::test]
async fn an_approver_answers_and_types_into_no_terminal() {
    let home = home().await;
    let look = Look::PHONE;
    let Some(desk) = Desk::open_as(&home, Some("maud"), look, "/sessions/PD-285").await else {
        return;
    };
    desk.shows("Only an owner may type into a terminal").await;
    desk.tap("//aside//article//button[@data-key='a']").await;
    home.session_is("PD-285", "idle").await;
    visit(&home, &desk, "/waiting", "Waiting").await;
    desk.find("//ol[@id='decided']//li[contains(., 'PD-285')][contains(., 'Maud Okafor')]").await;
    visit(&home, &desk, "/system", "System").await;
    assert!(offers(&desk, "Run the doctor").await);
    desk.clean("system-approver-390-light").await;
    assert_eq!(asked(&desk, "/workflows", "{\"name\":\"mine\"}").await, 403);
    desk.close().await;
}
