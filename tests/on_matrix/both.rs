//! Matrix and Telegram at once: what rings does so where the person was last, or where anybody is still
//! heard; and everything is said everywhere once.

use matrix_lab::{Homeserver, Kind, Message, Tools, shared, tools};
use std::{fs, os::unix::fs::PermissionsExt as _};
use telegram_emulator::{ADA, Emulator, Shown, World};

use super::support::{
    home::{DEADLINE, Home},
    matrix::Life,
    telegram::{becomes, count, pair},
};

/// A daemon on both, with a session, and Ada on both phones.
async fn on_both(server: &'static Homeserver) -> (Life, Emulator) {
    let emulator = Emulator::start(World { patience: DEADLINE, flood: false, ..World::default() });
    let life = Life::on(server, "direct", |home| telegram(home, &emulator)).await;
    emulator.wait_polling().await;
    pair(&life.home, &emulator, ADA, ADA).await;
    life.start("PD-285").await;
    (life, emulator)
}

fn telegram(home: &Home, emulator: &Emulator) -> String {
    fs::create_dir_all(home.data()).unwrap();
    let file = home.data().join("telegram.token");
    fs::write(&file, emulator.token()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    // What is asked for soon after something else rang has to ring by itself here.
    let alone = "[ringing]\nbundle = \"off\"\n";
    format!("\n{alone}\n[telegram]\nenabled = true\napi = \"{}\"\n", emulator.url())
}

/// The newest open card on Telegram.
async fn card_on_telegram(emulator: &Emulator) -> Shown {
    emulator.wait_button(ADA, None, "Approve").await
}

/// A card on Matrix that is still open.
async fn card_on_matrix(life: &Life) -> Message {
    let look = |view: &matrix_lab::View| {
        let mut all = view.rooms.get(&life.room)?.messages.iter().rev();
        let is_open = |one: &&Message| one.sender == life.bot && one.says("asks to run");
        all.find(|one| is_open(one) && !one.says("Approved")).cloned()
    };
    life.phone.wait_value("an open card", DEADLINE, look).await
}

fn rings(life: &Life, card: &Message) -> bool {
    card.kind == Kind::Text && card.mentions.contains(life.phone.user())
}

#[tokio::test]
async fn a_card_rings_where_the_person_was_last_and_nowhere_else() {
    let Some(tools) = tools() else { return };
    let (life, emulator) = on_both(shared(&tools).await).await;
    life.say("[PD-285] leave one").await;
    let (here, there) = (card_on_matrix(&life).await, card_on_telegram(&emulator).await);
    assert!(rings(&life, &here), "{here}");
    assert!(there.silent, "{there:?}");
    life.phone.react(&life.room, &here.id, "👍").await;
    becomes(&emulator, ADA, there.id, "Approved by Inès Caradec").await;
    emulator.wait_message(ADA, None, "Done: “leave one”").await;
    life.hears("Done: “leave one”").await;
    life.becomes(&here.id, "Approved by Inès Caradec").await;

    emulator.send(ADA, ADA, "[PD-285] leave two").now();
    let (here, there) = (card_on_matrix(&life).await, card_on_telegram(&emulator).await);
    assert!(!there.silent, "{there:?}");
    assert!(!rings(&life, &here), "{here}");
    emulator.press(ADA, there.id, ADA, "Approve").answer().await;
    life.becomes(&here.id, "Approved by Inès Caradec").await;
    life.hears("Done: “leave two”").await;
    life.all_well();
}

#[tokio::test]
async fn while_telegram_is_down_matrix_rings_and_afterwards_nothing_is_there_twice() {
    let Some(tools) = tools() else { return };
    let (life, emulator) = on_both(shared(&tools).await).await;
    emulator.send(ADA, ADA, "[PD-285] stream 2").now();
    emulator.wait_message(ADA, None, "2 lines printed").await;
    emulator.stop_listening();
    life.hears("telegram has not been heard").await;
    life.desk_says("PD-285", "leave three").await;
    let card = card_on_matrix(&life).await;
    assert!(rings(&life, &card), "{card}");
    life.phone.react(&life.room, &card.id, "👍").await;
    life.hears("Done: “leave three”").await;
    emulator.listen_again();
    emulator.wait_message(ADA, None, "Done: “leave three”").await;
    life.hears("is heard again").await;
    together_again(&life, &emulator).await;
    assert_eq!(count(&emulator, ADA, "Done: “leave three”"), 1, "{}", emulator.picture());
    assert_eq!(life.count("Done: “leave three”"), 1, "{}", life.phone.view());
    assert_eq!(open_cards(&emulator), 0, "{}", emulator.picture());
}

#[tokio::test]
async fn while_matrix_is_down_telegram_rings_and_afterwards_nothing_is_there_twice() {
    let Some(tools) = tools() else { return };
    let server = of_its_own(&tools).await;
    let (life, emulator) = on_both(server).await;
    life.say("[PD-285] stream 2").await;
    life.hears("2 lines printed").await;
    server.kill();
    emulator.wait_message(ADA, None, "matrix has not been heard").await;
    life.desk_says("PD-285", "leave three").await;
    let card = card_on_telegram(&emulator).await;
    assert!(!card.silent, "{card:?}");
    emulator.press(ADA, card.id, ADA, "Approve").answer().await;
    emulator.wait_message(ADA, None, "Done: “leave three”").await;
    server.restart().await;
    life.hears("Done: “leave three”").await;
    together_again(&life, &emulator).await;
    assert_eq!(count(&emulator, ADA, "Done: “leave three”"), 1, "{}", emulator.picture());
    assert_eq!(life.count("Done: “leave three”"), 1, "{}", life.phone.view());
    life.all_well();
}

/// A server that the test may kill; it ends with the test's process.
async fn of_its_own(tools: &Tools) -> &'static Homeserver {
    Box::leak(Box::new(Homeserver::start(tools).await))
}

/// Both are heard: whatever would come twice comes before the answer to what is written now.
async fn together_again(life: &Life, emulator: &Emulator) {
    life.say("[PD-285] stream 4").await;
    emulator.wait_message(ADA, None, "4 lines printed").await;
    life.hears("4 lines printed").await;
    emulator.send(ADA, ADA, "[PD-285] stream 5").now();
    emulator.wait_message(ADA, None, "5 lines printed").await;
    life.hears("5 lines printed").await;
}

fn open_cards(emulator: &Emulator) -> usize {
    let all = emulator.messages(ADA, None);
    all.iter().filter(|message| message.button("Approve").is_some()).count()
}
