//! `vigie sessions`.

use std::collections::{HashMap, HashSet};
use vigie_core::session::Role;

use super::{
    Desk,
    failure::Failure,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::web::shapes::SessionShape;

pub(super) async fn run(all: bool, desk: &Desk) -> Result<(), Failure> {
    let mut sessions: Vec<SessionShape> = desk.client.get("/sessions").await?;
    let ended = if all { 0 } else { drop_ended(&mut sessions) };
    desk.out.show(&sessions, |out, sessions| words(out, sessions, ended))
}

/// Takes out what has ended as somebody wanted and says how many those were. What is lost stays:
/// nobody wanted that.
pub(super) fn drop_ended(sessions: &mut Vec<SessionShape>) -> usize {
    let before = sessions.len();
    sessions.retain(|session| session.state != "ended");
    before - sessions.len()
}

/// One line each, below whoever started it; where a person is needed stands first. `ended` are not
/// shown.
pub(super) fn words(out: &Out, sessions: &[SessionShape], ended: usize) -> String {
    let forest = Forest::of(sessions);
    let mut rows = Vec::new();
    for root in forest.below(None) {
        forest.rows(out, root, 0, &mut rows);
    }
    let mut lines = vec![if rows.is_empty() {
        "No session runs. Start one: vigie new NAME [WHAT TO DO]".into()
    } else {
        table(&rows)
    }];
    if ended > 0 {
        lines.push(out.ink(Ink::Dim, &format!("{ended} ended: vigie sessions --all")));
    }
    lines.join("\n")
}

/// Sessions by who started them, as far as those are shown too.
struct Forest<'a>(HashMap<Option<&'a str>, Vec<&'a SessionShape>>);

impl<'a> Forest<'a> {
    fn of(sessions: &'a [SessionShape]) -> Self {
        let shown: HashSet<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
        let mut below = HashMap::<_, Vec<_>>::new();
        for session in sessions {
            let parent = session.parent.as_ref().map(|parent| parent.id.as_str());
            // Ids sort by age: whatever a daemon says, nothing stands below itself.
            let parent = parent.filter(|id| shown.contains(id) && *id < session.id.as_str());
            below.entry(parent).or_default().push(session);
        }
        Self(below)
    }

    fn below(&self, parent: Option<&str>) -> Vec<&'a SessionShape> {
        let mut below = self.0.get(&parent).cloned().unwrap_or_default();
        below.sort_by_key(|session| (self.urgency(session), session.since));
        below
    }

    /// That of the most urgent in its tree.
    fn urgency(&self, session: &SessionShape) -> u8 {
        let below = self.0.get(&Some(session.id.as_str())).into_iter().flatten();
        let least = below.map(|child| self.urgency(child)).min();
        rank(session).min(least.unwrap_or(u8::MAX))
    }

    fn rows(&self, out: &Out, session: &SessionShape, depth: usize, rows: &mut Vec<Vec<Cell>>) {
        rows.push(row(out, session, depth));
        for child in self.below(Some(session.id.as_str())) {
            self.rows(out, child, depth + 1, rows);
        }
    }
}

fn rank(session: &SessionShape) -> u8 {
    match session.state.as_str() {
        "waiting" | "needs_desk" => 0,
        "lost" => 2,
        "ended" => 3,
        "limited" if session.over_budget => 0,
        _ => 1,
    }
}

fn row(out: &Out, session: &SessionShape, depth: usize) -> Vec<Cell> {
    let (mark, ink, state) = match session.state.as_str() {
        "waiting" => ("◆", Some(Ink::Wait), format!("waits: {}", session.waiting.join(" "))),
        "needs_desk" => ("◆", Some(Ink::Wait), "needs you at the desk".into()),
        "limited" if session.over_budget => ("◆", Some(Ink::Wait), "used up: write to it".into()),
        "limited" => ("◐", Some(Ink::Wait), "at its limit".into()),
        "lost" => ("✕", Some(Ink::Bad), "lost".into()),
        "ended" => ("○", Some(Ink::Dim), "ended".into()),
        "working" => ("●", None, "working".into()),
        other => ("○", None, other.replace('_', " ")),
    };
    let cell = |text: String| match ink {
        Some(ink) => Cell::inked(out, ink, text),
        None => Cell::plain(text),
    };
    let name = match depth {
        0 => session.name.clone(),
        depth => format!("{}└ {}", "  ".repeat(depth - 1), session.name),
    };
    // What a person has to do about it is said whole.
    let width = if session.state == "limited" { LIMITED_WIDTH } else { ABOUT_WIDTH };
    vec![
        cell(mark.into()),
        Cell::inked(out, Ink::Bold, name),
        cell(format!("{state}{}", line(session))),
        Cell::plain(out.when(session.since)),
        Cell::inked(out, Ink::Dim, place(session, depth)),
        Cell::plain(shorten(&plain::line(about(session)), width)),
    ]
}

