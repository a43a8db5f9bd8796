//! `vigie pair`, `people` and `unpair`: who is heard over chat services.

use vigie_core::bridge::Room;

use super::{
    Desk,
    failure::Failure,
    login::picture,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::{
    config::Role,
    web::{
        client::segment,
        shapes::{
            ChatShape, Done, IdentityShape, NewPairing, PairingShape, PeopleShape, ServiceShape,
        },
    },
};

pub(super) async fn code(human: Option<String>, desk: &Desk) -> Result<(), Failure> {
    let pairing: PairingShape = desk.client.post("/pair", &NewPairing { human }).await?;
    desk.out.show(&pairing, |out, pairing| {
        let mut lines = vec![words(out, pairing)];
        let link = pairing.services.iter().find_map(|service| start(service, pairing));
        lines.extend(link.and_then(|link| picture(out, &link)));
        lines.join("\n")
    })
}

/// The code and where it goes.
pub(super) fn words(out: &Out, pairing: &PairingShape) -> String {
    let PairingShape { code, name, until, services, .. } = pairing;
    let name = plain::line(name);
    let over: Vec<_> = services.iter().map(|service| service_name(&service.bridge)).collect();
    let over = over.join(" and ");
    let mut lines = vec![
        format!(
            "This code lets {name} in over {over}. It works once, until {}:",
            out.until(*until)
        ),
        String::new(),
        format!("    {}", out.ink(Ink::Bold, code)),
        String::new(),
    ];
    for service in services {
        lines.extend(how(out, service, pairing));
    }
    lines.join("\n")
}

fn how(out: &Out, service: &ServiceShape, pairing: &PairingShape) -> Vec<String> {
    let mut lines = match service.bridge.as_str() {
        "matrix" => how_on_matrix(service, pairing),
        _ => how_with_a_bot(service, pairing),
    };
    if let Some(trouble) = &service.trouble {
        let words = format!("  It will not be heard yet: {}", plain::line(trouble));
        lines.push(out.ink(Ink::Bad, &words));
    }
    lines
}

fn how_with_a_bot(service: &ServiceShape, pairing: &PairingShape) -> Vec<String> {
    let name = service_name(&service.bridge);
    let alone = match start(service, pairing) {
        Some(link) => format!("{name}: open {link} and tap Start, or send the code there."),
        None => format!("{name}: send the code to the bot."),
    };
    vec![alone, format!("  In a group that the bot is in: /pair {}", pairing.code)]
}

/// Invitations of people whom Vigie does not know are ignored, so a code needs somebody whom it does.
fn how_on_matrix(service: &ServiceShape, pairing: &PairingShape) -> Vec<String> {
    let PairingShape { code, human, name, .. } = pairing;
    let (name, account) = (plain::line(name), service.link.as_deref().unwrap_or("its account"));
    vec![
        format!(
            "Matrix: Vigie ignores invitations of people it does not know there. To let {name} in:"
        ),
        format!(
            "  - without this code: vigie down; vigie init matrix --human {human} --person ID, with their own id there; vigie up. Then it invites them."
        ),
        format!(
            "  - with it: somebody whom Vigie knows invites {name} and {account} to an encrypted room, and {name} writes there: !pair {code}"
        ),
        format!("  In a room with others where Vigie is already: !pair {code} connects the room."),
    ]
}

/// A link that opens the chat and sends the code with one tap.
/// Source: Telegram's deep links, parameter `start`, up to 64 of `A-Za-z0-9_-`.
fn start(service: &ServiceShape, pairing: &PairingShape) -> Option<String> {
    let link = service.link.as_ref().filter(|link| link.starts_with("https://"))?;
    Some(format!("{link}?start={}", pairing.code))
}

/// A service as people call it.
pub(super) fn service_name(bridge: &str) -> String {
    match bridge {
        "telegram" => "Telegram".into(),
        "matrix" => "Matrix".into(),
        "phone" => "Phone page".into(),
        other => other.into(),
    }
}

pub(super) async fn people(desk: &Desk) -> Result<(), Failure> {
    let people: PeopleShape = desk.client.get("/people").await?;
    desk.out.show(&people, list)
}

fn list(out: &Out, people: &PeopleShape) -> String {
    let heard: Vec<_> = people.identities.iter().map(|each| identity(out, each)).collect();
    let chats: Vec<_> = people.chats.iter().map(|each| chat(out, each)).collect();
    let heard = if heard.is_empty() {
        "Nobody is heard over a chat service. Let somebody in: vigie pair".into()
    } else {
        table(&heard)
    };
    if chats.is_empty() {
        return format!("{heard}\n\nNo chat hears of sessions, besides the phone page.");
    }
    format!("{heard}\n\nChats that hear of sessions:\n{}", table(&chats))
}

fn identity(out: &Out, each: &IdentityShape) -> Vec<Cell> {
    let since = match each.since {
        Some(at) => format!("since {}", out.when(at)),
        None => "by the configuration".into(),
    };
    vec![
        Cell::inked(out, Ink::Bold, plain::line(&each.name)),
        Cell::plain(role(each.role)),
        Cell::plain(format!("{} {}", each.bridge, plain::line(&each.id))),
        Cell::inked(out, Ink::Dim, since),
    ]
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Owner => "owner",
        Role::Approver => "approver",
        Role::Talker => "talker",
        Role::Viewer => "viewer",
    }
}

