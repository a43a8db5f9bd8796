//! What an answer means to the gate it is for.

use vigie_workflow::{language::Field, run::ApprovalWork};

use super::grants::{Lasting, kind_of};
use crate::{
    agent::{AcceptEdits, Asked, Decision, Question, Scope},
    bridge::{Action, Risk},
    command::Refusal,
    gate::Gate,
    id::HumanId,
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
    AllowForHours {
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
    /// A yes with words, to a workflow.
    AllowWith {
        words: String,
    },
    /// What should change before a workflow asks again …
    SendBack {
        words: String,
    },
    /// … which whoever it is says with their next words.
    AskBack,
}

impl Given {
    /// How long a yes is to hold that is for more than this once.
    pub(super) fn lasting(&self) -> Option<Lasting> {
        match self {
            Self::AllowForSession { .. } => Some(Lasting::Session),
            Self::AllowForHours { .. } => Some(Lasting::Hours),
            Self::Allow { .. }
            | Self::AllowWithEdits
            | Self::Deny { .. }
            | Self::Numbers(_)
            | Self::Option { .. }
            | Self::Ticked { .. }
            | Self::Words(_)
            | Self::AllowWith { .. }
            | Self::SendBack { .. }
            | Self::AskBack => None,
        }
    }

    /// What a button of a card gives; `None`: it is a button of something else.
    pub(super) fn by_button(action: &Action) -> Option<Self> {
        match action {
            Action::Allow { .. } => Some(Self::Allow { code_typed: false }),
            Action::AllowForSession { .. } => Some(Self::AllowForSession { code_typed: false }),
            Action::AllowForHours { .. } => Some(Self::AllowForHours { code_typed: false }),
            Action::AllowWithEdits { .. } => Some(Self::AllowWithEdits),
            Action::Deny { .. } => Some(Self::Deny { reason: None }),
            Action::Choose { question, option, .. } => {
                Some(Self::Option { question: *question, option: *option })
            }
            Action::Submit { question, .. } => Some(Self::Ticked { question: *question }),
            Action::SendBack { .. } => Some(Self::AskBack),
            Action::SendTo { .. }
            | Action::StartAndSend { .. }
            | Action::Drop { .. }
            | Action::SendEdit { .. }
            | Action::Resume { .. }
            | Action::Interrupt { .. }
            | Action::InterruptAll
            | Action::CancelRun { .. }
            | Action::RetryRun { .. }
            | Action::FillIn { .. }
            | Action::StartRun { .. }
            | Action::DropRun { .. }
            | Action::AsMuchAgain { .. }
            | Action::RunGoesOn { .. } => None,
        }
    }
}

/// What the answer means to this gate. `Ok(None)`: noted, there is more to answer.
pub(super) fn decision(
    gate: &mut Gate,
    given: Given,
    by: &HumanId,
) -> Result<Option<Decision>, Refusal> {
    match (gate.ask.clone(), given) {
        (Asked::Questions { questions }, given) if gate.step().is_some() => {
            doubt(gate, &questions, given)
        }
        (_, Given::Deny { reason }) => Ok(Some(Decision::Deny { reason })),
        (Asked::Approval(asked), given) => approval(gate, &asked, given, by),
        (Asked::Permission { .. }, given) => permission(gate, &given).map(Some),
        (Asked::Plan { .. }, given) => plan(given).map(Some),
        (Asked::Questions { questions }, given) => answers(gate, &questions, given),
    }
}

fn wrong(choice: &str, choices: &[&str]) -> Refusal {
    let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
    Refusal::NoSuchChoice { choice: choice.into(), choices }
}

fn permission(gate: &Gate, given: &Given) -> Result<Decision, Refusal> {
    let needs_code = gate.shown.risk == Risk::Code;
    match given {
        Given::Allow { code_typed: false }
        | Given::AllowForSession { code_typed: false }
        | Given::AllowForHours { code_typed: false }
            if needs_code =>
        {
            Err(Refusal::NeedsCode { code: gate.code.clone() })
        }
        Given::Allow { .. } => Ok(Decision::Allow { scope: Scope::Once }),
        // A grant of ours is given with it. A rule of the agent's own could be neither listed nor taken back.
        Given::AllowForSession { .. } | Given::AllowForHours { .. } if kind_of(gate).is_some() => {
            Ok(Decision::Allow { scope: Scope::Once })
        }
        Given::AllowForSession { .. } | Given::AllowForHours { .. } => {
            Err(wrong("for longer than this once", &["approve", "deny"]))
        }
        Given::Deny { .. }
        | Given::AllowWithEdits
        | Given::Numbers(_)
        | Given::Option { .. }
        | Given::AllowWith { .. }
        | Given::SendBack { .. }
        | Given::AskBack
        | Given::Ticked { .. } => Err(wrong("that", &["approve", "deny"])),
        Given::Words(words) => Err(wrong(words, &["approve", "deny"])),
    }
}

fn plan(given: Given) -> Result<Decision, Refusal> {
    match given {
        Given::Allow { .. } => Ok(Decision::Plan { accept_edits: AcceptEdits::No }),
        // Edits are accepted for as long as the session runs.
        Given::AllowWithEdits | Given::AllowForSession { .. } => {
            Ok(Decision::Plan { accept_edits: AcceptEdits::Yes })
        }
        // Anything but a yes to a plan is what should change in it.
        Given::Words(words) => Ok(Decision::Deny { reason: Some(words) }),
        Given::Deny { .. }
        | Given::Numbers(_)
        | Given::Option { .. }
        | Given::AllowForHours { .. }
        | Given::AllowWith { .. }
        | Given::SendBack { .. }
        | Given::AskBack
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
        Given::Allow { .. }
        | Given::AllowForSession { .. }
        | Given::AllowForHours { .. }
        | Given::AllowWithEdits => (next, "Yes".into()),
        Given::Deny { reason } => return Ok(Some(Decision::Deny { reason })),
        Given::AllowWith { .. } | Given::SendBack { .. } | Given::AskBack => {
            return Err(wrong("that", &["your own words"]));
        }
    };
    gate.picked.resize(questions.len().max(1), None);
    gate.picked[at] = Some(text);
    let all = gate.picked.iter().cloned().collect::<Option<Vec<_>>>();
    Ok(all.map(|answers| Decision::Answers { answers }))
}

/// Whether a step in doubt was done: one of the fixed options, and nothing that has to be guessed.
fn doubt(
    gate: &mut Gate,
    questions: &[Question],
    given: Given,
) -> Result<Option<Decision>, Refusal> {
    let labels: Vec<_> = questions.iter().flat_map(|q| &q.options).map(|o| &o.label).collect();
    let known = |words: &str| labels.iter().position(|label| label.eq_ignore_ascii_case(words));
    let unknown = |words: &str| {
        let choices = labels.iter().map(|label| (*label).clone()).collect();
        Refusal::NoSuchChoice { choice: words.into(), choices }
    };
    let given = match given {
        Given::Words(words) => {
            let option = known(words.trim()).ok_or_else(|| unknown(&words))?;
            Given::Option { question: 0, option }
        }
        Given::Numbers(numbers) => Given::Numbers(numbers),
        Given::Option { question, option } => Given::Option { question, option },
        Given::Allow { .. }
        | Given::AllowForSession { .. }
        | Given::AllowForHours { .. }
        | Given::AllowWithEdits
        | Given::Deny { .. }
        | Given::Ticked { .. }
        | Given::AllowWith { .. }
        | Given::SendBack { .. }
        | Given::AskBack => return Err(unknown("that")),
    };
    answers(gate, questions, given)
}

fn approval(
    gate: &mut Gate,
    asked: &ApprovalWork,
    given: Given,
    by: &HumanId,
) -> Result<Option<Decision>, Refusal> {
    let next = gate.picked.iter().position(Option::is_none);
    let title = |at: usize| asked.form.get(at).map(field_title).unwrap_or_default();
    let approve = |words: Option<String>| {
        if let Some(at) = next {
            return Err(Refusal::NotFilledIn { title: title(at) });
        }
        let form = gate.picked.iter().flatten().cloned().collect();
        Ok(Some(Decision::Approve { form, words }))
    };
    let back = |words: String| match asked.send_back {
        Some(_) => Ok(Some(Decision::SendBack { words })),
        None => Err(wrong("back", &choices_of(asked))),
    };
    let (at, text) = match given {
        Given::Allow { .. } => return approve(None),
        Given::AllowWith { words } => return approve(Some(words)),
        Given::Deny { reason } => return Ok(Some(Decision::Deny { reason })),
        Given::SendBack { words } => return back(words),
        Given::AskBack if asked.send_back.is_some() => return Ok(None),
        Given::AskBack => return Err(wrong("back", &choices_of(asked))),
        Given::Words(words) if gate.words_of.as_ref() == Some(by) => return back(words),
        Given::Words(words) => {
            let field = next.and_then(|at| Some((at, asked.form.get(at)?)));
            let picked = field.and_then(|(at, field)| {
                let choice = field.choices.iter().find(|c| c.eq_ignore_ascii_case(words.trim()));
                let free = field.choices.is_empty().then(|| words.trim().to_owned());
                Some((at, choice.cloned().or(free)?))
            });
            picked.ok_or_else(|| wrong(&words, &choices_of(asked)))?
        }
        Given::Numbers(numbers) => {
            let unknown = || wrong(&join_numbers(&numbers), &choices_of(asked));
            let [number] = numbers.as_slice() else { return Err(unknown()) };
            let at = next.ok_or_else(unknown)?;
            let choices = asked.form.get(at).map(|field| &field.choices);
            let choice = choices.and_then(|choices| choices.get(number.checked_sub(1)?));
            (at, choice.cloned().ok_or_else(unknown)?)
        }
        Given::Option { question: at, option } => {
            let choice = asked.form.get(at).and_then(|field| field.choices.get(option));
            let unknown = || wrong(&format!("option {}", option + 1), &choices_of(asked));
            (at, choice.cloned().ok_or_else(unknown)?)
        }
        Given::AllowForSession { .. }
        | Given::AllowForHours { .. }
        | Given::AllowWithEdits
        | Given::Ticked { .. } => {
            return Err(wrong("that", &choices_of(asked)));
        }
    };
    gate.picked.resize(asked.form.len(), None);
    gate.picked[at] = Some(text);
    Ok(None)
}

fn choices_of(asked: &ApprovalWork) -> Vec<&'static str> {
    let back = asked.send_back.as_ref().map(|_| "back and what should change");
    ["approve", "deny"].into_iter().chain(back).collect()
}

/// As people see it.
pub(super) fn field_title(field: &Field) -> String {
    if field.title.is_empty() { field.id.to_string() } else { field.title.clone() }
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
        | Decision::Approve { words: None, .. }
        | Decision::Plan { accept_edits: AcceptEdits::No } => "Approved".into(),
        Decision::Allow { scope: Scope::Session } => "Approved for this session".into(),
        Decision::Plan { accept_edits: AcceptEdits::Yes } => "Approved, edits accepted".into(),
        Decision::Deny { reason: None } => "Denied".into(),
        Decision::Deny { reason: Some(reason) } => format!("Denied: {reason}"),
        Decision::Answers { answers } => format!("Answered: {}", answers.join("; ")),
        Decision::Approve { words: Some(words), .. } => format!("Approved: {words}"),
        Decision::SendBack { words } => format!("Sent back: {words}"),
    }
}

pub(super) fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
