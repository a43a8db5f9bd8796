//! What Matrix adds: the real program on a real homeserver with an independent phone, everything
//! encrypted, beside two such phones without a Vigie between them. It needs a build with
//! `--features vigie/matrix`.

mod bare;
mod rooms;
mod words;

use anyhow::{Context, Result, anyhow};
use matrix_lab::{Homeserver, Login, Message, Phone, Tools, View};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use super::{
    home::{DEADLINE, Home},
    table::Figure,
};

pub(crate) const PARTS: [&str; 3] = ["matrix-in", "matrix-out", "matrix-rooms"];

/// As much as the configuration allows, since what is measured is not Synapse's limit.
const EVENTS_A_MINUTE: u32 = 6000;

/// So that samples do not fall into step with anybody's timer, in milliseconds; and after that long
/// everybody has told what they had to tell of the sample before.
const APART: [u64; 5] = [253, 267, 291, 318, 347];

/// `ours` plays the daemon where the agents are ours too, `vigie` is what is shipped.
pub(crate) async fn measure(
    part: &str,
    folder: &Path,
    (ours, vigie): (&Path, &Path),
) -> Result<Vec<Figure>> {
    let Some(tools) = matrix_lab::tools() else { return Ok(Vec::new()) };
    match part {
        "matrix-in" => words::into_the_terminal(folder, ours, &tools).await,
        "matrix-out" => words::onto_the_phone(folder, ours, &tools).await,
        _ => rooms::measure(folder, vigie, &tools).await,
    }
}

/// A daemon whose owner is Ada, on Matrix, and her phone in their encrypted room.
struct Town {
    home: Home,
    server: Homeserver,
    phone: Phone,
    /// The account that the daemon speaks as.
    bot: String,
    room: String,
}

impl Town {
    async fn open(
        folder: &Path,
        program: &Path,
        tools: &Tools,
        layout: &str,
        agents: &str,
    ) -> Result<Self> {
        let server = Homeserver::start(tools).await;
        let (ada, vigie) = (server.user("ada").await, server.user("vigie").await);
        let mut phone = Phone::login(&server, &ada).await;
        phone.patience = DEADLINE;
        let matrix = format!(
            "{agents}[matrix]\nenabled = true\nlayout = \"{layout}\"\nevents_a_minute = {EVENTS_A_MINUTE}\n"
        );
        let mut home = Home::new(folder, program, &matrix)?;
        let settings = fs::read_to_string(home.settings())?;
        let role = "role = \"owner\"\n";
        let known = settings.replacen(role, &format!("{role}matrix = \"{}\"\n", ada.user_id), 1);
        fs::write(home.settings(), known)?;
        log_in(&home, &server, &vigie).await?;
        home.up().await?;
        let invitation = phone.wait_invitation(&vigie.user_id).await;
        phone.join(&invitation.id).await;
        phone.wait_message(&invitation.id, "You are Inès Caradec here").await;
        Ok(Self { home, server, phone, bot: vigie.user_id, room: invitation.id })
    }

    /// The thread of the session of that name: the message that it hangs on.
    async fn thread_of(&self, name: &str) -> String {
        let root = |view: &View| {
            let mut all = view.rooms.get(&self.room)?.messages.iter();
            let is_it = |one: &&Message| one.sender == self.bot && one.says(name);
            all.find(is_it).map(|message| message.id.clone())
        };
        self.phone.wait_value(&format!("a thread of {name}"), DEADLINE, root).await
    }

    /// A rest after the sample of this number.
    async fn rest(number: usize) {
        tokio::time::sleep(Duration::from_millis(APART[number % APART.len()])).await;
    }
}

/// Logs the daemon's account in, as a person does once.
async fn log_in(home: &Home, server: &Homeserver, vigie: &Login) -> Result<()> {
    let who = json!({
        "type": "m.login.password", "password": vigie.password,
        "identifier": { "type": "m.id.user", "user": vigie.user_id },
    });
    let answer = server.ask(None, "POST", "/_matrix/client/v3/login", Some(&who)).await;
    let answer = answer.map_err(|why| anyhow!(why)).context("the homeserver lets nobody in")?;
    let session = json!({
        "homeserver": server.url(), "user": answer["user_id"],
        "device": answer["device_id"], "access_token": answer["access_token"],
    });
    let account = home.data().join("matrix/account");
    fs::create_dir_all(&account)?;
    let file = account.join("session.json");
    fs::write(&file, session.to_string())?;
    for (path, mode) in [(home.data().join("matrix"), 0o700), (account, 0o700), (file, 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}
