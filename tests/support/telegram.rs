//! A daemon whose people are on Telegram: the emulator beside it, and the code that lets them in.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};
use telegram_emulator::{ChatId, Emulator, MessageId, Shown, TopicId, UserId, World};

use super::home::{DEADLINE, Home};

/// A daemon that is started, with nobody let in yet.
pub(crate) async fn daemon(world: World, more: &str) -> (Home, Emulator) {
    let emulator = Emulator::start(world);
    let mut home = Home::new(vigie_up);
    configure(&home, &emulator, more);
    home.up().await;
    emulator.wait_polling().await;
    (home, emulator)
}

pub(crate) fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["up", "--no-link", "--home"]).arg(home.data());
    command.arg("--config").arg(home.settings());
    command.env("VIGIE_DEMO_PACE", "1");
    command
}

pub(crate) fn configure(home: &Home, emulator: &Emulator, more: &str) {
    let telegram = format!("\n[telegram]\nenabled = true\napi = \"{}\"\n{more}", emulator.url());
    home.configure(&telegram);
    fs::create_dir_all(home.data()).unwrap();
    let file = home.data().join("telegram.token");
    fs::write(&file, emulator.token()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A code from the desk, typed in that chat by that person.
pub(crate) async fn pair(home: &Home, emulator: &Emulator, chat: ChatId, person: UserId) {
    let paired: Value = home.desk().post("/pair", &json!({})).await.unwrap();
    let code = paired["code"].as_str().unwrap();
    emulator.send(chat, person, &format!("/pair {code}")).now();
    emulator.wait_message(chat, None, "You are Inès Caradec here").await;
}

/// A session of the demo agent, idle.
pub(crate) async fn new(home: &Home, name: &str) {
    let body = json!({ "name": name, "agent": "demo" });
    let _: Value = home.desk().post("/sessions", &body).await.unwrap();
    home.session_is(name, "idle").await;
}

/// Waits until a message of the bot says so, and gives it.
pub(crate) async fn becomes(
    emulator: &Emulator,
    chat: ChatId,
    message: MessageId,
    text: &str,
) -> Shown {
    let what = format!("`{text}` in message {message}");
    let look = |emulator: &Emulator| {
        emulator.message(chat, message).filter(|shown| shown.text.contains(text))
    };
    emulator.wait_value(&what, DEADLINE, look).await
}

/// How many messages of the bot in that chat say so.
pub(crate) fn count(emulator: &Emulator, chat: ChatId, text: &str) -> usize {
    let all = emulator.messages(chat, None);
    all.iter().filter(|message| message.is_bot() && message.text.contains(text)).count()
}

/// The session's topic, whatever stands before its name.
pub(crate) async fn topic_of(emulator: &Emulator, chat: ChatId, name: &str) -> TopicId {
    let what = format!("a topic of {name}");
    let look = |emulator: &Emulator| {
        let topics = emulator.topics(chat);
        let of = topics.iter().rev().find(|topic| topic.name.contains(name) && !topic.deleted);
        of.map(|topic| topic.id)
    };
    emulator.wait_value(&what, DEADLINE, look).await
}
