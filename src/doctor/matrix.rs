//! Matrix: the account's files, the homeserver, the device and its signature, what opens the account when
//! this machine is lost. Asks without the account's store, which a daemon may hold.

use chrono::TimeDelta;
use std::path::Path;

use super::{
    Finding,
    service::{Running, Words},
};
use crate::{
    bridges::{
        MATRIX,
        matrix::{
            AskError, Folder, Plain, Published, Rate, Session, Whoami, folder, is_new_enough,
        },
    },
    clock::Clock,
    config::{Config, Matrix, OnOff},
};

const TOPIC: &str = MATRIX;

const WORDS: Words = Words {
    let_in_again: "It says itself what to do",
    let_in: "Say who you are there: vigie init matrix --person ID",
};

const AGAIN: &str = "Log in anew: vigie down, then vigie init matrix --again. Sessions go on.";

/// What is missing is made by the same command that began.
const MAKE: &str = "Have it made: vigie down, then vigie init matrix. Sessions go on.";

/// Messages bear the homeserver's time, and what is older than a restart is told with its age.
const SKEW: TimeDelta = TimeDelta::seconds(60);

pub(super) async fn look(config: &Config, data: &Path, clock: &Clock) -> Vec<Finding> {
    match config.matrix.enabled {
        OnOff::Off => Vec::new(),
        OnOff::On => {
            let running = Running::ask(MATRIX, data).await;
            let mut findings = running.findings(&WORDS);
            if running.daemon.is_none() && config.humans.iter().all(|human| human.matrix.is_none())
            {
                findings.push(Finding::warn(TOPIC, "nobody is heard over it yet", WORDS.let_in));
            }
            let folder = folder(data);
            findings.extend(open_files(&folder));
            match folder.looked_at() {
                Ok(session) => findings.extend(account(&session, &config.matrix, clock).await),
                Err(wrong) => {
                    findings.push(Finding::fail(TOPIC, wrong, "It says itself what to do."));
                }
            }
            findings.extend(kept(&folder));
            findings
        }
    }
}

fn open_files(folder: &Folder) -> impl Iterator<Item = Finding> {
    folder.open_to_others().into_iter().map(|(file, mode)| {
        let closed = if file.is_dir() { "700" } else { "600" };
        let file = file.display();
        let words = format!("others can read {file} (mode {mode:03o})");
        let todo = format!(
            "Close it: chmod {closed} {file}; and if others did look, log in anew: vigie init matrix --again"
        );
        Finding::fail(TOPIC, words, todo)
    })
}

/// The account as its homeserver sees it: the first thing that is wrong, or all that is to be said.
async fn account(session: &Session, matrix: &Matrix, clock: &Clock) -> Vec<Finding> {
    let mut findings = Vec::new();
    match asked(session, clock, &mut findings).await {
        Ok(()) => findings.extend(rate(session, matrix).await),
        Err(finding) => findings.push(finding),
    }
    findings
}

async fn asked(
    session: &Session,
    clock: &Clock,
    findings: &mut Vec<Finding>,
) -> Result<(), Finding> {
    let failed = |wrong: AskError| failed(&wrong);
    let plain = Plain::of(session).map_err(failed)?;
    let versions = plain.versions().await.map_err(failed)?;
    if !is_new_enough(&versions.versions) {
        let words = format!("the homeserver at {} is too old", session.homeserver);
        return Err(Finding::fail(TOPIC, words, "Its administrator can bring it up to date."));
    }
    let skew = versions.now.map(|now| now - clock.now()).filter(|skew| skew.abs() > SKEW);
    findings.extend(skew.map(|skew| {
        let words =
            format!("its clock and this machine's are {} s apart", skew.num_seconds().abs());
        Finding::warn(TOPIC, words, "Have this machine set its clock by the network.")
    }));
    let whoami = plain.whoami().await.map_err(failed)?;
    let published =
        plain.published(&session.user, session.device.as_str()).await.map_err(failed)?;
    device(session, &whoami, &published)?;
    let words = format!(
        "{} answers at {}; its device {} is signed",
        session.user, session.homeserver, session.device
    );
    findings.push(Finding::ok(TOPIC, words));
    let storage = plain.has_secret_storage(&session.user).await.map_err(failed)?;
    if !storage || !plain.has_backup().await.map_err(failed)? {
        let words = "the account's keys are not kept on the homeserver, so a lost store would cost its identity and old messages";
        findings.push(Finding::warn(TOPIC, words, MAKE));
    }
    Ok(())
}

