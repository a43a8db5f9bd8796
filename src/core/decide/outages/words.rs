//! How it is said that an account is stopped.

use crate::{
    Timestamp,
    bridge::{Body, Level, Post},
    decide::{afford::Spender, show},
    id::AccountName,
    limit::{clock, clock_and_zone},
    outage::{Named, Stand, Trouble, Why},
    prompt::PromptState,
    session::Session,
    state::State,
    text::{Rich, Style},
};

/// Sessions that are named in one message.
const NAMED: usize = 12;

/// Of the agent's own words so much is quoted, in characters.
const QUOTED: usize = 300;

fn zone<'a>(trouble: &'a Trouble, usual: Option<&'a str>) -> Option<&'a str> {
    usual.or(trouble.zone.as_deref())
}

/// "at its usage limit until 04:11", without a subject.
pub(super) fn short(trouble: &Trouble, usual: Option<&str>) -> String {
    let time = |at| clock(at, zone(trouble, usual), trouble.since);
    match (trouble.why, trouble.stand) {
        (Why::Limit, Stand::Until { at, named: Named::ByAgent }) => {
            format!("is at its usage limit until {}", time(at))
        }
        (Why::Limit, Stand::Until { at, named: Named::ByUs }) => {
            format!("is at its usage limit, next try {}", time(at))
        }
        (Why::Limit, Stand::UntilSaid | Stand::GoesOn { .. }) => "is at its usage limit".into(),
        (Why::Overload, Stand::Until { at, .. }) => {
            format!("cannot reach its service, next try {}", time(at))
        }
        (Why::Overload, Stand::UntilSaid | Stand::GoesOn { .. }) => {
            "cannot reach its service".into()
        }
        (Why::Login, _) => "is not logged in".into(),
        (Why::Billing, Stand::Until { at, .. }) => format!("has no credit until {}", time(at)),
        (Why::Billing, Stand::UntilSaid | Stand::GoesOn { .. }) => "has no credit left".into(),
    }
}

/// "until 04:11", "not logged in".
pub(super) fn detail(trouble: &Trouble, usual: Option<&str>) -> String {
    let time = |at| clock(at, zone(trouble, usual), trouble.since);
    match (trouble.why, trouble.stand) {
        (Why::Limit | Why::Billing, Stand::Until { at, named: Named::ByAgent }) => {
            format!("until {}", time(at))
        }
        (Why::Limit | Why::Billing, Stand::Until { at, named: Named::ByUs }) => {
            format!("next try {}", time(at))
        }
        (Why::Limit, Stand::UntilSaid | Stand::GoesOn { .. }) => "until it is tried again".into(),
        (Why::Overload, Stand::Until { at, .. }) => format!("service down, next try {}", time(at)),
        (Why::Overload, Stand::UntilSaid | Stand::GoesOn { .. }) => "service down".into(),
        (Why::Login, _) => "not logged in".into(),
        (Why::Billing, Stand::UntilSaid | Stand::GoesOn { .. }) => "no credit left".into(),
    }
}

/// The one message about it.
pub(super) fn post(
    state: &State,
    account: &AccountName,
    trouble: &Trouble,
    now: Timestamp,
) -> Post {
    let usual = state.rules.accounts.zone.as_deref();
    let level = match trouble.stand {
        Stand::UntilSaid => Level::Ring,
        Stand::Until { .. } | Stand::GoesOn { .. } => Level::Note,
    };
    let mut text = Rich::plain(format!("{}\n", headline(account, trouble, usual)));
    let quoted: String = trouble.words.chars().take(QUOTED).collect();
    if !quoted.trim().is_empty() {
        text.push(quoted.trim(), Some(Style::Quote));
        text.push("\n", None);
    }
    let mut held: Vec<_> = state.held(account).collect();
    held.sort_by_key(|session| super::order(state, session));
    let poor = |session: &&Session| state.waits_for_somebody(&Spender::Session(session.id), now);
    text.push(&held_words(state, account, &held, poor), None);
    let all = if held.iter().any(poor) { "What waits for this alone" } else { "All of it" };
    let some = held.first().copied().or_else(|| state.of_account(account).next());
    let next = next_words(account, trouble, some.map(|session| session.name.as_str()), all);
    text.push(&format!("\n{next}"), None);
    show::note(level, text, vec![])
}

/// The text of a post.
pub(super) fn of(post: &Post) -> String {
    match &post.body {
        Body::Text { text, .. } => text.text.clone(),
        Body::Card(_) | Body::Progress(_) | Body::Document(_) | Body::File(_) => String::new(),
    }
}

