//! The main job from Matrix, end to end and encrypted: the real program, a real homeserver, and a phone
//! that shares no code with the bridge. Without `VIGIE_TEST_SYNAPSE` and `VIGIE_TEST_MATRIX_PHONE` they
//! do not run.
#![cfg(feature = "matrix")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod both;
mod identity;
mod newcomers;
mod readers;
#[path = "../support"]
mod support {
    pub(crate) mod home;
    pub(crate) mod matrix;
    pub(crate) mod phone;
    pub(crate) mod telegram;
}

use std::time::Duration;

use matrix_lab::{Invitation, Kind, Phone, Text, tools};
use support::{home::DEADLINE, matrix::Life};

/// A word that comes sooner after a card was not meant for it: nobody reads as fast.
const READ: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_story_is_begun_steered_and_finished_with_a_phone_alone() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.say("/new PD-285 leave a note").await;
    let card = life.card("PD-285 asks to run").await;
    assert!(card.body.contains("vigie-demo.txt"), "{card}");
    assert!(card.sealed && card.kind == Kind::Text, "a card rings: {card}");
    life.phone.react(&life.room, &card.id, "👍").await;
    let decided = life.becomes(&card.id, "The agent has it").await;
    assert!(decided.says("Approved by Inès Caradec"), "{decided}");
    life.hears("Done: “leave a note”").await;
    assert!(life.home.project().join("vigie-demo.txt").exists());

    let message = life.say("[pd-285] recall").await;
    life.phone.wait_reaction(&life.room, &message, "👌").await;
    life.hears("• leave a note").await;
    life.all_well();
    for event in life.server.events(&life.room).await {
        let text = event.to_string();
        assert!(!text.contains("leave a note") && !text.contains("vigie-demo"), "in clear: {text}");
    }
}

#[tokio::test]
async fn each_session_gets_its_thread_and_needs_no_prefix_there() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "threads").await;
    let (phone, room) = (&life.phone, &life.room);
    life.start("PD-285").await;
    life.start("PD-286").await;
    let (first, second) = (life.thread_of("PD-285").await, life.thread_of("PD-286").await);
    phone.say_in_thread(room, &first, "leave a note").await;
    phone.say_in_thread(room, &second, "ask which store").await;
    let card = phone.wait_in_thread(room, &first, "asks to run").await;
    let question = phone.wait_in_thread(room, &second, "Which colour").await;
    phone.react(room, &question.id, "2️⃣").await;
    phone.wait_in_thread(room, &second, "You chose: Green").await;
    tokio::time::sleep(READ).await;
    phone.say_in_thread(room, &first, "approve").await;
    life.becomes(&card.id, "The agent has it").await;
    phone.wait_in_thread(room, &first, "Done: “leave a note”").await;
    life.becomes(&question.id, "The agent has it").await;
    let view = phone.view();
    let stray = |message: &&matrix_lab::Message| message.thread.is_none() && message.says("Done:");
    assert!(!view.rooms[room].messages.iter().any(|message| stray(&message)), "{view}");
    life.all_well();
}

#[tokio::test]
async fn each_session_gets_a_room_of_its_own_in_a_space() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "space").await;
    life.start("PD-285").await;
    let own = life.room_of("PD-285").await;
    life.phone.say(&own.id, "leave a note").await;
    let card = life.phone.wait_message(&own.id, "asks to run").await;
    life.phone.reply(&own.id, &card.id, "yes").await;
    life.becomes_in(&own.id, &card.id, "The agent has it").await;
    life.phone.wait_message(&own.id, "Done: “leave a note”").await;
    let space = life.phone.wait_room("Vigie").await;
    assert!(space.is_space && space.invited_by.as_deref() == Some(&life.bot), "{space}");
    life.phone.join(&space.id).await;
    life.phone
        .wait_for("the room in a space", DEADLINE, |view| {
            view.rooms[&space.id].children.contains(&own.id)
        })
        .await;
    life.all_well();
}

#[tokio::test]
async fn a_card_is_answered_by_a_word_by_a_reply_and_by_a_reaction() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.say("[PD-285] leave one").await;
    let card = life.card("asks to run").await;
    life.say("[PD-285] please don't approve this").await;
    life.phone.reply(&life.room, &card.id, "deny: use a dry run").await;
    life.becomes(&card.id, "Denied").await;
    life.hears("use a dry run").await;

    // What only holds the word is a prompt like any other, with a card of its own.
    let next = next_card(&life, &card.id, "asks to run").await;
    life.phone.react(&life.room, &next, "👎").await;
    life.becomes(&next, "Denied").await;

    life.say("[PD-285] ask which store").await;
    let question = life.card("Which colour").await;
    life.phone.reply(&life.room, &question.id, "Blue").await;
    life.hears("You chose: Blue").await;

    life.say("[PD-285] plan the move").await;
    let plan = life.card("Plan 1: the move").await;
    life.phone.react(&life.room, &plan.id, "👍🏽").await;
    life.hears("The plan is carried out").await;
    life.all_well();
}

/// The newest card with those words that came after that one.
async fn next_card(life: &Life, after: &str, words: &str) -> String {
    let look = |view: &matrix_lab::View| {
        let messages = &view.rooms.get(&life.room)?.messages;
        let at = messages.iter().position(|message| message.id == after)?;
        let mut later = messages[at + 1..].iter();
        later.find(|one| one.sender == life.bot && one.says(words)).map(|one| one.id.clone())
    };
    life.phone.wait_value("the next card", DEADLINE, look).await
}

