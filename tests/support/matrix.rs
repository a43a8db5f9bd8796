//! A daemon whose people are on Matrix: a real homeserver beside it, an account of its own there, and a
//! phone in the room that it makes for its person.
#![allow(dead_code, reason = "each test file uses its part")]

use matrix_lab::{Homeserver, Login, Membership, Message, Phone, Room, Tools, shared};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

use super::home::{DEADLINE, Home};

/// A daemon, and Ada with her phone in its room.
pub(crate) struct Life {
    pub(crate) home: Home,
    pub(crate) server: &'static Homeserver,
    pub(crate) phone: Phone,
    /// The account that the daemon speaks as.
    pub(crate) bot: String,
    /// The room of the two of them.
    pub(crate) room: String,
}

pub(crate) fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["up", "--no-link", "--home"]).arg(home.data());
    command.arg("--config").arg(home.settings());
    command.env("VIGIE_DEMO_PACE", "1");
    command
}

impl Life {
    /// A daemon of that layout, up, with Ada in its room.
    pub(crate) async fn begin(tools: &Tools, layout: &str) -> Self {
        Self::on(shared(tools).await, layout, |_| String::new()).await
    }

    /// The same on a homeserver of the test's choice, with more in the configuration.
    pub(crate) async fn on(
        server: &'static Homeserver,
        layout: &str,
        more: impl FnOnce(&Home) -> String,
    ) -> Self {
        let (ada, vigie) = (server.user("ada").await, server.user("vigie").await);
        let mut phone = Phone::login(server, &ada).await;
        phone.patience = DEADLINE;
        let mut home = Home::new(vigie_up);
        let more = more(&home);
        configure(&home, &ada, layout, &more);
        set_up(&home, server, &vigie).await;
        home.up().await;
        let invitation = phone.wait_invitation(&vigie.user_id).await;
        phone.join(&invitation.id).await;
        phone.wait_message(&invitation.id, "You are Inès Caradec here").await;
        Self { home, server, phone, bot: vigie.user_id, room: invitation.id }
    }

    /// A session of the demo agent, idle.
    pub(crate) async fn start(&self, name: &str) {
        let body = json!({ "name": name, "agent": "demo" });
        let _: Value = self.home.desk().post("/sessions", &body).await.unwrap();
        self.home.session_is(name, "idle").await;
    }

    /// Words from the desk to a session.
    pub(crate) async fn desk_says(&self, name: &str, words: &str) {
        let body = json!({ "text": words, "form": "text" });
        let path = format!("/sessions/{name}/send");
        let _: Value = self.home.desk().post(&path, &body).await.unwrap();
    }

    /// Ada writes in the room; the event it is.
    pub(crate) async fn say(&self, words: &str) -> String {
        self.phone.say(&self.room, words).await
    }

    /// Waits for words of the daemon's in the room, wherever in it.
    pub(crate) async fn hears(&self, words: &str) -> Message {
        self.phone.wait_message(&self.room, words).await
    }

    /// Waits until a message says so, edits applied.
    pub(crate) async fn becomes(&self, message: &str, words: &str) -> Message {
        self.becomes_in(&self.room, message, words).await
    }

    pub(crate) async fn becomes_in(&self, room: &str, message: &str, words: &str) -> Message {
        let what = format!("`{words}` in message {message}");
        let look = |view: &matrix_lab::View| {
            view.message(room, message).filter(|shown| shown.says(words)).cloned()
        };
        self.phone.wait_value(&what, DEADLINE, look).await
    }

    /// How many messages of the daemon's say so, in all rooms.
    pub(crate) fn count(&self, words: &str) -> usize {
        let view = self.phone.view();
        let all = view.rooms.values().flat_map(|room| &room.messages);
        all.filter(|message| message.sender == self.bot && message.says(words)).count()
    }

    /// The open card with those words.
    pub(crate) async fn card(&self, words: &str) -> Message {
        self.hears(words).await
    }

    /// The session's thread: the message that it hangs on.
    pub(crate) async fn thread_of(&self, name: &str) -> String {
        thread_of(&self.phone, &self.room, name).await
    }

    /// The session's own room, with Ada in it.
    pub(crate) async fn room_of(&self, name: &str) -> Room {
        let look = |view: &matrix_lab::View| {
            let mut rooms = view.rooms.values();
            let named = |room: &&Room| room.name.as_deref().is_some_and(|text| text.contains(name));
            rooms.find(|room| named(room) && !room.is_space).cloned()
        };
        let room = self.phone.wait_value(&format!("a room of {name}"), DEADLINE, look).await;
        if room.membership == Membership::Invited {
            self.phone.join(&room.id).await;
        }
        room
    }

    /// Nothing came that a phone cannot read, and nothing that it should not have got.
    pub(crate) fn all_well(&self) {
        let view = self.phone.view();
        assert!(view.unreadable().is_empty() && view.defects.is_empty(), "{view}");
    }
}

/// The session's thread in that room: the message that it hangs on.
pub(crate) async fn thread_of(phone: &Phone, room: &str, name: &str) -> String {
    let look = |view: &matrix_lab::View| {
        let mut all = view.rooms.get(room)?.messages.iter().rev();
        let is_root = |message: &&Message| {
            message.sender != phone.user() && message.thread.is_none() && message.says(name)
        };
        all.find(is_root).map(|message| message.id.clone())
    };
    phone.wait_value(&format!("a thread of {name}"), DEADLINE, look).await
}

/// Writes the configuration: Ada by her name on Matrix, and an account that sends as much as it likes.
pub(crate) fn configure(home: &Home, ada: &Login, layout: &str, more: &str) {
    home.configure(&format!(
        "\n[matrix]\nenabled = true\nlayout = \"{layout}\"\nevents_a_minute = 6000\n{more}"
    ));
    let text = fs::read_to_string(home.settings()).unwrap();
    let role = "role = \"owner\"\n";
    let text = text.replacen(role, &format!("{role}matrix = \"{}\"\n", ada.user_id), 1);
    fs::write(home.settings(), text).unwrap();
    fs::create_dir_all(home.data()).unwrap();
}

/// Sets the daemon's account up, as a person does.
pub(crate) async fn set_up(home: &Home, server: &Homeserver, vigie: &Login) {
    let password = home.folder("password");
    fs::write(&password, &vigie.password).unwrap();
    let mut init = tokio::process::Command::new(env!("CARGO_BIN_EXE_vigie"));
    init.args(["--home", path(&home.data()), "init", "matrix", "--yes"]);
    init.args(["--keep-recovery-key", "no", "--config", path(&home.settings())]);
    init.args(["--homeserver", &server.url(), "--user", &vigie.user_id]);
    init.args(["--password-file", path(&password)]);
    let done = init.output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
