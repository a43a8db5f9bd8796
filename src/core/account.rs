//! Money that may be spent and money that was: of a session, a story, all that one session started, or
//! a day. Sums are kept in rows and changed with every answer that is counted, so nothing is summed up
//! again to decide.

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    id::{HumanId, SessionId},
    ledger::Zone,
};

/// What money is counted for together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Scope {
    Session {
        session: SessionId,
    },
    /// By its key, `PD-285`, or a session's name where it has none.
    Story {
        story: String,
    },
    /// A session, or a program, with all that was started below it.
    Tree {
        root: String,
    },
    /// `2026-11-30`, in the zone of the configuration.
    Day {
        day: String,
    },
}

impl Scope {
    /// A word for its kind, and its key: together they are its place in the database.
    pub fn key(&self) -> (&'static str, String) {
        match self {
            Self::Session { session } => ("session", session.to_string()),
            Self::Story { story } => ("story", story.clone()),
            Self::Tree { root } => ("tree", root.clone()),
            Self::Day { day } => ("day", day.clone()),
        }
    }
}

/// The sum of a scope, and what a person said about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    #[serde(flatten)]
    pub scope: Scope,
    pub micro_usd: u64,
    /// Tokens of models without a price: nobody knows what they cost.
    #[serde(default)]
    pub unpriced: u64,
    /// `None`: what the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<OwnLimit>,
    /// How often a person let it go on with as much again.
    #[serde(default)]
    pub renewed: u32,
    #[serde(default)]
    pub told: ToldOf,
    pub changed: Timestamp,
}

impl Account {
    /// One in which nothing was spent.
    pub fn new(scope: Scope, now: Timestamp) -> Self {
        let told = ToldOf::Nothing;
        Self { scope, micro_usd: 0, unpriced: 0, limit: None, renewed: 0, told, changed: now }
    }
}

/// What a person set for one session or story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum OwnLimit {
    Usd {
        micro_usd: u64,
        by: HumanId,
    },
    /// Whatever the configuration says.
    None {
        by: HumanId,
    },
}

/// What people heard of an account, each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldOf {
    #[default]
    Nothing,
    /// Most of it is spent.
    Warned,
    /// It is used up, and somebody is asked whether it goes on.
    Asked,
}

/// What may be spent, in millionths of a dollar; `None`: as much as it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets {
    pub session: Option<u64>,
    pub story: Option<u64>,
    pub tree: Option<u64>,
    pub day: Option<u64>,
    /// What a turn is taken to cost at least, before it was seen what turns of that session cost.
    pub turn: u64,
    /// Of the limit, in hundredths: from here on people know.
    pub warn_percent: u32,
    /// In which a day begins and ends.
    pub zone: Zone,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            session: None,
            story: None,
            tree: None,
            day: None,
            turn: 50_000,
            warn_percent: 80,
            zone: Zone::UTC,
        }
    }
}

impl Budgets {
    pub fn of(&self, scope: &Scope) -> Option<u64> {
        match scope {
            Scope::Session { .. } => self.session,
            Scope::Story { .. } => self.story,
            Scope::Tree { .. } => self.tree,
            Scope::Day { .. } => self.day,
        }
    }
}

/// What a person wants a budget to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "budget", rename_all = "snake_case")]
pub enum Wanted {
    /// So many millionths of a dollar.
    Usd { micro_usd: u64 },
    /// As much as it takes.
    NoLimit,
    /// What the configuration says.
    Usual,
    /// As much again as it is now.
    More,
}

impl Wanted {
    /// `5`, `$2.50`, `none`, `usual` or `more`; `None`: it is none of these.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "none" | "off" => Some(Self::NoLimit),
            "usual" | "default" => Some(Self::Usual),
            "more" => Some(Self::More),
            money => micro_usd(money.strip_prefix('$').unwrap_or(money))
                .map(|micro_usd| Self::Usd { micro_usd }),
        }
    }
}

/// Dollars with at most six decimals, in millionths. A comma stands for the point where nothing else can be
/// meant: with one or two digits behind it.
fn micro_usd(text: &str) -> Option<u64> {
    let comma = text.split_once(',').filter(|(_, part)| matches!(part.len(), 1 | 2));
    let (whole, part) = comma.or_else(|| text.split_once('.')).unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.len() > 6 || part.len() > 6 {
        return None;
    }
    let micro =
        whole.parse::<u64>().ok()? * 1_000_000 + format!("{part:0<6}").parse::<u64>().ok()?;
    (micro > 0).then_some(micro)
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn money_is_read_as_people_write_it() {
        let usd = |micro_usd| Some(Wanted::Usd { micro_usd });
        assert_eq!(Wanted::read("5"), usd(5_000_000));
        assert_eq!(Wanted::read(" $2.50 "), usd(2_500_000));
        assert_eq!(Wanted::read("0.000001"), usd(1));
        assert_eq!(Wanted::read("1,50"), usd(1_500_000));
        assert_eq!(Wanted::read("1,5"), usd(1_500_000));
        assert_eq!(Wanted::read("None"), Some(Wanted::NoLimit));
        for nothing in ["", "0", "-1", "5e3", "5.", ".5", "5 dollars", "1.0000001", "12345678"] {
            assert_eq!(Wanted::read(nothing), None, "{nothing}");
        }
        // A thousand and a half, or one and a half?
        for unclear in ["1,500", "1,", ",50", "1,234.50", "1.234,50", "1,5,0"] {
            assert_eq!(Wanted::read(unclear), None, "{unclear}");
        }
    }
}