fn chat(out: &Out, each: &ChatShape) -> Vec<Cell> {
    let room = match each.room {
        Room::Direct => "private chat",
        Room::DirectThreads => "private chat with topics",
        Room::Group => "group",
        Room::Forum => "group with topics",
    };
    let state = match &each.shut {
        Some(why) => Cell::inked(out, Ink::Bad, format!("takes nothing: {}", plain::line(why))),
        None => Cell::inked(out, Ink::Dim, format!("opened by {}", plain::line(&each.by))),
    };
    let id = format!("{} {}", each.bridge, plain::line(&each.chat));
    vec![Cell::plain(id), Cell::plain(room), state]
}

pub(super) async fn unpair(bridge: &str, id: &str, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/people/{}/{}", segment(bridge), segment(id));
    let done: Done = desk.client.delete(&path).await?;
    desk.out.show(&done, |_, done| plain::line(&done.words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use vigie_core::Timestamp;

    #[test]
    fn somebody_new_on_matrix_is_told_a_way_that_works() {
        let service = |bridge: &str, link: Option<&str>, trouble: Option<&str>| ServiceShape {
            bridge: bridge.into(),
            link: link.map(str::to_owned),
            trouble: trouble.map(str::to_owned),
        };
        let pairing = PairingShape {
            code: "K7Q2-9MFA".into(),
            human: "tomas".into(),
            name: "Tomas Lindqvist".into(),
            until: Timestamp::default(),
            services: vec![
                service("matrix", Some("@vigie:example.org"), None),
                service("telegram", Some("https://t.me/a_bot"), Some("no answer")),
            ],
        };
        let out = Out::plain(Clock::fixed(Timestamp::default()));
        let shown = words(&out, &pairing);
        let ways = shown.split_once("    K7Q2-9MFA\n\n").unwrap().1;
        insta::assert_snapshot!(ways, @r"
        Matrix: Vigie ignores invitations of people it does not know there. To let Tomas Lindqvist in:
          - without this code: vigie down; vigie init matrix --human tomas --person ID, with their own id there; vigie up. Then it invites them.
          - with it: somebody whom Vigie knows invites Tomas Lindqvist and @vigie:example.org to an encrypted room, and Tomas Lindqvist writes there: !pair K7Q2-9MFA
          In a room with others where Vigie is already: !pair K7Q2-9MFA connects the room.
        Telegram: open https://t.me/a_bot?start=K7Q2-9MFA and tap Start, or send the code there.
          In a group that the bot is in: /pair K7Q2-9MFA
          It will not be heard yet: no answer
        ");
    }
}
