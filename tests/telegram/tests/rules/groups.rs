//! Topics, rights, members, and chats that change.

use serde_json::{Value, json};
use telegram_emulator::{
    ADA, AGENTS, BOB, BotAccount, Emulator, Group, GroupKind, Membership, Person, STRANGER, Status,
    World,
};

use crate::support::{call, calm, ok, refused, say, updates};

fn thread(topic: i64) -> Value {
    json!({"chat_id": AGENTS, "message_thread_id": topic})
}

/// A forum where the bot is this.
fn where_the_bot_is(membership: Membership) -> Emulator {
    let mut world = World { flood: false, slow_busy_polls: false, ..World::default() };
    world.groups[0].bot = membership;
    Emulator::start(world)
}

#[tokio::test]
async fn a_topics_name_is_cleaned_and_cut() {
    let emulator = calm();
    let name = format!("PD-285  fix\n{}", "x".repeat(200));
    let made = ok(&emulator, "createForumTopic", json!({"chat_id": AGENTS, "name": name})).await;
    let name = made["name"].as_str().unwrap();
    assert!(name.starts_with("PD-285 fix xx"));
    assert_eq!(name.chars().count(), 128);
    let none =
        refused(&emulator, "createForumTopic", json!({"chat_id": AGENTS, "name": " "})).await;
    assert_eq!(none, "Bad Request: name must be non-empty");
    let color = json!({"chat_id": AGENTS, "name": "x", "icon_color": 1});
    assert_eq!(
        refused(&emulator, "createForumTopic", color).await,
        "Bad Request: TOPIC_ICON_COLOR_INVALID"
    );
}

#[tokio::test]
async fn the_bot_hears_its_own_service_messages() {
    let emulator = calm();
    let made = ok(&emulator, "createForumTopic", json!({"chat_id": AGENTS, "name": "t"})).await;
    let topic = made["message_thread_id"].as_i64().unwrap();
    let mut rename = thread(topic);
    rename["name"] = "u".into();
    ok(&emulator, "editForumTopic", rename).await;
    ok(&emulator, "closeForumTopic", thread(topic)).await;
    ok(&emulator, "reopenForumTopic", thread(topic)).await;
    say(&emulator, AGENTS, "but no plain message").await;
    let heard = updates(&emulator).await;
    let kinds =
        ["forum_topic_created", "forum_topic_edited", "forum_topic_closed", "forum_topic_reopened"];
    assert_eq!(heard.len(), 4);
    for (update, kind) in heard.iter().zip(kinds) {
        let message = &update["message"];
        assert!(message.get(kind).is_some(), "{update}");
        assert_eq!(
            (&message["from"]["id"], &message["message_thread_id"]),
            (&json!(123_456), &json!(topic))
        );
    }
}

#[tokio::test]
async fn a_topic_that_is_as_it_should_be_is_not_modified() {
    let emulator = calm();
    let topic = emulator.create_topic(AGENTS, ADA, "t");
    let mut same = thread(topic);
    same["name"] = "t".into();
    assert_eq!(refused(&emulator, "editForumTopic", same).await, "Bad Request: TOPIC_NOT_MODIFIED");
    assert_eq!(
        refused(&emulator, "reopenForumTopic", thread(topic)).await,
        "Bad Request: TOPIC_NOT_MODIFIED"
    );
    ok(&emulator, "closeForumTopic", thread(topic)).await;
    assert_eq!(
        refused(&emulator, "closeForumTopic", thread(topic)).await,
        "Bad Request: TOPIC_NOT_MODIFIED"
    );
}

#[tokio::test]
async fn a_topic_that_is_gone_is_unknown() {
    let emulator = calm();
    let topic = emulator.create_topic(AGENTS, ADA, "t");
    let inside = emulator.send(AGENTS, ADA, "x").topic(topic).now();
    ok(&emulator, "deleteForumTopic", thread(topic)).await;
    assert!(emulator.message(AGENTS, inside).is_none());
    for method in ["editForumTopic", "closeForumTopic", "reopenForumTopic", "deleteForumTopic"] {
        for id in [topic, 4711] {
            let words = refused(&emulator, method, thread(id)).await;
            assert_eq!(words, "Bad Request: TOPIC_ID_INVALID", "{method}");
        }
    }
    let mut send = thread(topic);
    send["text"] = "x".into();
    assert_eq!(
        refused(&emulator, "sendMessage", send).await,
        "Bad Request: message thread not found"
    );
    let mut action = thread(topic);
    action["action"] = "typing".into();
    assert_eq!(
        refused(&emulator, "sendChatAction", action).await,
        "Bad Request: message thread not found"
    );
}

