//! What the agents of a run came to, so that work handed to others can be compared with work that
//! goes on in one conversation.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::{Run, Spent, state::State};
use crate::{language::Kind, value::StepPath};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// In the order in which their steps stand.
    pub parts: Vec<Part>,
    /// Steps with an agent of their own.
    pub delegated: Sum,
    /// Turns in a session, and steps that go on with another's conversation.
    pub inline: Sum,
}

/// One step with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub step: StepPath,
    pub delegated: bool,
    pub attempts: u32,
    pub spent: Spent,
    /// That it ran, in milliseconds, waiting for people left out.
    pub wall_ms: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    pub steps: u64,
    pub attempts: u64,
    pub spent: Spent,
    /// Of all, as if one ran after the other.
    pub wall_ms: u64,
}

impl Run {
    /// What its agents cost and took, all attempts that are over.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        for node in 0..self.state.nodes.len() {
            let Some(part) = part(&self.state, node) else { continue };
            let sum = if part.delegated { &mut report.delegated } else { &mut report.inline };
            sum.steps += 1;
            sum.attempts += u64::from(part.attempts);
            sum.spent.micro_usd += part.spent.micro_usd;
            sum.spent.input_tokens += part.spent.input_tokens;
            sum.spent.output_tokens += part.spent.output_tokens;
            sum.wall_ms += part.wall_ms;
            report.parts.push(part);
        }
        report
    }
}

fn part(state: &State, node: usize) -> Option<Part> {
    let Kind::Claude(claude) = &state.step(node).kind else { return None };
    let it = &state.nodes[node];
    if it.attempts == 0 {
        return None;
    }
    Some(Part {
        step: state.path(node),
        delegated: claude.session.is_none() && claude.goes_on.is_none(),
        attempts: it.attempts,
        spent: it.spent,
        wall_ms: millis(it.wall),
    })
}

pub(super) fn millis(time: TimeDelta) -> u64 {
    time.num_milliseconds().try_into().unwrap_or(0)
}