/// What stands there once it is over.
pub(super) fn over(
    account: &AccountName,
    trouble: &Trouble,
    usual: Option<&str>,
    now: Timestamp,
) -> Post {
    let what = match trouble.why {
        Why::Limit => "was at its usage limit",
        Why::Overload => "could not reach its service",
        Why::Login => "was not logged in",
        Why::Billing => "had no credit left",
    };
    let zone = zone(trouble, usual);
    let (from, to) = (clock(trouble.since, zone, now), clock_and_zone(now, zone, now));
    let words = format!("{account} {what} from {from} to {to}. All that waited has gone on.");
    show::note(Level::Note, Rich::plain(words), vec![])
}

fn headline(account: &AccountName, trouble: &Trouble, usual: Option<&str>) -> String {
    let zone = zone(trouble, usual);
    let time = |at| clock_and_zone(at, zone, trouble.since);
    let since = clock(trouble.since, zone, trouble.since);
    match (trouble.why, trouble.stand) {
        (Why::Limit, Stand::Until { at, named: Named::ByAgent }) => {
            format!("{account} is at its usage limit until {}.", time(at))
        }
        (Why::Limit, Stand::Until { at, named: Named::ByUs }) => format!(
            "{account} is at its usage limit since {since} and does not say until when. It is tried again at {}.",
            time(at)
        ),
        (Why::Limit, Stand::UntilSaid) => {
            format!("{account} is at its usage limit since {since}, longer than any limit lasts.")
        }
        (Why::Overload, Stand::Until { at, .. }) => format!(
            "{account} cannot reach its service since {since}. It is tried again at {}.",
            time(at)
        ),
        (Why::Overload, Stand::UntilSaid) => {
            format!("{account} cannot reach its service since {since}.")
        }
        (Why::Login, Stand::Until { .. } | Stand::UntilSaid) => {
            format!("{account} is not logged in any more, or its key is refused.")
        }
        (Why::Billing, Stand::Until { at, .. }) => {
            format!("{account} has no credit until {}.", time(at))
        }
        (Why::Billing, Stand::UntilSaid) => format!("{account} has no credit left."),
        (_, Stand::GoesOn { .. }) => format!("{account} goes on."),
    }
}

/// "Held: PD-285 (cut off, 2 messages wait), PD-290 (1 message waits, and its money is spent)."
fn held_words(
    state: &State,
    account: &AccountName,
    held: &[&Session],
    poor: impl Fn(&&Session) -> bool,
) -> String {
    let of = |session: &&Session| {
        let queued = state.line_of(session.id).filter(|p| p.state == PromptState::Queued).count();
        let waits = match queued {
            0 => None,
            1 => Some("1 message waits".to_owned()),
            queued => Some(format!("{queued} messages wait")),
        };
        let cut = session.cut.as_ref().map(|_| "cut off".to_owned());
        let spent = poor(session).then(|| "and its money is spent".to_owned());
        let what: Vec<_> = cut.into_iter().chain(waits).chain(spent).collect();
        format!("{} ({})", session.name, what.join(", "))
    };
    let steps = state.held_steps(account).filter_map(|(run, step)| {
        let known = state.runs.get(run)?;
        Some(format!("step {step} of {}", known.row.name()))
    });
    let all: Vec<_> = held.iter().map(of).chain(steps).collect();
    let mut names: Vec<_> = all.iter().take(NAMED).cloned().collect();
    if all.len() > NAMED {
        names.push(format!("and {} more", all.len() - NAMED));
    }
    if names.is_empty() {
        return "Nothing waits for it.".into();
    }
    format!("Held: {}.", names.join(", "))
}

/// What follows by itself, and what a person can do. `all`: of what that is true.
fn next_words(
    account: &AccountName,
    trouble: &Trouble,
    session: Option<&str>,
    all: &str,
) -> String {
    let name = session.unwrap_or("NAME");
    match (trouble.why, trouble.stand) {
        (_, Stand::GoesOn { .. }) => {
            "What is held goes in now, one session after the other.".into()
        }
        (Why::Limit | Why::Overload | Why::Billing, Stand::Until { .. }) => format!(
            "{all} goes on by itself then. /retry {account} tries it now; /handover {name} AGENT gives a story to another agent."
        ),
        (Why::Login, Stand::Until { .. } | Stand::UntilSaid) => format!(
            "At the desk: vigie attach {name}, log in there (Claude Code: type /login). {all} goes on once a turn works again, or with /retry {account}."
        ),
        (Why::Billing, Stand::UntilSaid) => format!(
            "Put money on it, or give it another key; then /retry {account}. /handover {name} AGENT gives a story to another agent."
        ),
        (Why::Limit | Why::Overload, Stand::UntilSaid) => format!(
            "It is not tried again by itself. Look at the desk what it says: vigie attach {name}; then /retry {account}."
        ),
    }
}
