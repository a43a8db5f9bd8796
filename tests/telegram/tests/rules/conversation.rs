//! A bot and people talk.

use serde_json::json;
use telegram_emulator::{ADA, AGENTS, BOB, Sender};

use crate::support::{calm, exchange, get, ok, refused, request, say, updates};

#[tokio::test]
async fn a_method_is_found_in_any_case_and_any_form() {
    let emulator = calm();
    let me = ok(&emulator, "GETME", json!({})).await;
    assert_eq!((&me["is_bot"], &me["id"]), (&json!(true), &json!(123_456)));

    let path = format!("/bot{}/sendMessage", emulator.token());
    get(&emulator.url(), &format!("{path}?chat_id={ADA}&text=by%20address")).await.unwrap();
    let form = request(
        &path,
        "application/x-www-form-urlencoded",
        format!("chat_id={ADA}&text=form").as_bytes(),
    );
    exchange(&emulator.url(), &form).await.unwrap();
    let texts: Vec<String> =
        emulator.messages(ADA, None).into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["by address", "form"]);
    emulator.assert_clean();
}

#[tokio::test]
async fn a_bad_token_is_refused_as_it_is_bad() {
    let emulator = calm();
    for (token, status) in [("1:bad", 401), ("nonsense", 404)] {
        let reply = get(&emulator.url(), &format!("/bot{token}/getMe")).await.unwrap();
        assert_eq!(reply.status, status, "{token}");
    }
    emulator.revoke(true);
    assert_eq!(refused(&emulator, "getMe", json!({})).await, "Unauthorized");
}

#[tokio::test]
async fn what_a_person_writes_arrives_once_it_is_polled_for() {
    let emulator = calm();
    let id = emulator.send(ADA, ADA, "hello").now();
    let heard = updates(&emulator).await;
    assert_eq!(heard[0]["message"]["text"], "hello");
    assert_eq!(heard[0]["message"]["message_id"], id);
    assert_eq!(heard[0]["message"]["from"]["id"], ADA);
}

#[tokio::test]
async fn a_press_waits_for_its_answer() {
    let emulator = calm();
    let keyboard = json!({"inline_keyboard": [[{"text": "Approve", "callback_data": "y", "style": "success"}]]});
    ok(
        &emulator,
        "sendMessage",
        json!({"chat_id": ADA, "text": "May I?", "reply_markup": keyboard}),
    )
    .await;
    let card = emulator.wait_button(ADA, None, "Approve").await;
    assert_eq!(card.button("Approve").unwrap().style.as_deref(), Some("success"));

    let press = emulator.press(ADA, card.id, ADA, "Approve");
    let heard = updates(&emulator).await;
    assert_eq!(heard[0]["callback_query"]["data"], "y");
    ok(&emulator, "answerCallbackQuery", json!({"callback_query_id": press.id, "text": "Done"}))
        .await;
    assert_eq!(press.answer().await.text, "Done");
    assert_eq!(emulator.toasts(ADA)[0].text, "Done");
    let again =
        refused(&emulator, "answerCallbackQuery", json!({"callback_query_id": press.id})).await;
    assert!(again.contains("query is too old"), "{again}");
}

#[tokio::test]
async fn an_edit_is_shown_with_what_was_before() {
    let emulator = calm();
    let id = say(&emulator, ADA, "one").await;
    let edit = json!({"chat_id": ADA, "message_id": id, "text": "two"});
    ok(&emulator, "editMessageText", edit.clone()).await;
    let shown = emulator.wait_message(ADA, None, "two").await;
    assert_eq!(shown.versions[0].text, "one");
    let same = refused(&emulator, "editMessageText", edit).await;
    assert!(same.starts_with("Bad Request: message is not modified"), "{same}");
}

#[tokio::test]
async fn a_topic_is_made_written_to_and_closed() {
    let emulator = calm();
    let made =
        ok(&emulator, "createForumTopic", json!({"chat_id": AGENTS, "name": "PD-285"})).await;
    let topic = made["message_thread_id"].as_i64().unwrap();
    assert_eq!(emulator.wait_topic(AGENTS, "PD-285").await, topic);
    let send = json!({"chat_id": AGENTS, "text": "in", "message_thread_id": topic});
    let message = ok(&emulator, "sendMessage", send).await;
    assert_eq!(message["is_topic_message"], true);
    assert_eq!(message["reply_to_message"]["forum_topic_created"]["name"], "PD-285");
    ok(&emulator, "closeForumTopic", json!({"chat_id": AGENTS, "message_thread_id": topic})).await;
    assert!(emulator.topics(AGENTS).iter().any(|shown| shown.id == topic && shown.closed));
    for thread in [1, 99_999] {
        let send = json!({"chat_id": AGENTS, "text": "x", "message_thread_id": thread});
        assert_eq!(
            refused(&emulator, "sendMessage", send).await,
            "Bad Request: message thread not found"
        );
    }
}

#[tokio::test]
async fn reactions_go_both_ways() {
    let emulator = calm();
    let kinds = json!({"allowed_updates": ["message", "message_reaction"]});
    ok(&emulator, "getUpdates", kinds).await;
    let id = emulator.send(AGENTS, BOB, "look").now();
    let eyes = json!({"chat_id": AGENTS, "message_id": id, "reaction": [{"type": "emoji", "emoji": "👀"}]});
    ok(&emulator, "setMessageReaction", eyes).await;
    emulator.wait_reaction(AGENTS, id, "👀").await;
    emulator.react(AGENTS, id, ADA, Some("👍"));
    let heard = updates(&emulator).await;
    assert_eq!(heard[1]["message_reaction"]["new_reaction"][0]["emoji"], "👍");
    let check = json!({"chat_id": AGENTS, "message_id": id, "reaction": [{"type": "emoji", "emoji": "✅"}]});
    assert_eq!(
        refused(&emulator, "setMessageReaction", check).await,
        "Bad Request: REACTION_INVALID"
    );
}

#[tokio::test]
async fn an_anonymous_administrator_has_the_groups_name() {
    let emulator = calm();
    emulator.send(AGENTS, ADA, "who am I").as_sender(Sender::Anonymous).now();
    let heard = updates(&emulator).await;
    assert_eq!(heard[0]["message"]["from"]["username"], "GroupAnonymousBot");
    assert_eq!(heard[0]["message"]["sender_chat"]["id"], AGENTS);
}
