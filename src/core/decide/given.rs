//! What an answer means to the gate it is for.

use crate::{
    agent::{AcceptEdits, Asked, Decision, Question, Scope},
    bridge::Risk,
    command::Refusal,
    gate::Gate,
};

/// An answer as it came in, before the gate says what it means.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Allow {
        code_typed: bool,
    },
    AllowForSession {
        code_typed: bool,
    },
    AllowWithEdits,
    Deny {
        reason: Option<String>,
    },
    /// Options by number from 1, of the first question that is still open.
    Numbers(Vec<usize>),
    /// One option of one question, by positions from 0.
    Option {
        question: usize,
        option: usize,
    },
    /// What is ticked at that question.
    Ticked {
        question: usize,
    },
    /// A person's own words.
    Words(String),
}

/// What the answer means to this gate. `Ok(None)`: noted, there is more to answer.
pub(super) fn decision(gate: &mut Gate, given: Given) -> Result<Option<Decision>, Refusal> {
    match (gate.ask.clone(), given) {
        (_, Given::Deny { reason }) => Ok(Some(Decision::Deny { reason })),
        (Asked::Permission { can_remember, .. }, given) => {
            permission(gate, can_remember, &given).map(Some)
        }
        (Asked::Plan { .. }, given) => plan(given).map(Some),
        (Asked::Questions { questions }, given) => answers(gate, &questions, given),
    }
}

fn wrong(choice: &str, choices: &[&str]) -> Refusal {
    let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
    Refusal::NoSuchChoice { choice: choice.into(), choices }
}

fn permission(gate: &Gate, can_remember: bool, given: &Given) -> Result<Decision, Refusal> {
    let needs_code = gate.shown.risk == Risk::Code;
    match given {
        Given::Allow { code_typed: false } | Given::AllowForSession { code_typed: false }
            if needs_code =>
        {
            Err(Refusal::NeedsCode { code: gate.code.clone() })
        }
        Given::Allow { .. } => Ok(Decision::Allow { scope: Scope::Once }),
        Given::AllowForSession { .. } if can_remember && !needs_code => {
            Ok(Decision::Allow { scope: Scope::Session })
        }
        Given::AllowForSession { .. } => Err(wrong("for this session", &["approve", "deny"])),
        Given::Deny { .. }
        | Given::AllowWithEdits
        | Given::Numbers(_)
        | Given::Option { .. }
        | Given::Ticked { .. } => Err(wrong("that", &["approve", "deny"])),
        Given::Words(words) => Err(wrong(words, &["approve", "deny"])),
    }
}

fn plan(given: Given) -> Result<Decision, Refusal> {
    match given {
        Given::Allow { .. } => Ok(Decision::Plan { accept_edits: AcceptEdits::No }),
        Given::AllowWithEdits => Ok(Decision::Plan { accept_edits: AcceptEdits::Yes }),
        // Anything but a yes to a plan is what should change in it.
        Given::Words(words) => Ok(Decision::Deny { reason: Some(words) }),
        Given::Deny { .. }
        | Given::AllowForSession { .. }
        | Given::Numbers(_)
        | Given::Option { .. }
        | Given::Ticked { .. } => Err(wrong(
            "that",
            &["approve", "approve and accept its edits", "your own words to change it"],
        )),
    }
}

fn answers(
    gate: &mut Gate,
    questions: &[Question],
    given: Given,
) -> Result<Option<Decision>, Refusal> {
    let next = gate.picked.iter().position(Option::is_none).unwrap_or(0);
    let (at, text) = match given {
        Given::Words(words) => (next, words),
        Given::Numbers(numbers) => {
            let chosen = questions.get(next).and_then(|question| labels(question, &numbers));
            let choices = ["the numbers on the card", "your own words"];
            (next, chosen.ok_or_else(|| wrong(&join_numbers(&numbers), &choices))?)
        }
        Given::Option { question: at, option } => {
            let unknown = || wrong(&format!("option {}", option + 1), &["the options on the card"]);
            let question =
                questions.get(at).filter(|q| option < q.options.len()).ok_or_else(unknown)?;
            if question.multiple {
                if !gate.ticked.remove(&(at, option)) {
                    gate.ticked.insert((at, option));
                }
                return Ok(None);
            }
            (at, question.options[option].label.clone())
        }
        Given::Ticked { question: at } => {
            let ticked = gate.ticked.iter().filter(|(question, _)| *question == at);
            let numbers: Vec<_> = ticked.map(|(_, option)| option + 1).collect();
            let chosen = questions.get(at).and_then(|question| labels(question, &numbers));
            (at, chosen.ok_or_else(|| wrong("nothing", &["tick at least one option"]))?)
        }
        // Without words of their own, as a reaction.
        Given::Allow { .. } | Given::AllowForSession { .. } | Given::AllowWithEdits => {
            (next, "Yes".into())
        }
        Given::Deny { reason } => return Ok(Some(Decision::Deny { reason })),
    };
    gate.picked.resize(questions.len().max(1), None);
    gate.picked[at] = Some(text);
    let all = gate.picked.iter().cloned().collect::<Option<Vec<_>>>();
    Ok(all.map(|answers| Decision::Answers { answers }))
}

/// The labels behind numbers from 1; several only where the question takes several.
fn labels(question: &Question, numbers: &[usize]) -> Option<String> {
    if numbers.is_empty() || (numbers.len() > 1 && !question.multiple) {
        return None;
    }
    let label = |number: &usize| {
        number.checked_sub(1).and_then(|at| question.options.get(at)).map(|o| o.label.clone())
    };
    numbers.iter().map(label).collect::<Option<Vec<_>>>().map(|labels| labels.join(", "))
}

fn join_numbers(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn verdict(decision: &Decision) -> String {
    match decision {
        Decision::Allow { scope: Scope::Once }
        | Decision::Plan { accept_edits: AcceptEdits::No } => "Approved".into(),
        Decision::Allow { scope: Scope::Session } => "Approved for this session".into(),
        Decision::Plan { accept_edits: AcceptEdits::Yes } => "Approved, edits accepted".into(),
        Decision::Deny { reason: None } => "Denied".into(),
        Decision::Deny { reason: Some(reason) } => format!("Denied: {reason}"),
        Decision::Answers { answers } => format!("Answered: {}", answers.join("; ")),
    }
}

pub(super) fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
