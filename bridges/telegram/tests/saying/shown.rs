//! What a phone shows.

use telegram_emulator::{ADA, AGENTS, EntityKind, Fault, FaultKind, MediaKind, Shown, covered};
use vigie_core::{
    bridge::{Bridge as _, Level, Media, Post, Room, SayError},
    text,
};

use super::{
    desk::{Desk, edit, main, post, topic},
    posts,
};

/// The smallest picture that has a size: 64 × 48.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x30\x08\x02\0\0\0";

fn shown(desk: &Desk, chat: i64, message: i64) -> Shown {
    desk.telegram.message(chat, message).unwrap()
}

#[tokio::test]
async fn a_card_rings_and_loses_its_buttons_when_it_is_decided() {
    let desk = Desk::start();
    let id = desk.post(&main(ADA), posts::card(1, "cargo test")).await;
    let card = shown(&desk, ADA, id);
    assert_eq!(
        card.text,
        "PD-285 asks to run a command\nIt reaches the network.\ncargo test\n\
         Folder ~/work/quay-PD-285\nUntil 10:28 UTC, then it is denied\n\
         Or write: approve K7Q2, or deny K7Q2 and why."
    );
    assert!(!card.silent && card.no_preview);
    assert_eq!(card.button("Approve").unwrap().style.as_deref(), Some("success"));
    let data = card.button("Deny").unwrap().data.clone().unwrap();
    assert!(data.starts_with("d:gat_"), "{data}");

    let change = edit(id, posts::approved(posts::card(1, "cargo test")));
    let said = desk.say(&main(ADA), &change).await.unwrap();
    assert_eq!(said.calls, 1);
    let card = shown(&desk, ADA, id);
    assert_eq!(card.buttons, Vec::<Vec<_>>::new());
    assert!(card.text.starts_with(
        "Approved by Tomas Lindqvist, 09:08 UTC, from the phone page. The agent has it since 09:08 UTC.\n\
         PD-285 asks to run a command\n"
    ), "{}", card.text);
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn an_answer_names_its_session_only_where_others_write() {
    let desk = Desk::start();
    let thread = desk.telegram.create_topic(AGENTS, ADA, "PD-285");
    let here = desk.post(&topic(AGENTS, thread), posts::text("Done.")).await;
    assert_eq!(shown(&desk, AGENTS, here).text, "Done.");
    assert_eq!(shown(&desk, AGENTS, here).topic, Some(thread));
    let there = desk.post(&main(AGENTS), posts::text("Done.")).await;
    assert_eq!(shown(&desk, AGENTS, there).text, "PD-285\nDone.");
    assert!(shown(&desk, AGENTS, there).silent);
    let ours = Post { from: None, ..posts::text("PD-285 was stopped.") };
    let ours = desk.post(&topic(AGENTS, thread), ours).await;
    assert_eq!(shown(&desk, AGENTS, ours).text, "Vigie\nPD-285 was stopped.");
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn a_reply_is_one_and_a_lost_message_keeps_no_words_back() {
    let desk = Desk::start();
    let asked = desk.telegram.send(ADA, ADA, "status").now();
    for reply_to in [asked, 9_999] {
        let reply_to = Some(vigie_core::id::MessageId::new(reply_to.to_string()));
        let say = vigie_core::bridge::Say::Post { post: posts::text("idle"), reply_to };
        desk.say(&main(ADA), &say).await.unwrap();
    }
    let replies: Vec<_> =
        desk.telegram.messages(ADA, None).into_iter().map(|shown| shown.reply_to).collect();
    assert_eq!(replies, [None, Some(asked), None]);
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn progress_is_one_message_and_the_same_again_is_done() {
    let desk = Desk::start();
    let id = desk.post(&main(ADA), posts::progress(&["reading"], None)).await;
    assert_eq!(shown(&desk, ADA, id).text, "PD-285\nreading\n4 min");
    assert!(shown(&desk, ADA, id).button("Stop").is_some());
    let next = edit(id, posts::progress(&["reading", "testing"], None));
    for _ in 0..2 {
        let said = desk.say(&main(ADA), &next).await.unwrap();
        assert_eq!((said.message.unwrap().as_str(), said.calls), (id.to_string().as_str(), 1));
    }
    let end = edit(id, posts::progress(&["testing"], Some("done in 4 min")));
    desk.say(&main(ADA), &end).await.unwrap();
    assert_eq!(shown(&desk, ADA, id).text, "PD-285 done in 4 min");
    assert_eq!(desk.telegram.messages(ADA, None).len(), 1);
    desk.assert_refused(&["message is not modified"]);
}

#[tokio::test]
async fn files_go_as_what_they_are() {
    let desk = Desk::start();
    let id = desk.post(&main(ADA), posts::document("PD-285.md", "# All of it\n")).await;
    let file = shown(&desk, ADA, id).file.unwrap();
    assert_eq!((file.kind, file.name.as_str()), (MediaKind::Document, "PD-285.md"));
    assert_eq!(&file.bytes[..], b"# All of it\n");
    assert_eq!(shown(&desk, ADA, id).text, "PD-285\na report");

    let path = desk.path("page.png");
    std::fs::write(&path, PNG).unwrap();
    let id = desk.post(&main(ADA), posts::file(&path, "page.png", Media::Picture)).await;
    assert_eq!(shown(&desk, ADA, id).file.unwrap().kind, MediaKind::Photo);
    let id = desk.post(&main(ADA), posts::file(&path, "page.png", Media::File)).await;
    assert_eq!(shown(&desk, ADA, id).file.unwrap().kind, MediaKind::Document);
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn a_picture_that_is_none_to_telegram_goes_as_a_document() {
    let desk = Desk::start();
    let path = desk.path("tall.png");
    std::fs::write(&path, PNG).unwrap();
    let refuse = FaultKind::Refuse(400, "Bad Request: PHOTO_INVALID_DIMENSIONS".into());
    desk.telegram.fault(Fault::new("sendPhoto", refuse));
    let tall = post(posts::file(&path, "tall.png", Media::Picture));
    let said = desk.say(&main(ADA), &tall).await.unwrap();
    assert_eq!(said.calls, 2);
    let id = said.message.unwrap().as_str().parse().unwrap();
    assert_eq!(shown(&desk, ADA, id).file.unwrap().kind, MediaKind::Document);
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn a_file_too_large_stays_and_says_so() {
    let desk = Desk::start();
    let path = desk.path("core.dump");
    std::fs::File::create(&path).unwrap().set_len(63_200_001).unwrap();
    let dump = post(posts::file(&path, "core.dump", Media::File));
    let SayError::Never { reason } = desk.say(&main(ADA), &dump).await.unwrap_err() else {
        panic!("it was sent")
    };
    assert_eq!(reason, "the file has 64 MB and a bot may send 50 MB; it stays on the machine");
    let gone = post(posts::file("/nonexistent/x.png", "x.png", Media::Picture));
    let error = desk.say(&main(ADA), &gone).await.unwrap_err();
    assert!(error.to_string().contains("could not be read"), "{error}");
    assert_eq!(desk.telegram.calls().len(), 0);
}

#[tokio::test]
async fn names_of_files_and_commands_are_nothing_to_tap() {
    let desk = Desk::start();
    let words = "Edited main.rs and README.md, wrote /tmp/x, ran build.sh.\n\n\
                 - `lib.rs`, **setup.py**, @pytest.fixture, #fix, /stop\n\
                 - see https://example.org/docs and [the page](https://example.org)";
    let id = desk.post(&main(ADA), posts::rich(text::markdown(words))).await;
    let shown = shown(&desk, ADA, id);
    let tapped: Vec<_> = shown
        .entities
        .iter()
        .filter(|entity| !is_a_look(&entity.kind))
        .map(|entity| covered(&shown.text, entity))
        .collect();
    assert_eq!(tapped, ["https://example.org/docs", "the page"]);
    desk.telegram.assert_clean();
}

fn is_a_look(kind: &EntityKind) -> bool {
    matches!(
        kind,
        EntityKind::Bold
            | EntityKind::Italic
            | EntityKind::Underline
            | EntityKind::Strikethrough
            | EntityKind::Code
            | EntityKind::Pre { .. }
            | EntityKind::Blockquote
    )
}

/// The core's own cases, and answers that fill a message with what Telegram counts in its own way.
#[tokio::test]
async fn every_answer_is_taken_as_it_is() {
    let desk = Desk::start();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/core/cases/markdown");
    let mut answers: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert!(answers.len() > 10);
    let fence = |line: &str| format!("Before.\n\n```rust\n{}```\n\nAfter.", line.repeat(700));
    answers.extend([
        "🟢".repeat(2_500),
        "x".repeat(8_000),
        fence("\tlet x = 1; // main.rs\n"),
        fence("👨‍👩‍👧 \u{202E}x\u{202C}\n"),
        "see a.rs, b.py and ~/c.toml; ".repeat(30),
        "**a** *b* `c` ~~d~~ [e](http://localhost:1/f) ".repeat(90),
        "> quote\n> > **more** `x.rs`\n\n".repeat(100),
        "&lt;b&gt; <b>x</b> & \\* _ [ ] ( ) ~ ` > # + - = | { } . !\n".repeat(60),
        "\u{200B}\u{2060}".into(),
        "漢字".repeat(3_000),
    ]);
    let limits = desk.bridge.limits(Room::Direct);
    for answer in &answers {
        let fitted = text::fit(&text::markdown(answer), &limits, "PD-285");
        for part in fitted.parts {
            desk.post(&main(ADA), posts::rich(part)).await;
        }
        if let Some(document) = fitted.document {
            desk.post(&main(ADA), posts::document(&document.name, &document.text)).await;
        }
    }
    desk.telegram.assert_clean();
}

#[tokio::test]
async fn what_nobody_could_see_is_said_in_words() {
    let desk = Desk::start();
    let blank = Post { from: None, level: Level::Ring, ..posts::text("\u{200B} \n") };
    let id = desk.post(&main(ADA), blank).await;
    assert_eq!(shown(&desk, ADA, id).text, "(nothing to see)");
    desk.telegram.assert_clean();
}
