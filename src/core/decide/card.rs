//! What a card says and offers.

use vigie_workflow::run::ApprovalWork;

use super::{
    given::field_title,
    grants::{HOURS, kind_of},
};
use crate::{
    agent::{Asked, Choice, Question},
    bridge::{Action, Button, CardKind, Fact, Risk, Weight},
    gate::{Gate, Shown},
    risk,
    text::{self, Rich, Style},
};

/// What the card of a request says.
pub(super) fn shown(ask: &Asked, cwd: &str) -> Shown {
    match ask {
        Asked::Permission { tool, input, cwd: asked_in, .. } => {
            let folder = if asked_in.is_empty() { cwd } else { asked_in };
            let d = risk::describe(tool, input, folder);
            Shown {
                kind: CardKind::Permission,
                title: d.title,
                content: d.content,
                diff: d.diff,
                warnings: d.warnings,
                facts: d.facts,
                risk: d.risk,
                digest: d.digest,
            }
        }
        Asked::Questions { questions } => {
            let title = if questions.len() == 1 {
                "asks you".into()
            } else {
                format!("asks you {} things", questions.len())
            };
            plain_shown(CardKind::Question, title, questions_text(questions), ask, cwd)
        }
        // Its step says what stands on it.
        Asked::Approval(approval) => {
            plain_shown(CardKind::Approval, String::new(), approval_text(approval), ask, cwd)
        }
        Asked::Plan { plan } => plain_shown(
            CardKind::Plan,
            "proposes a plan".into(),
            text::markdown(&text::mask(plan).text),
            ask,
            cwd,
        ),
    }
}

fn plain_shown(kind: CardKind, title: String, content: Rich, ask: &Asked, cwd: &str) -> Shown {
    let input = serde_json::to_value(ask).unwrap_or_default();
    let digest = risk::describe("", &input, cwd).digest;
    Shown {
        kind,
        title,
        content,
        diff: None,
        warnings: Vec::new(),
        facts: Vec::new(),
        risk: Risk::Plain,
        digest,
    }
}

/// What is asked, what is shown as data, and the form.
fn approval_text(approval: &ApprovalWork) -> Rich {
    let mut text = Rich::default();
    // One line: no value in it can pass for another line of the card.
    let ask = text::mask(&approval.ask).text;
    let is_break = |c| matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let ask = ask.trim().replace("\r\n", " ").replace(is_break, " ");
    text.push(&text::reveal(&ask).text.text, Some(Style::Bold));
    if let Some(show) = approval.show.as_deref().filter(|show| !show.trim().is_empty()) {
        text.push("\n\n", None);
        text.append(&text::reveal_styled(&text::markdown(&text::mask(show).text)));
    }
    for field in &approval.form {
        text.push(&format!("\n\n{}", text::reveal(&field_title(field)).text.text), None);
        for (number, choice) in field.choices.iter().enumerate() {
            let choice = text::reveal(choice).text.text;
            text.push(&format!("\n{}. {choice}", number + 1), None);
        }
    }
    text
}

fn approval_rule(gate: &Gate, approval: &ApprovalWork) -> String {
    let code = &gate.code;
    let open = gate.picked.iter().position(Option::is_none);
    if gate.words_of.is_some() {
        return "Reply to this with what should change.".into();
    }
    if let Some(field) = open.and_then(|at| approval.form.get(at)) {
        let how = if field.choices.is_empty() {
            "Reply to this with it"
        } else {
            "Tap, or reply with its number"
        };
        let title = text::reveal(&field_title(field)).text.text;
        return format!("{title}? {how}; then approve {code}, or deny {code} and why.");
    }
    let back = match approval.send_back {
        Some(_) => format!(", or back {code} and what should change"),
        None => String::new(),
    };
    format!("Or write: approve {code}, deny {code} and why{back}.")
}

/// The next thing to fill in, and what can be decided.
fn approval_buttons(gate: &Gate, approval: &ApprovalWork) -> Vec<Button> {
    let id = gate.id;
    let button = |label: String, weight, action| Button { label, detail: None, weight, action };
    let open = gate.picked.iter().position(Option::is_none);
    let mut all = Vec::new();
    if let Some((at, field)) = open.and_then(|at| Some((at, approval.form.get(at)?))) {
        all.extend(field.choices.iter().enumerate().map(|(option, choice)| {
            let label = text::reveal(choice).text.text;
            button(label, Weight::Plain, Action::Choose { gate: id, question: at, option })
        }));
    }
    all.push(button("Deny".into(), Weight::Plain, Action::Deny { gate: id }));
    if approval.send_back.is_some() {
        all.push(button("Send back…".into(), Weight::Plain, Action::SendBack { gate: id }));
    }
    if open.is_none() {
        all.push(button("Approve".into(), Weight::Go, Action::Allow { gate: id }));
    }
    all
}

