//! `vigie watch`: everything that happens, a line each.

use serde_json::Value;
use std::ops::ControlFlow;

use super::{
    Desk,
    failure::Failure,
    out::{Format, Ink, Out},
    plain,
};
use crate::web::shapes::{Event, SessionShape};

pub(super) async fn run(after: Option<u64>, desk: &Desk) -> Result<(), Failure> {
    let path = after.map_or("/events".into(), |after| format!("/events?after={after}"));
    let sessions: Vec<SessionShape> = desk.client.get("/sessions").await?;
    let names = |id: &str| {
        sessions.iter().find(|session| session.id == id).map_or(id.into(), |s| s.name.clone())
    };
    let mut failed = None;
    let each = |line: &[u8]| match print(line, &names, &desk.out) {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => {
            failed = Some(failure);
            ControlFlow::Break(())
        }
    };
    desk.client.lines(&path, each).await?;
    failed.map_or(Ok(()), Err)
}

fn print(line: &[u8], names: &dyn Fn(&str) -> String, out: &Out) -> Result<(), Failure> {
    if out.format() == Format::Json {
        return out.print(&String::from_utf8_lossy(line));
    }
    let event: Event = serde_json::from_slice(line)
        .map_err(|error| Failure::ours(format!("an event does not read: {error}")))?;
    let session = event.session.as_deref().map(names).unwrap_or_default();
    let words = [
        out.ink(Ink::Dim, &format!("{} {}", event.seq, Out::clock_time(event.at))),
        out.ink(Ink::Bold, &plain::line(&session)),
        event.kind.replace('_', " "),
        event.human.map(|human| format!("by {human}")).unwrap_or_default(),
        detail(&event.detail),
    ];
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    out.print(&words.join("  "))
}

/// The short values, by name.
fn detail(detail: &Value) -> String {
    let Value::Object(fields) = detail else { return String::new() };
    let short = |value: &Value| match value {
        Value::String(text) if text.chars().count() <= 80 => Some(plain::line(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let shown = fields.iter().filter_map(|(key, value)| Some(format!("{key}: {}", short(value)?)));
    shown.collect::<Vec<_>>().join(", ")
}
