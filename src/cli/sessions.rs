//! `vigie sessions`.

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

/// One line each; what needs a person stands first. `ended` are not shown.
pub(super) fn words(out: &Out, sessions: &[SessionShape], ended: usize) -> String {
    let mut sorted: Vec<&SessionShape> = sessions.iter().collect();
    sorted.sort_by_key(|session| (rank(&session.state), session.since));
    let rows: Vec<Vec<Cell>> = sorted.into_iter().map(|session| row(out, session)).collect();
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

fn rank(state: &str) -> u8 {
    match state {
        "waiting" | "needs_desk" => 0,
        "lost" => 2,
        "ended" => 3,
        _ => 1,
    }
}

fn row(out: &Out, session: &SessionShape) -> Vec<Cell> {
    let (mark, ink, state) = match session.state.as_str() {
        "waiting" => ("◆", Some(Ink::Wait), format!("waits: {}", session.waiting.join(" "))),
        "needs_desk" => ("◆", Some(Ink::Wait), "needs you at the desk".into()),
        "lost" => ("✕", Some(Ink::Bad), "lost".into()),
        "ended" => ("○", Some(Ink::Dim), "ended".into()),
        "working" => ("●", None, "working".into()),
        other => ("○", None, other.replace('_', " ")),
    };
    let cell = |text: String| match ink {
        Some(ink) => Cell::inked(out, ink, text),
        None => Cell::plain(text),
    };
    let queued = match session.queued {
        0 => String::new(),
        queued => format!(" ({queued} queued)"),
    };
    let about =
        [Some(session.title.as_str()), session.detail.as_deref(), session.last_words.as_deref()];
    let about = about.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default();
    vec![
        cell(mark.into()),
        Cell::inked(out, Ink::Bold, session.name.clone()),
        cell(format!("{state}{queued}")),
        Cell::plain(out.when(session.since)),
        Cell::inked(out, Ink::Dim, format!("{} in {}", session.agent, session.project)),
        Cell::plain(shorten(&plain::line(about), ABOUT_WIDTH)),
    ]
}

/// Columns of the last field; the rest of a line is some fifty columns.
const ABOUT_WIDTH: usize = 48;

fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
