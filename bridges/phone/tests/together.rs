//! One main chat for all threads: what it shows, what is unread in it, and where its words go. And
//! what becomes of people's doings while Vigie cannot write.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use common::{Home, http::Client, main_chat, posts};
use serde_json::{Value, json};
use vigie_core::{
    Timestamp,
    bridge::{Action, HeardKind, Mark, Place, Say},
    id::MessageId,
};

fn words(answer: &Value) -> Vec<String> {
    let text = |it: &Value| match &it["what"]["text"] {
        Value::String(text) => text.clone(),
        _ => it["what"]["body"]["text"][0]["text"].as_str().unwrap().to_owned(),
    };
    answer["messages"].as_array().unwrap().iter().map(text).collect()
}

fn stored(message: &Value, targets: &[&str]) -> Say {
    let message = MessageId::new(message.as_str().unwrap());
    let targets = targets.iter().map(|name| name.parse().unwrap()).collect();
    Say::Mark { message, mark: Mark::Stored { targets, words: None } }
}

/// What is unread in the main chat, and in each thread from the one used last on.
async fn unread(page: &Client) -> Vec<u64> {
    let state = page.state().await;
    state["threads"].as_array().unwrap().iter().map(|it| it["unread"].as_u64().unwrap()).collect()
}

async fn read(page: &Client, thread: Value, message: &Value) -> u16 {
    let body = json!({ "thread": thread, "message": message });
    page.post("/phone/api/read", &body).await.status
}

#[tokio::test]
async fn the_main_chat_holds_all_threads_in_the_order_it_came() {
    let home = Home::start().await;
    let (refunds, docs) = (home.thread("PD-285").await, home.thread("docs").await);
    let page = Client::new(home.address(), "ines");
    for number in 0..3 {
        home.post(&refunds, posts::text("PD-285", &format!("refund {number}"))).await;
        home.post(&docs, posts::text("docs", &format!("page {number}"))).await;
        page.send(&format!("client-000{number}"), &format!("[docs] word {number}")).await;
    }
    let (mut all, mut ids, mut before) = (Vec::new(), Vec::new(), String::new());
    loop {
        let answer = page.get(&format!("/phone/api/messages?limit=2{before}")).await.json();
        let messages = answer["messages"].as_array().unwrap();
        before = format!("&before={}", messages[0]["id"].as_str().unwrap());
        ids.splice(0..0, messages.iter().map(|it| it["id"].clone()));
        all.splice(0..0, words(&answer));
        if answer["older"] == false {
            break;
        }
    }
    let three = |number| {
        [format!("refund {number}"), format!("page {number}"), format!("[docs] word {number}")]
    };
    assert_eq!(all, (0..3).flat_map(three).collect::<Vec<_>>());

    // A thread shows its own, and each is the very message that the main chat shows.
    let thread = refunds.thread.unwrap();
    let own = page.get(&format!("/phone/api/messages?thread={thread}")).await.json();
    assert_eq!(words(&own), ["refund 0", "refund 1", "refund 2"]);
    let own = own["messages"].as_array().unwrap().iter().map(|it| it["id"].clone());
    assert_eq!(own.collect::<Vec<_>>(), [ids[0].clone(), ids[3].clone(), ids[6].clone()]);
    let main = page.state().await["threads"][0].clone();
    assert_eq!((&main["id"], &main["last"]["id"]), (&json!(null), &ids[8]));
}

