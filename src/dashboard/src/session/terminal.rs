//! A session's terminal: its screen as it is, and keys for it.

use maud::{Markup, html};
use vigie_core::session::Session;

use super::{Deeds, SessionPage, View, address};
use crate::{pieces::icon, term::Screen};

/// What there is of it.
pub enum Terminal<'a> {
    /// Told from `/sessions/{id}/terminal` as it changes.
    Live,
    /// The last that was drawn, or why that is not known.
    Over(Result<&'a Screen, &'a str>),
}

/// On a phone too; each is a name that the API knows, with what its button shows.
const KEYS: [(&str, &str, &str); 10] = [
    ("esc", "Esc", "Esc"),
    ("up", "↑", "Up"),
    ("down", "↓", "Down"),
    ("enter", "Enter", "Enter"),
    ("ctrl-c", "Ctrl-C", "Ctrl-C"),
    ("tab", "Tab", "Tab"),
    ("left", "←", "Left"),
    ("right", "→", "Right"),
    ("shift-tab", "⇧Tab", "Shift Tab"),
    ("backspace", "⌫", "Backspace"),
];

pub(super) fn pane(page: &SessionPage, terminal: &Terminal) -> Markup {
    let session = &page.view.session;
    match terminal {
        Terminal::Live => html! {
            (live(session))
            (foot(session))
            @if page.rights.deeds >= Deeds::Type { (keys(session)) }
            @else { p.small.dim { "Only an owner may type into a terminal: keys can answer what it asks." } }
        },
        Terminal::Over(Ok(screen)) => html! {
            (still(session, screen))
            p.foot.small.dim { "Its last screen; the program is gone. " a href=(address(session, View::Recording)) { "Recording" } }
        },
        Terminal::Over(Err(why)) => super::nothing(why),
    }
}

/// The script fills it and the page around it leaves it alone. Another start of its program has a
/// screen of its own.
fn live(session: &Session) -> Markup {
    let Session { id, run, name, .. } = session;
    html! {
        div.term-box id=(format!("term-{run}")) data-keep {
            div.term-tools.phone-only {
                label.small { input type="checkbox" id="whole" autocomplete="off"; " Whole width, small letters" }
            }
            button.btn.quiet type="button" data-before=(format!("/sessions/{id}/terminal/before")) { "Earlier output" }
            pre.term.earlier hidden tabindex="0" role="region" aria-label=(format!("Earlier output of {name}")) {}
            pre.term tabindex="0" role="region" aria-label=(format!("Live screen of {name}")) data-term=(format!("/sessions/{id}/terminal")) {
                span.dim { "Its screen comes…" }
            }
            p.small.wait role="status" data-term-says hidden {}
        }
    }
}

fn still(session: &Session, screen: &Screen) -> Markup {
    html! {
        div.term-box id=(format!("term-{}-over", session.run)) {
            pre.term tabindex="0" role="region" aria-label=(format!("Last screen of {}", session.name)) data-columns=(screen.columns) {
                @for line in screen.lines() { span.row { (line) } }
            }
        }
    }
}

fn foot(session: &Session) -> Markup {
    html! {
        p.foot.small.dim {
            "Live. " a href=(address(session, View::Recording)) { "Recording" } " · "
            code { "vigie attach " (session.name) }
        }
    }
}

/// Locked until somebody means it: what is typed answers whatever stands on the screen.
fn keys(session: &Session) -> Markup {
    let name = &session.name;
    html! {
        form.composer.panel.term-keys id="keys" aria-label=(format!("Keys for {name}")) data-type=(format!("/sessions/{}/keys", session.id)) data-keep {
            div.key-lock {
                label { input type="checkbox" id="unlock" autocomplete="off"; " Keys go to the live session" }
                span.xs { "off when you leave" }
            }
            p.small.dim.hint { "Keys answer whatever the terminal asks, without a card; the audit says who typed and how much, not what. They also go in while the screen above has the focus: Tab is typed there too, and F2 leaves it." }
            div.keys role="group" aria-label="Quick keys" {
                @for (key, label, words) in KEYS {
                    button.btn.risk[key == "ctrl-c"] type="button" data-press=(key) aria-label=(words) aria-describedby=[(key == "ctrl-c").then_some("cc")] disabled { (label) }
                }
            }
            p.hush id="cc" { "Once interrupts the turn. Twice ends the agent; Vigie asks first." }
            div.write {
                div.box { textarea rows="1" name="text" maxlength="4000" aria-label="Text to type into the terminal" placeholder="Text; Enter is a key of its own" disabled {} }
                button.btn.go aria-label="Type it" disabled { (icon("i-send")) }
            }
            p.error role="alert" hidden {}
        }
    }
}
