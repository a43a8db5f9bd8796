//! What models were paid for: an entry for each answer of a model, counted once over all files it
//! stands in, and priced when it came.

mod price;
mod recent;

#[cfg(test)]
mod tests;

pub use price::{IN_THE_US, LongPrompt, Price, Prices};
pub use recent::Recent;

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    id::{ProjectName, RunId, SessionId, TurnId},
};

/// Entries that one report of a holder has at most: a journal line stays small.
pub const MOST_AT_ONCE: usize = 100;

/// More tokens of one kind than an answer has: the largest models take some millions at once. What says
/// that it had more is no count of anything, and would drown everything that was counted.
pub const MOST_TOKENS: u64 = 100_000_000;

/// Days in this zone; unless somebody says otherwise, that of the clock itself.
pub type Zone = vigie_workflow::cron::Tz;

/// What names an answer of a model, in whatever file and however often it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UsageKey {
    /// The service's id of the message.
    pub message: String,
    /// The service's id of the request; empty where it has none.
    #[serde(default)]
    pub request: String,
}

/// Tokens of one answer, or of many. Each token is in one of these alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Read anew, from no cache and into none.
    #[serde(default)]
    pub input: u64,
    #[serde(default)]
    pub output: u64,
    #[serde(default)]
    pub cache_read: u64,
    /// Written into the cache that holds for five minutes …
    #[serde(default)]
    pub cache_write_5m: u64,
    /// … and for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
    /// Searches of the web that the service made, which are paid for one by one.
    #[serde(default)]
    pub web_searches: u64,
}

impl Tokens {
    /// All that the model was given.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write_5m)
            .saturating_add(self.cache_write_1h)
    }

    /// Both directions.
    pub fn all(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: of(self.input, other.input),
            output: of(self.output, other.output),
            cache_read: of(self.cache_read, other.cache_read),
            cache_write_5m: of(self.cache_write_5m, other.cache_write_5m),
            cache_write_1h: of(self.cache_write_1h, other.cache_write_1h),
            web_searches: of(self.web_searches, other.web_searches),
        }
    }

    /// Whether one answer can have had so many; see [`MOST_TOKENS`].
    pub fn can_be(&self) -> bool {
        let Self { input, output, cache_read, cache_write_5m, cache_write_1h, web_searches } = self;
        [input, output, cache_read, cache_write_5m, cache_write_1h, web_searches]
            .into_iter()
            .all(|count| *count <= MOST_TOKENS)
    }

    /// The larger of each: an answer that is still streamed only grows.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// What is in here beyond `other`.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }
}

impl std::ops::Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }
}

/// One answer of a model, as the agent's own records have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    #[serde(flatten)]
    pub key: UsageKey,
    /// As prices are looked up: the service's name, and behind a blank what makes it dearer
    /// (`claude-opus-5-5 fast`).
    pub model: String,
    /// When the model was asked …
    pub asked: Timestamp,
    /// … and when it had answered.
    pub at: Timestamp,
    #[serde(flatten)]
    pub tokens: Tokens,
    /// The turn of the main agent it was for, where the records say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The subagent that asked; `None`: the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
}

/// On whose behalf a model answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// An agent that a person started, itself.
    Inline,
    /// An agent within such a session.
    Subagent,
    /// A session that an agent started.
    Session,
    /// A step of a workflow.
    Step,
}

impl WorkKind {
    pub const ALL: [Self; 4] = [Self::Inline, Self::Subagent, Self::Session, Self::Step];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Subagent => "subagent",
            Self::Session => "session",
            Self::Step => "step",
        }
    }

    /// For people, of several.
    pub fn words(self) -> &'static str {
        match self {
            Self::Inline => "turns that the agent did itself",
            Self::Subagent => "subagents",
            Self::Session => "sessions that agents started",
            Self::Step => "steps of workflows",
        }
    }
}

/// Whose an entry is. Names are as they were then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub kind: WorkKind,
    /// Entries with the same are one piece of work: a turn, a subagent, a session, an attempt of a step.
    pub unit: String,
    pub session: Option<SessionId>,
    /// The session's name, or the step's.
    pub name: String,
    /// The story's key, else whatever the work is called.
    pub story: String,
    pub project: Option<ProjectName>,
    pub run: Option<RunId>,
    pub run_name: Option<String>,
    pub step: Option<String>,
    /// Who started the session, as messages are filed under it …
    pub parent: Option<String>,
    /// … and who stands above them all.
    pub root: Option<String>,
}

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    pub used: Used,
    /// At the price of the moment when it came; `None`: no price was known for its model.
    pub micro_usd: Option<u64>,
    pub owner: Owner,
}

