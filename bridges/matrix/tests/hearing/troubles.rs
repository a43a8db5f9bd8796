//! The homeserver goes and comes, and what was written meanwhile is there.

use matrix_lab::{Homeserver, tools};

use super::support::Ground;

#[tokio::test]
async fn all_that_was_written_while_nobody_heard_comes_once_and_in_order() {
    let Some(tools) = tools() else { return };
    let mut ground = Ground::new(&tools).await;
    let room = ground.while_hearing(ground.room()).await;
    let mut expected = Vec::new();
    for number in 0..130 {
        let text = format!("message {number}");
        ground.ada.say(&room, &text).await;
        expected.push(text);
    }
    ground = ground.restarted();
    let daemon = &ground.daemon;
    let all = daemon.until("all of it", |daemon| daemon.texts().len() >= 130);
    ground.while_hearing(all).await;
    assert_eq!(daemon.texts(), expected);
    assert_eq!(daemon.not_read(), Vec::<String>::new());
}

#[tokio::test]
async fn hearing_again_in_the_same_process_loses_nothing() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let Ground { ada, daemon, .. } = &ground;
    let room = ground.while_hearing(ground.room()).await;
    let mut expected = Vec::new();
    for round in 0..12_u64 {
        let text = format!("message {round}");
        let cut = tokio::time::sleep(std::time::Duration::from_millis(40 * round));
        let say = async { tokio::join!(ada.say(&room, &text), cut) };
        ground.while_hearing(say).await;
        expected.push(text);
    }
    ground.while_hearing(daemon.until("all", |daemon| daemon.texts().len() >= 12)).await;
    assert_eq!(daemon.texts(), expected);
}

#[tokio::test]
async fn a_homeserver_that_is_away_is_said_to_be_and_heard_again() {
    let Some(tools) = tools() else { return };
    let server = Box::leak(Box::new(Homeserver::start(&tools).await));
    let ground = Ground::on(server).await;
    let Ground { ada, daemon, .. } = &ground;
    let story = async {
        let room = ground.room().await;
        ada.say(&room, "before").await;
        daemon.until_texts(&["before"]).await;
        server.kill();
        ground.until_trouble("the homeserver cannot be reached: it refuses the connection").await;
        server.restart().await;
        ground.until_well().await;
        ada.say(&room, "after").await;
        daemon.until_texts(&["before", "after"]).await;
    };
    ground.while_hearing(story).await;
    server.kill();
}

#[tokio::test]
async fn who_is_logged_out_says_what_to_do() {
    let Some(tools) = tools() else { return };
    let ground = Ground::new(&tools).await;
    let story = async {
        ground.until_well().await;
        let devices = ground.server.devices(&ground.me).await;
        ground.server.log_out(&ground.me, &devices[0]).await;
        ground.until_trouble("vigie init matrix --again").await;
    };
    ground.while_hearing(story).await;
}
