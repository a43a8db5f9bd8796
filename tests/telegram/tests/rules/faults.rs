//! What goes wrong on purpose.

use std::time::Duration;

use serde_json::json;
use telegram_emulator::{ADA, BOB, DOWNLOAD, Fault, FaultKind, Media, MediaKind, Outcome};

use crate::support::{calm, get, ok, say, try_call, updates};

/// Long enough for anything but a call that is never answered.
const SOON: Duration = Duration::from_millis(300);

fn text(text: &str) -> serde_json::Value {
    json!({"chat_id": ADA, "text": text})
}

#[tokio::test]
async fn a_broken_connection_does_not_tell_whether_it_was_carried_out() {
    for (kind, there) in
        [(FaultKind::DropBefore, 0), (FaultKind::DropAfter, 1), (FaultKind::Truncate, 1)]
    {
        let emulator = calm();
        emulator.fault(Fault::new("sendMessage", kind.clone()));
        assert!(try_call(&emulator, "sendMessage", text("x")).await.is_none(), "{kind:?}");
        assert_eq!(emulator.messages(ADA, None).len(), there, "{kind:?}");
        let carried_out = emulator.calls()[0].outcome != Outcome::NotCarriedOut;
        assert_eq!(carried_out, there == 1);
        say(&emulator, ADA, "and it struck only once").await;
        assert!(emulator.refused().is_empty());
    }
}

#[tokio::test]
async fn a_refusal_can_be_made_up() {
    let cases = [
        (FaultKind::Status(401), 401, "Unauthorized"),
        (FaultKind::Status(403), 403, "Forbidden: bot was blocked by the user"),
        (FaultKind::Status(500), 500, "Internal Server Error: restart"),
        (FaultKind::TooMany(7), 429, "Too Many Requests: retry after 7"),
        (
            FaultKind::Refuse(400, "Bad Request: CHAT_BROKEN".into()),
            400,
            "Bad Request: CHAT_BROKEN",
        ),
    ];
    for (kind, code, words) in cases {
        let emulator = calm();
        emulator.fault(Fault::new("sendMessage", kind));
        let reply = try_call(&emulator, "sendMessage", text("x")).await.unwrap();
        assert_eq!((reply.status, reply.json()["description"].as_str().unwrap()), (code, words));
        assert_eq!(reply.head.contains("retry-after: 7"), code == 429);
        emulator.assert_clean();
        assert!(emulator.messages(ADA, None).is_empty());
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_page() {
    let emulator = calm();
    emulator.fault(Fault::new("*", FaultKind::Status(502)));
    ok(&emulator, "getUpdates", json!({})).await; // `*` spares polls
    let reply = try_call(&emulator, "getMe", json!({})).await.unwrap();
    assert_eq!(reply.status, 502);
    assert!(String::from_utf8(reply.body).unwrap().contains("<h1>502 Bad Gateway</h1>"));
}

#[tokio::test]
async fn a_call_hangs_until_the_caller_gives_up() {
    let emulator = calm();
    emulator.fault(Fault::new("sendMessage", FaultKind::Hang));
    assert!(
        tokio::time::timeout(SOON, try_call(&emulator, "sendMessage", text("x"))).await.is_err()
    );
    assert!(emulator.messages(ADA, None).is_empty());
}

#[tokio::test]
async fn a_slow_call_follows_telegrams_clock() {
    for (kind, there) in [
        (FaultKind::SlowBefore(Duration::from_hours(1)), 0),
        (FaultKind::SlowAfter(Duration::from_hours(1)), 1),
    ] {
        let emulator = calm();
        emulator.fault(Fault::new("sendMessage", kind));
        let wait = async {
            let struck = |emulator: &telegram_emulator::Emulator| {
                emulator.calls_of("sendMessage").len() == 1
                    && emulator.messages(ADA, None).len() == there
            };
            emulator.wait_for("the call", Duration::from_secs(20), struck).await;
            emulator.advance(Duration::from_hours(1));
        };
        let (id, ()) = tokio::join!(say(&emulator, ADA, "x"), wait);
        assert!(emulator.message(ADA, id).is_some());
    }
}

#[tokio::test]
async fn a_fault_strikes_what_it_is_told_to() {
    let emulator = calm();
    let fault =
        Fault::new("sendMessage", FaultKind::Status(500)).matching("chat_id", BOB).skip(1).times(2);
    emulator.fault(fault);
    let mut statuses = Vec::new();
    for chat in [ADA, BOB, ADA, BOB, BOB, BOB] {
        let reply = try_call(&emulator, "sendMessage", json!({"chat_id": chat, "text": "x"})).await;
        statuses.push(reply.unwrap().status);
    }
    assert_eq!(statuses, [200, 200, 200, 500, 500, 200]);
    assert_eq!(emulator.clear_faults()[0].1, 2);
}

#[tokio::test]
async fn a_download_can_break() {
    let emulator = calm();
    emulator.send(ADA, ADA, "").media(Media::new(MediaKind::Document, "a", "x/y", "content")).now();
    let heard = updates(&emulator).await;
    let id = json!({"file_id": heard[0]["message"]["document"]["file_id"]});
    let path = ok(&emulator, "getFile", id).await["file_path"].as_str().unwrap().to_owned();
    let path = format!("/file/bot{}/{path}", emulator.token());
    for kind in [FaultKind::DropBefore, FaultKind::DropAfter, FaultKind::Truncate] {
        emulator.fault(Fault::new(DOWNLOAD, kind));
        assert!(get(&emulator.url(), &path).await.is_none());
    }
    assert_eq!(get(&emulator.url(), &path).await.unwrap().body, b"content");
}

#[tokio::test]
async fn nothing_answers_while_it_is_away_and_all_is_there_afterwards() {
    let emulator = calm();
    let url = emulator.url();
    say(&emulator, ADA, "before").await;
    let polled = try_call(&emulator, "getUpdates", json!({"timeout": 50}));
    let away = async {
        emulator.wait_polling().await;
        emulator.stop_listening();
    };
    let (broken, ()) = tokio::join!(polled, away);
    assert!(broken.is_none());
    assert!(try_call(&emulator, "getMe", json!({})).await.is_none());
    emulator.send(ADA, ADA, "meanwhile").now();
    emulator.listen_again();
    assert_eq!(emulator.url(), url);
    assert_eq!(updates(&emulator).await[0]["message"]["text"], "meanwhile");
    assert_eq!(emulator.messages(ADA, None).len(), 2);
}
