//! `vigie waiting`.

use super::{
    Desk,
    failure::Failure,
    out::{Ink, Out},
    plain,
};
use crate::web::shapes::{GateShape, QuestionShape, SessionShape};

pub(super) async fn run(desk: &Desk) -> Result<(), Failure> {
    let gates: Vec<GateShape> = desk.client.get("/waiting").await?;
    let sessions: Vec<SessionShape> = desk.client.get("/sessions").await?;
    desk.out.show(&gates, |out, gates| words(out, gates, &sessions))
}

fn words(out: &Out, gates: &[GateShape], sessions: &[SessionShape]) -> String {
    let stopped = sessions.iter().filter(|session| session.needs_you);
    let cards = gates.iter().map(|gate| card(out, gate));
    let all: Vec<_> = cards.chain(stopped.map(|session| stop(out, session))).collect();
    if all.is_empty() { "Nothing waits for you.".into() } else { all.join("\n\n") }
}

/// A session that does nothing until somebody does something about it.
fn stop(out: &Out, session: &SessionShape) -> String {
    let why = plain::line(session.detail.as_deref().unwrap_or_default());
    let name = out.ink(Ink::Wait, &format!("◐  {} is stopped", session.name));
    format!("{name}  {}\n    {why}", out.when(session.since))
}

/// Everything before the answer: who, what exactly, what follows by itself.
fn card(out: &Out, gate: &GateShape) -> String {
    let title = format!("{}  {} {}", gate.code, gate.session, plain::line(&gate.title));
    let mut lines = vec![format!("{}  {}", out.ink(Ink::Wait, &title), out.when(gate.opened))];
    // A question's text and options stand below, with what is answered so far; those of an approval
    // stand in its content, beside what is to be approved.
    let is_approval = gate.kind == "approval";
    if gate.questions.is_empty() || is_approval {
        lines.extend(indented(&gate.content));
    }
    lines.extend(gate.diff.iter().flat_map(|diff| indented(diff)));
    let warning = |text: &String| format!("  {}", out.ink(Ink::Bad, &plain::line(text)));
    lines.extend(gate.warnings.iter().map(warning));
    let fact =
        |label: &str, value: &str| format!("  {}: {}", plain::line(label), plain::line(value));
    lines.extend(gate.facts.iter().map(|each| fact(&each.label, &each.value)));
    if is_approval {
        lines.extend(
            gate.questions
                .iter()
                .filter_map(|field| Some(fact(&field.text, field.picked.as_deref()?))),
        );
    } else {
        lines.extend(gate.questions.iter().flat_map(question));
    }
    lines.push(format!("  {}", how(out, gate)));
    lines.join("\n")
}

fn indented(text: &str) -> Vec<String> {
    plain::lines(text).lines().map(|line| format!("    {line}")).collect()
}

fn question(question: &QuestionShape) -> Vec<String> {
    let picked = question.picked.iter().map(|text| format!("    answered: {}", plain::line(text)));
    let options = question.options.iter().enumerate().map(|(at, option)| {
        let description = plain::line(&option.description);
        let gap = if description.is_empty() { "" } else { ": " };
        format!("    {} {}{gap}{description}", at + 1, plain::line(&option.label))
    });
    std::iter::once(format!("  {}", plain::line(&question.text)))
        .chain(options)
        .chain(picked)
        .collect()
}

fn how(out: &Out, gate: &GateShape) -> String {
    let code = &gate.code;
    let until = out.until(gate.until);
    match (gate.state.as_str(), gate.kind.as_str()) {
        ("open", "question") => {
            format!("vigie answer {code} NUMBER or your own words, until {until}")
        }
        ("open", "approval") => {
            if let Some(field) = gate.questions.iter().find(|field| field.picked.is_none()) {
                let with = if field.options.is_empty() { "your own words" } else { "NUMBER" };
                let title = plain::line(&field.text);
                return format!(
                    "vigie answer {code} {with} (for: {title}), then vigie answer {code} approve, until {until}; or: deny [REASON]"
                );
            }
            format!("vigie answer {code} approve, deny [REASON] or back WORDS, until {until}")
        }
        ("open", _) => {
            format!("vigie answer {code} approve, or: deny [REASON]. Denied by itself at {until}")
        }
        (_, _) => "Answered; the agent does not have it yet.".into(),
    }
}
