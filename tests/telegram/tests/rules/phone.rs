//! What phones show besides messages, and waiting for it.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use serde_json::json;
use telegram_emulator::{
    ADA, AGENTS, BOB, Clock, Emulator, Entity, EntityKind, Scope, Sender, World,
};

use crate::support::{calm, ok, refused, say, updates};

#[tokio::test]
async fn a_preview_streams_until_something_real_comes() {
    let emulator = Emulator::start(World { clock: Clock::manual(), ..World::default() });
    let draft = |text: &str| json!({"chat_id": ADA, "draft_id": 7, "text": text, "can_stop": true});
    ok(&emulator, "sendMessageDraft", draft("")).await;
    ok(&emulator, "sendMessageDraft", draft("so far")).await;
    let shown = emulator.drafts(ADA);
    assert_eq!((shown.len(), shown[0].text.as_str(), shown[0].can_stop), (1, "so far", true));
    emulator.advance(Duration::from_secs(30));
    assert!(emulator.drafts(ADA).is_empty());
    ok(&emulator, "sendMessageDraft", draft("again")).await;
    say(&emulator, ADA, "done").await;
    assert!(emulator.drafts(ADA).is_empty());
    let group = json!({"chat_id": AGENTS, "draft_id": 7, "text": "x"});
    assert_eq!(
        refused(&emulator, "sendMessageDraft", group).await,
        "Bad Request: TEXTDRAFT_PEER_INVALID"
    );
    let zero = json!({"chat_id": ADA, "draft_id": 0, "text": "x"});
    assert_eq!(
        refused(&emulator, "sendMessageDraft", zero).await,
        "Bad Request: draft_id must be non-zero"
    );
}

#[tokio::test]
async fn stop_under_a_preview_is_told() {
    let emulator = calm();
    let draft = json!({"chat_id": ADA, "draft_id": 7, "text": "x", "can_stop": true});
    ok(&emulator, "sendMessageDraft", draft.clone()).await;
    emulator.stop_draft(ADA);
    let heard = updates(&emulator).await;
    assert_eq!(heard[0]["stopped_message_generation"]["draft_id"], 7);
    assert_eq!(
        refused(&emulator, "sendMessageDraft", draft).await,
        "Bad Request: MESSAGE_DRAFT_STOPPED"
    );
}

#[tokio::test]
async fn typing_is_shown_for_five_seconds() {
    let emulator = Emulator::start(World { clock: Clock::manual(), ..World::default() });
    ok(&emulator, "sendChatAction", json!({"chat_id": ADA, "action": "typing"})).await;
    emulator.advance(Duration::from_millis(4999));
    assert_eq!(emulator.typing(ADA)[0].action, "typing");
    emulator.advance(Duration::from_millis(1));
    assert!(emulator.typing(ADA).is_empty());
    let words =
        refused(&emulator, "sendChatAction", json!({"chat_id": ADA, "action": "dance"})).await;
    assert_eq!(words, "Bad Request: wrong parameter action in request");
}

#[tokio::test]
async fn commands_have_scopes_and_languages() {
    let emulator = calm();
    let list = |name: &str| json!([{"command": name, "description": "does it"}]);
    ok(&emulator, "setMyCommands", json!({"commands": list("help")})).await;
    let scoped = json!({"commands": list("stop"), "scope": {"type": "chat", "chat_id": AGENTS}, "language_code": "de"});
    ok(&emulator, "setMyCommands", scoped).await;
    assert_eq!(emulator.commands(Scope::Default, ""), [("help".into(), "does it".into())]);
    assert_eq!(emulator.commands(Scope::Chat(AGENTS), "de")[0].0, "stop");
    assert!(emulator.commands(Scope::Chat(AGENTS), "").is_empty());
    assert_eq!(ok(&emulator, "getMyCommands", json!({})).await, list("help"));
    ok(&emulator, "deleteMyCommands", json!({})).await;
    assert!(emulator.commands(Scope::Default, "").is_empty());

    let many: Vec<_> =
        (0..101).map(|n| json!({"command": format!("c{n}"), "description": "x"})).collect();
    let cases = [
        (list("Help"), "BOT_COMMAND_INVALID"),
        (list(""), "command must be non-empty"),
        (list(&"x".repeat(33)), "command length must not exceed 32"),
        (json!([{"command": "a", "description": ""}]), "command description must be non-empty"),
        (
            json!([{"command": "a", "description": "x".repeat(257)}]),
            "command description length must not exceed 256",
        ),
        (json!(many), "BOT_COMMANDS_TOO_MUCH"),
    ];
    for (commands, words) in cases {
        let said = refused(&emulator, "setMyCommands", json!({"commands": commands})).await;
        assert_eq!(said, format!("Bad Request: {words}"));
    }
    let scope = json!({"commands": [], "scope": {"type": "galaxy"}});
    assert!(
        refused(&emulator, "setMyCommands", scope).await.contains("Unsupported type specified")
    );
}