#[tokio::test]
async fn what_is_read_in_one_view_is_read_in_the_other() {
    let home = Home::start().await;
    let (refunds, docs) = (home.thread("PD-285").await, home.thread("docs").await);
    let (ines, tomas) = (Client::new(home.address(), "ines"), Client::new(home.address(), "tomas"));
    home.post(&main_chat(), posts::text("docs", "of no thread")).await;
    let one = home.post(&refunds, posts::text("PD-285", "one")).await;
    let two = home.post(&refunds, posts::text("PD-285", "two")).await;
    let three = home.post(&docs, posts::text("docs", "three")).await;
    assert_eq!(unread(&ines).await, [4, 1, 2], "main, docs, PD-285");

    let cursor = ines.state().await["cursor"].as_str().unwrap().to_owned();
    assert_eq!(read(&ines, json!(refunds.thread), &json!(two)).await, 204);
    assert_eq!(unread(&ines).await, [2, 1, 0], "read in the thread is read in the main chat");
    let counts = |changes: &Value| {
        let threads = changes["threads"].as_array().unwrap().iter();
        threads.map(|it| (it["session"].clone(), it["unread"].clone())).collect::<Vec<_>>()
    };
    let changes = ines.changes(&cursor).await;
    assert_eq!(counts(&changes), [(json!(null), json!(2)), (json!("PD-285"), json!(0))]);

    let four = home.post(&refunds, posts::text("PD-285", "four")).await;
    let cursor = ines.state().await["cursor"].as_str().unwrap().to_owned();
    assert_eq!(read(&ines, json!(null), &json!(three)).await, 204);
    assert_eq!(unread(&ines).await, [1, 1, 0], "main, PD-285 with the new one, docs");
    let changes = ines.changes(&cursor).await;
    let told = [(json!(null), json!(1)), (json!("docs"), json!(0))];
    assert_eq!(counts(&changes), told, "and other pages of the same person hear of it");
    assert_eq!(read(&ines, json!(null), &json!(one)).await, 204);
    assert_eq!(unread(&ines).await, [1, 1, 0], "it never goes back");
    assert_eq!(read(&ines, json!(null), &json!(four)).await, 204);
    assert_eq!(unread(&ines).await, [0, 0, 0]);
    assert_eq!(unread(&tomas).await, [5, 3, 1], "each person reads for themselves");
}

#[tokio::test]
async fn a_change_in_a_thread_is_a_change_of_the_main_chat() {
    let home = Home::start().await;
    let refunds = home.thread("PD-285").await;
    let page = Client::new(home.address(), "ines");
    let cursor = page.state().await["cursor"].as_str().unwrap().to_owned();
    let mut live = page.live(&format!("/phone/api/live?from={cursor}"), None).await;
    live.next().await.unwrap();
    let card = home.post(&refunds, posts::card(1, "K7Q2", "ls")).await;
    let changes = live.next().await.unwrap().data;
    assert_eq!(changes["messages"].as_array().unwrap().len(), 1, "once, not once a view");
    let sessions: Vec<_> = changes["threads"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&sessions[0]["session"], &sessions[1]["session"]),
        (&json!(null), &json!("PD-285"))
    );
    assert_eq!(sessions[0]["last"]["id"], json!(card));
}

#[tokio::test]
async fn words_from_the_main_chat_have_no_thread_and_a_tap_has_its_cards() {
    let home = Home::start().await;
    let refunds = home.thread("PD-285").await;
    let card = home.post(&refunds, posts::card(1, "K7Q2", "ls")).await;
    let page = Client::new(home.address(), "ines");
    let reply = json!({ "client": "client-0001", "text": "why?", "reply_to": card });
    page.post("/phone/api/send", &reply).await;
    let action = json!(Action::Deny { gate: posts::gate(1) });
    page.tap("client-0002", card.as_str(), &action).await;
    let heard = home.inbox.accepted(2).await;
    assert_eq!(heard[0].place, main_chat());
    let HeardKind::Text { reply_to, .. } = &heard[0].what else { panic!("{heard:?}") };
    assert_eq!(reply_to, &Some(card));
    assert_eq!(heard[1].place, refunds);
}

