//! Sends, edits, deletions: limits, and the server's words when something is wrong.

use std::time::Duration;

use serde_json::{Value, json};
use telegram_emulator::{ADA, AGENTS, BOB, Emulator, EntityKind, World, units};

use crate::support::{calm, ok, refused, say};

fn button(button: Value) -> Value {
    json!({"inline_keyboard": [[button]]})
}

#[tokio::test]
async fn a_text_is_as_long_as_it_may_be_in_utf_16_units() {
    let emulator = calm();
    for (text, fits) in [
        ("x".repeat(4096), true),
        ("x".repeat(4097), false),
        ("👍".repeat(2048), true),
        ("👍".repeat(2049), false),
    ] {
        let params = json!({"chat_id": ADA, "text": text});
        if fits {
            ok(&emulator, "sendMessage", params).await;
        } else {
            assert_eq!(
                refused(&emulator, "sendMessage", params).await,
                "Bad Request: message is too long"
            );
        }
    }
    let id = say(&emulator, ADA, "short").await;
    let edit = json!({"chat_id": ADA, "message_id": id, "text": "x".repeat(4097)});
    assert_eq!(refused(&emulator, "editMessageText", edit).await, "Bad Request: MESSAGE_TOO_LONG");
    let blank = json!({"chat_id": ADA, "text": " \n\t"});
    assert_eq!(
        refused(&emulator, "sendMessage", blank).await,
        "Bad Request: text must be non-empty"
    );
    let raw = json!({"chat_id": ADA, "text": " ".repeat(32_769)});
    assert_eq!(refused(&emulator, "sendMessage", raw).await, "Bad Request: text is too long");
}

#[tokio::test]
async fn a_message_shows_what_telegram_made_of_it() {
    let emulator = calm();
    let entities = json!([{"type": "code", "offset": 6, "length": 7}]);
    let params = json!({"chat_id": ADA, "text": " see\t👍main.rs README.md ", "entities": entities,
        "link_preview_options": {"is_disabled": true}, "disable_notification": true});
    // The offset is one too small on purpose: it cuts the thumb in halves.
    let words = refused(&emulator, "sendMessage", params.clone()).await;
    assert_eq!(words, "Bad Request: Entity begins in a middle of a UTF-16 symbol at byte offset 9");
    let mut params = params;
    params["entities"][0]["offset"] = 7.into();
    ok(&emulator, "sendMessage", params).await;
    let shown = emulator.wait_message(ADA, None, "main").await;
    assert_eq!(shown.text, "see 👍main.rs README.md");
    let kinds: Vec<_> = shown.entities.iter().map(|entity| (entity.kind, entity.offset)).collect();
    assert_eq!(kinds, [(EntityKind::Code, 6), (EntityKind::Url, 14)]);
    assert!(shown.no_preview && shown.silent);
}

#[tokio::test]
async fn buttons_are_checked() {
    let emulator = calm();
    let good = [
        json!({"text": "a", "callback_data": "x".repeat(64), "style": "danger"}),
        json!({"text": "a", "url": "example.org"}),
        json!({"text": "a", "copy_text": {"text": "b"}, "style": "primary"}),
        json!({"text": "a", "web_app": {"url": "https://example.org"}}),
        json!({"text": "a", "disabled": {}}),
    ];
    for one in good {
        ok(
            &emulator,
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "reply_markup": button(one)}),
        )
        .await;
    }
    let refuse = "can't parse inline keyboard button:";
    let bad = [
        (json!({"text": "a", "callback_data": "é".repeat(33)}), "BUTTON_DATA_INVALID".to_owned()),
        (
            json!({"text": "a"}),
            format!("{refuse} Text buttons are unallowed in the inline keyboard"),
        ),
        (
            json!({"text": " ", "callback_data": "a"}),
            "Inline keyboard button text must be non-empty".into(),
        ),
        (
            json!({"text": "a", "callback_data": "a", "style": "loud"}),
            format!("{refuse} invalid button style specified"),
        ),
        (
            json!({"text": "a", "url": "http://localhost:3000"}),
            "inline keyboard button URL 'http://localhost:3000' is invalid: Wrong HTTP URL".into(),
        ),
        (
            json!({"text": "a", "url": "ftp://example.org"}),
            "inline keyboard button URL 'ftp://example.org' is invalid: Unsupported URL protocol"
                .into(),
        ),
        (
            json!({"text": "a", "copy_text": {"text": "x".repeat(257)}}),
            "BUTTON_COPY_TEXT_INVALID".into(),
        ),
    ];
    for (one, words) in bad {
        let params = json!({"chat_id": ADA, "text": "x", "reply_markup": button(one.clone())});
        assert_eq!(
            refused(&emulator, "sendMessage", params).await,
            format!("Bad Request: {words}"),
            "{one}"
        );
    }
    let many: Vec<Value> = (0..101).map(|_| json!([{"text": "a", "callback_data": "b"}])).collect();
    let params = json!({"chat_id": ADA, "text": "x", "reply_markup": {"inline_keyboard": many}});
    assert_eq!(
        refused(&emulator, "sendMessage", params).await,
        "Bad Request: reply markup is too long"
    );
}