#[tokio::test]
async fn the_profile_has_texts() {
    let emulator = calm();
    ok(&emulator, "setMyDescription", json!({"description": "Steers agents"})).await;
    let description = ok(&emulator, "getMyDescription", json!({})).await;
    assert_eq!(description, json!({"description": "Steers agents"}));
    let long = json!({"short_description": "x".repeat(121)});
    assert_eq!(
        refused(&emulator, "setMyShortDescription", long).await,
        "Bad Request: short_description is too long"
    );
    assert_eq!(ok(&emulator, "getMyName", json!({})).await["name"], "Bridge");
}

#[tokio::test]
async fn a_person_writes_in_many_ways() {
    let emulator = calm();
    let first = emulator.send(ADA, ADA, "one two").now();
    emulator
        .send(ADA, ADA, "bold main.rs")
        .entities(vec![Entity::new(EntityKind::Bold, 0, 4)])
        .reply_to(first)
        .quote("two")
        .forwarded_from(BOB)
        .now();
    emulator.send(AGENTS, ADA, "post").as_sender(Sender::LinkedPost(-1_009, "News".into())).now();
    emulator.send(ADA, ADA, "").field("rich_message", json!({"blocks": []})).now();
    let heard = updates(&emulator).await;
    let message = &heard[1]["message"];
    assert_eq!(message["entities"][0]["type"], "bold");
    assert_eq!(message["entities"][1]["type"], "url");
    assert_eq!(message["reply_to_message"]["message_id"], first);
    assert_eq!(message["quote"], json!({"text": "two", "position": 4, "is_manual": true}));
    assert_eq!(message["forward_origin"]["sender_user"]["id"], BOB);
    assert_eq!(heard[2]["message"]["is_automatic_forward"], true);
    assert!(heard[3]["message"].get("rich_message").is_some());
    emulator.edit(ADA, first, "one three");
    let heard = updates(&emulator).await;
    let edited = &heard[4]["edited_message"];
    assert_eq!((&edited["message_id"], &edited["text"]), (&json!(first), &json!("one three")));
}

#[tokio::test]
async fn a_wait_in_vain_ends_with_a_picture() {
    let emulator = calm();
    say(&emulator, ADA, "what was there instead").await;
    let wait = emulator.wait_for("a miracle", Duration::from_millis(20), |_| false);
    let panic = AssertUnwindSafe(wait).catch_unwind().await.unwrap_err();
    let words = panic.downcast_ref::<String>().unwrap();
    assert!(words.contains("in vain for a miracle"), "{words}");
    assert!(words.contains("── Ada (1001)\n   2 Bridge: what was there instead"), "{words}");
    assert!(words.contains("sendMessage → Done"), "{words}");
}

#[tokio::test]
#[should_panic(expected = "has no button `Deny`")]
async fn a_button_that_is_not_there_cannot_be_pressed() {
    let emulator = calm();
    let id = say(&emulator, ADA, "plain").await;
    let _ = emulator.press(ADA, id, ADA, "Deny");
}

#[tokio::test]
async fn a_reaction_is_one_of_those_a_bot_may_give() {
    let emulator = calm();
    let id = emulator.send(ADA, ADA, "x").now();
    let react =
        |list: serde_json::Value| json!({"chat_id": ADA, "message_id": id, "reaction": list});
    let emoji = |emoji: &str| json!({"type": "emoji", "emoji": emoji});
    for good in ["👍", "👀", "❤️", "✍️", "👨‍💻"] {
        ok(&emulator, "setMessageReaction", react(json!([emoji(good)]))).await;
    }
    for bad in ["✅", "❌", "⏳"] {
        let words = refused(&emulator, "setMessageReaction", react(json!([emoji(bad)]))).await;
        assert_eq!(words, "Bad Request: REACTION_INVALID", "{bad}");
    }
    let two = react(json!([emoji("👍"), emoji("👀")]));
    assert_eq!(
        refused(&emulator, "setMessageReaction", two).await,
        "Bad Request: REACTIONS_TOO_MANY"
    );
    ok(&emulator, "setMessageReaction", react(json!([]))).await;
    assert!(emulator.message(ADA, id).unwrap().reactions.is_empty());
}