#[tokio::test]
async fn while_vigie_cannot_write_nothing_is_set_aside_and_pages_know() {
    let home = Home::start().await;
    let page = Client::new(home.address(), "ines");
    let state = page.state().await;
    assert_eq!(state["health"], json!(null));
    let cursor = state["cursor"].as_str().unwrap();
    let mut live = page.live(&format!("/phone/api/live?from={cursor}"), None).await;
    assert_eq!(live.next().await.unwrap().data["health"], json!(null));

    let full = "no space left on device";
    home.phone().health(Some(full.into()));
    let told = live.next().await.unwrap();
    assert_eq!((told.name.as_str(), told.id, told.data), ("health", None, json!(full)));
    assert_eq!(page.state().await["health"], full);
    assert_eq!(page.changes(cursor).await["health"], full, "for a page that comes back");
    home.phone().health(Some(full.into()));
    assert!(live.is_quiet().await, "the same again is no news");

    home.inbox.refuse_always(Some("keep this"));
    let sending = page.send("client-0001", "keep this");
    tokio::select! {
        answer = sending => assert_eq!(answer.json()["taken"], false),
        () = home.inbox.tried(8) => {}
    }
    assert_eq!(page.messages().await[0]["what"]["aside"], json!(null));
    home.inbox.refuse_always(None);
    home.phone().health(None);
    assert_eq!(home.inbox.accepted(1).await.len(), 1, "it is handed in once that is over");
    let last = loop {
        let event = live.next().await.unwrap();
        if event.name == "health" {
            break event;
        }
    };
    assert_eq!(last.data, json!(null));
}

#[tokio::test]
async fn a_thread_shows_what_its_session_was_told_elsewhere() {
    let home = Home::start().await;
    let (refunds, docs) = (home.thread("PD-285").await, home.thread("docs").await);
    let page = Client::new(home.address(), "ines");
    let of =
        |place: &Place| format!("/phone/api/messages?thread={}", place.thread.clone().unwrap());
    let told = page.send("client-0001", "[PD-285, docs] rebase").await.json()["message"].clone();
    home.post(&refunds, posts::text("PD-285", "an older answer")).await;
    assert_eq!(words(&page.get(&of(&refunds)).await.json()), ["an older answer"]);

    let cursor = page.state().await["cursor"].clone();
    home.say(&main_chat(), stored(&told, &["PD-285", "docs"])).await;
    let changes = page.changes(cursor.as_str().unwrap()).await;
    let threads = [&refunds, &docs].map(|place| json!(place.thread));
    assert_eq!(changes["messages"][0]["id"], told);
    assert_eq!(changes["messages"][0]["also"], json!(threads));
    let last = |thread: &Value| {
        let all = changes["threads"].as_array().unwrap();
        all.iter().find(|it| it["id"] == *thread).unwrap()["last"]["excerpt"].clone()
    };
    assert_eq!(threads.each_ref().map(last), ["an older answer", "[PD-285, docs] rebase"]);

    // Page by page, and in the main chat once.
    let newest = page.get(&format!("{}&limit=1", of(&refunds))).await.json();
    assert_eq!((words(&newest), &newest["older"]), (vec!["an older answer".into()], &json!(true)));
    let before = newest["messages"][0]["id"].as_str().unwrap();
    let older = page.get(&format!("{}&limit=1&before={before}", of(&refunds))).await.json();
    assert_eq!((&older["messages"][0]["id"], &older["older"]), (&told, &json!(false)));
    assert_eq!(words(&json!({ "messages": page.messages().await })).len(), 2);
    assert_eq!(read(&page, threads[1].clone(), &told).await, 204);

    // An edit may name others; a receipt without names changes no place.
    home.say(&main_chat(), stored(&told, &["docs"])).await;
    let message = MessageId::new(told.as_str().unwrap());
    let mark = Mark::NotTaken { why: "docs has ended".into() };
    home.say(&main_chat(), Say::Mark { message: message.clone(), mark }).await;
    assert_eq!(words(&page.get(&of(&refunds)).await.json()), ["an older answer"]);
    assert_eq!(words(&page.get(&of(&docs)).await.json()), ["[PD-285, docs] rebase"]);

    // In its own thread a message is once, whoever took it.
    let body = json!({ "client": "client-0002", "thread": docs.thread, "text": "go on" });
    let own = page.post("/phone/api/send", &body).await.json()["message"].clone();
    let mark = Mark::Taken { targets: vec!["docs".parse().unwrap()], at: Timestamp::default() };
    home.say(&docs, Say::Mark { message: MessageId::new(own.as_str().unwrap()), mark }).await;
    let shown = page.get(&of(&docs)).await.json();
    assert_eq!(words(&shown), ["[PD-285, docs] rebase", "go on"]);
    assert_eq!(shown["messages"][1]["also"], json!([]));
}
