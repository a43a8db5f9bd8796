//! Updates: what confirms them, what loses them, and who may poll.

use std::time::Duration;

use serde_json::{Value, json};
use telegram_emulator::{ADA, AGENTS, BOB, Clock, Emulator, Fate, STRANGER, World};

use crate::support::{call, calm, ok, refused, say, updates};

fn texts(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|update| update["message"]["text"].as_str().unwrap()).collect()
}

async fn poll(emulator: &Emulator, params: Value) -> Vec<Value> {
    ok(emulator, "getUpdates", params).await.as_array().unwrap().clone()
}

#[tokio::test]
async fn an_offset_confirms_what_lies_before_it() {
    let emulator = calm();
    for text in ["a", "b", "c"] {
        emulator.send(ADA, ADA, text).now();
    }
    let heard = updates(&emulator).await;
    assert_eq!(texts(&heard), ["a", "b", "c"]);
    let id = |at: usize| heard[at]["update_id"].as_i64().unwrap();
    assert_eq!(texts(&poll(&emulator, json!({"offset": id(1), "limit": 1})).await), ["b"]);
    // What is confirmed is gone for good, and an offset from the future is ignored.
    assert_eq!(texts(&poll(&emulator, json!({"offset": id(0)})).await), ["b", "c"]);
    assert_eq!(texts(&poll(&emulator, json!({"offset": id(2) + 2})).await), ["b", "c"]);
    let life = emulator.updates();
    assert!(matches!(life[0].fate, Fate::Confirmed(_)));
    assert_eq!((life[1].fate, life[1].delivered.len()), (Fate::Waiting, 4));
    assert!(poll(&emulator, json!({"offset": id(2) + 1})).await.is_empty());
    emulator.wait_confirmed().await;
}

#[tokio::test]
async fn a_poll_waits_for_something_to_happen() {
    let emulator = calm();
    let params = json!({"timeout": 50});
    let (heard, ()) = tokio::join!(poll(&emulator, params), async {
        emulator.wait_polling().await;
        emulator.send(ADA, ADA, "wake").now();
    });
    assert_eq!(texts(&heard), ["wake"]);
    assert!(!emulator.is_polled());
}

#[tokio::test]
async fn a_poll_ends_when_its_time_is_over() {
    let clock = Clock::manual();
    let emulator = Emulator::start(World { clock: clock.clone(), ..World::default() });
    let (heard, ()) = tokio::join!(poll(&emulator, json!({"timeout": 50})), async {
        emulator.wait_polling().await;
        clock.advance(Duration::from_secs(50));
    });
    assert!(heard.is_empty());
}

#[tokio::test]
async fn of_two_polls_the_waiting_one_loses() {
    let emulator = calm();
    let params = json!({"timeout": 50});
    let first = call(&emulator, "getUpdates", params.clone());
    let second = async {
        emulator.wait_polling().await;
        poll(&emulator, params).await
    };
    let speak = async {
        emulator
            .wait_for("the conflict", Duration::from_secs(20), |emulator| {
                !emulator.defects().is_empty()
            })
            .await;
        emulator.send(ADA, ADA, "for the second").now();
    };
    let (lost, won, ()) = tokio::join!(first, second, speak);
    assert_eq!(lost["error_code"], 409);
    assert!(
        lost["description"]
            .as_str()
            .unwrap()
            .starts_with("Conflict: terminated by other getUpdates request")
    );
    assert_eq!(texts(&won), ["for the second"]);
    assert_eq!(emulator.defects()[0].kind, "conflict");
    assert!(emulator.refused().is_empty());
}

#[tokio::test]
async fn a_caller_that_goes_away_polls_no_longer() {
    let emulator = calm();
    tokio::select! {
        _ = poll(&emulator, json!({"timeout": 50})) => panic!("nothing happened"),
        () = emulator.wait_polling() => {}
    }
    let gone = |emulator: &Emulator| !emulator.is_polled();
    emulator.wait_for("the end of the poll", Duration::from_secs(20), gone).await;
}

