//! Cards without buttons: a legend, reactions to tap on, a poll beside.

use matrix_lab::{Homeserver, Kind, PATIENCE, View, tools};
use vigie_core::bridge::{Bridge as _, Place, SayError};
use vigie_matrix::Layout;

use crate::{
    desk::{Desk, Wish, edit, post},
    posts,
};

fn all() -> Wish {
    Wish { polls: true, quick_reactions: true, ..Wish::new(Layout::Direct) }
}

/// Our own reactions on a message, as the phone shows them.
fn ours(desk: &Desk, place: &Place, id: &str) -> Vec<String> {
    let view = desk.ada.view();
    let Some(message) = view.message(place.chat.as_str(), id) else { return Vec::new() };
    let ours = message.reactions.iter().filter(|reaction| reaction.by == desk.me);
    ours.map(|reaction| reaction.key.clone()).collect()
}

#[tokio::test]
async fn a_card_comes_with_what_answers_it_and_loses_it_when_it_is_decided() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, all()).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let said = desk.say(&place, &post(posts::card(1, "cargo test"))).await.unwrap();
        assert_eq!(said.calls, 3, "a message and two thumbs");
        let id = said.message.unwrap().as_str().to_owned();
        desk.ada.wait_message(room, "asks to run a command").await;
        desk.ada.wait_reaction(room, &id, "👍").await;
        desk.ada.wait_reaction(room, &id, "👎").await;

        let decided = edit(&id, posts::approved(posts::card(1, "cargo test")));
        let said = desk.say(&place, &decided).await.unwrap();
        assert_eq!(said.calls, 3, "a change and two thumbs taken back");
        let shown = desk.ada.wait_edit(room, &id, "Approved by Tomas Lindqvist").await;
        assert!(!shown.body.contains("👍 Approve"), "{shown}");
        desk.until("no reaction is left", || async { ours(&desk, &place, &id).is_empty() }).await;
        assert_eq!(desk.say(&place, &decided).await.unwrap().calls, 0);
    })
    .await;
}

#[tokio::test]
async fn a_question_has_numbers_and_a_poll_that_ends_with_it() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, all()).await;
    desk.hearing(async {
        let place = desk.room().await;
        let room = place.chat.as_str();
        let question = posts::question(2, &["SQLite", "Postgres", "A file"]);
        let id = desk.post(&place, question.clone()).await;
        let shown = desk.ada.wait_message(room, "1️⃣ SQLite — SQLite and nothing else").await;
        assert!(shown.body.contains("3️⃣ A file"), "{shown}");
        desk.ada.wait_reaction(room, &id, "3️⃣").await;
        let find = |view: &View| {
            view.rooms[room].messages.iter().find(|message| message.kind == Kind::Poll).cloned()
        };
        let poll = desk.ada.wait_value("a poll", PATIENCE, find).await;
        let beside = poll.poll.unwrap();
        assert_eq!(beside.question, "Where do the timetables go?");
        let answers = beside.answers;
        assert_eq!(answers.len(), 3);
        assert!(answers[0].0.starts_with("c:gat_") && answers[0].1 == "SQLite", "{answers:?}");

        desk.say(&place, &edit(&id, posts::approved(question))).await.unwrap();
        desk.until("no vote counts", || async {
            let view = desk.ada.view();
            view.message(room, &poll.id).and_then(|m| m.poll.clone()).is_some_and(|p| p.closed)
        })
        .await;
        desk.until("no reaction is left", || async { ours(&desk, &place, &id).is_empty() }).await;
    })
    .await;
}

#[tokio::test]
async fn what_the_homeserver_cut_off_is_put_when_its_wait_is_over() {
    let Some(tools) = tools() else { return };
    let server: &'static Homeserver = Box::leak(Box::new(Homeserver::strict(&tools).await));
    let desk = Desk::on(server, Wish { polls: false, ..all() }).await;
    let (place, id) = desk
        .hearing(async {
            let place = desk.room().await;
            while desk.say(&place, &post(posts::text("words"))).await.is_ok() {}
            let key = desk.key();
            let card = post(posts::card(1, "cargo test"));
            loop {
                match desk.bridge.say(&place, &card, key).await {
                    Ok(said) => break (place, said.message.unwrap()),
                    Err(SayError::Later { after }) => tokio::time::sleep(after).await,
                    Err(error) => panic!("{error}"),
                }
            }
        })
        .await;
    assert!(desk.count(&place, "m.reaction").await < 2, "nothing was cut off");
    let desk = desk.restarted();
    desk.hearing(async {
        for emoji in ["👎", "👍"] {
            desk.ada.wait_reaction(place.chat.as_str(), id.as_str(), emoji).await;
        }
    })
    .await;
    assert_eq!(desk.count(&place, "m.reaction").await, 2, "each once");
}

#[tokio::test]
async fn more_options_than_can_be_tapped_are_numbers_alone() {
    let Some(tools) = tools() else { return };
    let desk = Desk::new(&tools, Wish { polls: false, ..all() }).await;
    desk.hearing(async {
        let place = desk.room().await;
        let labels = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let said = desk.say(&place, &post(posts::question(3, &labels))).await.unwrap();
        assert_eq!(said.calls, 1);
        let room = place.chat.as_str();
        let shown = desk.ada.wait_message(room, "8️⃣ h").await;
        assert!(shown.reactions.is_empty(), "{shown}");
    })
    .await;
}