#[tokio::test]
async fn topics_need_the_right_to_manage_them() {
    let emulator =
        where_the_bot_is(Membership::of(Status::Administrator).without("can_manage_topics"));
    let topic = emulator.create_topic(AGENTS, ADA, "t");
    let create = json!({"chat_id": AGENTS, "name": "x"});
    let words = refused(&emulator, "createForumTopic", create).await;
    assert_eq!(words, "Bad Request: not enough rights to create a topic");
    let words = refused(&emulator, "closeForumTopic", thread(topic)).await;
    assert_eq!(words, "Bad Request: not enough rights to close or open the topic");
    emulator.close_topic(AGENTS, ADA, topic);
    let mut send = thread(topic);
    send["text"] = "x".into();
    assert_eq!(refused(&emulator, "sendMessage", send.clone()).await, "Bad Request: TOPIC_CLOSED");
    emulator.member(AGENTS, ADA, emulator.bot_id(), Membership::of(Status::Administrator));
    ok(&emulator, "sendMessage", send).await;
}

#[tokio::test]
async fn what_people_do_to_topics_is_told() {
    let emulator = calm();
    let topic = emulator.create_topic(AGENTS, ADA, "t");
    emulator.rename_topic(AGENTS, ADA, topic, "u");
    emulator.close_topic(AGENTS, ADA, topic);
    emulator.reopen_topic(AGENTS, ADA, topic);
    emulator.send(AGENTS, BOB, "in it").topic(topic).now();
    emulator.delete_topic(AGENTS, topic);
    let heard = updates(&emulator).await;
    assert_eq!(heard.len(), 5, "a deletion is not told");
    assert_eq!(heard[1]["message"]["forum_topic_edited"]["name"], "u");
    let message = &heard[4]["message"];
    assert_eq!(
        (&message["is_topic_message"], &message["message_thread_id"]),
        (&json!(true), &json!(topic))
    );
    assert_eq!(message["reply_to_message"]["message_id"], topic, "the implicit reply");
    assert!(emulator.topics(AGENTS).iter().any(|shown| shown.id == topic && shown.deleted));
}

#[tokio::test]
async fn private_chats_have_topics_when_the_bot_has_them() {
    let emulator = calm();
    let create = json!({"chat_id": ADA, "name": "t"});
    let words = refused(&emulator, "createForumTopic", create.clone()).await;
    assert_eq!(words, "Bad Request: BOT_FORUM_CREATE_FORBIDDEN");
    let bot = BotAccount { has_topics_enabled: true, ..BotAccount::default() };
    let emulator = Emulator::start(World { bot, flood: false, ..World::default() });
    assert_eq!(ok(&emulator, "getMe", json!({})).await["has_topics_enabled"], true);
    let topic = ok(&emulator, "createForumTopic", create).await["message_thread_id"].clone();
    let send = json!({"chat_id": ADA, "text": "x", "message_thread_id": topic});
    let message = ok(&emulator, "sendMessage", send).await;
    assert_eq!(message["is_topic_message"], true);
    assert!(message.get("reply_to_message").is_none(), "there is no implicit reply");
    let close = json!({"chat_id": ADA, "message_thread_id": topic});
    let words = refused(&emulator, "closeForumTopic", close).await;
    assert_eq!(words, "Bad Request: the chat is not a supergroup forum");
}

#[tokio::test]
async fn a_chat_refuses_in_its_own_words() {
    let emulator = calm();
    let text = |chat: i64| json!({"chat_id": chat, "text": "x"});
    assert_eq!(refused(&emulator, "sendMessage", text(999)).await, "Bad Request: chat not found");
    emulator.add_person(Person { started: false, ..Person::new(1003, "Cy") });
    let words = refused(&emulator, "sendMessage", text(1003)).await;
    assert_eq!(words, "Forbidden: bot can't initiate conversation with a user");
    emulator.block(ADA);
    assert_eq!(
        refused(&emulator, "sendMessage", text(ADA)).await,
        "Forbidden: bot was blocked by the user"
    );
    emulator.unblock(ADA);
    say(&emulator, ADA, "x").await;
    emulator.deactivate(BOB);
    assert_eq!(
        refused(&emulator, "sendMessage", text(BOB)).await,
        "Forbidden: user is deactivated"
    );
    for (status, words) in [
        (Status::Kicked, "Forbidden: bot was kicked from the supergroup chat"),
        (Status::Left, "Forbidden: bot is not a member of the supergroup chat"),
        (Status::Restricted, "Bad Request: not enough rights to send text messages to the chat"),
    ] {
        emulator.member(AGENTS, ADA, emulator.bot_id(), Membership::of(status));
        assert_eq!(refused(&emulator, "sendMessage", text(AGENTS)).await, words);
    }
    let heard = updates(&emulator).await;
    let status =
        |at: usize| heard[at]["my_chat_member"]["new_chat_member"]["status"].as_str().unwrap();
    assert_eq!([status(0), status(1), status(2)], ["kicked", "member", "kicked"]);
}

