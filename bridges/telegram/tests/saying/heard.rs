//! What is heard helps what is said.

use async_trait::async_trait;
use std::time::Duration;
use telegram_emulator::{AGENTS, BOB, Fault, FaultKind};
use tokio_util::sync::CancellationToken;
use vigie_core::{
    bridge::{
        Accepted, Bridge as _, Heard, Inbox, NotAccepted, Noted, Said, Say, SayError, SessionLook,
    },
    id::{BridgeName, DeliveryId},
};

use super::{
    desk::{Desk, main, post, thread},
    posts,
};

/// How long anything a test waits for may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// Takes everything.
struct Taking;

#[async_trait]
impl Inbox for Taking {
    async fn accept(&self, _heard: Heard) -> Result<Accepted, NotAccepted> {
        Ok(Accepted::default())
    }

    async fn note(&self, _bridge: &BridgeName, _noted: Noted) -> Result<(), NotAccepted> {
        Ok(())
    }

    async fn admits(&self, _bridge: &BridgeName, _from: &str) -> Result<bool, NotAccepted> {
        Ok(true)
    }
}

/// Lets `story` happen while the bridge hears.
async fn while_hearing(desk: &Desk, story: impl Future<Output = ()>) {
    let hear = desk.bridge.hear(&Taking, CancellationToken::new());
    let story = tokio::time::timeout(DEADLINE, story);
    tokio::select! {
        lost = hear => panic!("it hears no more: {lost:?}"),
        done = story => done.unwrap(),
    }
}

/// Says it until it is said or refused.
async fn until_said(desk: &Desk, say: &Say, key: DeliveryId) -> Said {
    loop {
        match desk.bridge.say(&main(AGENTS), say, key).await {
            Ok(said) => return said,
            Err(SayError::Later { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_topic_whose_making_was_not_answered_is_told_of_and_used() {
    let desk = Desk::start();
    while_hearing(&desk, async {
        desk.telegram.wait_polling().await;
        desk.telegram.fault(Fault::new("createForumTopic", FaultKind::DropAfter));
        let (key, say) = (desk.key(), thread(SessionLook::Idle));
        let first = desk.bridge.say(&main(AGENTS), &say, key).await;
        assert_eq!(first, Err(SayError::InDoubt));
        let said = until_said(&desk, &say, key).await;
        let made = desk.telegram.wait_topic(AGENTS, "PD-285 night trains").await;
        assert_eq!((said.thread.unwrap().as_str(), said.calls), (made.to_string().as_str(), 0));
        assert_eq!(desk.telegram.calls_of("createForumTopic").len(), 1);
    })
    .await;
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn what_people_were_heard_to_write_is_not_looked_at() {
    let desk = Desk::start();
    while_hearing(&desk, async {
        desk.telegram.wait_polling().await;
        desk.post(&main(AGENTS), posts::text("before")).await;
        desk.telegram.fault(Fault::new("sendMessage", FaultKind::DropBefore));
        let (key, say) = (desk.key(), post(posts::text("lost")));
        let first = desk.bridge.say(&main(AGENTS), &say, key).await;
        assert_eq!(first, Err(SayError::InDoubt));
        for _ in 0..12 {
            desk.telegram.send(AGENTS, BOB, "a lively group").now();
        }
        desk.telegram.wait_confirmed().await;
        let said = until_said(&desk, &say, key).await;
        // Four numbers that are no message yet, and then it was sent.
        assert_eq!(said.calls, 4 + 1);
    })
    .await;
}

#[tokio::test]
async fn a_poll_that_hangs_holds_up_nothing_that_is_said() {
    let desk = Desk::start();
    desk.telegram.fault(Fault::new("getUpdates", FaultKind::Hang).times(100));
    while_hearing(&desk, async {
        desk.telegram
            .wait_for("a poll", DEADLINE, |it| !it.calls_of("getUpdates").is_empty())
            .await;
        for number in 0..20 {
            let say = post(posts::text(&format!("answer {number}")));
            until_said(&desk, &say, desk.key()).await;
        }
    })
    .await;
    let shown = desk.telegram.messages(AGENTS, None);
    assert_eq!(shown.iter().filter(|m| m.text.contains("answer")).count(), 20);
}
