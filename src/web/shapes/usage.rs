//! What the ledger comes to, as it crosses the API.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use utoipa::ToSchema;
use vigie_core::ledger::{DelegationRow, Price, Spread, UsageRow};

/// Money is in millionths of a dollar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageShape {
    /// What it is summed by: `day`, `session`, `story`, `project`, `run`, `step`, `model`, `delegation`,
    /// `tree`.
    pub by: String,
    /// The dearest first; days newest first.
    pub rows: Vec<UsageLine>,
    pub total: UsageLine,
    /// Models that have no price: their tokens are in no sum of money.
    pub unpriced: Vec<UnpricedShape>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageLine {
    pub key: String,
    pub label: String,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub micro_usd: u64,
    pub unpriced_tokens: u64,
    pub messages: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnpricedShape {
    pub model: String,
    pub tokens: u64,
}

impl UsageLine {
    pub fn new(row: &UsageRow) -> Self {
        Self {
            key: row.key.clone(),
            label: row.label.clone(),
            input: row.input,
            output: row.output,
            cache_read: row.cache_read,
            cache_write_5m: row.cache_write_5m,
            cache_write_1h: row.cache_write_1h,
            micro_usd: row.micro_usd,
            unpriced_tokens: row.unpriced_tokens,
            messages: row.messages,
        }
    }
}

impl UsageShape {
    /// `models`: the same by model.
    pub fn new(by: &str, rows: &[UsageRow], models: &[UsageRow]) -> Self {
        let mut total = UsageRow { label: "total".into(), ..UsageRow::default() };
        for row in rows {
            total.add(row);
        }
        let unpriced = models.iter().filter(|row| row.unpriced_tokens > 0);
        let unpriced = unpriced
            .map(|row| UnpricedShape { model: row.key.clone(), tokens: row.unpriced_tokens });
        Self {
            by: by.into(),
            rows: rows.iter().map(UsageLine::new).collect(),
            total: UsageLine::new(&total),
            unpriced: unpriced.collect(),
        }
    }
}

/// Pieces of work of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelegationShape {
    /// `inline`, `subagent`, `session` or `step`.
    pub kind: String,
    /// The same for people.
    pub words: String,
    pub count: u64,
    /// Of those whose models all have a price.
    pub micro_usd: SpreadShape,
    pub tokens: SpreadShape,
    /// From the first question to the last answer, in milliseconds.
    pub millis: SpreadShape,
    /// Pieces with an answer that has no price.
    pub unpriced: u64,
}

/// A quarter is below `low`, a quarter above `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpreadShape {
    pub low: u64,
    pub median: u64,
    pub high: u64,
    pub total: u64,
}

impl SpreadShape {
    fn new(spread: Spread) -> Self {
        let Spread { low, median, high, total } = spread;
        Self { low, median, high, total }
    }
}

impl DelegationShape {
    pub fn new(row: &DelegationRow) -> Self {
        Self {
            kind: row.kind.as_str().into(),
            words: row.kind.words().into(),
            count: row.count,
            micro_usd: SpreadShape::new(row.micro_usd),
            tokens: SpreadShape::new(row.tokens),
            millis: SpreadShape::new(row.millis),
            unpriced: row.unpriced,
        }
    }
}

/// What models cost here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PricesShape {
    /// The person's own file, when there is one.
    #[schema(value_type = Option<String>)]
    pub file: Option<PathBuf>,
    /// What is computed in the US alone costs so many thousandths.
    pub us_permille: u64,
    pub models: Vec<PriceShape>,
}

/// In millionths of a dollar for a million tokens, and for one search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PriceShape {
    pub model: String,
    /// It stands in the person's own file.
    pub own: bool,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub web_search: u64,
    /// It costs other than this with a prompt of more tokens.
    pub long_above: Option<u64>,
}

impl PriceShape {
    pub fn new(model: &str, price: &Price, own: &[String]) -> Self {
        Self {
            model: model.into(),
            own: own.iter().any(|name| name == model),
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write_5m: price.cache_write_5m,
            cache_write_1h: price.cache_write_1h,
            web_search: price.web_search,
            long_above: price.long.map(|long| long.above),
        }
    }
}

/// Sets what a session or a story may cost: `5`, `2.50`, `more`, `none` or `usual`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBudget {
    pub name: String,
    pub budget: String,
}