#[tokio::test]
async fn unwanted_updates_are_lost_when_they_happen() {
    let emulator = calm();
    let id = say(&emulator, AGENTS, "react to me").await;
    emulator.react(AGENTS, id, ADA, Some("👍"));
    assert!(updates(&emulator).await.is_empty());
    assert_eq!(emulator.updates()[0].fate, Fate::Unwanted);
    poll(&emulator, json!({"allowed_updates": ["message", "message_reaction"]})).await;
    emulator.react(AGENTS, id, ADA, Some("🔥"));
    let asked = emulator.send(AGENTS, BOB, "q").now();
    emulator.edit(AGENTS, asked, "q2");
    let heard = updates(&emulator).await; // remembers what was allowed
    let kinds: Vec<&String> = heard
        .iter()
        .map(|update| update.as_object().unwrap().keys().find(|key| *key != "update_id").unwrap())
        .collect();
    assert_eq!(kinds, ["message_reaction", "message"]);
    assert_eq!(heard[0]["message_reaction"]["old_reaction"][0]["emoji"], "👍");
    let info = ok(&emulator, "getWebhookInfo", json!({})).await;
    assert_eq!(info["allowed_updates"], json!(["message", "message_reaction"]));
    poll(&emulator, json!({"allowed_updates": []})).await;
    emulator.edit(AGENTS, asked, "q3");
    assert_eq!(updates(&emulator).await.last().unwrap()["edited_message"]["text"], "q3");
}

#[tokio::test]
async fn a_press_waits_150_seconds_and_a_message_a_day() {
    let emulator = Emulator::start(World {
        clock: Clock::manual(),
        slow_busy_polls: false,
        ..World::default()
    });
    let keyboard = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]});
    let sent = json!({"chat_id": ADA, "text": "?", "reply_markup": keyboard});
    let id = ok(&emulator, "sendMessage", sent).await["message_id"].as_i64().unwrap();
    let _ = emulator.press(ADA, id, ADA, "Yes");
    emulator.send(ADA, ADA, "hello").now();
    emulator.advance(Duration::from_secs(149));
    assert_eq!(emulator.waiting_updates(), 2);
    emulator.advance(Duration::from_secs(1));
    assert_eq!(texts(&updates(&emulator).await), ["hello"]);
    emulator.advance(Duration::from_hours(24));
    assert!(updates(&emulator).await.is_empty());
    assert!(emulator.updates().iter().all(|update| matches!(update.fate, Fate::Expired(_))));
}

#[tokio::test]
async fn a_press_is_answered_within_fifteen_seconds() {
    let emulator = Emulator::start(World { clock: Clock::manual(), ..World::default() });
    let id = say(&emulator, ADA, "?").await;
    let late = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    let press = emulator.press_old(ADA, id, ADA, "y");
    emulator.advance(Duration::from_secs(15));
    let long = json!({"callback_query_id": press.id, "text": "x".repeat(201)});
    assert_eq!(
        refused(&emulator, "answerCallbackQuery", long).await,
        "Bad Request: MESSAGE_TOO_LONG"
    );
    let answer =
        json!({"callback_query_id": press.id, "text": "x".repeat(200), "show_alert": true});
    ok(&emulator, "answerCallbackQuery", answer.clone()).await;
    assert!(press.answer().await.alert);
    assert_eq!(refused(&emulator, "answerCallbackQuery", answer).await, late);
    let press = emulator.press_old(ADA, id, ADA, "y");
    emulator.advance(Duration::from_millis(15_001));
    let answer = json!({"callback_query_id": press.id});
    assert_eq!(refused(&emulator, "answerCallbackQuery", answer).await, late);
    let unknown = json!({"callback_query_id": "1"});
    assert_eq!(refused(&emulator, "answerCallbackQuery", unknown).await, late);
}

