//! What stands beside a session, and its plain lists.

use maud::{Markup, html};
use vigie_core::{
    mail::{Mail, MailState},
    money::exact,
    prompt::{Prompt, PromptState},
    session::{Counted, Session},
};

use super::{Deeds, SessionPage};
use crate::{
    gate,
    words::{age, clock, day_and_clock, money, said, tokens},
};

pub(super) fn side(page: &SessionPage) -> Markup {
    let session = &page.view.session;
    html! {
        aside.stack aria-label=(format!("About {}", session.name)) {
            @for asked in page.asked { (gate::card(asked, page.rights.answer, page.now)) }
            @if !page.queue.is_empty() { (queue(page)) }
            (facts(page))
        }
    }
}

fn queue(page: &SessionPage) -> Markup {
    html! {
        section.band aria-labelledby="queue" {
            h2 id="queue" { "Next for it" }
            ol.list.panel { @for prompt in page.queue { (waiting(page, prompt)) } }
        }
    }
}

fn waiting(page: &SessionPage, prompt: &Prompt) -> Markup {
    let from = match (&prompt.by, &prompt.of_step) {
        (Some(human), _) if human == page.me => "from you".into(),
        (Some(human), _) => format!("from {human}"),
        (None, Some(_)) => "from a workflow".into(),
        (None, None) => "from other sessions".into(),
    };
    html! {
        li id=(format!("prompt-{}", prompt.id)) {
            p.lines dir="auto" { (said(&prompt.text)) }
            p.small.dim {
                (said(&from)) ". "
                @match &prompt.state {
                    PromptState::Handed { at, .. } => { "On its way into the agent since " (clock(*at)) "." }
                    PromptState::Queued | PromptState::Taken { .. } | PromptState::Refused { .. } => { "Goes in after this turn." }
                }
            }
            @if may_change(page, prompt) { (change(prompt)) }
        }
    }
}

/// Whoever wrote it, and owners, as long as nobody has it.
fn may_change(page: &SessionPage, prompt: &Prompt) -> bool {
    let theirs = prompt.by.as_ref().is_some_and(|by| by == page.me);
    let owner = page.rights.deeds == Deeds::Type && prompt.by.is_some();
    let waits = matches!(prompt.state, PromptState::Queued);
    waits && page.rights.deeds >= Deeds::Write && (theirs || owner)
}

fn change(prompt: &Prompt) -> Markup {
    let path = format!("/prompts/{}", prompt.id);
    let field = format!("words-{}", prompt.id);
    html! {
        details.reason {
            summary { "Change or take back…" }
            form data-post=(path) data-method="PUT" {
                label.field for=(field) { "Words"
                    textarea.input id=(field) name="text" rows="3" maxlength="64000" required { "\n" (prompt.text) }
                }
                p.error role="alert" hidden {}
                button.btn { "Change" }
            }
            form data-post=(path) data-method="DELETE" {
                p.error role="alert" hidden {}
                button.btn { "Take back" }
            }
        }
    }
}

fn facts(page: &SessionPage) -> Markup {
    let session = &page.view.session;
    html! {
        section.band aria-labelledby="about" {
            h2 id="about" { "About" }
            dl.facts {
                dt { "Project" } dd { (session.project) }
                @if let Some(worktree) = &session.worktree {
                    dt { "Branch" } dd { code { (said(&worktree.branch)) } " in its own worktree" }
                }
                dt { "Folder" } dd { code { (said(&session.cwd)) } }
                dt { "Agent" } dd { (session.agent) }
                dt { "Started" } dd {
                    (day_and_clock(session.created))
                    @if let Some(by) = &page.view.started_by { " by " (said(by)) }
                }
                dt { (if session.life.is_live() { "Since" } else { "Over" }) }
                dd { (clock(session.life.since())) ", " (age(session.life.since(), page.now)) }
                @if let Some(summary) = &session.summary { dt { "Says" } dd dir="auto" { (said(&summary.text)) } }
                dt { "Cost" } dd { (budget(session)) }
                dt { "Id" } dd { code { (session.id) } ", " a href=(format!("/audit?show=all&session={}", session.id)) { "what happened" } }
            }
        }
    }
}

