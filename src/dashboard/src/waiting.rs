//! Every open gate over sessions and runs, oldest first, to be answered one after another; and what was
//! decided lately.

use maud::{Markup, html};
use vigie_core::{
    Timestamp,
    bridge::{CardState, Risk},
};

use crate::{
    frame::{Page, Tab},
    gate::{self, Asked, May},
    words::{age, clock, day_and_clock, lower_first, many, said},
};

pub struct Waiting<'a> {
    /// Open, oldest first.
    pub open: &'a [Asked],
    /// Over, newest first.
    pub decided: &'a [Asked],
    pub may: May,
    pub now: Timestamp,
}

pub fn page(waiting: &Waiting) -> Page {
    let Waiting { open, decided, may, now } = *waiting;
    let main = html! {
        div.head {
            h1 { "Waiting" }
            p.dim.small { (count(open, now)) }
            @if may == May::Answer && !open.is_empty() {
                div.end.wide-only { p.dim.small {
                    kbd { "A" } " approve  " kbd { "D" } " deny  " kbd { "1" } "–" kbd { "9" } " choose  " kbd { "J" } " " kbd { "K" } " next, previous"
                } }
            }
        }
        div.cols.queue {
            div.stack {
                @if open.is_empty() { div.panel.empty { p { b { "Nothing waits for you." } } p.dim { "What needs you appears here, and rings where you were last." } } }
                @for asked in open { (gate::card(asked, may, now)) }
            }
            section.band aria-labelledby="done" {
                h2 id="done" { "Decided lately" }
                @if decided.is_empty() { p.dim.small { "Nothing yet." } }
                @if !decided.is_empty() {
                    ol.list.panel id="decided" { @for asked in decided { (line(asked)) } }
                }
                p.foot.small.dim { "All of it, with what no person decided: " a href="/audit?show=decisions" { "Audit" } }
            }
        }
    };
    Page { title: "Waiting".into(), tab: Tab::Waiting, main }
}

fn count(open: &[Asked], now: Timestamp) -> String {
    open.first().map_or_else(String::new, |oldest| {
        let risky = open.iter().filter(|asked| asked.card.risk == Risk::Code).count();
        let risky = if risky == 0 { String::new() } else { format!(", {risky} by code only") };
        let age = age(oldest.card.opened, now);
        format!("{}, oldest first: {age}{risky}", many(open.len(), "waits", "wait"))
    })
}

fn line(asked: &Asked) -> Markup {
    let card = &asked.card;
    let (look, verdict, at, how) = match &card.state {
        CardState::Open => ("dim", "open".to_owned(), card.opened, html! {}),
        CardState::Answered(by) | CardState::Taken { decided: by, .. } => {
            let how = html! { (said(&by.by.to_string())) ", from " (by.via) };
            let denied = by.verdict.starts_with("Denied");
            (if denied { "bad" } else { "good" }, lower_first(&by.verdict), by.at, how)
        }
        CardState::Closed { why, at } => ("dim", "closed".into(), *at, html! { (said(why)) }),
    };
    html! {
        li {
            div.line {
                span { @if let Some(from) = &asked.from { a.key href=(asked.href) { (said(from)) } } " " span class=(look) { (said(&verdict)) } }
                (day_and_clock(at))
            }
            p.small.dim { (said(&card.title)) ", asked " (clock(card.opened)) ". " (how) }
        }
    }
}
