//! Short ways to say the usual things, for the tests of bridges.

use vigie_core::{
    Timestamp,
    bridge::{
        Action, Body, Button, Card, CardKind, CardState, Decided, Document, Fact, FilePost, Level,
        Media, Post, Progress, Risk, Weight,
    },
    id::{GateCode, GateId, HumanId, SessionId},
    text::{Rich, Style},
};

use crate::desk::now;

pub(crate) fn text(words: &str) -> Post {
    rich(Rich::plain(words))
}

pub(crate) fn rich(text: Rich) -> Post {
    let body = Body::Text { text, part: None, buttons: Vec::new() };
    Post { from: Some("PD-285".parse().unwrap()), level: Level::Note, body }
}

pub(crate) fn button(label: &str, weight: Weight, action: Action) -> Button {
    Button { label: label.into(), detail: None, weight, action }
}

pub(crate) fn card(number: u128, command: &str) -> Post {
    let gate = GateId::from_parts(Timestamp::default(), number);
    let mut content = Rich::default();
    content.push(command, Some(Style::Pre { language: Some("sh".into()) }));
    let card = Card {
        gate,
        code: GateCode::parse("K7Q2").unwrap(),
        kind: CardKind::Permission,
        title: "asks to run a command".into(),
        opened: now(),
        until: now() + std::time::Duration::from_mins(80),
        lapse: vigie_core::bridge::Lapse::Denied,
        content,
        diff: None,
        warnings: vec!["It reaches the network.".into()],
        facts: vec![Fact { label: "Folder".into(), value: "~/work/quay-PD-285".into() }],
        risk: Risk::Care,
        reactions: vigie_core::bridge::ByReaction::Answers,
        answer: "Or write: approve K7Q2, or deny K7Q2 and why.".into(),
        buttons: vec![
            button("Deny", Weight::Plain, Action::Deny { gate }),
            button("Approve", Weight::Go, Action::Allow { gate }),
        ],
        state: CardState::Open,
    };
    Post { from: Some("PD-285".parse().unwrap()), level: Level::Ring, body: Body::Card(card) }
}

pub(crate) fn approved(mut post: Post) -> Post {
    let Body::Card(card) = &mut post.body else { panic!("{post:?} is no card") };
    card.buttons.clear();
    let decided = Decided {
        verdict: "Approved".into(),
        by: HumanId::new("Tomas Lindqvist"),
        at: now(),
        via: "the phone page".into(),
    };
    card.state = CardState::Taken { decided, taken: now() };
    post.level = Level::Log;
    post
}

pub(crate) fn progress(lines: &[&str], ended: Option<&str>) -> Post {
    let session = SessionId::from_parts(Timestamp::default(), 1);
    let stop = button("Stop", Weight::Plain, Action::Interrupt { session });
    let body = Body::Progress(Progress {
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        since: now() - std::time::Duration::from_mins(4),
        ended: ended.map(str::to_owned),
        buttons: if ended.is_some() { Vec::new() } else { vec![stop] },
    });
    Post { from: Some("PD-285".parse().unwrap()), level: Level::Log, body }
}

pub(crate) fn document(name: &str, text: &str) -> Post {
    let body =
        Body::Document(Document { name: name.into(), text: text.into(), about: "a report".into() });
    Post { body, ..self::text("") }
}

pub(crate) fn file(path: &str, name: &str, media: Media) -> Post {
    let about = "the timetable page".into();
    let body = Body::File(FilePost { path: path.into(), name: name.into(), media, about });
    Post { body, ..text("") }
}