/// What entries are summed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    #[default]
    Day,
    Session,
    Story,
    Project,
    Run,
    Step,
    Model,
    /// By [`WorkKind`].
    Delegation,
    /// Who stands above all that agents started.
    Tree,
}

impl By {
    pub const ALL: [Self; 9] = [
        Self::Day,
        Self::Session,
        Self::Story,
        Self::Project,
        Self::Run,
        Self::Step,
        Self::Model,
        Self::Delegation,
        Self::Tree,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Session => "session",
            Self::Story => "story",
            Self::Project => "project",
            Self::Run => "run",
            Self::Step => "step",
            Self::Model => "model",
            Self::Delegation => "delegation",
            Self::Tree => "tree",
        }
    }
}

/// Years of which anything can be known here. What is outside of them is a slip of the keyboard, or
/// somebody who tries how far a calendar reaches.
const YEARS: std::ops::RangeInclusive<i32> = 2000..=2100;

/// Whether a day lies where days can be asked for: in the years 2000 to 2100.
pub fn is_ours(day: chrono::NaiveDate) -> bool {
    YEARS.contains(&chrono::Datelike::year(&day))
}

/// The first moment that `text` names, and the one after it: of a day of that zone (`2026-11-30`), or as
/// RFC 3339 has it. `None`: it is neither.
pub fn moment(text: &str, zone: Zone) -> Option<(Timestamp, Timestamp)> {
    let text = text.trim();
    if let Ok(at) = chrono::DateTime::parse_from_rfc3339(text) {
        let at = at.with_timezone(&chrono::Utc);
        return is_ours(at.date_naive()).then_some((at, at));
    }
    let day = text.parse::<chrono::NaiveDate>().ok().filter(|day| is_ours(*day))?;
    let begins = |day: chrono::NaiveDate| {
        // Where clocks are moved at midnight, the day begins with the first hour there is.
        let mut hours = (0..24).filter_map(|hour| day.and_hms_opt(hour, 0, 0));
        let first = hours.find_map(|time| time.and_local_timezone(zone).earliest())?;
        Some(first.with_timezone(&chrono::Utc))
    };
    Some((begins(day)?, begins(day.succ_opt()?)?))
}

/// What of the ledger is asked: answers from `since` on and before `until`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageQuestion {
    pub by: By,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// One line of the answer, the dearest first; by day, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// An id or a name that stays; empty: what belongs to none.
    pub key: String,
    /// What people call it.
    pub label: String,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    /// Of the answers whose model has a price.
    pub micro_usd: u64,
    /// Tokens of those whose model has none: they are in the counts and in no sum of money.
    pub unpriced_tokens: u64,
    /// Answers of models.
    pub messages: u64,
}

impl UsageRow {
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    /// Both directions.
    pub fn tokens(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write())
            .saturating_add(self.output)
    }

    /// Takes the numbers of `other` in.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut self.input, other.input);
        sum(&mut self.output, other.output);
        sum(&mut self.cache_read, other.cache_read);
        sum(&mut self.cache_write_5m, other.cache_write_5m);
        sum(&mut self.cache_write_1h, other.cache_write_1h);
        sum(&mut self.micro_usd, other.micro_usd);
        sum(&mut self.unpriced_tokens, other.unpriced_tokens);
        sum(&mut self.messages, other.messages);
    }
}

/// Pieces of work of one kind, compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelegationRow {
    pub kind: WorkKind,
    /// Pieces of work.
    pub count: u64,
    /// Money of each piece whose models all have a price, in millionths of a dollar.
    pub micro_usd: Spread,
    /// Tokens of both directions.
    pub tokens: Spread,
    /// From the first question to the last answer, in milliseconds.
    pub millis: Spread,
    /// Pieces with an answer that has no price.
    pub unpriced: u64,
}

/// The middle of many numbers, and how far they lie apart: a quarter is below `low`, a quarter above
/// `high`. Between two of the numbers a value is taken in proportion (Hyndman and Fan's type 7, what
/// spreadsheets call QUARTILE.INC), and rounded to a whole one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub low: u64,
    pub median: u64,
    pub high: u64,
    pub total: u64,
}

impl Spread {
    /// Of none it is zeros.
    pub fn of(mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        let last = numbers.len().saturating_sub(1);
        let at = |quarter: usize| {
            let (place, rest) = (last * quarter / 4, last * quarter % 4);
            let below = numbers.get(place).copied().unwrap_or(0);
            let above = numbers.get(place + 1).copied().unwrap_or(below);
            let part = u128::from(above - below) * rest as u128;
            below + u64::try_from((part + 2) / 4).unwrap_or(u64::MAX)
        };
        Self {
            low: at(1),
            median: at(2),
            high: at(3),
            total: numbers.iter().fold(0, |sum, number| sum.saturating_add(*number)),
        }
    }
}
