//! What somebody new meets, and somebody whose homeserver was away.

use matrix_lab::{Homeserver, Invitation, Membership, Phone, View, tools};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};

use super::support::{home::DEADLINE, matrix::Life};

/// The longest step between two tries, of whoever hears and of whoever says, and what a slow machine
/// takes on top.
const A_STEP_LATER: Duration = Duration::from_secs(30 + 15);

#[tokio::test]
async fn started_while_the_homeserver_is_down_it_speaks_a_step_after_that_is_back() {
    let Some(tools) = tools() else { return };
    let server: &'static Homeserver = Box::leak(Box::new(Homeserver::start(&tools).await));
    let mut life = Life::on(server, "threads", |_| String::new()).await;
    life.start("PD-285").await;
    let thread = life.thread_of("PD-285").await;
    life.home.kill();
    server.kill();
    life.home.up().await;
    life.desk_says("PD-285", "stream 3").await;
    let trouble = trouble(&life).await;
    assert!(trouble.contains("it refuses the connection"), "{trouble}");
    assert!(!trouble.contains("http") && !trouble.contains("os error"), "{trouble}");
    server.restart().await;
    let since = Instant::now();
    life.phone.wait_in_thread(&life.room, &thread, "3 lines printed").await;
    assert!(since.elapsed() < A_STEP_LATER, "{:?}\n{}", since.elapsed(), life.home.log());
    life.all_well();
    server.kill();
}

/// What `vigie status` says is wrong with Matrix, as soon as something is.
async fn trouble(life: &Life) -> String {
    let end = Instant::now() + DEADLINE;
    loop {
        let status: Value = life.home.desk().get("/status").await.unwrap();
        let bridges = status["bridges"].as_array().unwrap();
        let matrix = bridges.iter().find(|bridge| bridge["name"] == "matrix").unwrap();
        if let Some(trouble) = matrix["trouble"].as_str() {
            return trouble.to_owned();
        }
        assert!(Instant::now() < end, "no trouble: {status}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_code_lets_somebody_new_in_where_somebody_known_has_invited_both() {
    let Some(tools) = tools() else { return };
    let more = |_: &_| {
        "\n[[human]]\nid = \"tomas\"\nname = \"Tomas Lindqvist\"\nrole = \"talker\"\n".into()
    };
    let life = Life::on(matrix_lab::shared(&tools).await, "direct", more).await;
    life.start("PD-285").await;
    let tomas = Phone::login(life.server, &life.server.user("tomas").await).await;
    // An invitation of his own is nobody's.
    let alone = tomas.create_room(&Invitation::of(&[&life.bot]).direct()).await;

    let room = life.phone.create_room(&Invitation::of(&[&life.bot, tomas.user()])).await;
    tomas.join(&room).await;
    life.phone.wait_member(&room, &life.bot, Membership::Joined).await;
    let told = tomas.wait_message(&room, "This group is not connected").await;
    assert!(told.says("run vigie pair at the desk and send !pair"), "{told}");
    let view = tomas.view();
    assert_ne!(view.rooms[&alone].members.get(&life.bot), Some(&Membership::Joined), "{view}");
    let pairing: Value =
        life.home.desk().post("/pair", &json!({ "human": "tomas" })).await.unwrap();
    let account = &pairing["services"][0]["link"];
    assert_eq!(account, &json!(life.bot), "{pairing}");
    tomas.say(&room, &format!("!pair {}", pairing["code"].as_str().unwrap())).await;
    tomas.wait_message(&room, "You are Tomas Lindqvist here").await;
    tomas.say(&room, "[PD-285] stream 3").await;
    tomas.wait_message(&room, "3 lines printed").await;
    // Now they know him.
    tomas.wait_member(&alone, &life.bot, Membership::Joined).await;
}

#[tokio::test]
async fn after_a_lost_store_what_cannot_be_read_is_said_once_and_all_else_goes_on() {
    let Some(tools) = tools() else { return };
    let mut life = Life::begin(&tools, "threads").await;
    life.start("PD-285").await;
    life.say("[PD-285] stream 2").await;
    life.hears("2 lines printed").await;
    life.home.kill();
    init(&life, &["--new-recovery-key", "--keep-recovery-key", "yes"]).await;
    fs::remove_dir_all(life.home.data().join("matrix/account/crypto")).unwrap();
    let first = life.say("[PD-285] stream 41").await;
    life.say("[PD-285] stream 42").await;
    let password = life.home.folder("password").display().to_string();
    init(&life, &["--again", "--password-file", &password]).await;
    life.home.up().await;
    let look = |view: &View| {
        let mut all = view.rooms.get(&life.room)?.messages.iter();
        all.find(|one| one.sender == life.bot && one.reply_to.as_ref() == Some(&first)).cloned()
    };
    let told = life.phone.wait_value("words below the first", DEADLINE, look).await;
    assert!(told.says("with it at that time") || told.says("with the same key"), "{told}");
    life.say("[PD-285] stream 43").await;
    life.hears("43 lines printed").await;
    assert_eq!((life.count("41 lines printed"), life.count("42 lines printed")), (0, 0));
    assert_eq!((life.count(&told.body), life.count("You are Inès Caradec here")), (1, 1));
    assert_eq!(life.phone.view().rooms.len(), 1, "{}", life.phone.view());
    life.all_well();
}

/// `vigie init matrix`, as the daemon's person runs it.
async fn init(life: &Life, more: &[&str]) {
    let mut init = tokio::process::Command::new(env!("CARGO_BIN_EXE_vigie"));
    init.arg("--home").arg(life.home.data()).args(["init", "matrix", "--yes", "--config"]);
    let done = init.arg(life.home.settings()).args(more).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test]
async fn a_question_says_its_options_once_and_what_is_kept_is_named() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.start("PD-286").await;
    life.say("[PD-285] ask which store").await;
    let question = life.card("Which colour").await;
    assert_eq!(question.body.matches("Green").count(), 1, "{question}");
    assert!(question.says("or write the number."), "{question}");
    life.phone.react(&life.room, &question.id, "2️⃣").await;
    life.hears("You chose: Green").await;
    life.say("buy milk").await;
    life.hears("“buy milk” is kept. Where should it go?").await;
    life.say("/frobnicate").await;
    life.hears("There is no command /frobnicate").await;
    life.say("[PD-28] stream 4").await;
    let look = |view: &View| {
        let all = &view.rooms.get(&life.room)?.messages;
        all.iter().find(|message| message.says("“stream 4” is kept")).cloned()
    };
    let offer = life.phone.wait_value("what is kept", DEADLINE, look).await;
    assert!(offer.says("There is no session PD-28."), "{offer}");
    life.all_well();
}
