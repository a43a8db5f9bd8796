//! A run as a few lines of text, for a phone.

use std::fmt::Write as _;

use chrono::TimeDelta;

use super::{
    Outcome, Run,
    report::millis,
    state::{Stand, State},
};
use crate::{Timestamp, language::Kind};

/// A phone shows about that many lines of a message before it folds it.
const LINES: usize = 40;
/// Steps that a line says it stands after.
const AFTER: usize = 3;
/// Longest name in a line, in characters.
const NAME: usize = 40;

/// One step, or several that stand alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub mark: Mark,
    pub text: String,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.mark.sign(), self.text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Done,
    Failed,
    /// Somebody stopped it.
    Cancelled,
    Running,
    Waiting,
    /// For a person.
    Asks,
    LeftOut,
    /// For its next try.
    Backoff,
    Sleeps,
}

impl Mark {
    pub fn sign(self) -> char {
        match self {
            Self::Done => '✓',
            Self::Failed => '✗',
            Self::Cancelled => '■',
            Self::Running => '●',
            Self::Waiting => '◌',
            Self::Asks => '?',
            Self::LeftOut => '⊘',
            Self::Backoff => '↻',
            Self::Sleeps => '☾',
        }
    }

    /// Whether steps that stand like that may share a line; what goes on or went wrong never does.
    fn folds(self) -> bool {
        match self {
            Self::Done | Self::Cancelled | Self::LeftOut | Self::Waiting => true,
            Self::Failed | Self::Running | Self::Asks | Self::Backoff | Self::Sleeps => false,
        }
    }

    fn many(self, count: usize) -> String {
        match self {
            Self::Done => format!("{count} steps done"),
            Self::LeftOut => format!("{count} steps left out"),
            Self::Waiting => format!("{count} steps wait"),
            Self::Failed => format!("{count} steps failed"),
            Self::Cancelled => format!("{count} steps stopped"),
            Self::Running => format!("{count} steps run"),
            Self::Asks => format!("{count} steps ask"),
            Self::Backoff => format!("{count} steps try again"),
            Self::Sleeps => format!("{count} steps sleep"),
        }
    }
}

impl Run {
    /// Its steps in an order in which they may run, at most as many lines as a phone shows: where there
    /// are more, those that are done, wait or are left out share lines.
    pub fn progress(&self, now: Timestamp) -> Vec<Line> {
        let order = &self.state.plan.scopes[0].order;
        let marks: Vec<_> = order.iter().map(|place| self.state.mark(*place)).collect();
        let groups = folded(&marks);
        let mut lines: Vec<_> = groups
            .iter()
            .take(LINES)
            .map(|group| match group.as_slice() {
                [one] => {
                    Line { mark: marks[*one], text: self.state.line(order[*one], marks[*one], now) }
                }
                many => Line { mark: marks[many[0]], text: marks[many[0]].many(many.len()) },
            })
            .collect();
        if groups.len() > LINES {
            let rest: usize = groups[LINES - 1..].iter().map(Vec::len).sum();
            lines.truncate(LINES - 1);
            lines.push(Line { mark: Mark::Waiting, text: format!("and {rest} steps more") });
        }
        lines
    }
}

/// Places in the order, put together where there are too many for a line each: first neighbours that
/// stand alike, then all that fold, then whatever stands alike.
fn folded(marks: &[Mark]) -> Vec<Vec<usize>> {
    let single: Vec<Vec<usize>> = (0..marks.len()).map(|place| vec![place]).collect();
    if single.len() <= LINES {
        return single;
    }
    let mut near: Vec<Vec<usize>> = Vec::new();
    for place in 0..marks.len() {
        match near.last_mut() {
            Some(group) if marks[place].folds() && marks[group[0]] == marks[place] => {
                group.push(place);
            }
            _ => near.push(vec![place]),
        }
    }
    if near.len() <= LINES {
        return near;
    }
    let all = together(marks, Mark::folds);
    if all.len() <= LINES { all } else { together(marks, |_| true) }
}

