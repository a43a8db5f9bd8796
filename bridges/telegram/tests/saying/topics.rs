//! A topic for each session.

use telegram_emulator::{ADA, AGENTS, Fault, FaultKind, Group, GroupKind, Topic};
use vigie_core::bridge::{Bridge as _, SayError, SessionLook};

use super::{
    desk::{Desk, administrator_without, calm, main, thread, topic},
    posts,
};

fn shown(desk: &Desk, chat: i64) -> Vec<(String, bool)> {
    let topics = desk.telegram.topics(chat).into_iter();
    topics.filter(|topic| topic.id > 1).map(|Topic { name, closed, .. }| (name, closed)).collect()
}

fn one(name: &str, closed: bool) -> Vec<(String, bool)> {
    vec![(name.to_owned(), closed)]
}

async fn made(desk: &Desk, chat: i64) -> i64 {
    let said = desk.thread(&main(chat), SessionLook::Working).await.unwrap();
    assert_eq!((said.message, said.calls), (None, 1));
    said.thread.unwrap().as_str().parse().unwrap()
}

#[tokio::test]
async fn a_topic_is_made_and_its_name_says_what_waits() {
    let desk = Desk::start();
    let id = made(&desk, AGENTS).await;
    let place = topic(AGENTS, id);
    desk.post(&place, posts::text("hello")).await;
    for (state, calls, name, closed) in [
        (SessionLook::Idle, 0, "PD-285 night trains", false),
        (SessionLook::Waiting, 1, "◆ PD-285 night trains", false),
        (SessionLook::NeedsDesk, 0, "◆ PD-285 night trains", false),
        (SessionLook::Working, 1, "PD-285 night trains", false),
        (SessionLook::Ended, 1, "PD-285 night trains", true),
        (SessionLook::Ended, 0, "PD-285 night trains", true),
        (SessionLook::Lost, 2, "✕ PD-285 night trains", false),
        (SessionLook::Limited, 1, "◐ PD-285 night trains", false),
    ] {
        let said = desk.thread(&place, state).await.unwrap();
        assert_eq!((said.calls, shown(&desk, AGENTS)), (calls, one(name, closed)), "{state:?}");
        assert_eq!(said.thread.as_ref(), place.thread.as_ref());
    }
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn a_state_that_holds_already_is_as_good_as_done() {
    let desk = Desk::start();
    let id = desk.telegram.create_topic(AGENTS, ADA, "PD-285 night trains");
    desk.telegram.close_topic(AGENTS, ADA, id);
    let said = desk.thread(&topic(AGENTS, id), SessionLook::Ended).await.unwrap();
    assert_eq!(said.calls, 2);
    desk.assert_refused(&["TOPIC_NOT_MODIFIED", "TOPIC_NOT_MODIFIED"]);
}

#[tokio::test]
async fn a_deleted_topic_is_gone_and_another_is_made() {
    let desk = Desk::start();
    let id = made(&desk, AGENTS).await;
    desk.telegram.delete_topic(AGENTS, id);
    let gone = desk.thread(&topic(AGENTS, id), SessionLook::Waiting).await;
    assert_eq!(gone, Err(SayError::NoThread));
    assert_ne!(made(&desk, AGENTS).await, id);
    desk.assert_refused(&["TOPIC_ID_INVALID"]);
}

#[tokio::test]
async fn a_repeated_key_makes_no_second_topic() {
    let mut desk = Desk::start();
    let key = desk.key();
    let say = thread(SessionLook::Idle);
    let first = desk.bridge.say(&main(AGENTS), &say, key).await.unwrap();
    desk.restart();
    let second = desk.bridge.say(&main(AGENTS), &say, key).await.unwrap();
    assert_eq!((second.thread, second.calls), (first.thread, 0));
    assert_eq!(shown(&desk, AGENTS).len(), 1);
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn a_topic_in_doubt_waits_until_telegram_has_told() {
    let desk = Desk::start();
    desk.telegram.fault(Fault::new("createForumTopic", FaultKind::DropAfter));
    let key = desk.key();
    let say = thread(SessionLook::Idle);
    assert_eq!(desk.bridge.say(&main(AGENTS), &say, key).await, Err(SayError::InDoubt));
    let again = desk.bridge.say(&main(AGENTS), &say, key).await;
    assert!(matches!(again, Err(SayError::Later { .. })), "{again:?}");
    assert_eq!(desk.telegram.calls_of("createForumTopic").len(), 1);
}

#[tokio::test]
async fn where_there_can_be_none_the_mend_is_said() {
    let mut world = calm();
    let mut plain = Group::forum(-1_001_000_000_002, "Plain");
    plain.kind = GroupKind::Supergroup;
    let mut poor = Group::forum(-1_001_000_000_003, "Poor");
    poor.bot = administrator_without("can_manage_topics");
    world.groups.extend([plain, poor]);
    let desk = Desk::with(world);
    for (chat, mend) in [
        (-1_001_000_000_002, "switch them on in the group's settings"),
        (-1_001_000_000_003, "make the bot an administrator with the right to manage topics"),
        (ADA, "switch them on for the bot in BotFather"),
    ] {
        let error = desk.thread(&main(chat), SessionLook::Idle).await.unwrap_err();
        assert!(
            matches!(&error, SayError::NoThreads { reason: Some(reason) } if reason.contains(mend)),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_private_chat_has_topics_that_are_never_closed() {
    let mut world = calm();
    world.bot.has_topics_enabled = true;
    let desk = Desk::with(world);
    let id = made(&desk, ADA).await;
    desk.post(&topic(ADA, id), posts::text("hello")).await;
    let said = desk.thread(&topic(ADA, id), SessionLook::Ended).await.unwrap();
    assert_eq!(said.calls, 0);
    desk.thread(&topic(ADA, id), SessionLook::Waiting).await.unwrap();
    assert_eq!(shown(&desk, ADA), one("◆ PD-285 night trains", false));
    desk.telegram.assert_clean();
}
