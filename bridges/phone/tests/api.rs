//! The page's requests over real loopback HTTP: who may, what is refused, and that nothing is
//! missed or doubled.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use common::{Home, http::Client, in_thread, main_chat, posts};
use serde_json::{Value, json};
use vigie_core::{
    bridge::{Action, Body, Button, HeardKind, Level, Post, Say, SessionLook, Weight},
    text::{Rich, Span, Style},
};

fn allow(number: u128) -> Value {
    json!(Action::Allow { gate: posts::gate(number) })
}

#[tokio::test]
async fn nothing_is_told_to_who_is_not_signed_in() {
    let home = Home::start().await;
    let card = home.post(&main_chat(), posts::card(1, "K7Q2", "ls")).await;
    let nobody = Client::new(home.address(), "ines").without("x-person");
    for path in [
        "/phone",
        "/phone/api/state",
        "/phone/api/messages",
        "/phone/api/changes?from=x",
        "/phone/api/live",
    ] {
        assert_eq!(nobody.get(path).await.status, 401, "{path}");
    }
    assert_eq!(nobody.get(&format!("/phone/api/document/{card}")).await.status, 401);
    assert_eq!(nobody.send("client-0001", "hello").await.status, 401);
    let tapped = nobody.tap("client-0002", card.as_str(), &allow(1)).await;
    assert_eq!(tapped.error(), "you are not signed in here; run `vigie pair` at the desk");
    assert_eq!(home.inbox.handed_in(), []);
}

#[tokio::test]
async fn a_foreign_page_can_do_nothing() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let body = json!({ "client": "client-0001", "text": "hello" });
    for post in ["send", "edit", "tap", "again", "read"] {
        let path = format!("/phone/api/{post}");
        assert_eq!(page.without("x-vigie").post(&path, &body).await.status, 403, "{post}");
        assert_eq!(page.without("content-type").post(&path, &body).await.status, 415, "{post}");
    }
    let ines = page;
    let page = ines.get("/phone").await;
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert_eq!(page.headers["content-security-policy"], vigie_phone::CONTENT_SECURITY_POLICY);
    assert!(page.body.contains("/assets/main.js"));
    let slash = ines.get("/phone/").await;
    assert_eq!((slash.status, slash.body), (200, page.body), "`/phone/` is `/phone`");
    assert_eq!(ines.get("/phone/nowhere").await.status, 404);
    assert_eq!(home.inbox.handed_in(), []);
}

#[tokio::test]
async fn the_same_send_again_is_the_same_message() {
    let mut home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let first = page.send("client-0001", "hello").await.json();
    assert_eq!(first["taken"], true);
    home.restart().await;
    let page = Client::new(home.address(), "ines");
    let again = page.send("client-0001", "hello").await.json();
    assert_eq!(again["message"], first["message"]);
    // Another person's page may by chance choose the same id.
    Client::new(home.address(), "tomas").send("client-0001", "hello").await;
    assert_eq!(home.inbox.accepted(2).await.len(), 2);
    assert_eq!(page.messages().await.len(), 2);
}

#[tokio::test]
async fn only_what_a_message_offers_now_can_be_tapped() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let post = posts::card(1, "K7Q2", "ls");
    let card = home.post(&main_chat(), post.clone()).await;
    let plain = home.post(&main_chat(), posts::text("PD-285", "words")).await;
    let mine = page.send("client-0001", "hello").await.json();
    let forged = [
        (card.as_str(), allow(2)),
        (card.as_str(), json!(Action::AllowForSession { gate: posts::gate(1) })),
        (plain.as_str(), allow(1)),
        (mine["message"].as_str().unwrap(), allow(1)),
        ("00000000-1", allow(1)),
        ("1", allow(1)),
    ];
    for (number, (message, action)) in forged.iter().enumerate() {
        let answer = page.tap(&format!("forged-{number:04}"), message, action).await;
        assert_eq!((answer.status, answer.error().as_str()), (410, "that choice is gone"));
    }
    let broken = json!({ "action": "allow", "gate": "ses_1" });
    assert_eq!(page.tap("broken-0001", card.as_str(), &broken).await.status, 422);

    home.inbox.answer_with("Approved.");
    let tapped = page.tap("client-0002", card.as_str(), &allow(1)).await.json();
    assert_eq!(tapped["notice"], "Approved.");
    home.edit(&card, posts::approved(post)).await;
    let late = page.tap("client-0003", card.as_str(), &allow(1)).await;
    assert_eq!((late.status, late.error().as_str()), (410, "that choice is gone"));
    // The page that sent it and lost the answer asks again with the same id: it is known.
    assert_eq!(page.tap("client-0002", card.as_str(), &allow(1)).await.json(), tapped);
    assert_eq!(home.inbox.accepted(2).await.len(), 2, "one text and one tap");
}

