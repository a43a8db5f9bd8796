//! `vigie matrix status`.

use super::{Desk, Failure, Out, in_fours, plain};
use crate::{
    cli::out::{Cell, Ink, table},
    web::{
        client::ClientError,
        shapes::{MatrixDeviceShape, MatrixPersonShape, MatrixRoomShape, MatrixShape},
    },
};

pub(super) async fn run(desk: &Desk) -> Result<(), Failure> {
    match desk.client.get::<MatrixShape>("/matrix").await {
        Ok(account) => desk.out.show(&account, words),
        Err(ClientError::NotRunning) => Err(asleep(desk)),
        Err(error) => Err(error.into()),
    }
}

/// This Vigie knows no account, whatever lies in the folder.
#[cfg(not(feature = "matrix"))]
fn asleep(_: &Desk) -> Failure {
    Failure::from(ClientError::NotRunning)
}

/// Without a daemon only the login itself is known.
#[cfg(feature = "matrix")]
fn asleep(desk: &Desk) -> Failure {
    let mut failure = Failure::from(ClientError::NotRunning);
    match crate::bridges::matrix::folder(&desk.around.data).session() {
        Ok(session) => {
            failure.words = format!(
                "Vigie does not run; its account here is {}, device {}, at {}",
                plain::line(session.user.as_str()),
                plain::line(session.device.as_str()),
                plain::line(&session.homeserver)
            );
            let hint = "Start it: vigie up. What the homeserver says of the account: vigie doctor. If that says that the login is gone: vigie init matrix --again";
            failure.hint(hint)
        }
        // No account, or one that does not read; it says itself what to do.
        Err(error) => {
            failure.words = error.to_string();
            failure.hint = None;
            failure
        }
    }
}

fn words(out: &Out, account: &MatrixShape) -> String {
    let mut parts = vec![table(&facts(out, account))];
    if !account.people.is_empty() {
        let people: Vec<_> = account.people.iter().map(|each| person(out, each)).collect();
        parts.push(format!("People:\n{}", table(&people)));
        let unsigned: Vec<_> =
            account.people.iter().flat_map(|each| unsigned(account, each)).collect();
        if !unsigned.is_empty() {
            parts.push(out.ink(Ink::Wait, &unsigned.join("\n")));
        }
    }
    if account.rooms.is_empty() {
        parts.push("It is in no room yet.".into());
    } else {
        let rooms: Vec<_> = account.rooms.iter().map(|each| room(out, each)).collect();
        parts.push(format!("Rooms:\n{}", table(&rooms)));
    }
    if account.sealed > 0 {
        let count = account.sealed;
        let words = format!(
            "Messages that wait for their keys: {count}. Where they came, it is said what to do."
        );
        parts.push(out.ink(Ink::Wait, &words));
    }
    if let Some(trouble) = &account.trouble {
        parts.push(out.ink(Ink::Bad, &plain::line(trouble)));
    }
    parts.join("\n\n")
}

fn facts(out: &Out, account: &MatrixShape) -> Vec<Vec<Cell>> {
    let row = |name: &str, value: Cell| vec![Cell::inked(out, Ink::Dim, name), value];
    let signed = if account.signed {
        Cell::inked(out, Ink::Good, "yes")
    } else {
        Cell::inked(out, Ink::Bad, "no: phones may send it no keys; look: vigie doctor")
    };
    let heard = match account.heard {
        Some(at) => Cell::plain(out.ago(at)),
        None => Cell::inked(out, Ink::Wait, "not yet"),
    };
    let key = account.ed25519.as_deref().map_or_else(|| "none yet".into(), in_fours);
    vec![
        row("account", Cell::inked(out, Ink::Bold, plain::line(&account.user))),
        row("homeserver", Cell::plain(plain::line(&account.homeserver))),
        row("device", Cell::plain(plain::line(&account.device))),
        row("its key", Cell::plain(key)),
        row("signed by the account", signed),
        row("secret storage", kept(out, &account.recovery)),
        row("backup of keys", kept(out, &account.backup)),
        row("last heard", heard),
    ]
}

fn kept(out: &Out, state: &str) -> Cell {
    match state {
        "on" => Cell::inked(out, Ink::Good, "on"),
        "unknown" => Cell::inked(out, Ink::Dim, "not known yet"),
        other => Cell::inked(out, Ink::Wait, plain::line(other)),
    }
}

