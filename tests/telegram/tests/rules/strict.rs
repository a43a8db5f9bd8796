//! What a correct bot never sends is refused and written down.

use serde_json::json;
use telegram_emulator::{ADA, AGENTS};

use crate::support::{calm, ok, refused, upload};

#[tokio::test]
async fn what_the_real_server_passes_over_is_refused_and_recorded() {
    let buttons = |button| json!({"inline_keyboard": [[button]]});
    let cases = [
        ("sendMesage", json!({}), "Not Found: method not found", "unknown method"),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "txt": 1}),
            "unknown parameter \"txt\"",
            "unknown parameter",
        ),
        (
            "sendMessage",
            json!({"chat_id": "x", "text": "x"}),
            "wrong type of parameter \"chat_id\"",
            "wrong type",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": 5}),
            "wrong type of parameter \"text\"",
            "wrong type",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "protect_content": "x"}),
            "wrong type",
            "wrong type",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "entities": {}}),
            "wrong type",
            "wrong type",
        ),
        ("sendMessage", json!({"text": "x"}), "Bad Request: chat_id is empty", "missing parameter"),
        (
            "sendMessage",
            json!({"chat_id": ADA}),
            "Bad Request: message text is empty",
            "missing parameter",
        ),
        (
            "deleteMessage",
            json!({"chat_id": ADA}),
            "missing parameter \"message_id\"",
            "missing parameter",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "parse_mode": "HTML"}),
            "parse_mode is not emulated",
            "parse mode",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "link_preview_options": {"off": true}}),
            "unknown field \"off\" in LinkPreviewOptions",
            "unknown field",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "reply_parameters": {"id": 1}}),
            "unknown field \"id\" in ReplyParameters",
            "unknown field",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x",
                "reply_markup": buttons(json!({"text": "a", "callback_data": "b", "colour": 1}))}),
            "unknown field \"colour\" in InlineKeyboardButton",
            "unknown field",
        ),
    ];
    for (method, params, words, kind) in cases {
        let emulator = calm();
        let said = refused(&emulator, method, params.clone()).await;
        assert!(said.contains(words), "{method} {params}: {said}");
        let defects = emulator.defects();
        assert_eq!(defects.len(), 1, "{method} {params}: {defects:?}");
        assert_eq!(defects[0].kind, kind, "{method} {params}");
        assert_eq!(emulator.refused().len(), 1);
        assert!(emulator.messages(ADA, None).is_empty());
    }
}

#[tokio::test]
async fn what_has_a_cost_is_carried_out_and_recorded() {
    let many: Vec<_> =
        (0..101).map(|word| json!({"type": "bold", "offset": word * 2, "length": 1})).collect();
    let keyboard = json!({"keyboard": [[{"text": "Yes"}]]});
    let two = json!({"inline_keyboard": [[{"text": "a", "callback_data": "b", "copy_text": {"text": "c"}}]]});
    let cases = [
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x ".repeat(101), "entities": many}),
            "entities dropped",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "reply_markup": keyboard}),
            "reply keyboard",
        ),
        (
            "sendMessage",
            json!({"chat_id": ADA, "text": "x", "reply_markup": two}),
            "button with two actions",
        ),
        ("getUpdates", json!({"allowed_updates": ["mesage"]}), "unknown update type"),
        ("getUpdates", json!({"offset": -1}), "negative offset"),
        ("deleteWebhook", json!({"drop_pending_updates": true}), "drop_pending_updates"),
    ];
    for (method, params, kind) in cases {
        let emulator = calm();
        ok(&emulator, method, params).await;
        let kinds: Vec<_> = emulator.defects().into_iter().map(|defect| defect.kind).collect();
        assert_eq!(kinds, [kind], "{method}");
    }
}

#[tokio::test]
async fn an_upload_that_nothing_names_is_refused() {
    let emulator = calm();
    let fields = [("chat_id", "1001"), ("document", "attach://b")];
    let answer = upload(&emulator, "sendDocument", &fields, ("a", "a.txt", b"x")).await;
    assert!(
        answer["description"].as_str().unwrap().contains("upload \"a\" is named by no parameter")
    );
    let fields = [("chat_id", "1001"), ("document", "attach://a")];
    let answer = upload(&emulator, "sendDocument", &fields, ("a", "a.txt", b"x")).await;
    assert_eq!(answer["result"]["document"]["file_name"], "a.txt");
}

#[tokio::test]
#[should_panic(expected = "the bot is not clean")]
async fn a_test_that_asks_for_a_clean_bot_fails_with_a_dirty_one() {
    let emulator = calm();
    refused(&emulator, "sendMessage", json!({"chat_id": 99, "text": "x"})).await;
    emulator.assert_clean();
}

#[tokio::test]
async fn every_call_is_written_down() {
    let emulator = calm();
    ok(&emulator, "sendmessage", json!({"chat_id": AGENTS, "text": "x"})).await;
    let call = &emulator.calls_of("sendMessage")[0];
    assert_eq!(call.params, json!({"chat_id": AGENTS, "text": "x"}));
    assert!(
        matches!(&call.outcome, telegram_emulator::Outcome::Done(value) if value["text"] == "x")
    );
}
