//! What the service says about chats.

use serde_json::json;
use telegram_emulator::{ADA, AGENTS, Group, GroupKind, Membership, STRANGER, Status, World};
use vigie_core::bridge::{Noted, Room};
use vigie_telegram::api::Patience;

use super::support::Ground;

#[tokio::test]
async fn a_group_that_moved_is_told_once() {
    let mut basic = Group::basic(-5001, "Old");
    basic.members = vec![(ADA, Membership::of(Status::Creator))];
    let world = World { groups: vec![basic], ..World::default() };
    let ground = Ground::with(world, Patience::default());
    let new = ground.telegram.migrate(-5001, ADA, GroupKind::Forum);
    ground.telegram.send(new, ADA, "/status@bridge123456_bot").now();
    ground.while_hearing(ground.daemon.until_texts(&["/status"])).await;
    let moved =
        Noted::Moved { from: "-5001".into_chat(), to: new.to_string().as_str().into_chat() };
    assert_eq!(ground.daemon.noted(), [moved]);
}

#[tokio::test]
async fn a_chat_that_shuts_and_opens_is_told() {
    let ground = Ground::new();
    let (ada, agents) =
        (ADA.to_string().as_str().into_chat(), AGENTS.to_string().as_str().into_chat());
    let bot = ground.telegram.bot_id();
    let admin = Membership::of(Status::Administrator);
    ground
        .while_hearing(async {
            ground.telegram.block(ADA);
            ground.telegram.unblock(ADA);
            ground.telegram.member(AGENTS, ADA, bot, Membership::of(Status::Kicked));
            ground.telegram.member(AGENTS, ADA, bot, admin.clone().without("can_manage_topics"));
            ground.telegram.member(AGENTS, ADA, bot, admin);
            ground.daemon.until("five notes", |it| it.noted().len() == 5).await;
        })
        .await;
    let noted = ground.daemon.noted();
    assert!(
        matches!(&noted[0], Noted::Shut { chat, reason } if *chat == ada && reason.contains("blocked"))
    );
    assert_eq!(noted[1], Noted::Open { chat: ada, room: Room::Direct });
    assert!(
        matches!(&noted[2], Noted::Shut { chat, reason } if *chat == agents && reason.contains("thrown out"))
    );
    assert_eq!(noted[3], Noted::Open { chat: agents.clone(), room: Room::Group });
    assert_eq!(noted[4], Noted::Open { chat: agents, room: Room::Forum });
}

#[tokio::test]
async fn private_chats_may_have_topics() {
    let ground = Ground::new();
    ground.telegram.set_private_topics(true);
    ground.telegram.send(ADA, ADA, "hello").now();
    ground.while_hearing(ground.daemon.until_texts(&["hello"])).await;
    assert_eq!(ground.daemon.heard()[0].room, Room::DirectThreads);
}

#[tokio::test]
async fn what_cannot_be_read_is_set_aside_and_told_and_the_rest_goes_on() {
    let ground = Ground::new();
    ground.telegram.send(ADA, ADA, "one").now();
    let poison = json!({
        "message_id": 900, "date": 1_700_000_000, "from": { "id": ADA, "is_bot": false, "first_name": "Ada" },
        "chat": { "id": ADA, "type": "private" }, "document": "no file at all",
    });
    let number = ground.telegram.inject("message", poison).unwrap();
    ground.telegram.send(ADA, ADA, "three").now();
    ground
        .while_hearing(async {
            ground.daemon.until_texts(&["one", "three"]).await;
            ground.daemon.until("the note", |it| it.noted().len() == 1).await;
            ground.telegram.wait_confirmed().await;
        })
        .await;
    let noted = ground.daemon.noted().remove(0);
    assert!(
        matches!(&noted, Noted::Unread { number: n, .. } if *n == number.to_string()),
        "{noted:?}"
    );
    let aside = ground.bridge.set_aside(10).await.unwrap();
    assert_eq!(aside.len(), 1);
    assert_eq!(aside[0].number, number);
    assert!(aside[0].json.contains("no file at all"), "{aside:?}");

    let ground = ground.restarted();
    ground
        .while_hearing(async {
            ground.telegram.send(ADA, ADA, "four").now();
            ground.daemon.until("the fourth", |it| it.texts().len() == 3).await;
        })
        .await;
    assert_eq!(ground.daemon.noted().len(), 1);
}

#[tokio::test]
async fn what_is_newer_than_this_is_handed_in_as_words() {
    let ground = Ground::new();
    ground.telegram.send(ADA, ADA, "").field("gift_of_the_future", json!({ "x": [[[]]] })).now();
    ground.telegram.inject("inline_query", json!({ "id": "1", "from": { "id": STRANGER } }));
    let words = "(sent something this version of Vigie cannot read: gift of the future)";
    ground.while_hearing(ground.daemon.until_texts(&[words])).await;
}

trait IntoChat {
    fn into_chat(self) -> vigie_core::id::ChatId;
}

impl IntoChat for &str {
    fn into_chat(self) -> vigie_core::id::ChatId {
        vigie_core::id::ChatId::new(self)
    }
}
