//! What may be done with a session, as buttons.

use maud::{Markup, html};

use super::{Deeds, Named, SessionPage};
use crate::pieces::{act, small_icon};

/// Beside its name.
pub(super) fn deeds(page: &SessionPage) -> Markup {
    let session = &page.view.session;
    if page.rights.deeds < Deeds::Write || page.named == Named::Another {
        return html! {};
    }
    // By id: the name may be another's by the time somebody presses.
    let path = |deed: &str| format!("/sessions/{}/{deed}", session.id);
    let live = session.life.is_live();
    html! {
        div.end.under {
            @if live {
                @if session.is_in_a_turn() { (act(&path("stop"), "", &html! { (small_icon("i-stop")) "Stop" })) }
                (act(&path("end"), "", &html! { "End" }))
                (kill(page, &path("kill")))
            } @else if session.conversation.is_some() {
                (act(&path("resume"), "go", &html! { "Resume" }))
            }
        }
    }
}

/// Never the nearest: it is under the dots, and asked about.
fn kill(page: &SessionPage, path: &str) -> Markup {
    let name = &page.view.session.name;
    let sure = format!("Kill {name}? Its program stops at once and cannot save what it holds.");
    html! {
        details.who-menu {
            summary.btn.icon aria-label="More: kill" { (crate::pieces::icon("i-more")) }
            div.menu {
                form data-post=(path) data-sure=(sure) { button.btn.risk { "Kill" } }
                p.small.dim { "When End does not help." }
            }
        }
    }
}

/// Where words to it are written.
pub(super) fn words(page: &SessionPage) -> Markup {
    let session = &page.view.session;
    if page.rights.deeds < Deeds::Write || page.named == Named::Another || !session.life.is_live() {
        return html! {};
    }
    let then = if session.is_in_a_turn() {
        "It takes them after this turn."
    } else {
        "It takes them now."
    };
    html! {
        details.tell {
            summary.btn { (small_icon("i-send")) "Send…" }
            form.panel.form data-post=(format!("/sessions/{}/send", session.id)) {
                label.field.wide for="tell" { (format!("Words to {}", session.name))
                    textarea.input id="tell" name="text" rows="3" maxlength="64000" required {}
                }
                p.error.wide role="alert" hidden {}
                div.wide.line-up { button.btn.go { "Send to " (session.name) } span.small.dim { (then) } }
            }
        }
    }
}
