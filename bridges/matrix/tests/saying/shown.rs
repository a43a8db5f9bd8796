//! What a phone shows, and what the server does not see.

use matrix_lab::{Kind, html, tools};
use vigie_core::{
    bridge::{Level, Media, Post, SayError},
    text::markdown,
};
use vigie_matrix::Layout;

use crate::{
    desk::{Desk, Wish, edit},
    posts,
};

/// The smallest picture that has a size: 64 × 48.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x30\x08\x02\0\0\0";

#[tokio::test]
async fn every_body_is_read_by_the_phone_alone() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let reply = markdown(
            "Fixed `open()`, see [the page](https://example.org/a).\n\n> quoted **words**\n\n\
             ```rust\nfn main() { a < b && c }\n```\n@room, [Ines](https://matrix.to/#/@ines:example.org)",
        );
        let id = desk.post(&place, posts::rich(reply)).await;
        let shown = desk.ada.wait_message(room, "Fixed `open()`").await;
        assert_eq!((shown.id.as_str(), &shown.kind, shown.sealed), (id.as_str(), &Kind::Notice, true));
        assert!(shown.mentions.is_empty() && !shown.mentions_room, "{shown}");
        let page = shown.html.unwrap();
        html::check(&page).unwrap();
        html::says_the_same(&shown.body, &page).unwrap();
        assert!(page.contains("<pre><code class=\"language-rust\">fn main() { a &lt; b &amp;&amp; c }</code></pre>"), "{page}");
        assert!(!page.contains("matrix.to\""), "{page}");

        desk.post(&place, posts::card(1, "cargo test")).await;
        let card = desk.ada.wait_message(room, "asks to run a command").await;
        assert_eq!(card.kind, Kind::Text);
        assert!(card.mentions.contains(desk.ada.user()), "{card}");
        assert!(card.body.contains("👍 Approve") && card.body.contains("approve K7Q2"), "{card}");

        desk.post(&place, posts::document("report.md", "# Quays\n漢字\n")).await;
        let document = desk.ada.wait_message(room, "a report").await;
        assert_eq!(desk.ada.download(&document).await, "# Quays\n漢字\n".as_bytes());
        assert!(document.file.is_some_and(|file| file.sealed && file.name == "report.md"));

        let picture = desk.home.path().join("page.png");
        std::fs::write(&picture, PNG).unwrap();
        let path = picture.to_str().unwrap();
        desk.post(&place, posts::file(path, "page.png", Media::Picture)).await;
        let picture = desk.ada.wait_message(room, "the timetable page").await;
        assert_eq!(picture.kind, Kind::Image);
        assert_eq!(desk.ada.download(&picture).await, PNG);

        for event in desk.events(&place).await {
            let kind = event["type"].as_str().unwrap();
            assert!(matches!(kind, "m.room.encrypted" | "m.room.member"), "{event}");
            assert!(!event.to_string().contains("cargo test"), "{event}");
        }
        assert!(desk.ada.view().unreadable().is_empty(), "{}", desk.ada.view());
    })
    .await;
}

#[tokio::test]
async fn progress_is_one_message_that_changes_and_then_stands_still() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let id = desk.post(&place, posts::progress(&["reads"], None)).await;
        desk.ada.wait_typing(room, &desk.me).await;
        for number in 0..45 {
            let line = format!("step {number}");
            desk.say(&place, &edit(&id, posts::progress(&[&line], None))).await.unwrap();
        }
        let last = desk.say(&place, &edit(&id, posts::progress(&["step 45"], None))).await.unwrap();
        assert_eq!(last.calls, 0, "a message has a most of changes");
        let end = edit(&id, posts::progress(&[], Some("Worked for 4 min")));
        assert_eq!(desk.say(&place, &end).await.unwrap().calls, 1);
        let shown = desk.ada.wait_edit(room, &id, "Worked for 4 min").await;
        assert_eq!(shown.versions.len(), 41);
        assert_eq!(desk.say(&place, &end).await.unwrap().calls, 0, "it shows that already");
        desk.ada
            .wait_for("nobody types", std::time::Duration::from_secs(40), |view| {
                view.rooms[room].typing.is_empty()
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn thirty_posts_come_in_their_order() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        for number in 0..30 {
            desk.post(&place, posts::text(&format!("part {number}."))).await;
        }
        desk.ada.wait_message(room, "part 29.").await;
        let view = desk.ada.view();
        let shown = view.rooms[room].messages.iter().filter(|message| message.says("part "));
        let shown: Vec<&str> = shown.map(|message| message.body.as_str()).collect();
        let expected: Vec<String> = (0..30).map(|n| format!("PD-285\npart {n}.")).collect();
        assert_eq!(shown, expected);
    })
    .await;
}

#[tokio::test]
async fn the_largest_texts_are_taken_in_any_script() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        for words in [
            "漢字".repeat(20_000),
            "&<\"".repeat(20_000),
            "\n\"".repeat(30_000),
            "🟢".repeat(20_000),
        ] {
            let mut rich = vigie_core::text::Rich::plain("Long: ");
            rich.push(&words, Some(vigie_core::text::Style::Bold));
            let id = desk.post(&place, posts::rich(rich.clone())).await;
            rich.push("?", None);
            let changed = posts::rich(rich);
            desk.say(&place, &edit(&id, changed)).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_message_answers_another_and_what_is_gone_is_said() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish::new(Layout::Direct)).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let asked = desk.ada.say(room, "[PD-285] hello").await;
        let words = vigie_core::bridge::Say::Post {
            post: Post { from: None, level: Level::Note, ..posts::text("To whom?") },
            reply_to: Some(vigie_core::id::MessageId::new(&asked)),
        };
        let said = desk.say(&place, &words).await.unwrap();
        let shown = desk.ada.wait_message(room, "To whom?").await;
        assert_eq!(shown.reply_to.as_deref(), Some(asked.as_str()));
        let id = said.message.unwrap();
        desk.ada.redact(room, &asked).await;
        let gone = edit(&asked, posts::text("no"));
        assert_eq!(desk.say(&place, &gone).await, Err(SayError::NoMessage));
        let unknown = edit("$nowhere", posts::text("no"));
        assert_eq!(desk.say(&place, &unknown).await, Err(SayError::NoMessage));
        desk.say(&place, &edit(id.as_str(), posts::text("To PD-285."))).await.unwrap();
        desk.ada.wait_edit(room, id.as_str(), "To PD-285.").await;
        let file = edit(id.as_str(), posts::document("a.txt", "a"));
        assert!(matches!(desk.say(&place, &file).await, Err(SayError::Never { .. })));
    })
    .await;
}
