//! What models cost: a list that ships with Vigie, and over it the person's own `prices.toml`, which lies
//! beside the configuration.

use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs, io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};
use toml::Spanned;
use vigie_core::ledger::{LongPrompt, Price, Prices};

use super::{ConfigError, Problem};

/// `prices.toml` as it was when this binary was built.
pub(super) const SHIPPED: &str = include_str!("prices.toml");

/// The day of which they are.
pub const AS_OF: &str = "2026-11-30";

/// The person's own, beside the configuration.
pub const FILE: &str = "prices.toml";

/// Dollars for a million tokens; beyond it, a decimal point slipped.
const USD: RangeInclusive<f64> = 0.0..=100_000.0;

const FACTOR: RangeInclusive<f64> = 1.0..=100.0;

/// A model's name is not longer.
const LONGEST_NAME: usize = 100;

/// What models cost, and where that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceList {
    pub prices: Prices,
    /// The person's own file, when there is one.
    pub file: Option<PathBuf>,
    /// Models whose price stands in there.
    pub own: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    us_factor: Option<Spanned<f64>>,
    #[serde(default)]
    model: BTreeMap<String, ModelRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRow {
    input: Spanned<f64>,
    output: Spanned<f64>,
    cache_read: Spanned<f64>,
    cache_write_5m: Spanned<f64>,
    cache_write_1h: Spanned<f64>,
    web_search: Option<Spanned<f64>>,
    long_prompt: Option<LongRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRow {
    above: u64,
    input: Spanned<f64>,
    output: Spanned<f64>,
    cache_read: Spanned<f64>,
    cache_write_5m: Spanned<f64>,
    cache_write_1h: Spanned<f64>,
}

impl PriceList {
    /// What ships with Vigie.
    pub fn shipped() -> Self {
        let read = Read::of(SHIPPED).expect("a test reads it");
        Self { prices: Prices::new(read.models, read.us_permille), file: None, own: Vec::new() }
    }

    /// That, and over it the file beside this configuration, where there is one.
    ///
    /// # Errors
    /// When that file cannot be read, or has mistakes.
    pub fn load(config: &Path) -> Result<Self, ConfigError> {
        let file = config.with_file_name(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::shipped()),
            Err(error) => return Err(ConfigError::unreadable(&file, error)),
        };
        let own = Read::of(&text).map_err(|problems| ConfigError::new(&file, problems))?;
        let mut all = Read::of(SHIPPED).expect("a test reads it");
        let names = own.models.keys().cloned().collect();
        all.models.extend(own.models);
        let permille = if own.says_us { own.us_permille } else { all.us_permille };
        Ok(Self { prices: Prices::new(all.models, permille), file: Some(file), own: names })
    }
}

struct Read {
    models: BTreeMap<String, Price>,
    us_permille: u64,
    says_us: bool,
}

impl Read {
    fn of(text: &str) -> Result<Self, Vec<Problem>> {
        let row: FileRow = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            vec![Problem::new(text, span, error.message().into(), None)]
        })?;
        let mut check = Check { text, problems: Vec::new() };
        let mut models = BTreeMap::new();
        for (name, row) in row.model {
            check.name(&name, &row);
            models.insert(name, check.model(&row));
        }
        let says_us = row.us_factor.is_some();
        let us_permille = row.us_factor.map_or(1000, |factor| check.factor(&factor));
        if check.problems.is_empty() {
            Ok(Self { models, us_permille, says_us })
        } else {
            Err(check.problems)
        }
    }
}