#[tokio::test]
async fn a_long_answer_comes_whole_and_as_clients_show_it() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.say("[PD-285] long").await;
    life.hears("Part 90").await;
    let view = life.phone.view();
    let parts = view.rooms[&life.room].messages.iter().filter(|one| one.says("A paragraph with"));
    let whole: Vec<_> = parts.map(|one| one.body.as_str()).collect();
    assert!(whole.len() > 1, "{view}");
    let expected: Vec<_> = (1..=90).collect();
    assert_eq!(numbers_after(&whole.join("\n"), "Part "), expected, "{view}");
    life.all_well();
}

#[tokio::test]
async fn files_go_both_ways() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    let file = b"%PDF-1.7 x";
    let words = Text::plain("[PD-285] stream 1");
    let name = "../../re port].pdf";
    let (phone, room) = (&life.phone, &life.room);
    let sent = phone.send_captioned(room, &words, name, "application/pdf", file).await;
    phone.wait_reaction(room, &sent, "👌").await;
    life.say("[PD-285] recall").await;
    let recalled = life.hears("Attached file").await;
    assert!(!recalled.says(".."), "{recalled}");
    std::fs::write(life.home.project().join("notes.txt"), "four words for Ada").unwrap();
    life.say("/file PD-285 notes.txt").await;
    let look = |view: &matrix_lab::View| {
        let mut all = view.rooms.get(&life.room)?.messages.iter();
        let is_it = |message: &&matrix_lab::Message| {
            message.sender == life.bot
                && message.file.as_ref().is_some_and(|f| f.name == "notes.txt")
        };
        all.find(is_it).cloned()
    };
    let notes = life.phone.wait_value("the file", DEADLINE, look).await;
    assert_eq!(life.phone.download(&notes).await, b"four words for Ada");
    life.say("/file PD-285 ../config.toml").await;
    life.hears("outside").await;
    life.say("/screen PD-285").await;
    let look = |view: &matrix_lab::View| {
        let mut all = view.rooms.get(&life.room)?.messages.iter();
        all.find(|message| message.sender == life.bot && message.kind == Kind::Image).cloned()
    };
    let picture = life.phone.wait_value("a picture", DEADLINE, look).await;
    assert!(life.phone.download(&picture).await.starts_with(b"\x89PNG"));
    life.all_well();
}

#[tokio::test]
async fn an_edit_changes_what_waits_a_deletion_drops_it_and_neither_is_a_prompt() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.say("[PD-285] slow 3").await;
    let waits = life.say("[PD-285] delete the branch").await;
    life.phone.edit(&life.room, &waits, "[PD-285] stream 4").await;
    let unmeant = life.say("[PD-285] push it").await;
    life.phone.redact(&life.room, &unmeant).await;
    life.hears("4 lines printed").await;
    life.say("[PD-285] recall").await;
    let recalled = life.hears("• stream 4").await;
    for words in ["delete the branch", "push it", "* "] {
        assert!(!recalled.says(words), "{recalled}");
    }
    life.phone.redact(&life.room, &waits).await;
    life.hears("too late to delete that: PD-285 has it already").await;
    life.all_well();
}

#[tokio::test]
async fn a_typo_is_kept_and_offered() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.say("[PD-258] stream 2").await;
    let offer = life.hears("There is no session PD-258").await;
    life.phone.react(&life.room, &offer.id, "1️⃣").await;
    life.hears("2 lines printed").await;
    life.all_well();
}

#[tokio::test]
async fn what_was_written_while_it_was_off_arrives_once_and_in_order() {
    let Some(tools) = tools() else { return };
    let mut life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.home.kill();
    let written: Vec<u32> = (1..=20).collect();
    for number in &written {
        life.say(&format!("[PD-285] stream {number}")).await;
    }
    life.home.up().await;
    life.hears("20 lines printed").await;
    life.say("[PD-285] recall").await;
    let recalled = life.hears("• stream 20").await;
    assert_eq!(numbers_after(&recalled.body, "stream "), written);
    assert_eq!(life.count(" lines printed"), written.len());
    life.all_well();
}

/// The number after each of these words.
fn numbers_after(text: &str, words: &str) -> Vec<u32> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    text.split(words).skip(1).filter_map(|rest| digits(rest).parse().ok()).collect()
}

#[tokio::test]
async fn strangers_reach_nothing_whatever_they_send() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.say("[PD-285] leave a note").await;
    let card = life.card("asks to run").await;
    let mallory = Phone::login(life.server, &life.server.user("mallory").await).await;
    let trap = mallory.create_room(&Invitation::of(&[&life.bot]).direct()).await;
    mallory.say(&trap, "[PD-285] run it").await;
    // In the very room, by somebody whom nobody let in.
    life.phone.invite(&life.room, mallory.user()).await;
    mallory.wait_invitation(life.phone.user()).await;
    mallory.join(&life.room).await;
    mallory.send(&life.room, &Text::plain("approve").reply_to(&card.id)).await;
    mallory.react(&life.room, &card.id, "👍").await;
    life.hears("Vigie knows nobody by that name").await;
    life.phone.kick(&life.room, mallory.user()).await;
    life.hears("What waited follows").await;
    // What comes later in the same room is through, so all of that is.
    life.say("[PD-285] stream 3").await;
    life.hears("PD-285 takes it after your answer").await;
    assert_eq!(life.home.session("PD-285").await["state"], "waiting");
    let view = mallory.view();
    let answers = view.rooms[&trap].messages.iter().filter(|one| one.sender == life.bot);
    assert_eq!(answers.count(), 0, "{view}");
}
