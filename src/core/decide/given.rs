//! What an answer means to the gate it is for.

use crate::{
    agent::{AcceptEdits, Asked, Decision, Question, Scope},
    answer::Reading,
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

impl Given {
    pub(super) fn from_reading(reading: Reading, code_typed: bool) -> Option<Self> {
        match reading {
            Reading::Allow { .. } => Some(Self::Allow { code_typed }),
            Reading::AllowForSession { .. } => Some(Self::AllowForSession { code_typed }),
            Reading::Deny { reason, .. } => Some(Self::Deny { reason }),
            Reading::Option { numbers, .. } => Some(Self::Numbers(numbers)),
            Reading::AllowAll | Reading::Unclear { .. } | Reading::NotAnAnswer => None,
        }
    }
}

/// What the answer means to this gate. `Ok(None)`: noted, more questions are open.
pub(super) fn decision(gate: &mut Gate, given: Given) -> Result<Option<Decision>, Refusal> {
    let needs_code = gate.shown.risk == Risk::Code;
    let coded = |typed: bool| {
        if needs_code && !typed {
            Err(Refusal::NeedsCode { code: gate.code.clone() })
        } else {
            Ok(())
        }
    };
    let wrong = |choice: &str, choices: &[&str]| Refusal::NoSuchChoice {
        choice: choice.into(),
        choices: choices.iter().map(|c| (*c).to_owned()).collect(),
    };
    match (&gate.ask, given) {
        (Asked::Permission { .. }, Given::Allow { code_typed }) => {
            coded(code_typed)?;
            Ok(Some(Decision::Allow { scope: Scope::Once }))
        }
        (Asked::Permission { can_remember, .. }, Given::AllowForSession { code_typed }) => {
            coded(code_typed)?;
            if !can_remember || needs_code {
                return Err(wrong("for this session", &["approve", "deny"]));
            }
            Ok(Some(Decision::Allow { scope: Scope::Session }))
        }
        (Asked::Plan { .. }, Given::Allow { .. }) => {
            Ok(Some(Decision::Plan { accept_edits: AcceptEdits::No }))
        }
        (Asked::Plan { .. }, Given::AllowWithEdits) => {
            Ok(Some(Decision::Plan { accept_edits: AcceptEdits::Yes }))
        }
        // Anything but a yes to a plan is what should change in it.
        (Asked::Plan { .. }, Given::Words(words)) => {
            Ok(Some(Decision::Deny { reason: Some(words) }))
        }
        (_, Given::Deny { reason }) => Ok(Some(Decision::Deny { reason })),
        (Asked::Questions { questions }, Given::Words(words)) => {
            Ok(pick(&questions.clone(), &mut gate.picked, None, words))
        }
        (Asked::Questions { questions }, Given::Option { question, option }) => {
            let questions = questions.clone();
            let asked = questions.get(question).filter(|q| option < q.options.len());
            let asked = asked.ok_or_else(|| {
                wrong(&format!("option {}", option + 1), &["the options on the card"])
            })?;
            if asked.multiple {
                let at = (question, option);
                if !gate.ticked.remove(&at) {
                    gate.ticked.insert(at);
                }
                return Ok(None);
            }
            let label = asked.options[option].label.clone();
            Ok(pick(&questions, &mut gate.picked, Some(question), label))
        }
        (Asked::Questions { questions }, Given::Ticked { question }) => {
            let questions = questions.clone();
            let numbers: Vec<_> = gate
                .ticked
                .iter()
                .filter(|(at, _)| *at == question)
                .map(|(_, option)| option + 1)
                .collect();
            match questions.get(question).and_then(|q| labels(q, &numbers)) {
                Some(text) => Ok(pick(&questions, &mut gate.picked, Some(question), text)),
                None => Err(wrong("nothing", &["tick at least one option"])),
            }
        }
        (Asked::Questions { questions }, Given::Numbers(numbers)) => {
            let questions = questions.clone();
            let at = gate.picked.iter().position(Option::is_none).unwrap_or(0);
            let labels = questions.get(at).map(|q| labels(q, &numbers)).unwrap_or_default();
            match labels {
                Some(text) => Ok(pick(&questions, &mut gate.picked, Some(at), text)),
                None => Err(wrong(
                    &join_numbers(&numbers),
                    &["the numbers on the card", "your own words"],
                )),
            }
        }
        // "yes" and "ok" are words like any other to a question.
        (
            Asked::Questions { questions },
            Given::Allow { .. } | Given::AllowForSession { .. } | Given::AllowWithEdits,
        ) => Ok(pick(&questions.clone(), &mut gate.picked, None, "Yes".into())),
        (
            Asked::Permission { .. },
            Given::AllowWithEdits
            | Given::Numbers(_)
            | Given::Option { .. }
            | Given::Ticked { .. }
            | Given::Words(_),
        ) => Err(wrong("that", &["approve", "deny"])),
        (
            Asked::Plan { .. },
            Given::AllowForSession { .. }
            | Given::Numbers(_)
            | Given::Option { .. }
            | Given::Ticked { .. },
        ) => Err(wrong(
            "that",
            &["approve", "approve and accept its edits", "your own words to change it"],
        )),
    }
}

/// Notes one answer; all of them make the decision.
fn pick(
    questions: &[Question],
    picked: &mut Vec<Option<String>>,
    at: Option<usize>,
    text: String,
) -> Option<Decision> {
    picked.resize(questions.len().max(1), None);
    let at = at.or_else(|| picked.iter().position(Option::is_none)).unwrap_or(0);
    picked[at] = Some(text);
    picked.iter().cloned().collect::<Option<Vec<_>>>().map(|answers| Decision::Answers { answers })
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