fn budget(session: &Session) -> Markup {
    let spent = money(session.spent.micro_usd);
    let most =
        session.spawn.as_ref().map(|spawn| spawn.reserve().micro_usd).filter(|most| *most > 0);
    let Some(most) = most else { return html! { (spent) } };
    let words = format!("{spent} of {}", exact(most));
    let used = session.spent.micro_usd.min(most);
    html! { (words) " " meter min="0" max=(most) value=(used) aria-label="Budget used" { (words) } }
}

/// What it cost.
pub(super) fn cost(session: &Session) -> Markup {
    let spent = &session.spent;
    let row = |name: &str, [input, output, cached]: [u64; 3], micro: u64| {
        html! {
            tr {
                th scope="row" { (name) }
                td.n { (tokens(input)) } td.n { (tokens(output)) } td.n { (tokens(cached)) } td.n { (money(micro)) }
            }
        }
    };
    let told = spent.counted == Counted::Told;
    html! {
        div.panel.scroll-x tabindex="0" role="region" aria-label="Cost, table" {
            table {
                thead { tr { th scope="col" { "Since" } th.n scope="col" { "Input" } th.n scope="col" { "Output" } th.n scope="col" { "Through caches" } th.n scope="col" { "Cost" } } }
                tbody {
                    // Of records it is not known which start of the program they are of.
                    @if told { (row("This start of its program", [spent.run_input_tokens, spent.run_output_tokens, 0], spent.run_micro_usd)) }
                    (row("The whole session", [spent.input_tokens, spent.output_tokens, spent.cached_tokens], spent.micro_usd))
                }
            }
        }
        p.foot.small.dim {
            @if told { "As the agent counts it, at list prices. " } @else { "Counted from its answers, one by one, at the prices Vigie knows. " }
            a href="/ledger" { "Ledger" }
        }
    }
}

/// Between it and others, newest first.
pub(super) fn mail(mail: &[Mail]) -> Markup {
    if mail.is_empty() {
        return super::nothing("it has written to no other session, and none to it");
    }
    html! {
        ul.list.panel {
            @for mail in mail {
                li {
                    div.line {
                        span { b.key { (said(&mail.from.spoken())) } " to " b.key { (said(&mail.to.spoken())) } }
                        (day_and_clock(mail.sent))
                    }
                    p.lines dir="auto" { (said(&mail.text)) }
                    p.small.dim { (became(&mail.state)) }
                }
            }
        }
    }
}

fn became(state: &MailState) -> Markup {
    match state {
        MailState::Waiting { .. } => html! { "Waits to be read." },
        MailState::Offered { at, .. } => html! { "On its way since " (clock(*at)) "." },
        MailState::Read { at } => html! { "Read, " (clock(*at)) "." },
        MailState::Dead { why, .. } => html! { "Not read: " (said(why)) "." },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use vigie_core::{Timestamp, id::MailId};

    #[test]
    fn what_sessions_write_each_other_is_text() {
        let id = MailId::from_parts(Timestamp::default(), 1);
        let one: Mail = serde_json::from_value(json!({
            "id": id, "number": 1, "thread": id, "batch": id, "reply_to": null, "key": null,
            "from": { "from": "client", "token": format!("tok_{}", "0".repeat(26)), "name": "<b>ci\u{202e}" },
            "to": { "to": "humans" }, "text": "<script>document.title='owned'</script>\u{202e}gnp",
            "sent": Timestamp::default(), "hops": 0, "depth": 0, "answers": null, "tries": 3,
            "state": { "state": "dead", "why": "<i>gone", "at": Timestamp::default() },
        }))
        .unwrap();
        let shown = mail(&[one]).0;
        for evil in ["<script", "<b>ci", "<i>gone", "\u{202e}"] {
            assert!(!shown.contains(evil), "{evil}: {shown}");
        }
        assert!(shown.contains("&lt;script&gt;") && shown.contains("Not read"), "{shown}");
    }
}
