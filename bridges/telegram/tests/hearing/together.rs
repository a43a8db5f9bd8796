//! What belongs together: pastes and albums.

use std::time::Duration;
use telegram_emulator::{ADA, Media, MediaKind};
use tokio::time::Instant;
use vigie_core::bridge::{Got, HeardKind};

use super::support::Ground;

fn picture(name: &str) -> Media {
    Media::new(MediaKind::Document, name, "image/png", format!("picture {name}"))
}

#[tokio::test]
async fn a_paste_that_the_app_cut_is_one_text() {
    let ground = Ground::new();
    let paste = format!("[PD-285] review this. {}", "0123456789abcdef".repeat(590));
    let ids = ground.telegram.send(ADA, ADA, &paste).all();
    assert_eq!(ids.len(), 3);
    ground.while_hearing(ground.daemon.until_texts(&[&paste])).await;
    assert_eq!(ground.daemon.heard()[0].key, format!("m:{ADA}:{}", ids[0]));
}

#[tokio::test]
async fn a_command_waits_for_no_paste() {
    let ground = Ground::new();
    let long = "x".repeat(4096);
    ground
        .while_hearing(async {
            ground.daemon.until("a start", |_| ground.telegram.is_polled()).await;
            let began = Instant::now();
            ground.telegram.send(ADA, ADA, &long).now();
            ground.telegram.send(ADA, ADA, "/stop").now();
            ground.daemon.until_texts(&["/stop"]).await;
            assert!(began.elapsed() < Duration::from_millis(1_200), "{:?}", began.elapsed());
            ground.daemon.until_texts(&["/stop", &long]).await;
        })
        .await;
}

#[tokio::test]
async fn an_edit_of_a_later_part_is_an_edit_of_the_whole() {
    let ground = Ground::new();
    let paste = format!("{}tail", "x".repeat(4096));
    let ids = ground.telegram.send(ADA, ADA, &paste).all();
    ground
        .while_hearing(async {
            ground.daemon.until_texts(&[&paste]).await;
            ground.telegram.edit(ADA, ids[1], "another tail");
            ground.daemon.until("the edit", |it| it.heard().len() == 2).await;
        })
        .await;
    let whole = format!("{}another tail", "x".repeat(4096));
    let edit = &ground.daemon.heard()[1].what;
    assert!(
        matches!(edit, HeardKind::Edited { message, text } if *text == whole && message.as_str() == ids[0].to_string()),
        "{edit:?}"
    );
}

#[tokio::test]
async fn an_album_is_one_message_with_all_its_files() {
    let ground = Ground::new();
    let album = ground.telegram.send(ADA, ADA, "look at these");
    album.media(picture("a.png")).media(picture("b.png")).media(picture("c.png")).now();
    ground.while_hearing(ground.daemon.until_texts(&["look at these"])).await;
    let files = ground.daemon.files();
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a.png", "b.png", "c.png"]);
    assert!(files.iter().all(|file| matches!(file.got, Got::File { .. })));
}

#[tokio::test]
async fn a_late_picture_follows_its_album() {
    let ground = Ground::new();
    let album = serde_json::json!("777");
    let send = |name: &str| {
        let sending = ground.telegram.send(ADA, ADA, "").media(picture(name));
        sending.field("media_group_id", album.clone()).now();
    };
    ground
        .while_hearing(async {
            send("a.png");
            ground.daemon.until("the album", |it| it.files().len() == 1).await;
            send("b.png");
            ground.daemon.until("the late one", |it| it.files().len() == 2).await;
        })
        .await;
    assert_eq!(ground.daemon.texts()[0], "");
    assert!(ground.daemon.texts()[1].contains("album"), "{:?}", ground.daemon.texts());
}