fn questions_text(questions: &[Question]) -> Rich {
    let mut text = Rich::default();
    for (index, question) in questions.iter().enumerate() {
        if index > 0 {
            text.push("\n\n", None);
        }
        text.push(&text::reveal(&question.text).text.text, Some(Style::Bold));
        for (number, option) in question.options.iter().enumerate() {
            text.push(
                &format!("\n{}. {}", number + 1, text::reveal(&option.label).text.text),
                None,
            );
            if !option.description.is_empty() {
                text.push(&format!(": {}", text::reveal(&option.description).text.text), None);
            }
        }
    }
    text
}

/// What a yes for longer would allow.
pub(super) fn lasting_fact(gate: &Gate) -> Option<Fact> {
    let value = text::reveal(&text::mask(&kind_of(gate)?.to_string()).text).text.text;
    gate.is_open().then(|| Fact { label: "For longer, it allows".into(), value })
}

pub(super) fn answer_rule(gate: &Gate) -> String {
    let code = &gate.code;
    match (&gate.ask, gate.shown.risk) {
        (Asked::Permission { .. }, Risk::Code) => format!("To allow it, write: approve {code}"),
        (Asked::Permission { .. }, Risk::Plain | Risk::Care) => {
            format!("Or write: approve {code}, or deny {code} and why.")
        }
        (Asked::Questions { questions }, _) if questions.iter().any(|q| q.multiple) => {
            "Tick and tap Done, write the numbers (1, 3), or reply in your own words.".into()
        }
        (Asked::Questions { questions }, _) if questions.iter().all(|q| q.options.is_empty()) => {
            "Answer in your own words.".into()
        }
        (Asked::Questions { .. }, _) => "Or answer in your own words.".into(),
        (Asked::Plan { .. }, _) => "Or say in your own words what should change.".into(),
        (Asked::Approval(approval), _) => approval_rule(gate, approval),
    }
}

pub(super) fn buttons(gate: &Gate) -> Vec<Button> {
    let id = gate.id;
    let button =
        |label: &str, weight, action| Button { label: label.into(), detail: None, weight, action };
    let deny = |label| button(label, Weight::Plain, Action::Deny { gate: id });
    match &gate.ask {
        Asked::Permission { .. } if gate.shown.risk == Risk::Code => vec![deny("Deny")],
        Asked::Permission { .. } => {
            let mut all =
                vec![deny("Deny"), button("Approve", Weight::Go, Action::Allow { gate: id })];
            if kind_of(gate).is_some() {
                let action = Action::AllowForSession { gate: id };
                all.push(button("Approve for this session", Weight::Plain, action));
                let label = format!("Approve its like for {HOURS} h");
                all.push(button(&label, Weight::Plain, Action::AllowForHours { gate: id }));
            }
            all
        }
        Asked::Plan { .. } => vec![
            deny("Keep planning"),
            button("Approve", Weight::Go, Action::Allow { gate: id }),
            button(
                "Approve, and accept its edits",
                Weight::Plain,
                Action::AllowWithEdits { gate: id },
            ),
        ],
        Asked::Approval(approval) => approval_buttons(gate, approval),
        Asked::Questions { questions } => questions
            .iter()
            .enumerate()
            .filter(|(at, _)| gate.picked.get(*at).is_none_or(Option::is_none))
            .flat_map(|(at, question)| options(gate, at, question))
            .collect(),
    }
}

/// A button an option; where several may be taken they are ticked, and one more button sends them.
fn options(gate: &Gate, at: usize, question: &Question) -> Vec<Button> {
    let id = gate.id;
    let button = |label, detail, weight, action| Button { label, detail, weight, action };
    let option = |(option, choice): (usize, &Choice)| {
        let label = text::reveal(&choice.label).text.text;
        let label = match (question.multiple, gate.ticked.contains(&(at, option))) {
            (false, _) => label,
            (true, true) => format!("☑ {label}"),
            (true, false) => format!("☐ {label}"),
        };
        let detail =
            (!choice.description.is_empty()).then(|| text::reveal(&choice.description).text.text);
        button(label, detail, Weight::Plain, Action::Choose { gate: id, question: at, option })
    };
    let mut all: Vec<_> = question.options.iter().enumerate().map(option).collect();
    if question.multiple {
        all.push(button(
            "Done".into(),
            None,
            Weight::Go,
            Action::Submit { gate: id, question: at },
        ));
    }
    all
}