#[tokio::test]
async fn a_reply_needs_its_message_unless_it_says_otherwise() {
    let emulator = calm();
    let id = emulator.send(ADA, ADA, "what about main.c?").now();
    let reply = |to: i64, more: Value| {
        let mut parameters = json!({"message_id": to});
        parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"chat_id": ADA, "text": "this", "reply_parameters": parameters})
    };
    let answer = ok(&emulator, "sendMessage", reply(id, json!({"quote": "main.c"}))).await;
    assert_eq!(answer["reply_to_message"]["message_id"], id);
    assert_eq!(answer["quote"]["position"], 11);
    assert_eq!(
        refused(&emulator, "sendMessage", reply(id, json!({"quote": "main.d"}))).await,
        "Bad Request: QUOTE_TEXT_INVALID"
    );
    assert_eq!(
        refused(&emulator, "sendMessage", reply(999, json!({}))).await,
        "Bad Request: message to be replied not found"
    );
    let lonely =
        ok(&emulator, "sendMessage", reply(999, json!({"allow_sending_without_reply": true})))
            .await;
    assert!(lonely.get("reply_to_message").is_none());
    emulator.delete(ADA, id);
    assert!(refused(&emulator, "sendMessage", reply(id, json!({}))).await.ends_with("not found"));
}

#[tokio::test]
async fn a_reply_in_a_forum_goes_to_the_topic_of_what_it_answers() {
    let emulator = calm();
    let topic = emulator.create_topic(AGENTS, ADA, "one");
    let asked = emulator.send(AGENTS, BOB, "in a topic").topic(topic).now();
    let params =
        json!({"chat_id": AGENTS, "text": "re", "reply_parameters": {"message_id": asked}});
    let answer = ok(&emulator, "sendMessage", params).await;
    assert_eq!(answer["message_thread_id"], topic);
    let other = emulator.create_topic(AGENTS, ADA, "two");
    let params = json!({"chat_id": AGENTS, "text": "re", "message_thread_id": other,
        "reply_parameters": {"message_id": asked}});
    let answer = ok(&emulator, "sendMessage", params).await;
    assert_eq!(answer["external_reply"]["message_id"], asked);
    assert_eq!(answer["message_thread_id"], other);
    // General is no topic for sending; a thread of replies there has an id of no use.
    let general = emulator.send(AGENTS, BOB, "in General").now();
    let params =
        json!({"chat_id": AGENTS, "text": "re", "reply_parameters": {"message_id": general}});
    let answer = ok(&emulator, "sendMessage", params).await;
    assert_eq!(answer["message_thread_id"], general);
    assert!(answer.get("is_topic_message").is_none());
}

