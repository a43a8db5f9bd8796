//! What was set up, for a person and for programs.

use serde::Serialize;

use crate::cli::out::{Ink, Out};

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "what became of it, for programs")]
pub(super) struct Done {
    pub user: String,
    pub device: String,
    pub homeserver: String,
    /// It was set up before.
    pub already: bool,
    /// An identity that was there was opened by its recovery key.
    pub recovered: bool,
    /// A new recovery key, said this once.
    pub recovery_key: Option<String>,
    /// Where a recovery key is kept.
    pub recovery_key_file: Option<String>,
    /// Who is heard from now on, and who that is in the configuration.
    pub person: Option<String>,
    pub human: Option<String>,
    /// Somebody is heard at all.
    pub heard: bool,
    /// A device of the account whose keys are lost, which could not be removed.
    pub old_device: Option<String>,
    /// Where the login before this one lies.
    pub aside: Option<String>,
    /// What is still wrong with the account.
    pub trouble: Option<String>,
    pub config: String,
    /// What a person has to add to the configuration, when that could not be done here.
    pub lines: Option<String>,
    /// Why it could not.
    pub why: Option<String>,
    /// A daemon runs that does not know of this yet.
    pub running: bool,
    /// How it is started with these settings.
    pub start: String,
}

pub(super) fn words(out: &Out, done: &Done) -> String {
    let mut parts = vec![account(done)];
    parts.extend(done.trouble.as_ref().map(|trouble| out.ink(Ink::Bad, trouble)));
    parts.extend(key(out, done));
    parts.extend(old(done));
    parts.push(settings(done));
    parts.extend(done.person.as_ref().map(|person| {
        format!("{person} is heard, as {}.", done.human.as_deref().unwrap_or_default())
    }));
    if !done.heard {
        let words =
            "Nobody is heard over it yet: vigie init matrix --person ID, with your own whole id.";
        parts.push(out.ink(Ink::Wait, words));
    }
    parts.push(String::new());
    parts.push(next(done));
    if done.already {
        parts.push(String::new());
        parts.extend(changes().map(str::to_owned));
    }
    parts.join("\n")
}

fn account(done: &Done) -> String {
    let Done { user, device, homeserver, .. } = done;
    let words = if done.already { "Vigie is set up as" } else { "Vigie is logged in as" };
    let opened = if done.recovered {
        " Its identity was opened by the recovery key, and old messages can be read."
    } else {
        ""
    };
    format!("{words} {user} at {homeserver}, device {device}.{opened}")
}

fn key(out: &Out, done: &Done) -> Option<String> {
    let Some(key) = &done.recovery_key else {
        let kept = done.recovery_key_file.as_ref();
        return kept.map(|file| format!("Its recovery key is in {file}, for you alone."));
    };
    let kept = match &done.recovery_key_file {
        Some(file) => format!("It is in {file} too, for you alone."),
        None => "It is kept nowhere here, and not shown again.".into(),
    };
    let key = out.ink(Ink::Bold, key);
    Some(format!(
        "\nThe recovery key of the account. Put it where you keep passwords: it opens the account when \
         this machine is lost.\n\n    {key}\n\n{kept}\n"
    ))
}

fn old(done: &Done) -> Option<String> {
    let aside = done.aside.as_ref()?;
    let device = done.old_device.as_ref().map(|device| {
        format!(
            " Its device {device} is still among the account's; remove it in a client where the account is logged in."
        )
    });
    Some(format!("The login before it lies in {aside}.{}", device.unwrap_or_default()))
}

fn settings(done: &Done) -> String {
    let config = &done.config;
    match &done.lines {
        None => format!("Matrix is switched on in {config}."),
        Some(lines) => {
            let why = done.why.as_deref().unwrap_or_default().trim_end();
            let lines = lines.trim_end().replace('\n', "\n  ");
            format!("{config} could not be changed ({why}). Add these lines to it:\n\n  {lines}\n")
        }
    }
}

fn next(done: &Done) -> String {
    let Done { start, user, .. } = done;
    let next = if done.running {
        format!("vigie down, then {start}; sessions go on meanwhile")
    } else {
        start.clone()
    };
    if done.aside.is_some() {
        return format!(
            "Next: {next}. It goes on in its rooms; what was written there meanwhile and it cannot read, it says."
        );
    }
    if done.already {
        return format!("Next: {next}.");
    }
    format!("Next: {next}. Then it invites you, or you invite {user} to a room.")
}

fn changes() -> impl Iterator<Item = &'static str> {
    [
        "What can be changed:",
        "  vigie init matrix --person ID          another person's id, with --human for whose it is",
        "  vigie init matrix --new-recovery-key   another recovery key",
        "  vigie init matrix --again              a new login, after a logout or when the store is lost",
        "  vigie init matrix --reset-identity     a new identity, when nothing opens the old one",
    ]
    .into_iter()
}
