//! What an emoji on a message may do where whoever carries it could have put it there.

use serde::{Deserialize, Serialize};

use super::{Action, Card};
use crate::id::GateCode;

/// Whose a reaction is, as far as a service can tell, and so what it may decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reactions {
    /// It is as surely the person's as their words are: it does what a tap does.
    Proved,
    /// Others could have put it there in the person's name.
    Forgeable(Counts),
}

/// What counts of reactions that others could have put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Plain answers: a yes for once, an option, and all that [`Counts::Denials`] has.
    Answers,
    /// Whatever lets nothing through: a no, and what ends or forgets something.
    Denials,
    Nothing,
}

/// What a card takes from reactions that others could have put there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByReaction {
    #[default]
    Answers,
    /// What changes or reaches more than the project; and what people decide in a workflow counts people,
    /// and one who forges is all of them.
    Denials,
}

impl Reactions {
    /// Whether a reaction may do that; `card`: on a card that takes so much.
    pub fn may(self, action: &Action, card: Option<ByReaction>) -> bool {
        match self {
            Self::Proved => true,
            Self::Forgeable(Counts::Nothing) => false,
            Self::Forgeable(Counts::Denials) => stops(action),
            Self::Forgeable(Counts::Answers) => match card.unwrap_or_default() {
                ByReaction::Answers => stops(action) || is_plain(action),
                ByReaction::Denials => stops(action),
            },
        }
    }
}

/// Nothing goes ahead by it.
fn stops(action: &Action) -> bool {
    match action {
        Action::Deny { .. }
        | Action::Drop { .. }
        | Action::DropRun { .. }
        | Action::Interrupt { .. }
        | Action::InterruptAll
        | Action::CancelRun { .. } => true,
        Action::Allow { .. }
        | Action::AllowForSession { .. }
        | Action::AllowForHours { .. }
        | Action::AllowWithEdits { .. }
        | Action::SendBack { .. }
        | Action::Choose { .. }
        | Action::Submit { .. }
        | Action::SendTo { .. }
        | Action::StartAndSend { .. }
        | Action::SendEdit { .. }
        | Action::Resume { .. }
        | Action::RetryRun { .. }
        | Action::FillIn { .. }
        | Action::StartRun { .. }
        | Action::AsMuchAgain { .. }
        | Action::RunGoesOn { .. } => false,
    }
}

/// It lets one thing through, and that was asked for; nothing lasts, nothing runs twice, no workflow
/// begins by it, and nobody's next words are taken for something else.
fn is_plain(action: &Action) -> bool {
    match action {
        Action::Allow { .. }
        | Action::Choose { .. }
        | Action::Submit { .. }
        | Action::SendTo { .. }
        | Action::StartAndSend { .. }
        | Action::SendEdit { .. }
        | Action::Resume { .. } => true,
        Action::Deny { .. }
        | Action::AllowForSession { .. }
        | Action::AllowForHours { .. }
        | Action::AllowWithEdits { .. }
        | Action::SendBack { .. }
        | Action::Drop { .. }
        | Action::DropRun { .. }
        | Action::Interrupt { .. }
        | Action::InterruptAll
        | Action::CancelRun { .. }
        | Action::RetryRun { .. }
        | Action::FillIn { .. }
        | Action::StartRun { .. }
        | Action::AsMuchAgain { .. }
        | Action::RunGoesOn { .. } => false,
    }
}

/// What a person writes to do that to the request with this code. `None`: it is no answer.
pub fn in_words(action: &Action, code: &GateCode) -> Option<String> {
    Some(match action {
        Action::Allow { .. } => format!("approve {code}"),
        Action::AllowForSession { .. } | Action::AllowWithEdits { .. } => {
            format!("approve {code} for this session")
        }
        Action::AllowForHours { .. } => format!("approve {code} for 8 h"),
        Action::Deny { .. } => format!("deny {code}"),
        Action::SendBack { .. } => format!("back {code} and what should change"),
        Action::Choose { option, .. } => format!("{} {code}", option + 1),
        Action::Submit { .. } => format!("1, 2 {code}"),
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
        | Action::AsMuchAgain { .. }
        | Action::RunGoesOn { .. }
        | Action::DropRun { .. } => return None,
    })
}

impl Card {
    /// Without the buttons that reactions may not stand in for; the card says how they are written.
    #[must_use]
    pub fn for_reactions(mut self, reactions: Reactions) -> Self {
        let may = |action: &Action| reactions.may(action, Some(self.reactions));
        let (offered, written): (Vec<_>, Vec<_>) =
            self.buttons.into_iter().partition(|button| may(&button.action));
        self.buttons = offered;
        let mut numbers = false;
        for button in &written {
            let Some(words) = in_words(&button.action, &self.code) else { continue };
            let chooses = matches!(button.action, Action::Choose { .. } | Action::Submit { .. });
            let is_said = if chooses { numbers } else { self.answer.contains(&words) };
            if is_said {
                continue;
            }
            let said = if chooses {
                numbers = true;
                format!("To choose, write the number and the code: {words}.")
            } else {
                format!("{}: write \"{words}\".", button.label)
            };
            if !self.answer.is_empty() {
                self.answer.push(' ');
            }
            self.answer.push_str(&said);
        }
        self
    }
}