fn together(marks: &[Mark], folds: fn(Mark) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut seen: Vec<(Mark, usize)> = Vec::new();
    for (place, mark) in marks.iter().enumerate() {
        let group = seen.iter().find(|(it, _)| it == mark && folds(*mark)).map(|(_, group)| *group);
        if let Some(group) = group {
            groups[group].push(place);
        } else {
            seen.push((*mark, groups.len()));
            groups.push(vec![place]);
        }
    }
    groups
}

impl State {
    /// Of a step at the top; a `foreach` asks as soon as something in it does.
    fn mark(&self, node: usize) -> Mark {
        match &self.nodes[node].stand {
            Stand::Waiting | Stand::Pending(_) | Stand::Ready => Mark::Waiting,
            Stand::Running { .. } => match &self.step(node).kind {
                Kind::Approval(_) => Mark::Asks,
                Kind::Sleep(_) => Mark::Sleeps,
                Kind::Foreach(_) if self.asks_inside(node) => Mark::Asks,
                Kind::Shell(_)
                | Kind::Claude(_)
                | Kind::Http(_)
                | Kind::Javascript(_)
                | Kind::Condition(_)
                | Kind::Call(_)
                | Kind::Foreach(_) => Mark::Running,
            },
            Stand::Paused { .. } | Stand::InDoubt { .. } | Stand::Settled { .. } => Mark::Asks,
            Stand::Backoff { .. } => Mark::Backoff,
            Stand::Over { ended, .. } => match ended.outcome {
                Outcome::Done => Mark::Done,
                Outcome::Failed { .. } | Outcome::Denied { .. } | Outcome::TimedOut => Mark::Failed,
                Outcome::Cancelled => Mark::Cancelled,
            },
            Stand::LeftOut(_) => Mark::LeftOut,
        }
    }

    fn asks_inside(&self, node: usize) -> bool {
        let Some(rounds) = &self.nodes[node].rounds else { return false };
        let live = rounds.blocks.iter().filter(|block| self.blocks[**block].live);
        live.flat_map(|block| self.block_nodes(*block)).any(|inner| self.mark(inner) == Mark::Asks)
    }

    fn line(&self, node: usize, mark: Mark, now: Timestamp) -> String {
        let step = self.step(node);
        let mut text =
            shortened(if step.title.is_empty() { step.id.as_str() } else { &step.title });
        if let Some(rounds) = &self.nodes[node].rounds {
            let made = rounds.blocks.iter().take(rounds.items.len());
            let over = made.filter(|block| self.blocks[**block].open == 0).count();
            let _ = write!(text, " {over}/{}", rounds.items.len()); // a String takes everything
        }
        if let Some(time) = self.time(node, now) {
            let _ = write!(text, " · {time}");
        }
        if mark == Mark::Waiting && !step.needs.is_empty() {
            let open = step.needs.iter().filter(|need| {
                self.named(Some(node), need.as_str()).is_some_and(|need| !self.is_over(need))
            });
            let open: Vec<_> = open.map(|need| shortened(need.as_str())).collect();
            let more = match open.len().saturating_sub(AFTER) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            if !open.is_empty() {
                let _ = write!(text, " · after {}{more}", open[..open.len().min(AFTER)].join(", "));
            }
        }
        text
    }

    /// How long it took or has taken; of one that waits for a time, how long it still does.
    fn time(&self, node: usize, now: Timestamp) -> Option<String> {
        let it = &self.nodes[node];
        match &it.stand {
            Stand::Over { at, .. } => Some(told(*at - it.began?)),
            Stand::Running { until: Some(until), .. } | Stand::Backoff { until, .. } => {
                Some(format!("{} left", told(*until - now)))
            }
            Stand::Running { .. } | Stand::Paused { .. } | Stand::InDoubt { .. } => {
                Some(told(now - it.began?))
            }
            Stand::Waiting
            | Stand::Pending(_)
            | Stand::Ready
            | Stand::Settled { .. }
            | Stand::LeftOut(_) => None,
        }
    }
}

fn shortened(name: &str) -> String {
    let mut letters = name.chars();
    let kept: String = letters.by_ref().take(NAME).collect();
    if letters.next().is_some() { format!("{kept}…") } else { kept }
}

fn told(time: TimeDelta) -> String {
    let seconds = millis(time) / 1000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600, seconds / 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m {}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h {}m", minutes % 60),
        (days, hours, _) => format!("{days}d {}h", hours % 24),
    }
}
