//! `vigie login`, `logins` and `logout`: who gets in.

use qrcode::{QrCode, render::unicode::Dense1x2};

use super::{
    Desk,
    failure::Failure,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::web::{
    client::segment,
    shapes::{Done, LinkShape, LoginShape, NewLink, Reaches},
};

pub(super) async fn link(human: Option<String>, desk: &Desk) -> Result<(), Failure> {
    let link: LinkShape = desk.client.post("/links", &NewLink { human }).await?;
    desk.out.show(&link, words)
}

/// The link, its picture, and how far it reaches.
pub(super) fn words(out: &Out, link: &LinkShape) -> String {
    let LinkShape { url, code, human, until, reaches } = link;
    let until = out.until(*until);
    let reach = match reaches {
        Reaches::ThisMachine => {
            "It opens on this machine only. For a phone, see docs/phone-page.md."
        }
        Reaches::Others => "Point a phone's camera at it, or open it in a browser.",
    };
    let mut lines = vec![
        format!("Sign in as {human} with this link. It works once, until {until}:"),
        format!("  {}", out.ink(Ink::Bold, url)),
    ];
    lines.extend(picture(out, url));
    lines.push(format!("Or type this code on the phone page: {code}"));
    lines.push(reach.into());
    lines.join("\n")
}

/// The link as a QR code of half blocks, dark on light: with colours in any terminal, without
/// them in one that writes light on dark.
pub(super) fn picture(out: &Out, url: &str) -> Option<String> {
    let code = QrCode::new(url).ok()?;
    let mut render = code.render::<Dense1x2>();
    if !out.has_colour() {
        return Some(render.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build());
    }
    let plain = render.dark_color(Dense1x2::Dark).light_color(Dense1x2::Light).build();
    let lines = plain.lines().map(|line| out.ink(Ink::Paper, line));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

pub(super) async fn list(desk: &Desk) -> Result<(), Failure> {
    let logins: Vec<LoginShape> = desk.client.get("/logins").await?;
    desk.out.show(&logins, |out, logins| {
        if logins.is_empty() {
            return "Nobody is signed in. Make a link: vigie login".into();
        }
        let row = |login: &LoginShape| {
            vec![
                Cell::inked(out, Ink::Bold, login.id.clone()),
                Cell::plain(login.human.clone()),
                Cell::plain(format!("seen {}", out.when(login.seen))),
                Cell::plain(plain::line(&login.device)),
            ]
        };
        table(&logins.iter().map(row).collect::<Vec<_>>())
    })
}

pub(super) async fn logout(id: &str, desk: &Desk) -> Result<(), Failure> {
    let done: Done = desk.client.delete(&format!("/logins/{}", segment(id))).await?;
    desk.out.show(&done, |_, done| done.words.clone())
}
