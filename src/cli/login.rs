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
    let until = Out::clock_time(*until);
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
    lines.extend(picture(url));
    lines.push(format!("Code: {code}"));
    lines.push(reach.into());
    lines.join("\n")
}

/// The link as a QR code of half blocks, dark on light in every colour scheme.
fn picture(url: &str) -> Option<String> {
    let code = QrCode::new(url).ok()?;
    // A terminal draws letters light on dark, so the dark modules are those left out.
    let mut render = code.render::<Dense1x2>();
    render.dark_color(Dense1x2::Dark).light_color(Dense1x2::Light);
    Some(render.build())
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