fn person(out: &Out, each: &MatrixPersonShape) -> Vec<Cell> {
    let standing = match each.standing.as_str() {
        "verified" => Cell::inked(out, Ink::Good, "verified"),
        "changed" => Cell::inked(
            out,
            Ink::Bad,
            "CHANGED since verified, so not heard: vigie matrix verify, or vigie matrix accept",
        ),
        "renewed" => Cell::inked(
            out,
            Ink::Bad,
            "ANOTHER identity than before, so not heard: vigie matrix verify, or vigie matrix accept",
        ),
        "no_identity" => Cell::inked(
            out,
            Ink::Wait,
            "no identity: nobody can verify them, and their devices are not signed; in their app: Settings, Encryption",
        ),
        other => Cell::inked(out, Ink::Dim, plain::line(other)),
    };
    vec![Cell::plain(plain::line(&each.user)), standing]
}

/// Devices of theirs that nobody vouches for, and what comes of it.
fn unsigned(account: &MatrixShape, person: &MatrixPersonShape) -> Vec<String> {
    let what = if account.unsigned_read {
        "it gets everything all the same, as the configuration says"
    } else {
        "it sees unreadable messages only, and what it writes is not taken"
    };
    let line = |device: &MatrixDeviceShape| {
        let name = device.name.as_deref().map(|name| format!(" (\"{}\")", plain::line(name)));
        format!(
            "Device {}{} of {} is not verified by its owner: {what}. It is verified in its own app: Settings, Sessions.",
            plain::line(&device.id),
            name.unwrap_or_default(),
            plain::line(&person.user)
        )
    };
    person.unsigned.iter().map(line).collect()
}

fn room(out: &Out, each: &MatrixRoomShape) -> Vec<Cell> {
    let encrypted = match (each.encrypted, each.kind.as_str()) {
        (true, _) => Cell::inked(out, Ink::Good, "encrypted"),
        // A space holds rooms, and nobody writes there.
        (false, "space") => Cell::plain(""),
        (false, _) => Cell::inked(out, Ink::Wait, "not encrypted"),
    };
    vec![
        Cell::plain(plain::line(&each.kind)),
        Cell::plain(each.name.as_deref().map(plain::line).unwrap_or_default()),
        Cell::inked(out, Ink::Dim, plain::line(&each.id)),
        encrypted,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn the_account_its_people_and_its_rooms() {
        let person = |user: &str, standing: &str| MatrixPersonShape {
            user: user.into(),
            standing: standing.into(),
            identity: None,
            known: None,
            unsigned: Vec::new(),
        };
        let room = |name: &str, kind: &str, encrypted| MatrixRoomShape {
            id: "!room".into(),
            name: Some(name.into()),
            kind: kind.into(),
            encrypted,
        };
        let account = MatrixShape {
            user: "@vigie:example.org".into(),
            device: "ABCDEFGHIJ".into(),
            ed25519: Some("Xb8Qk3cPmW".into()),
            signed: true,
            homeserver: "https://matrix.example.org".into(),
            recovery: "on".into(),
            backup: "incomplete".into(),
            heard: None,
            trouble: None,
            rooms: vec![
                room("Vigie", "space", false),
                room("Ines", "chat", true),
                room("PD-285", "session", false),
            ],
            people: vec![
                person("@ines:example.org", "verified"),
                person("@omar:example.org", "changed"),
                person("@awa:example.org", "renewed"),
                MatrixPersonShape {
                    unsigned: vec![MatrixDeviceShape {
                        id: "OLDPHONE".into(),
                        name: Some("Tomas\u{1b}[2J".into()),
                    }],
                    ..person("@tomas:example.org", "no_identity")
                },
            ],
            unsigned_read: false,
            sealed: 2,
        };
        let words = words(&Out::plain(Clock::system()), &account);
        let row = |name: &str| words.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(row("its key").ends_with("Xb8Q k3cP mW"), "{words}");
        assert!(row("signed by the account").ends_with("yes"), "{words}");
        assert!(row("backup of keys").ends_with("incomplete"), "{words}");
        assert!(row("last heard").ends_with("not yet"), "{words}");
        assert!(row("@ines:example.org").ends_with("  verified"), "{words}");
        assert!(row("@omar:example.org").contains("CHANGED since verified"), "{words}");
        assert!(row("@awa:example.org").contains("ANOTHER identity than before"), "{words}");
        assert!(row("@tomas:example.org").contains("no identity"), "{words}");
        let device = row("Device OLDPHONE");
        assert!(device.contains("sees unreadable messages only"), "{words}");
        assert!(device.contains("Tomas⟦U+001B⟧[2J"), "{words}");
        assert!(row("chat").ends_with("!room  encrypted"), "{words}");
        assert!(row("session").ends_with("!room  not encrypted"), "{words}");
        assert!(row("space").ends_with("!room"), "nobody writes in a space: {words}");
        assert!(words.contains("Messages that wait for their keys: 2."), "{words}");
    }
}