#[tokio::test]
async fn a_risky_card_is_never_allowed_by_a_tap() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    // Even if a card offered it by mistake.
    let card = home.post(&main_chat(), posts::risky(posts::card(1, "K7Q2", "rm -rf x"))).await;
    let answer = page.tap("client-0001", card.as_str(), &allow(1)).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.error(), "this one is allowed only by its code, typed");
    let deny = json!(Action::Deny { gate: posts::gate(1) });
    assert_eq!(page.tap("client-0002", card.as_str(), &deny).await.status, 200);
    let heard = home.inbox.accepted(1).await;
    assert!(matches!(&heard[0].what, HeardKind::Tap { action: Action::Deny { .. }, .. }));
}

#[tokio::test]
async fn only_ones_own_text_can_be_edited() {
    let home = Home::start().await;
    let (ines, tomas) = (Client::new(home.address(), "ines"), Client::new(home.address(), "tomas"));
    let sent = ines.send("client-0001", "mine").await.json();
    let post = home.post(&main_chat(), posts::text("docs", "a post")).await;
    let edit = |client: &str, message: &Value| json!({ "client": client, "message": message, "text": "changed" });
    let path = "/phone/api/edit";
    assert_eq!(tomas.post(path, &edit("client-0002", &sent["message"])).await.status, 403);
    assert_eq!(ines.post(path, &edit("client-0003", &json!(post))).await.status, 403);
    assert_eq!(ines.post(path, &edit("client-0004", &sent["message"])).await.status, 200);
    let shown = tomas.messages().await;
    assert_eq!(
        (&shown[0]["what"]["text"], &shown[0]["what"]["mine"]),
        (&json!("changed"), &json!(false))
    );
    assert_eq!(
        shown[0]["what"]["client"],
        json!(null),
        "the page's own id is nobody else's matter"
    );
}

#[tokio::test]
async fn a_text_that_does_not_fit_is_refused_with_its_length() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let fits = "é".repeat(vigie_phone::WRITE_LIMIT);
    assert_eq!(page.send("client-0001", &fits).await.status, 200);
    let long = page.send("client-0002", &format!("{fits}é")).await;
    assert_eq!(long.status, 413);
    assert_eq!(
        long.error(),
        "this text has 64001 characters and one message holds 64000; send it in parts"
    );
    assert_eq!(page.send("client-0003", " \n ").await.error(), "there is no text to send");
    assert_eq!(page.send("short", "hello").await.status, 400);
    let huge = format!("{{\"client\":\"client-0004\",\"text\":\"{}\"}}", "x".repeat(300_000));
    let huge = page.post_text("/phone/api/send", &huge).await;
    assert_eq!(
        (huge.status, huge.error()),
        (413, "this is too long: one message holds 64000 characters".into())
    );
    assert_eq!(home.inbox.accepted(1).await.len(), 1);
}