/// What waits for it: messages of people, messages of other sessions.
fn line(session: &SessionShape) -> String {
    let counted = [(session.queued, "queued"), (session.unread_mail, "mail")];
    let parts = counted.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// `claude in quay`, and what is special about it.
fn place(session: &SessionShape, depth: usize) -> String {
    let SessionShape { agent, project, role, isolated, parent, .. } = session;
    let lord = (*role == Role::Lord).then(|| "the Lord".to_owned());
    let apart = isolated.then(|| "isolated".to_owned());
    // Where the tree does not show it.
    let parent = parent.as_ref().filter(|_| depth == 0);
    let parent = parent.map(|parent| format!("by {}", plain::line(&parent.name)));
    let place = format!("{agent} in {project}");
    [Some(place), lord, apart, parent].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What went wrong, else what it says it does, else what is known of it.
fn about(session: &SessionShape) -> &str {
    let SessionShape { detail, summary, title, last_words, .. } = session;
    let detail = detail.as_deref();
    let wrong =
        detail.filter(|_| matches!(session.state.as_str(), "lost" | "needs_desk" | "limited"));
    let known = [wrong, summary.as_deref(), Some(title.as_str()), detail, last_words.as_deref()];
    known.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default()
}

/// Columns of the last field; the rest of a line is some fifty columns.
const ABOUT_WIDTH: usize = 48;

/// The same where it says what stops a session.
const LIMITED_WIDTH: usize = 160;

fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Clock, web::shapes::ParentShape};
    use vigie_core::Timestamp;

    fn session(name: &str, state: &str, parent: Option<&str>) -> SessionShape {
        SessionShape {
            id: format!("ses_{name}"),
            name: name.into(),
            title: String::new(),
            project: "quay".into(),
            agent: "demo".into(),
            folder: "/srv/quay".into(),
            branch: None,
            state: state.into(),
            detail: None,
            since: Timestamp::default(),
            created: Timestamp::default(),
            waiting: if state == "waiting" { vec!["K7Q2".into()] } else { Vec::new() },
            queued: 0,
            unread_mail: 0,
            last_words: None,
            summary: None,
            role: Role::Worker,
            parent: parent.map(|name| ParentShape { id: format!("ses_{name}"), name: name.into() }),
            depth: 0,
            isolated: false,
            over_budget: false,
            micro_usd: 0,
            input_tokens: 0,
            cached_tokens: 0,
            needs_you: false,
            output_tokens: 0,
        }
    }

    fn shown(sessions: &[SessionShape]) -> String {
        words(&Out::plain(Clock::fixed(Timestamp::default())), sessions, 0)
    }

    #[test]
    fn who_started_what_is_seen_and_who_needs_a_person_stands_first() {
        let lord = SessionShape { role: Role::Lord, ..session("lord", "idle", None) };
        let told = SessionShape {
            title: "the title".into(),
            summary: Some("counts\u{1b}[2J the lines".into()),
            unread_mail: 2,
            queued: 1,
            ..session("c", "working", Some("b"))
        };
        let apart = SessionShape { isolated: true, ..session("e", "idle", Some("d")) };
        let spent = SessionShape { over_budget: true, ..session("g", "limited", Some("gone")) };
        let lost = SessionShape {
            detail: Some("signal 9".into()),
            summary: Some("was fine".into()),
            ..session("h", "lost", None)
        };
        let waits = session("f", "waiting", Some("e"));
        let all = [lord, session("b", "idle", None), told, session("d", "idle", None), apart];
        let all: Vec<_> = all.into_iter().chain([waits, spent, lost]).collect();
        insta::assert_snapshot!(shown(&all), @r"
        ○  d      idle                        now  demo in quay
        ○  └ e    idle                        now  demo in quay, isolated
        ◆    └ f  waits: K7Q2                 now  demo in quay
        ◆  g      used up: write to it        now  demo in quay, by gone
        ○  lord   idle                        now  demo in quay, the Lord
        ○  b      idle                        now  demo in quay
        ●  └ c    working (1 queued, 2 mail)  now  demo in quay            counts⟦U+001B⟧[2J the lines
        ✕  h      lost                        now  demo in quay            signal 9
        ");
    }

    #[test]
    fn a_tree_that_bites_its_tail_is_still_shown() {
        let all = [session("a", "idle", Some("b")), session("b", "idle", Some("a"))];
        insta::assert_snapshot!(shown(&all), @r"
        ○  a    idle  now  demo in quay, by b
        ○  └ b  idle  now  demo in quay
        ");
    }
}
