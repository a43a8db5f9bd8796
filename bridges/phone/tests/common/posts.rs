//! Short ways to say the usual things.

use vigie_core::{
    Timestamp,
    bridge::{
        Action, Body, Button, Card, CardKind, CardState, Decided, Document, Level, Post, Risk,
        SessionLook, ThreadState, Weight,
    },
    id::{GateCode, GateId, HumanId},
    text::Rich,
};

pub(crate) fn text(from: &str, words: &str) -> Post {
    let body = Body::Text { text: Rich::plain(words), part: None, buttons: Vec::new() };
    Post { from: Some(from.parse().unwrap()), level: Level::Note, body }
}

pub(crate) fn gate(number: u128) -> GateId {
    GateId::from_parts(Timestamp::default(), number)
}

pub(crate) fn button(label: &str, action: Action) -> Button {
    Button { label: label.into(), detail: None, weight: Weight::Plain, action }
}

/// A morning far ahead: no card of a test lapses. Seconds since 1970.
pub(crate) const UNTIL: i64 = 4_102_478_880;

/// An open permission with Approve and Deny.
pub(crate) fn card(number: u128, code: &str, command: &str) -> Post {
    let gate = gate(number);
    let card = Card {
        gate,
        code: GateCode::parse(code).unwrap(),
        kind: CardKind::Permission,
        title: "asks to run a command".into(),
        opened: Timestamp::default(),
        until: Timestamp::from_timestamp(UNTIL, 0).unwrap(),
        lapse: vigie_core::bridge::Lapse::Denied,
        content: Rich::plain(command),
        diff: None,
        warnings: Vec::new(),
        facts: Vec::new(),
        risk: Risk::Plain,
        reactions: vigie_core::bridge::ByReaction::Answers,
        answer: String::new(),
        buttons: vec![
            button("Approve", Action::Allow { gate }),
            button("Deny", Action::Deny { gate }),
        ],
        state: CardState::Open,
    };
    Post { from: Some("PD-285".parse().unwrap()), level: Level::Ring, body: Body::Card(card) }
}

/// The card of `post`, changed.
pub(crate) fn with_card(mut post: Post, change: impl FnOnce(&mut Card)) -> Post {
    let Body::Card(card) = &mut post.body else { panic!("{post:?} is no card") };
    change(card);
    post
}

pub(crate) fn approved(post: Post) -> Post {
    with_card(post, |card| {
        card.buttons.clear();
        let decided = Decided {
            verdict: "Approved".into(),
            by: HumanId::new("ines"),
            at: Timestamp::default(),
            via: "the phone page".into(),
        };
        card.state = CardState::Taken { decided, taken: Timestamp::default() };
    })
}

pub(crate) fn risky(post: Post) -> Post {
    with_card(post, |card| card.risk = Risk::Code)
}

pub(crate) fn document(name: &str, words: &str) -> Post {
    let document = Document { name: name.into(), text: words.into(), about: "a report".into() };
    Post {
        from: Some("PD-285".parse().unwrap()),
        level: Level::Note,
        body: Body::Document(document),
    }
}

pub(crate) fn thread(session: &str, state: SessionLook) -> ThreadState {
    ThreadState {
        session: session.parse().unwrap(),
        title: "Retry refunds when the bank times out".into(),
        state,
        detail: None,
        since: Timestamp::default(),
    }
}
