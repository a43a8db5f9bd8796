use std::collections::BTreeMap;

use super::{Tokens, Used};

/// Prices are for a million tokens, and what is dearer somewhere is so in thousandths.
const ROUND: u128 = 1_000_000_000;

/// What a model costs, in millionths of a dollar for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    /// For one search, in millionths of a dollar.
    pub web_search: u64,
    pub long: Option<LongPrompt>,
}

/// Other prices where the model is given more than so many tokens at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongPrompt {
    pub above: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
}

impl Price {
    /// In millionths of a dollar, each answer rounded by itself; searches cost the same everywhere.
    fn of(&self, tokens: &Tokens, permille: u64) -> u64 {
        let [input, output, read, short, hour] = match self.long {
            Some(long) if tokens.prompt() > long.above => {
                [long.input, long.output, long.cache_read, long.cache_write_5m, long.cache_write_1h]
            }
            Some(_) | None => {
                [self.input, self.output, self.cache_read, self.cache_write_5m, self.cache_write_1h]
            }
        };
        let cost = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = cost(tokens.input, input)
            + cost(tokens.output, output)
            + cost(tokens.cache_read, read)
            + cost(tokens.cache_write_5m, short)
            + cost(tokens.cache_write_1h, hour);
        let sum = sum * u128::from(permille);
        let searches = cost(tokens.web_searches, self.web_search);
        u64::try_from((sum + ROUND / 2) / ROUND + searches).unwrap_or(u64::MAX)
    }
}

/// The prices of all models that have one, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    models: BTreeMap<String, Price>,
    us_permille: u64,
}

/// Stands behind a model's name where the service computed it in the US alone.
pub const IN_THE_US: &str = "us";

impl Prices {
    /// `us_permille`: what everything costs that is computed in the US alone, in thousandths of the price.
    pub fn new(models: BTreeMap<String, Price>, us_permille: u64) -> Self {
        Self { models, us_permille }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Price)> {
        self.models.iter().map(|(model, price)| (model.as_str(), price))
    }

    /// See [`Prices::new`].
    pub fn us_permille(&self) -> u64 {
        self.us_permille
    }

    /// What an answer costs; `None`: its model has no price, and none is made up.
    pub fn price(&self, used: &Used) -> Option<u64> {
        let us = used.model.split(' ').skip(1).any(|word| word == IN_THE_US);
        let permille = if us { self.us_permille } else { 1000 };
        Some(self.of(&used.model)?.of(&used.tokens, permille))
    }

    /// Under its own name, or that without the day it was made (`-20251001`).
    pub fn of(&self, model: &str) -> Option<&Price> {
        let mut words = model.split(' ');
        let name = words.next()?;
        let more: String =
            words.filter(|word| *word != IN_THE_US).flat_map(|word| [" ", word]).collect();
        self.models.get(&format!("{name}{more}")).or_else(|| {
            let (name, day) = name.rsplit_once('-')?;
            let dated = day.len() == 8 && day.bytes().all(|digit| digit.is_ascii_digit());
            self.models.get(&format!("{name}{more}")).filter(|_| dated)
        })
    }
}