#[tokio::test]
async fn a_group_that_grows_has_another_id() {
    let emulator = calm();
    let mut old = Group::basic(-500, "Old");
    old.members = vec![(ADA, Membership::of(Status::Creator))];
    old.bot = Membership::of(Status::Administrator);
    emulator.add_group(old);
    say(&emulator, -500, "x").await;
    let new = emulator.migrate(-500, ADA, GroupKind::Forum);
    let answer = call(&emulator, "sendMessage", json!({"chat_id": -500, "text": "x"})).await;
    assert_eq!(answer["description"], "Bad Request: group chat was upgraded to a supergroup chat");
    assert_eq!(answer["parameters"]["migrate_to_chat_id"], new);
    let heard = updates(&emulator).await;
    assert_eq!(heard[0]["message"]["migrate_to_chat_id"], new);
    assert_eq!(heard[1]["message"]["migrate_from_chat_id"], -500);
    say(&emulator, new, "x").await;
}

#[tokio::test]
async fn members_are_told_as_they_are() {
    let emulator = calm();
    let member = |user: i64| json!({"chat_id": AGENTS, "user_id": user});
    for (user, status) in
        [(ADA, "creator"), (BOB, "member"), (STRANGER, "left"), (123_456, "administrator")]
    {
        assert_eq!(ok(&emulator, "getChatMember", member(user)).await["status"], status);
    }
    assert_eq!(
        refused(&emulator, "getChatMember", member(1)).await,
        "Bad Request: invalid user_id specified"
    );
    let administrators = ok(&emulator, "getChatAdministrators", json!({"chat_id": AGENTS})).await;
    assert_eq!(administrators.as_array().unwrap().len(), 2);
    assert_eq!(ok(&emulator, "getChatMemberCount", json!({"chat_id": AGENTS})).await, 3);
    assert_eq!(
        refused(&emulator, "getChatAdministrators", json!({"chat_id": ADA})).await,
        "Bad Request: there are no administrators in the private chat"
    );
    let chat = ok(&emulator, "getChat", json!({"chat_id": AGENTS})).await;
    assert_eq!((&chat["title"], &chat["is_forum"]), (&json!("Agents"), &json!(true)));

    ok(&emulator, "getUpdates", json!({"allowed_updates": ["chat_member", "message"]})).await;
    emulator.member(AGENTS, ADA, STRANGER, Membership::of(Status::Member));
    let heard = updates(&emulator).await;
    assert_eq!(heard[0]["chat_member"]["new_chat_member"]["user"]["id"], STRANGER);
    assert_eq!(heard[1]["message"]["new_chat_members"][0]["id"], STRANGER);

    ok(&emulator, "leaveChat", json!({"chat_id": AGENTS})).await;
    let words = refused(&emulator, "getChat", json!({"chat_id": AGENTS})).await;
    assert_eq!(words, "Forbidden: bot is not a member of the supergroup chat");
}

#[tokio::test]
async fn pins_and_deletions_need_their_rights() {
    let rights = Membership::of(Status::Administrator)
        .without("can_pin_messages")
        .without("can_delete_messages");
    let emulator = where_the_bot_is(rights);
    let id = emulator.send(AGENTS, BOB, "x").now();
    let message = json!({"chat_id": AGENTS, "message_id": id});
    assert_eq!(
        refused(&emulator, "pinChatMessage", message.clone()).await,
        "Bad Request: not enough rights to manage pinned messages in the chat"
    );
    assert_eq!(
        refused(&emulator, "deleteMessage", message).await,
        "Bad Request: message can't be deleted"
    );
}
