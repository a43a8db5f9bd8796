//! What waits for a person, and what became of it: a card, laid out as on every other service.

use maud::{Markup, html};
use vigie_core::{
    Timestamp,
    bridge::{Action, Button, Card, CardKind, CardState, Decided, Risk, Weight},
};

use crate::{
    pieces::small_icon,
    rich,
    words::{clock, day_and_clock, said, since},
};

/// A card and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The session that asks; of a step, the card's own title names the run.
    pub from: Option<String>,
    /// The page of whoever asks.
    pub href: String,
    pub card: Card,
}

impl Asked {
    pub fn is_open(&self) -> bool {
        self.card.state == CardState::Open
    }
}

/// What whoever looks may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    Answer,
    Look,
}

/// The whole card.
pub fn card(asked: &Asked, may: May, now: Timestamp) -> Markup {
    let Asked { card, .. } = asked;
    let code = card.code.to_string();
    let open = asked.is_open();
    let risky = card.risk == Risk::Code && open;
    let id = format!("gate-{code}");
    html! {
        article.gate.risky[risky].decided[!open] id=(id) data-code=(code) aria-labelledby=(format!("{id}-t")) tabindex="-1" {
            header {
                (small_icon(drawing(card.kind)))
                h2 id=(format!("{id}-t")) { (title(asked)) ", " (clock(card.opened)) }
                span.code { (code) }
            }
            (content(card))
            @for warning in &card.warnings { p.warn { (small_icon("i-warn")) span { (said(warning)) } } }
            (facts(card, now))
            @match (&card.state, may) {
                (CardState::Open, May::Answer) => { (answers(card)) }
                (CardState::Open, May::Look) => { p.said { "You may look and not answer." } }
                (state, _) => { p.said { (outcome(state)) } }
            }
        }
    }
}

/// "PD-285 asks to edit a file".
pub fn title(asked: &Asked) -> Markup {
    html! {
        @if let Some(from) = &asked.from { a.key href=(asked.href) { (said(from)) } " " }
        (said(&asked.card.title))
    }
}

fn drawing(kind: CardKind) -> &'static str {
    match kind {
        CardKind::Permission => "i-screen",
        CardKind::Question => "i-ask",
        CardKind::Plan => "i-plan",
        CardKind::Approval => "i-runs",
    }
}

/// Shown whole: nobody allows what they cannot read.
fn content(card: &Card) -> Markup {
    html! {
        @if !card.content.is_empty() {
            @if card.kind == CardKind::Permission {
                pre.code-block tabindex="0" { (rich::inline(&card.content)) }
            } @else {
                div.ask.doc { (rich::blocks(&card.content)) }
            }
        }
        @if let Some(diff) = &card.diff { (crate::pieces::diff(diff)) }
    }
}

fn facts(card: &Card, now: Timestamp) -> Markup {
    let open = card.state == CardState::Open;
    html! {
        dl.facts {
            @for fact in &card.facts { dt { (said(&fact.label)) } dd { (said(&fact.value)) } }
            @if open {
                dt { "Asked" } dd { (since(card.opened, now)) }
                dt { "Until" } dd { (day_and_clock(card.until)) ", " (card.lapse.words()) }
            }
        }
    }
}

/// What was decided, by whom, when, from where; and whether the agent has it.
pub fn outcome(state: &CardState) -> Markup {
    let decided = |decided: &Decided| {
        let Decided { verdict, by, at, via } = decided;
        html! { b { (said(verdict)) } " by " (said(&by.to_string())) ", " (clock(*at)) ", from " (via) "." }
    };
    match state {
        CardState::Open => html! { "Open." },
        CardState::Answered(by) => html! { (decided(by)) " The agent does not have it yet." },
        CardState::Taken { decided: by, taken } => {
            html! { (decided(by)) " The agent has it since " (clock(*taken)) "." }
        }
        CardState::Closed { why, at } => html! { (said(why)) ", " (clock(*at)) "." },
    }
}

fn answers(card: &Card) -> Markup {
    let (options, others): (Vec<_>, Vec<_>) =
        card.buttons.iter().partition(|button| is_option(button));
    html! {
        @if !options.is_empty() {
            div.choices {
                @for (number, button) in options.iter().enumerate() { (option(card, number + 1, button)) }
            }
        }
        div.acts {
            @for button in others.iter().filter(|button| !wants_words(button)) {
                (tap(card, button, look(button.weight)))
            }
            @if card.risk == Risk::Code { (typed(card)) }
            (own_words(card))
            @if others.iter().any(|button| wants_words(button)) {
                (words(card, "back", "Send back…", "What should change before it is asked again", "back "))
            }
        }
        p.said.error role="alert" hidden {}
    }
}

fn is_option(button: &Button) -> bool {
    matches!(button.action, Action::Choose { .. })
}

/// What it means is said in words.
fn wants_words(button: &Button) -> bool {
    matches!(button.action, Action::SendBack { .. })
}

fn look(weight: Weight) -> &'static str {
    match weight {
        Weight::Go => "btn go",
        Weight::Plain => "btn",
        Weight::Risk => "btn risk",
    }
}

/// For the keyboard: `A` and `D`.
fn key(action: &Action) -> Option<&'static str> {
    match action {
        Action::Allow { .. } => Some("a"),
        Action::Deny { .. } => Some("d"),
        _ => None,
    }
}

fn tap(card: &Card, button: &Button, look: &str) -> Markup {
    let beside = matches!(button.action, Action::Allow { .. } | Action::Deny { .. });
    let look = if beside { look.to_owned() } else { format!("{look} all") };
    html! {
        button type="button" class=(look) data-tap=(button.action) data-code=(card.code) data-key=[key(&button.action)] {
            (said(&button.label))
        }
    }
}

fn option(card: &Card, number: usize, button: &Button) -> Markup {
    html! {
        button.choice type="button" data-tap=(button.action) data-code=(card.code) data-key=(number) {
            span { (number) }
            b dir="auto" { (said(&button.label)) }
            @if let Some(detail) = &button.detail { small dir="auto" { (said(detail)) } }
        }
    }
}

/// A card that destroys something is allowed by its code, typed.
fn typed(card: &Card) -> Markup {
    let code = card.code.to_string();
    let id = format!("code-{code}");
    html! {
        form.confirm.all data-confirm=(code) {
            label for=(id) { "To approve, type " b.mono { (code) } }
            input.input.code id=(id) name="code" maxlength="4" autocomplete="off" autocapitalize="characters" spellcheck="false" required;
            button.btn.risk { "Approve" }
        }
    }
}

/// Whatever no button says: a reason, an answer in one's own words, what should change.
fn own_words(card: &Card) -> Markup {
    match card.kind {
        CardKind::Question => words(card, "own", "Answer in your own words…", "Your answer", ""),
        CardKind::Plan => {
            words(card, "own", "Say what should change…", "What should be different", "")
        }
        CardKind::Permission | CardKind::Approval => {
            words(card, "deny", "Deny with a reason…", "Why, or what to do instead", "deny ")
        }
    }
}

fn words(card: &Card, name: &str, opener: &str, ask: &str, prefix: &str) -> Markup {
    let code = card.code.to_string();
    let id = format!("{name}-{code}");
    html! {
        details.reason.all {
            summary { (opener) }
            form data-words=(code) data-prefix=(prefix) {
                label.field for=(id) { (ask) textarea.input id=(id) name="words" rows="2" maxlength="4000" required {} }
                button.btn { "Send" }
            }
        }
    }
}
