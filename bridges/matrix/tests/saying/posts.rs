//! Short ways to say the usual things; a question besides those that all bridges say.

#[path = "../../../../tests/support/posts.rs"]
mod usual;

pub(crate) use usual::*;

use vigie_core::{
    bridge::{Action, Body, Button, CardKind, Post, Weight},
    text::Rich,
};

/// A question with options, of which each says more.
pub(crate) fn question(number: u128, options: &[&str]) -> Post {
    let mut post = card(number, "Where do the timetables go?");
    let Body::Card(card) = &mut post.body else { panic!("it was made a card") };
    card.kind = CardKind::Question;
    card.title = "asks".into();
    card.content = Rich::plain("Where do the timetables go?");
    let gate = card.gate;
    let option = |(option, label): (usize, &&str)| Button {
        detail: Some(format!("{label} and nothing else")),
        ..button(label, Weight::Plain, Action::Choose { gate, question: 0, option })
    };
    card.buttons = options.iter().enumerate().map(option).collect();
    post
}
