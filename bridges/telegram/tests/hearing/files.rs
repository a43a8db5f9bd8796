//! Files that people send.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};
use telegram_emulator::{ADA, BOB, DOWNLOAD, Fault, FaultKind, Media, MediaKind};
use vigie_core::bridge::{Attached, Got};

use super::support::{Ground, PATIENCE};

fn document(name: &str, bytes: &str) -> Media {
    Media::new(MediaKind::Document, name, "text/plain", bytes.to_owned())
}

fn path(file: &Attached) -> &Path {
    match &file.got {
        Got::File { path, .. } => Path::new(path),
        Got::Missed { why } => panic!("{} is missing: {why}", file.name),
    }
}

fn why(file: &Attached) -> &str {
    match &file.got {
        Got::Missed { why } => why,
        Got::File { path, .. } => panic!("{} lies in {path}", file.name),
    }
}

#[tokio::test]
async fn a_file_lies_in_a_folder_of_its_message_for_this_user_only() {
    let ground = Ground::new();
    let id = ground.telegram.send(ADA, ADA, "use this").media(document("report.pdf", "one")).now();
    ground.telegram.send(ADA, ADA, "and this").media(document("report.pdf", "two")).now();
    ground.telegram.send(ADA, ADA, "").media(document("../../.ssh/keys", "three")).now();
    ground.while_hearing(ground.daemon.until("the files", |it| it.files().len() == 3)).await;
    let files = ground.daemon.files();
    assert_eq!(path(&files[0]), ground.files().join(format!("{ADA}-{id}/report.pdf")));
    assert_eq!(fs::read(path(&files[1])).unwrap(), b"two");
    assert!(path(&files[2]).starts_with(ground.files()));
    assert_eq!(files[2].name, "keys");
    assert!(matches!(files[0].got, Got::File { bytes: 3, .. }));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path(&files[0])), 0o600);
    assert_eq!(mode(path(&files[0]).parent().unwrap()), 0o700);
}

#[tokio::test]
async fn a_file_that_is_too_big_is_named_with_its_size_and_what_to_do() {
    let ground = Ground::new();
    let big = Media::new(MediaKind::Video, "film.mp4", "video/mp4", vec![0; 21 << 20]);
    ground.telegram.send(ADA, ADA, "see").media(big).now();
    ground.while_hearing(ground.daemon.until_texts(&["see"])).await;
    let files = ground.daemon.files();
    assert!(why(&files[0]).contains("21.0 MB") && why(&files[0]).contains("20.0 MB"), "{files:?}");
    assert!(ground.telegram.calls_of("getFile").is_empty());
}

#[tokio::test]
async fn a_download_that_breaks_is_tried_again_and_leaves_nothing_half() {
    let ground = Ground::new();
    ground.telegram.fault(Fault::new(DOWNLOAD, FaultKind::Truncate));
    ground.telegram.fault(Fault::new("getFile", FaultKind::Status(502)));
    ground.telegram.send(ADA, ADA, "see").media(document("a.txt", &"a".repeat(100_000))).now();
    ground.while_hearing(ground.daemon.until_texts(&["see"])).await;
    let files = ground.daemon.files();
    assert_eq!(fs::read(path(&files[0])).unwrap().len(), 100_000);
    assert_eq!(fs::read_dir(path(&files[0]).parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_file_that_is_refused_is_named_and_the_words_arrive() {
    let ground = Ground::new();
    let no = FaultKind::Refuse(400, "Bad Request: wrong file_id".into());
    ground.telegram.fault(Fault::new("getFile", no));
    ground.telegram.send(ADA, ADA, "see").media(document("a.txt", "a")).now();
    ground.while_hearing(ground.daemon.until_texts(&["see"])).await;
    assert!(why(&ground.daemon.files()[0]).contains("wrong file_id"));
}

#[tokio::test]
async fn a_slow_download_holds_up_nobody_else_and_no_command() {
    let ground = Ground::new();
    ground.telegram.fault(Fault::new(DOWNLOAD, FaultKind::Hang));
    ground.telegram.send(ADA, ADA, "see").media(document("a.txt", "a")).now();
    ground.telegram.send(ADA, ADA, "after it").now();
    ground.telegram.send(ADA, ADA, "/stop").now();
    ground.telegram.send(BOB, BOB, "hello").now();
    ground
        .while_hearing(ground.daemon.until("the others", |it| {
            let mut texts = it.texts();
            texts.sort_unstable();
            texts == ["/stop", "hello"]
        }))
        .await;
}

#[tokio::test]
async fn a_crash_in_a_download_leaves_no_half_file() {
    let ground = Ground::new();
    ground.telegram.fault(Fault::new(DOWNLOAD, FaultKind::Hang));
    let id = ground.telegram.send(ADA, ADA, "see").media(document("a.txt", "whole")).now();
    ground
        .while_hearing(ground.telegram.wait_for("the download", PATIENCE, |telegram| {
            telegram.calls_of("getFile").len() == 1 && ground.files().join(".half").exists()
        }))
        .await;
    ground.telegram.clear_faults();
    let ground = ground.restarted();
    ground.while_hearing(ground.daemon.until_texts(&["see"])).await;
    let files = ground.daemon.files();
    assert_eq!(fs::read(path(&files[0])).unwrap(), b"whole");
    let mut all: Vec<_> = fs::read_dir(ground.files())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != ".half")
        .collect();
    all.sort_unstable();
    assert_eq!(all, [format!("{ADA}-{id}")]);
    assert_eq!(fs::read_dir(ground.files().join(".half")).unwrap().count(), 0);
}
