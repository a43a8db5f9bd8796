//! Somebody who reads along: said, and nothing else is, until they are out or a code makes it a group.

use matrix_lab::{Homeserver, Membership, Phone, Tools, View, shared, tools};

use super::support::{home::DEADLINE, matrix::Life};

async fn stranger(server: &Homeserver) -> Phone {
    let mut eve = Phone::login(server, &server.user("eve").await).await;
    eve.patience = DEADLINE;
    eve
}

async fn joins(life: &Life, eve: &Phone) {
    life.phone.invite(&life.room, eve.user()).await;
    eve.wait_invitation(life.phone.user()).await;
    eve.join(&life.room).await;
    life.phone.wait_member(&life.room, eve.user(), Membership::Joined).await;
}

/// What the daemon's people see of a word in the pages and at the desk.
async fn trouble(life: &Life) -> String {
    let status: serde_json::Value = life.home.desk().get("/status").await.unwrap();
    status.to_string()
}

fn reads(view: &View, room: &str, words: &str) -> usize {
    let messages = view.rooms.get(room).into_iter().flat_map(|room| &room.messages);
    messages.filter(|message| message.says(words)).count()
}

/// A code from the desk, typed in the room.
async fn connect(life: &Life) {
    let opened: serde_json::Value =
        life.home.desk().post("/pair", &serde_json::json!({})).await.unwrap();
    let code = opened["code"].as_str().unwrap();
    life.say(&format!("/pair {code}")).await;
    life.hears("This group is connected").await;
}

async fn begin(tools: &Tools) -> (Life, Phone) {
    let server = shared(tools).await;
    let life = Life::begin(tools, "direct").await;
    life.start("PD-285").await;
    (life, stranger(server).await)
}

#[tokio::test]
async fn a_third_person_in_the_direct_room_holds_it_until_they_are_out() {
    let Some(tools) = tools() else { return };
    let (mut life, eve) = begin(&tools).await;
    // Whoever is only invited would get the keys as well.
    life.phone.invite(&life.room, eve.user()).await;
    let why = life.hears(&format!("{} is invited in here", eve.user())).await;
    assert!(why.says("!pair") && why.mentions.contains(life.phone.user()), "{why}");
    eve.wait_invitation(life.phone.user()).await;
    eve.join(&life.room).await;
    life.desk_says("PD-285", "leave a note").await;
    life.home.session_is("PD-285", "waiting").await;
    assert!(trouble(&life).await.contains("whom Vigie does not know"));

    life.home.kill();
    life.home.up().await;
    life.say("[PD-285] stream 2").await;
    life.phone.kick(&life.room, eve.user()).await;
    let card = life.card("PD-285 asks to run").await;
    life.hears("What waited follows").await;
    life.phone.react(&life.room, &card.id, "👍").await;
    life.hears("Done: “leave a note”").await;
    assert_eq!(life.count("PD-285 asks to run"), 1, "{}", life.phone.view());
    assert_eq!(life.count("is invited in here"), 1, "{}", life.phone.view());
    let view = eve.view();
    for words in ["asks to run", "What waited follows", "Done:"] {
        assert_eq!(reads(&view, &life.room, words), 0, "{view}");
    }
    life.all_well();
}

#[tokio::test]
async fn a_code_connects_the_room_as_a_group_that_is_told_once_of_whoever_comes_later() {
    let Some(tools) = tools() else { return };
    let (mut life, zoe) = begin(&tools).await;
    joins(&life, &zoe).await;
    life.hears("Vigie knows nobody by that name").await;
    connect(&life).await;
    let named = life.hears("these read along").await;
    assert!(named.says(zoe.user()), "{named}");
    life.desk_says("PD-285", "stream 3").await;
    life.hears("3 lines printed").await;

    let eve = stranger(life.server).await;
    joins(&life, &eve).await;
    let told = life.hears(&format!("{} is i", eve.user())).await;
    assert!(told.says("they read what is said here"), "{told}");
    life.home.kill();
    life.home.up().await;
    life.desk_says("PD-285", "stream 4").await;
    life.hears("4 lines printed").await;
    assert_eq!(life.count(&format!("{} is i", eve.user())), 1, "{}", life.phone.view());
    life.all_well();
}

#[tokio::test]
async fn somebody_invited_into_the_room_of_one_session_holds_the_whole_chat() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "space").await;
    life.start("PD-285").await;
    let room = life.room_of("PD-285").await;
    life.phone.wait_member(&room.id, life.phone.user(), Membership::Joined).await;
    let eve = stranger(life.server).await;
    life.phone.invite(&room.id, eve.user()).await;
    let invited = format!("{} is invited into the room of one session", eve.user());
    let why = life.hears(&invited).await;
    assert!(why.mentions.contains(life.phone.user()), "{why}");
    life.desk_says("PD-285", "leave a note").await;
    life.home.session_is("PD-285", "waiting").await;
    eve.wait_invitation(life.phone.user()).await;
    assert_eq!(life.count("asks to run"), 0, "{}", life.phone.view());
    eve.leave(&room.id).await;
    life.hears("What waited follows").await;
    life.phone.wait_message(&room.id, "asks to run").await;
    let view = eve.view();
    assert_eq!(reads(&view, &room.id, "asks to run"), 0, "{view}");
    life.all_well();
}