#[tokio::test]
async fn a_press_under_a_message_that_is_gone_has_date_zero() {
    let emulator = calm();
    let id = say(&emulator, ADA, "?").await;
    emulator.delete(ADA, id);
    let _ = emulator.press_old(ADA, id, STRANGER, "old");
    let heard = updates(&emulator).await;
    let press = &heard[0]["callback_query"];
    assert_eq!((&press["message"]["date"], &press["from"]["id"]), (&json!(0), &json!(STRANGER)));
}

#[tokio::test]
async fn a_webhook_and_polls_exclude_each_other() {
    let emulator = calm();
    for (params, words) in [
        (
            json!({"url": "http://example.org"}),
            "bad webhook: An HTTPS URL must be provided for webhook",
        ),
        (json!({"url": "x"}), "invalid webhook URL specified"),
        (
            json!({"url": "https://example.org", "secret_token": "a b"}),
            "secret token contains unallowed characters",
        ),
    ] {
        assert_eq!(refused(&emulator, "setWebhook", params).await, format!("Bad Request: {words}"));
    }
    ok(&emulator, "setWebhook", json!({"url": "https://example.org/hook"})).await;
    emulator.send(ADA, ADA, "waits").now();
    let info = ok(&emulator, "getWebhookInfo", json!({})).await;
    assert_eq!(
        (&info["pending_update_count"], &info["url"]),
        (&json!(1), &json!("https://example.org/hook"))
    );
    let words = refused(&emulator, "getUpdates", json!({})).await;
    assert!(
        words.starts_with("Conflict: can't use getUpdates method while webhook is active"),
        "{words}"
    );
    ok(&emulator, "deleteWebhook", json!({"drop_pending_updates": false})).await;
    assert_eq!(texts(&updates(&emulator).await), ["waits"]);
}

#[tokio::test]
async fn a_busy_loop_is_slowed() {
    let clock = Clock::manual();
    let emulator = Emulator::start(World { clock: clock.clone(), ..World::default() });
    emulator.send(ADA, ADA, "a").now();
    emulator.send(ADA, ADA, "b").now();
    assert_eq!(updates(&emulator).await.len(), 2);
    assert_eq!(updates(&emulator).await.len(), 1, "within half a second there is only one");
    clock.advance(Duration::from_secs(1));
    let last = updates(&emulator).await[1]["update_id"].as_i64().unwrap();
    let offset = json!({"offset": last + 1});
    assert!(poll(&emulator, offset.clone()).await.is_empty());
    let (heard, ()) = tokio::join!(poll(&emulator, offset), async {
        emulator.wait_polling().await; // although it asked for no wait
        clock.advance(Duration::from_secs(3));
    });
    assert!(heard.is_empty());
}

#[tokio::test]
async fn a_plain_member_hears_only_what_is_for_it() {
    use telegram_emulator::{Membership, Status};
    let emulator = calm();
    emulator.member(AGENTS, ADA, emulator.bot_id(), Membership::of(Status::Member));
    emulator.send(AGENTS, BOB, "not for the bot").now();
    emulator.send(AGENTS, BOB, "/status").now();
    emulator.send(AGENTS, BOB, "hey @bridge123456_bot").now();
    let own = say(&emulator, AGENTS, "hm").await;
    emulator.send(AGENTS, BOB, "a reply").reply_to(own).now();
    let heard = updates(&emulator).await;
    assert_eq!(heard[0]["my_chat_member"]["new_chat_member"]["status"], "member");
    assert_eq!(texts(&heard[1..]), ["/status", "hey @bridge123456_bot", "a reply"]);
}

#[tokio::test]
async fn an_update_is_injected_as_it_is() {
    let emulator = calm();
    let payload = json!({"message_id": 1, "something_new": {"a": 1}});
    let id = emulator.inject("message", payload.clone()).unwrap();
    assert_eq!(updates(&emulator).await, [json!({"update_id": id, "message": payload})]);
    assert_eq!(emulator.inject("chat_member", json!({})), None);
}
