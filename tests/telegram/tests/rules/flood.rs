//! Flood control, on a clock that stands still.

use std::time::Duration;

use serde_json::{Value, json};
use telegram_emulator::{ADA, AGENTS, BOB, Clock, Emulator, Person, World};

use crate::support::{call, ok, say};

fn still() -> Emulator {
    Emulator::start(World { clock: Clock::manual(), ..World::default() })
}

fn text(chat: i64) -> Value {
    json!({"chat_id": chat, "text": "x"})
}

#[tokio::test]
async fn a_private_chat_takes_five_at_once() {
    let emulator = still();
    for _ in 0..5 {
        say(&emulator, ADA, "x").await;
    }
    emulator.advance(Duration::from_millis(1500));
    let answer = call(&emulator, "sendMessage", text(ADA)).await;
    assert_eq!(answer["error_code"], 429);
    assert_eq!(answer["parameters"]["retry_after"], 4);
    assert_eq!(answer["description"], "Too Many Requests: retry after 4");
    say(&emulator, BOB, "another chat is free").await;
    emulator.advance(Duration::from_secs(3));
    assert_eq!(call(&emulator, "sendMessage", text(ADA)).await["parameters"]["retry_after"], 1);
    emulator.advance(Duration::from_millis(500));
    say(&emulator, ADA, "x").await;
    let floods = emulator.floods();
    let told: Vec<_> = floods.iter().map(|flood| (flood.retry_after, flood.inside_wait)).collect();
    assert_eq!(told, [(4, false), (1, true)]);
    assert_eq!(floods[0].why, "more than 5 in 5 s in this chat");
}

#[tokio::test]
async fn a_group_takes_twenty_a_minute_for_all_its_topics() {
    let emulator = still();
    for turn in 0..20 {
        emulator.advance(Duration::from_secs(1));
        match turn % 2 {
            0 => ok(&emulator, "createForumTopic", json!({"chat_id": AGENTS, "name": "t"})).await,
            _ => ok(&emulator, "sendMessage", text(AGENTS)).await,
        };
    }
    let answer = call(&emulator, "sendMessage", text(AGENTS)).await;
    assert_eq!(answer["parameters"]["retry_after"], 41);
    emulator.advance(Duration::from_secs(41));
    ok(&emulator, "sendMessage", text(AGENTS)).await;
}

#[tokio::test]
async fn edits_count_even_those_that_change_nothing() {
    let emulator = still();
    let id = say(&emulator, ADA, "x").await;
    let edit = json!({"chat_id": ADA, "message_id": id, "text": "x"});
    for _ in 0..4 {
        assert_eq!(call(&emulator, "editMessageText", edit.clone()).await["error_code"], 400);
    }
    assert_eq!(call(&emulator, "editMessageText", edit).await["error_code"], 429);
}

#[tokio::test]
async fn topic_changes_and_pins_count() {
    let emulator = still();
    let topic = emulator.create_topic(AGENTS, ADA, "t");
    let id = say(&emulator, AGENTS, "x").await;
    for turn in 0..6 {
        let thread = json!({"chat_id": AGENTS, "message_thread_id": topic});
        let name =
            json!({"chat_id": AGENTS, "message_thread_id": topic, "name": format!("t{turn}")});
        ok(&emulator, "editForumTopic", name).await;
        ok(&emulator, "closeForumTopic", thread.clone()).await;
        ok(&emulator, "reopenForumTopic", thread).await;
    }
    let pin = json!({"chat_id": AGENTS, "message_id": id});
    ok(&emulator, "pinChatMessage", pin.clone()).await;
    assert_eq!(call(&emulator, "pinChatMessage", pin).await["error_code"], 429);
}

#[tokio::test]
async fn some_calls_cost_nothing() {
    let emulator = still();
    let id = emulator.send(ADA, ADA, "x").now();
    let eyes =
        json!({"chat_id": ADA, "message_id": id, "reaction": [{"type": "emoji", "emoji": "👀"}]});
    for _ in 0..40 {
        ok(&emulator, "setMessageReaction", eyes.clone()).await;
        ok(&emulator, "sendChatAction", json!({"chat_id": ADA, "action": "typing"})).await;
        let press = emulator.press_old(ADA, id, ADA, "y");
        ok(&emulator, "answerCallbackQuery", json!({"callback_query_id": press.id})).await;
    }
    assert!(emulator.floods().is_empty());
}

#[tokio::test]
async fn previews_have_a_window_of_their_own() {
    let emulator = still();
    let draft = |text: &str| json!({"chat_id": ADA, "draft_id": 1, "text": text});
    for text in ["a", "b", "c", "d"] {
        ok(&emulator, "sendMessageDraft", draft(text)).await;
    }
    assert_eq!(call(&emulator, "sendMessageDraft", draft("e")).await["error_code"], 429);
    for _ in 0..5 {
        say(&emulator, ADA, "x").await;
    }
}

#[tokio::test]
async fn the_bot_says_thirty_things_a_second() {
    let people = (2000..2031).map(|id| Person::new(id, &format!("P{id}"))).collect();
    let world = World { clock: Clock::manual(), people, ..World::default() };
    let emulator = Emulator::start(world);
    for person in 2000..2030 {
        say(&emulator, person, "x").await;
    }
    assert_eq!(call(&emulator, "sendMessage", text(2030)).await["error_code"], 429);
    emulator.advance(Duration::from_secs(1));
    say(&emulator, 2030, "x").await;
}