fn failed(wrong: &AskError) -> Finding {
    let todo = match wrong {
        AskError::UnknownToken => AGAIN,
        AskError::Unreached { .. } => {
            "Look at this machine's network and at HTTPS_PROXY; Vigie tries again by itself."
        }
        AskError::NoHomeserver { .. } => {
            "Look whether the homeserver moved or is down; Vigie tries again by itself. If it moved for good: vigie init matrix --again --homeserver SERVER"
        }
        AskError::Later { .. } => "Wait, then look again.",
        AskError::NotFound | AskError::Refused { .. } => "Ask the homeserver's administrator.",
    };
    Finding::fail(TOPIC, wrong, todo)
}

/// Whether the device is ours, and others may trust it.
fn device(session: &Session, whoami: &Whoami, published: &Published) -> Result<(), Finding> {
    let Session { user, device, .. } = session;
    if whoami.user != *user || whoami.device.as_deref() != Some(device.as_str()) {
        let found = whoami.device.as_deref().unwrap_or("no device");
        let words = format!(
            "the access token is that of {} ({found}), not of {user} ({device})",
            whoami.user
        );
        return Err(Finding::fail(TOPIC, words, AGAIN));
    }
    let Some(known) = &published.device else {
        let words = format!(
            "the homeserver has no keys of the device {device}, so nobody can encrypt for it"
        );
        return Err(Finding::fail(TOPIC, words, AGAIN));
    };
    if session.key().is_some_and(|key| key != known.key) {
        let words = format!(
            "the homeserver has other keys of the device {device} than the store here, so what is sent to it cannot be read"
        );
        return Err(Finding::fail(TOPIC, words, AGAIN));
    }
    if !(published.identity && known.signed) {
        let words = format!(
            "the device {device} is not signed by the account's identity, so others may refuse to write to it"
        );
        return Err(Finding::fail(TOPIC, words, MAKE));
    }
    Ok(())
}

/// What the account may send, where the homeserver says so.
async fn rate(session: &Session, matrix: &Matrix) -> Option<Finding> {
    let plain = Plain::of(session).ok()?;
    let Rate { messages_per_second, .. } = plain.rate(&session.user).await.ok()??;
    let minute = u64::from(messages_per_second?) * 60;
    let ours = u64::try_from(matrix.events_a_minute.get()).unwrap_or(u64::MAX);
    let (words, todo) = match minute {
        0 => (
            "the homeserver lets the account send as much as it likes".to_owned(),
            "Raise `events_a_minute` under [matrix]: progress comes sooner then.",
        ),
        less if less < ours => (
            format!(
                "the homeserver lets the account send {less} events a minute, and Vigie would send {ours}"
            ),
            "Set `events_a_minute` under [matrix] to what holds.",
        ),
        _ => return None,
    };
    Some(Finding::warn(TOPIC, words, todo))
}

/// The recovery key, and logins that were put aside.
fn kept(folder: &Folder) -> Vec<Finding> {
    let mut findings = Vec::new();
    match folder.recovery_key() {
        // A choice, and a good one for whoever has it elsewhere.
        Ok(None) if folder.is_set_up() => {
            let words = "the recovery key is not kept here; should it be nowhere: vigie down, then vigie init matrix --new-recovery-key";
            findings.push(Finding::ok(TOPIC, words));
        }
        Ok(Some(_) | None) => {}
        Err(wrong) => findings.push(Finding::fail(TOPIC, wrong, "It says itself what to do.")),
    }
    let aside = folder.aside();
    if !aside.is_empty() {
        let folders: Vec<String> = aside.iter().map(|old| old.display().to_string()).collect();
        let words = format!("logins from before lie in {}", folders.join(", "));
        let todo = "Delete them once old messages can be read: keys of those times are in there.";
        findings.push(Finding::warn(TOPIC, words, todo));
    }
    findings
}