struct Check<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn add(&mut self, span: std::ops::Range<usize>, words: String, hint: &str) {
        self.problems.push(Problem::new(self.text, span, words, Some(hint.into())));
    }

    fn name(&mut self, name: &str, row: &ModelRow) {
        let plain = |c: char| c.is_ascii_graphic() || c == ' ';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
            let hint = "Write it as the agent's records have it, such as \"claude-opus-5-5\".";
            self.add(row.input.span(), "the name above is no name of a model".into(), hint);
        }
    }

    fn model(&mut self, row: &ModelRow) -> Price {
        Price {
            input: self.usd(&row.input),
            output: self.usd(&row.output),
            cache_read: self.usd(&row.cache_read),
            cache_write_5m: self.usd(&row.cache_write_5m),
            cache_write_1h: self.usd(&row.cache_write_1h),
            web_search: row.web_search.as_ref().map_or(0, |usd| self.usd(usd)),
            long: row.long_prompt.as_ref().map(|long| LongPrompt {
                above: long.above,
                input: self.usd(&long.input),
                output: self.usd(&long.output),
                cache_read: self.usd(&long.cache_read),
                cache_write_5m: self.usd(&long.cache_write_5m),
                cache_write_1h: self.usd(&long.cache_write_1h),
            }),
        }
    }

    /// In millionths.
    fn usd(&mut self, usd: &Spanned<f64>) -> u64 {
        if !USD.contains(usd.get_ref()) {
            let words = format!("{} is no price", usd.get_ref());
            self.add(usd.span(), words, "Dollars for a million tokens, such as 4.0 or 0.25.");
            return 0;
        }
        scaled(*usd.get_ref(), 1e6)
    }

    fn factor(&mut self, factor: &Spanned<f64>) -> u64 {
        if !FACTOR.contains(factor.get_ref()) {
            let words = format!("{} is not possible here", factor.get_ref());
            self.add(factor.span(), words, "1.0 or more, such as 1.1.");
            return 1000;
        }
        scaled(*factor.get_ref(), 1e3)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within its range")]
fn scaled(value: f64, by: f64) -> u64 {
    (value * by).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ships_is_read_and_every_model_has_a_price() {
        assert!(SHIPPED.contains(&format!("As of {AS_OF}")));
        let list = PriceList::shipped();
        assert!(list.prices.iter().count() > 20);
        for (name, price) in list.prices.iter() {
            let Price { input, output, cache_read, cache_write_5m, cache_write_1h, .. } = *price;
            assert!(cache_read < input && input < cache_write_5m, "{name}");
            assert!(cache_write_5m < cache_write_1h && cache_write_1h < output, "{name}");
        }
        let opus = list.prices.of("claude-opus-5-5").unwrap();
        assert_eq!((opus.input, opus.output, opus.cache_read), (4_000_000, 20_000_000, 200_000));
    }

    #[test]
    fn a_persons_own_file_lies_over_what_ships() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.toml");
        assert_eq!(PriceList::load(&config).unwrap(), PriceList::shipped());
        let own = "[model.\"heron-2\"]\ninput = 1\noutput = 10.5\ncache_read = 0.1\n\
                   cache_write_5m = 1.25\ncache_write_1h = 2\n";
        fs::write(folder.path().join(FILE), own).unwrap();
        let list = PriceList::load(&config).unwrap();
        assert_eq!(list.own, ["heron-2"]);
        assert_eq!(list.prices.of("heron-2").unwrap().output, 10_500_000);
        assert!(list.prices.of("claude-opus-5-5").is_some());
        assert_eq!(list.prices.us_permille(), 1100);
    }

    #[test]
    fn mistakes_are_said_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.toml");
        let said = |text: &str| {
            fs::write(folder.path().join(FILE), text).unwrap();
            PriceList::load(&config).unwrap_err().to_string()
        };
        let rest = "output = 1\ncache_read = 1\ncache_write_5m = 1\ncache_write_1h = 1\n";
        let words = said(&format!("[model.x]\ninput = -1\n{rest}"));
        assert!(words.contains("prices.toml:2:9: -1 is no price"), "{words}");
        let words = said(&format!("[model.x]\n{rest}"));
        assert!(words.contains("missing field `input`"), "{words}");
        let words = said("us_factor = 0.5");
        assert!(words.contains("1.0 or more"), "{words}");
    }
}
