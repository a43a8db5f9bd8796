//! Files in both directions.

use serde_json::json;
use telegram_emulator::{ADA, AGENTS, BOB, DOWNLOAD_BYTES, Media, MediaKind, UPLOAD_BYTES};

use crate::support::{PNG, calm, get, ok, refused, updates, upload};

#[tokio::test]
async fn a_document_arrives_with_its_bytes() {
    let emulator = calm();
    let fields = [("chat_id", "1001"), ("caption", "see main.rs")];
    let answer =
        upload(&emulator, "sendDocument", &fields, ("document", "log.txt", b"line\n")).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let shown = emulator.wait_message(ADA, None, "see").await;
    let file = shown.file.unwrap();
    assert_eq!((file.name.as_str(), file.bytes.as_ref()), ("log.txt", b"line\n".as_slice()));
    assert_eq!(shown.entities.len(), 1, "captions have links too");
    // Once more by its id.
    let again = json!({"chat_id": BOB, "document": file.id});
    assert_eq!(ok(&emulator, "sendDocument", again).await["document"]["file_name"], "log.txt");
}

#[tokio::test]
async fn a_file_is_as_large_and_a_caption_as_long_as_it_may_be() {
    let emulator = calm();
    let caption = "c".repeat(1025);
    let fields = [("chat_id", "1001"), ("caption", caption.as_str())];
    let answer = upload(&emulator, "sendDocument", &fields, ("document", "a", b"x")).await;
    assert_eq!(answer["description"], "Bad Request: message caption is too long");
    let chat = [("chat_id", "1001")];
    let answer = upload(&emulator, "sendDocument", &chat, ("document", "a", b"")).await;
    assert_eq!(answer["description"], "Bad Request: file must be non-empty");
    for over in [1, 5 << 20] {
        let large = vec![0; UPLOAD_BYTES + over];
        let answer = upload(&emulator, "sendDocument", &chat, ("document", "a", &large)).await;
        assert_eq!(answer["error_code"], 413);
        assert_eq!(answer["description"], "Request Entity Too Large");
    }
}

#[tokio::test]
async fn a_photo_must_be_a_picture_of_possible_size() {
    let emulator = calm();
    let sized = |width: u32, height: u32| {
        let mut png = PNG.to_vec();
        png[16..20].copy_from_slice(&width.to_be_bytes());
        png[20..24].copy_from_slice(&height.to_be_bytes());
        png
    };
    let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\x00\x30\x00\x40\0".to_vec();
    let mut heavy = PNG.to_vec();
    heavy.resize((10 << 20) + 1, 0);
    let cases = [
        (PNG.to_vec(), None),
        (jpeg, None),
        (sized(2000, 100), None),
        (sized(2001, 100), Some("PHOTO_INVALID_DIMENSIONS")),
        (sized(5000, 5001), Some("PHOTO_INVALID_DIMENSIONS")),
        (b"no picture".to_vec(), Some("IMAGE_PROCESS_FAILED")),
        (heavy, Some("file is too big")),
    ];
    for (at, (bytes, words)) in cases.into_iter().enumerate() {
        let answer =
            upload(&emulator, "sendPhoto", &[("chat_id", "1001")], ("photo", "p.png", &bytes))
                .await;
        match words {
            None => {
                assert_eq!(answer["result"]["photo"][1]["file_size"], bytes.len(), "{at}: {answer}")
            }
            Some(words) => {
                assert_eq!(answer["description"], format!("Bad Request: {words}"), "{at}")
            }
        }
    }
}

#[tokio::test]
async fn a_bot_fetches_what_people_send() {
    let emulator = calm();
    let kinds = [
        (MediaKind::Document, "a.txt"),
        (MediaKind::Photo, "p.png"),
        (MediaKind::Voice, "v.oga"),
        (MediaKind::Audio, "a.mp3"),
        (MediaKind::Video, "v.mp4"),
        (MediaKind::Sticker, "s.webp"),
    ];
    for (kind, name) in kinds {
        emulator
            .send(ADA, ADA, "")
            .media(Media::new(kind, name, "x/y", name.as_bytes().to_vec()))
            .now();
    }
    let heard = updates(&emulator).await;
    for ((kind, name), update) in kinds.iter().zip(&heard) {
        let part = &update["message"][kind.field()];
        let id = part["file_id"].as_str().or_else(|| part[1]["file_id"].as_str()).unwrap();
        let file = ok(&emulator, "getFile", json!({"file_id": id})).await;
        let path = format!("/file/bot{}/{}", emulator.token(), file["file_path"].as_str().unwrap());
        let reply = get(&emulator.url(), &path).await.unwrap();
        assert_eq!(reply.body, name.as_bytes());
    }
    let reply = get(&emulator.url(), &format!("/file/bot{}/documents/none", emulator.token()))
        .await
        .unwrap();
    assert_eq!(reply.status, 404);
    let unknown = refused(&emulator, "getFile", json!({"file_id": "x"})).await;
    assert_eq!(unknown, "Bad Request: wrong file_id or the file is temporarily unavailable");
}

#[tokio::test]
async fn a_large_file_cannot_be_fetched() {
    let emulator = calm();
    for size in [DOWNLOAD_BYTES, DOWNLOAD_BYTES + 1] {
        emulator
            .send(ADA, ADA, "")
            .media(Media::new(MediaKind::Document, "big", "x/y", vec![0; size]))
            .now();
    }
    let heard = updates(&emulator).await;
    let id = |at: usize| json!({"file_id": heard[at]["message"]["document"]["file_id"]});
    ok(&emulator, "getFile", id(0)).await;
    assert_eq!(refused(&emulator, "getFile", id(1)).await, "Bad Request: file is too big");
}

#[tokio::test]
async fn an_album_is_several_messages_with_one_number() {
    let emulator = calm();
    let picture = || Media::new(MediaKind::Photo, "p.png", "image/png", PNG);
    let ids = emulator.send(AGENTS, ADA, "look").media(picture()).media(picture()).all();
    assert_eq!(ids.len(), 2);
    let heard = updates(&emulator).await;
    let group = |at: usize| heard[at]["message"]["media_group_id"].as_str().unwrap();
    assert_eq!(group(0), group(1));
    assert_eq!(heard[0]["message"]["caption"], "look");
    assert!(heard[1]["message"].get("caption").is_none());
}
