//! Polling, when it does not go well.

use std::time::Duration;
use telegram_emulator::{ADA, Fault, FaultKind, World};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vigie_core::bridge::{Bridge as _, Noted};
use vigie_telegram::api::Patience;

use super::support::{Ground, PATIENCE};

fn poll(kind: FaultKind) -> Fault {
    Fault::new("getUpdates", kind)
}

#[tokio::test]
async fn the_first_poll_is_sent_at_once() {
    let ground = Ground::new();
    let began = Instant::now();
    ground
        .while_hearing(
            ground
                .telegram
                .wait_for("a poll", PATIENCE, |it| !it.calls_of("getUpdates").is_empty()),
        )
        .await;
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}

#[tokio::test]
async fn every_failure_is_survived_and_the_message_comes_once() {
    let patience = Patience { poll: Duration::from_millis(400), ..Patience::default() };
    for (kind, words) in [
        (FaultKind::DropBefore, "no clear answer"),
        (FaultKind::DropAfter, "no clear answer"),
        (FaultKind::Status(502), "502"),
        (FaultKind::Truncate, "no clear answer"),
        (FaultKind::TooMany(1), "1 s of quiet"),
        (FaultKind::Hang, "no answer in time"),
    ] {
        let ground = Ground::with(World::default(), patience);
        ground.telegram.fault(poll(kind));
        ground.telegram.send(ADA, ADA, "hi").now();
        ground
            .while_hearing(async {
                ground.until_trouble(words).await;
                ground.daemon.until_texts(&["hi"]).await;
                ground.until_well().await;
            })
            .await;
    }
}

#[tokio::test]
async fn a_telegram_that_cannot_be_reached_is_said_and_found_again() {
    let ground = Ground::new();
    ground.telegram.stop_listening();
    ground
        .while_hearing(async {
            ground.until_trouble("cannot be reached").await;
            ground.telegram.listen_again();
            ground.telegram.send(ADA, ADA, "hi").now();
            ground.daemon.until_texts(&["hi"]).await;
            ground.until_well().await;
        })
        .await;
}

#[tokio::test]
async fn a_second_poller_is_not_fought() {
    let ground = Ground::new();
    let words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    ground.telegram.fault(poll(FaultKind::Refuse(409, words.into())).times(50));
    ground
        .while_hearing(async {
            ground.until_trouble("another program asks").await;
            let before = ground.telegram.calls_of("getUpdates").len();
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(ground.telegram.calls_of("getUpdates").len(), before);
        })
        .await;
}

#[tokio::test]
async fn between_two_conflicts_messages_come_and_it_is_still_said() {
    let ground = Ground::new();
    let words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    ground.telegram.fault(poll(FaultKind::Refuse(409, words.into())));
    ground.telegram.send(ADA, ADA, "hi").now();
    ground
        .while_hearing(async {
            ground.daemon.until_texts(&["hi"]).await;
            ground.until_trouble("another program asks").await;
        })
        .await;
    assert!(ground.bridge.health().heard.is_some());
}

#[tokio::test]
async fn a_webhook_is_taken_away_once() {
    let ground = Ground::new();
    let hook = r#"{"url":"https://bots.example.org/secret"}"#;
    ground.call("setWebhook", hook).await;
    ground
        .while_hearing(async {
            ground.telegram.send(ADA, ADA, "hi").now();
            ground.daemon.until_texts(&["hi"]).await;
            ground.until_well().await;
            ground.call("setWebhook", hook).await;
            ground.until_trouble("webhook").await;
        })
        .await;
    assert_eq!(ground.telegram.calls_of("deleteWebhook").len(), 1);
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_said_and_tried_rarely() {
    let ground = Ground::new();
    ground.telegram.revoke(true);
    ground
        .while_hearing(async {
            ground.until_trouble("@BotFather").await;
            let before = ground.telegram.calls_of("getUpdates").len();
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(ground.telegram.calls_of("getUpdates").len(), before);
        })
        .await;
}

#[tokio::test]
async fn a_long_silence_is_told_over_a_restart_too() {
    let ground = Ground::new();
    ground.while_hearing(ground.until_well()).await;
    ground.telegram.advance(Duration::from_mins(10));
    let ground = ground.restarted();
    ground.telegram.send(ADA, ADA, "after the silence").now();
    ground.while_hearing(ground.daemon.until_texts(&["after the silence"])).await;
    let noted = ground.daemon.noted();
    assert!(
        matches!(&noted[..], [Noted::Back { after }] if after.as_secs() >= 600 && after.as_secs() < 660),
        "{noted:?}"
    );
    ground.telegram.advance(Duration::from_mins(1));
    let ground = ground.restarted();
    ground.telegram.send(ADA, ADA, "hi").now();
    ground.while_hearing(ground.daemon.until_texts(&["after the silence", "hi"])).await;
    assert_eq!(ground.daemon.noted().len(), 1);
}

#[tokio::test]
async fn after_sleep_a_dead_poll_is_not_waited_for() {
    let ground = Ground::new();
    ground.while_hearing(ground.until_well()).await;
    let polls = || ground.telegram.calls_of("getUpdates").len();
    let before = polls();
    ground.telegram.fault(poll(FaultKind::Hang));
    ground
        .while_hearing(async {
            ground.telegram.wait_for("the dead poll", PATIENCE, |_| polls() > before).await;
            ground.telegram.send(ADA, ADA, "hi").now();
            let began = Instant::now();
            ground.telegram.advance(Duration::from_hours(5));
            ground.daemon.until_texts(&["hi"]).await;
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        })
        .await;
}

#[tokio::test]
async fn a_stop_is_followed_at_once_and_two_do_not_hear() {
    let ground = Ground::new();
    assert_eq!(ground.stops_when_told().await, Ok(()));
    ground
        .while_hearing(async {
            ground.until_well().await;
            let second = ground.bridge.hear(&ground.daemon, CancellationToken::new()).await;
            assert!(second.is_err());
        })
        .await;
}