#[tokio::test]
async fn a_long_chat_is_read_backwards_page_by_page() {
    let home = Home::start().await;
    for number in 0..7 {
        home.post(&main_chat(), posts::text("docs", &number.to_string())).await;
    }
    let page = Client::new(home.address(), "ines");
    let (mut read, mut before) = (Vec::new(), String::new());
    loop {
        let answer = page.get(&format!("/phone/api/messages?limit=3{before}")).await.json();
        let messages = answer["messages"].as_array().unwrap().clone();
        before = format!("&before={}", messages[0]["id"].as_str().unwrap());
        read.splice(0..0, messages.iter().map(|it| it["what"]["body"]["text"][0]["text"].clone()));
        if answer["older"] == false {
            break;
        }
    }
    assert_eq!(read, ["0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(page.get("/phone/api/messages?thread=nowhere").await.status, 410);
}

#[tokio::test]
async fn what_was_read_is_each_persons_own_and_never_goes_back() {
    let home = Home::start().await;
    let thread = Say::Thread { thread: posts::thread("PD-285", SessionLook::Working) };
    let thread = home.say(&main_chat(), thread).await.thread.unwrap();
    let place = in_thread(Some(thread.clone()));
    let first = home.post(&place, posts::text("PD-285", "one")).await;
    let second = home.post(&place, posts::text("PD-285", "two")).await;
    let (ines, tomas) = (Client::new(home.address(), "ines"), Client::new(home.address(), "tomas"));
    let unread = async |page: &Client| page.state().await["threads"][1]["unread"].clone();
    let read = |message| json!({ "thread": thread, "message": message });
    assert_eq!(ines.post("/phone/api/read", &read(&second)).await.status, 204);
    assert_eq!(ines.post("/phone/api/read", &read(&first)).await.status, 204);
    assert_eq!((unread(&ines).await, unread(&tomas).await), (json!(0), json!(2)));
    let own = home.post(&main_chat(), posts::text("docs", "of no thread")).await;
    assert_eq!(ines.post("/phone/api/read", &read(&own)).await.status, 410);
}

#[tokio::test]
async fn a_document_arrives_whole_and_only_as_a_file() {
    let home = Home::start().await;
    let words = "<script>alert(1)</script>\n".repeat(3000);
    let message = home.post(&main_chat(), posts::document("../re\"port.html", &words)).await;
    let page = Client::new(home.address(), "ines");
    let file = page.get(&format!("/phone/api/document/{message}")).await;
    assert_eq!(file.body, words);
    assert_eq!(file.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(file.headers["x-content-type-options"], "nosniff");
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"_re_port.html\"");
    let shown = page.messages().await;
    assert_eq!(shown[0]["what"]["body"]["bytes"], words.len());
    let text = home.post(&main_chat(), posts::text("docs", "no file")).await;
    assert_eq!(page.get(&format!("/phone/api/document/{text}")).await.status, 410);
}

#[tokio::test]
async fn hostile_text_reaches_the_page_as_it_is_and_as_text() {
    let home = Home::start().await;
    let evil = "</script><img src=x onerror=alert(1)> \u{202e}gpj.exe \u{0}終点 \n\n\"'`";
    let rich = Rich {
        text: evil.into(),
        // Against the rules: inside a character, out of range, crossing.
        spans: vec![
            Span { range: 0..9, style: Style::Link { url: "javascript:alert(1)".into() } },
            Span { range: 5..400, style: Style::Bold },
            Span { range: 39..40, style: Style::Code },
            Span { range: 4..12, style: Style::Italic },
        ],
    };
    let body = Body::Text { text: rich, part: None, buttons: vec![hostile_button(evil)] };
    home.post(&main_chat(), Post { from: None, level: Level::Note, body }).await;
    let page = Client::new(home.address(), "ines");
    let shown = page.messages().await;
    let body = &shown[0]["what"]["body"];
    assert_eq!(flat(&body["text"]), evil);
    assert_eq!(body["buttons"][0]["label"], evil);
    let list = page.get("/phone/api/state").await;
    assert_eq!(list.headers["content-type"], "application/json");
    let sent = page.send("client-0001", evil).await.json();
    assert_eq!(page.messages().await[1]["what"]["text"], evil);
    assert_eq!(page.messages().await[1]["id"], sent["message"]);
}

fn hostile_button(label: &str) -> Button {
    let action = Action::Allow { gate: posts::gate(1) };
    Button { label: label.into(), detail: None, weight: Weight::Plain, action }
}

fn flat(nodes: &Value) -> String {
    let text = |node: &Value| match node["text"].as_str() {
        Some(text) => text.to_owned(),
        None => flat(&node["children"]),
    };
    nodes.as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn the_live_stream_misses_nothing_over_reconnects_and_restarts() {
    let mut home = Home::start().await;
    let message = home.post(&main_chat(), posts::text("docs", "first")).await;
    let page = Client::new(home.address(), "ines");
    let cursor = page.state().await["cursor"].as_str().unwrap().to_owned();
    let mut live = page.live(&format!("/phone/api/live?from={cursor}"), None).await;
    let hello = live.next().await.unwrap();
    assert_eq!((hello.name.as_str(), &hello.data["messages"]), ("changes", &json!([])));

    home.post(&main_chat(), posts::text("docs", "second")).await;
    let second = live.next().await.unwrap();
    assert_eq!(words(&second.data), ["second"]);
    assert_eq!(second.data["threads"][0]["unread"], 2);

    // The line breaks; things happen; Vigie restarts; more things happen.
    drop(live);
    home.post(&main_chat(), posts::text("docs", "third")).await;
    home.edit(&message, posts::text("docs", "first, edited")).await;
    home.restart().await;
    home.post(&main_chat(), posts::text("docs", "fourth")).await;
    let page = Client::new(home.address(), "ines");
    let old = format!("/phone/api/live?from={cursor}");
    let mut live = page.live(&old, second.id.as_deref()).await;
    let missed = live.next().await.unwrap();
    assert_eq!(words(&missed.data), ["third", "first, edited", "fourth"]);
    assert!(live.is_quiet().await);

    // The plain answer for who cannot stream is the same.
    let plain = page.changes(second.id.as_deref().unwrap()).await;
    assert_eq!(words(&plain), ["third", "first, edited", "fourth"]);
    assert_eq!(plain["cursor"], json!(missed.id));

    home.stop().await;
    assert_eq!(live.next().await, None, "a stopping server ends its streams");
}

#[tokio::test]
async fn what_rings_for_one_is_silent_for_who_sleeps_or_muted_it() {
    let home = Home::start().await;
    home.inbox.hush("tomas", Some("PD-285"));
    let (ines, tomas) = (Client::new(home.address(), "ines"), Client::new(home.address(), "tomas"));
    let cursor = ines.state().await["cursor"].as_str().unwrap().to_owned();
    let failed = |name: &str| Post { level: Level::Ring, ..posts::text(name, "it failed") };
    home.post(&main_chat(), failed("PD-285")).await;
    home.post(&main_chat(), failed("docs")).await;
    let levels = |changes: Value| {
        let all = changes["messages"].as_array().unwrap().clone();
        all.iter().map(|message| message["what"]["level"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(levels(ines.changes(&cursor).await), [json!("ring"), json!("ring")]);
    assert_eq!(levels(tomas.changes(&cursor).await), [json!("note"), json!("ring")]);
    let path = format!("/phone/api/live?from={cursor}");
    let mut live = tomas.live(&path, None).await;
    assert_eq!(levels(live.next().await.unwrap().data), [json!("note"), json!("ring")]);
}

#[tokio::test]
async fn a_quiet_stream_shows_that_it_lives() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let cursor = page.state().await["cursor"].as_str().unwrap().to_owned();
    let mut live = page.live(&format!("/phone/api/live?from={cursor}"), None).await;
    assert_eq!(live.next().await.unwrap().name, "changes");
    let beat = live.next().await.unwrap();
    assert_eq!((beat.name.as_str(), beat.id), ("beat", None), "it moves nobody's place");
}

#[tokio::test]
async fn a_page_that_knows_another_log_or_is_far_behind_starts_anew() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let old = page.state().await["cursor"].as_str().unwrap().to_owned();
    for cursor in ["", "0badcafe-s3", &old.replace("-s0", "-s99")] {
        assert_eq!(page.changes(cursor).await["then"], "anew", "{cursor}");
        let mut live = page.live(&format!("/phone/api/live?from={cursor}"), None).await;
        assert_eq!(live.next().await.unwrap().name, "anew");
        assert_eq!(live.next().await, None);
    }
    let message = home.post(&main_chat(), posts::text("docs", "0")).await;
    for number in 0..2000 {
        home.edit(&message, posts::text("docs", &number.to_string())).await;
    }
    assert_eq!(page.changes(&old).await["then"], "anew");
}

#[tokio::test]
async fn much_to_catch_up_comes_in_pieces_and_whole() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let mut cursor = page.state().await["cursor"].as_str().unwrap().to_owned();
    let all: Vec<String> = (0..450).map(|number| number.to_string()).collect();
    for number in &all {
        home.post(&main_chat(), posts::text("docs", number)).await;
    }
    let mut live = page.live(&format!("/phone/api/live?from={cursor}"), None).await;
    let mut streamed = Vec::new();
    while streamed.len() < all.len() {
        streamed.extend(words(&live.next().await.unwrap().data));
    }
    assert_eq!(streamed, all);
    let mut read = Vec::new();
    loop {
        let changes = page.changes(&cursor).await;
        read.extend(words(&changes));
        changes["cursor"].as_str().unwrap().clone_into(&mut cursor);
        if changes["more"] == false {
            break;
        }
    }
    assert_eq!(read, all);
}

#[tokio::test]
async fn pages_beyond_the_bound_are_turned_away_with_a_sentence() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let cursor = page.state().await["cursor"].as_str().unwrap().to_owned();
    let path = format!("/phone/api/live?from={cursor}");
    let mut open = Vec::new();
    for _ in 0..64 {
        let mut live = page.live(&path, None).await;
        live.next().await.unwrap();
        open.push(live);
    }
    let turned_away = page.get(&path).await;
    assert_eq!(turned_away.status, 503);
    assert!(turned_away.error().starts_with("too many pages are open"));
}

#[tokio::test]
async fn what_waits_is_known_at_once_oldest_first() {
    let home = Home::start().await;
    let first = posts::card(1, "K7Q2", "ls");
    let one = home.post(&main_chat(), first.clone()).await;
    let two = home.post(&main_chat(), posts::card(2, "M4XD", "ls")).await;
    let page = Client::new(home.address(), "ines");
    let ids = |state: &Value, list: &str| {
        state[list].as_array().unwrap().iter().map(|it| it["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&page.state().await, "open"), [json!(one), json!(two)]);
    home.edit(&one, posts::approved(first)).await;
    let state = page.state().await;
    assert_eq!((ids(&state, "open"), ids(&state, "decided")), (vec![json!(two)], vec![json!(one)]));
}

#[tokio::test]
async fn the_files_of_the_page_are_served_and_known_again() {
    let home = Home::start().await;
    let mut browser = Client::new(home.address(), "ines").without("x-person");
    let style = browser.get("/assets/look.css").await;
    assert_eq!(
        (style.status, style.headers["content-type"].as_str()),
        (200, "text/css; charset=utf-8")
    );
    browser.headers.insert("if-none-match", style.headers["etag"].clone());
    assert_eq!(browser.get("/assets/look.css").await.status, 304);
    assert_eq!(browser.get("/assets/main.js").await.status, 200);
    assert_eq!(browser.get("/assets/../Cargo.toml").await.status, 404);
    let worker = browser.get("/phone/worker.js").await;
    assert_eq!(worker.headers["service-worker-allowed"], "/phone");
}

fn words(changes: &Value) -> Vec<String> {
    let text = |it: &Value| flat(&it["what"]["body"]["text"]);
    changes["messages"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn what_the_page_kept_for_an_hour_was_written_an_hour_ago() {
    let home = Home::start().await;
    let phone = Client::new(home.address(), "ines");
    let kept = json!({ "client": "message-1", "text": "yes", "kept_ms": 3_600_000 });
    let fresh = json!({ "client": "message-2", "text": "yes" });
    assert_eq!(phone.post("/phone/api/send", &kept).await.status, 200);
    assert_eq!(phone.post("/phone/api/send", &fresh).await.status, 200);
    let heard = home.inbox.accepted(2).await;
    assert!((heard[1].at - heard[0].at).num_minutes() >= 59, "{heard:?}");
}