#[tokio::test]
async fn only_own_texts_can_be_edited() {
    let emulator = calm();
    let theirs = emulator.send(ADA, ADA, "mine").now();
    let own = say(&emulator, ADA, "own").await;
    let gone = say(&emulator, ADA, "gone").await;
    emulator.delete(ADA, gone);
    let keyboard =
        json!({"chat_id": ADA, "text": "x", "reply_markup": {"keyboard": [[{"text": "a"}]]}});
    let fixed = ok(&emulator, "sendMessage", keyboard).await["message_id"].as_i64().unwrap();
    for (id, words) in [
        (theirs, "message can't be edited"),
        (gone, "message to edit not found"),
        (999, "message to edit not found"),
        (fixed, "message can't be edited"),
    ] {
        let edit = json!({"chat_id": ADA, "message_id": id, "text": "new"});
        assert_eq!(
            refused(&emulator, "editMessageText", edit).await,
            format!("Bad Request: {words}")
        );
        let edit = json!({"chat_id": ADA, "message_id": id});
        assert_eq!(
            refused(&emulator, "editMessageReplyMarkup", edit).await,
            format!("Bad Request: {words}")
        );
    }
    let edit = json!({"chat_id": ADA, "message_id": own, "caption": "x"});
    assert_eq!(
        refused(&emulator, "editMessageCaption", edit).await,
        "Bad Request: there is no caption in the message to edit"
    );
}

#[tokio::test]
async fn an_edit_without_buttons_takes_them_away() {
    let emulator = calm();
    let keyboard = button(json!({"text": "Go", "callback_data": "go"}));
    let sent = json!({"chat_id": ADA, "text": "x", "reply_markup": keyboard});
    let id = ok(&emulator, "sendMessage", sent).await["message_id"].as_i64().unwrap();
    let again = json!({"chat_id": ADA, "message_id": id, "reply_markup": keyboard});
    let words = refused(&emulator, "editMessageReplyMarkup", again).await;
    assert!(words.starts_with("Bad Request: message is not modified"), "{words}");
    ok(&emulator, "editMessageText", json!({"chat_id": ADA, "message_id": id, "text": "y"})).await;
    let shown = emulator.message(ADA, id).unwrap();
    assert!(shown.buttons.is_empty());
    assert_eq!(shown.versions[0].buttons[0][0].label, "Go");
}

#[tokio::test]
async fn a_message_is_deleted_while_it_is_young() {
    let emulator =
        Emulator::start(World { clock: telegram_emulator::Clock::manual(), ..World::default() });
    let old = say(&emulator, ADA, "old").await;
    emulator.advance(Duration::from_hours(49));
    let young = say(&emulator, ADA, "young").await;
    let delete = |id: i64| json!({"chat_id": ADA, "message_id": id});
    ok(&emulator, "deleteMessage", delete(young)).await;
    assert_eq!(
        refused(&emulator, "deleteMessage", delete(young)).await,
        "Bad Request: message to delete not found"
    );
    assert_eq!(
        refused(&emulator, "deleteMessage", delete(old)).await,
        "Bad Request: message can't be deleted"
    );
    let topic = emulator.create_topic(AGENTS, ADA, "t");
    let first = json!({"chat_id": AGENTS, "message_id": topic});
    assert_eq!(
        refused(&emulator, "deleteMessage", first).await,
        "Bad Request: message can't be deleted"
    );
}

#[tokio::test]
async fn a_pin_is_shown_and_posted() {
    let emulator = calm();
    let id = say(&emulator, AGENTS, "status").await;
    ok(&emulator, "pinChatMessage", json!({"chat_id": AGENTS, "message_id": id})).await;
    assert_eq!(emulator.pinned(AGENTS), [id]);
    let service = emulator.messages(AGENTS, None).pop().unwrap();
    assert_eq!(service.service, Some("pinned_message"));
    ok(&emulator, "unpinChatMessage", json!({"chat_id": AGENTS})).await;
    let again = refused(&emulator, "unpinChatMessage", json!({"chat_id": AGENTS})).await;
    assert_eq!(again, "Bad Request: message to unpin not found");
}

#[tokio::test]
async fn a_long_paste_becomes_several_messages() {
    let emulator = calm();
    let text = "👍x".repeat(3000);
    let parts = emulator.send(ADA, ADA, &text).all();
    let shown: Vec<String> =
        parts.iter().map(|id| emulator.message(ADA, *id).unwrap().text).collect();
    assert_eq!(shown.concat(), text);
    assert_eq!(shown.len(), 3);
    assert!(shown.iter().all(|part| units(part) <= 4096));
}
