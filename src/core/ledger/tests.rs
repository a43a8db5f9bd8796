use chrono::DateTime;
use std::collections::BTreeMap;

use super::{LongPrompt, Price, Prices, Spread, Tokens, UsageKey, Used, Zone, moment};

fn used(model: &str, tokens: Tokens) -> Used {
    let at = DateTime::from_timestamp_millis(1_796_000_000_000).unwrap();
    let key = UsageKey { message: "m".into(), request: "r".into() };
    Used { key, model: model.into(), asked: at, at, tokens, turn: None, subagent: None }
}

fn prices() -> Prices {
    let usual = Price {
        input: 4_000_000,
        output: 20_000_000,
        cache_read: 200_000,
        cache_write_5m: 5_000_000,
        cache_write_1h: 8_000_000,
        web_search: 10_000,
        long: None,
    };
    let long =
        LongPrompt { above: 1000, input: 8_000_000, output: 40_000_000, ..LongPrompt::default() };
    Prices::new(
        BTreeMap::from([
            ("heron-2".into(), usual),
            ("heron-2 fast".into(), Price { input: 9_000_000, ..usual }),
            ("heron-2-long".into(), Price { long: Some(long), ..usual }),
        ]),
        1100,
    )
}

#[test]
fn every_kind_of_token_has_its_own_price() {
    let tokens = Tokens {
        input: 51,
        output: 267,
        cache_read: 14_010,
        cache_write_5m: 4,
        cache_write_1h: 100,
        web_searches: 2,
    };
    let micro = 51 * 4 + 267 * 20 + 2802 + 4 * 5 + 100 * 8 + 20_000;
    assert_eq!(prices().price(&used("heron-2", tokens)), Some(micro));
}

#[test]
fn a_model_without_a_price_costs_nothing_that_we_know() {
    let tokens = Tokens { input: 1000, ..Tokens::default() };
    for unknown in ["heron-3", "heron-2 slow", "heron-2-2025100", "", "HERON-2"] {
        assert_eq!(prices().price(&used(unknown, tokens)), None, "{unknown}");
    }
}

#[test]
fn a_name_with_its_day_is_that_model() {
    let tokens = Tokens { input: 1000, ..Tokens::default() };
    assert_eq!(prices().price(&used("heron-2-20261001", tokens)), Some(4000));
    assert_eq!(prices().price(&used("heron-2-20261001 fast", tokens)), Some(9000));
}

#[test]
fn what_is_computed_in_the_us_alone_costs_more_and_its_searches_do_not() {
    let tokens = Tokens { input: 1000, web_searches: 1, ..Tokens::default() };
    assert_eq!(prices().price(&used("heron-2 us", tokens)), Some(4400 + 10_000));
    assert_eq!(prices().price(&used("heron-2 fast us", tokens)), Some(9900 + 10_000));
}

#[test]
fn a_long_prompt_has_prices_of_its_own_from_its_first_token() {
    let tokens = |cache_read| Tokens { input: 1, cache_read, output: 1, ..Tokens::default() };
    assert_eq!(prices().price(&used("heron-2-long", tokens(999))), Some(4 + 200 + 20));
    assert_eq!(prices().price(&used("heron-2-long", tokens(1000))), Some(8 + 40));
}

#[test]
fn money_is_rounded_once_an_answer() {
    let tokens = |cache_read| Tokens { cache_read, ..Tokens::default() };
    let micro: Vec<_> =
        [2, 3, 7, 8].map(|n| prices().price(&used("heron-2", tokens(n))).unwrap()).into();
    assert_eq!(micro, [0, 1, 1, 2], "0.4, 0.6, 1.4 and 1.6");
}

#[test]
fn a_spread_is_what_a_spreadsheet_makes_of_the_same_numbers() {
    assert_eq!(Spread::of(vec![]), Spread::default());
    assert_eq!(Spread::of(vec![7]), Spread { low: 7, median: 7, high: 7, total: 7 });
    assert_eq!(Spread::of(vec![5, 1, 4, 2, 3]), Spread { low: 2, median: 3, high: 4, total: 15 });
    // QUARTILE.INC, rounded: 25.75, 50.5, 75.25; 1.5, 2, 2.5; 1.75, 2.5, 3.25; 20, 40, 55.
    for (numbers, low, median, high) in [
        (vec![1, 100], 26, 51, 75),
        (vec![1, 2, 3], 2, 2, 3),
        (vec![100, 200, 300], 150, 200, 250),
        (vec![400, 100, 300, 200], 175, 250, 325),
        (vec![10, 20, 30, 50, 50, 60, 100], 25, 50, 55),
        (vec![0, u64::MAX], u64::MAX / 4 + 1, u64::MAX / 2 + 1, u64::MAX / 4 * 3 + 2),
    ] {
        let total = numbers.iter().fold(0_u64, |sum, number| sum.saturating_add(*number));
        assert_eq!(Spread::of(numbers), Spread { low, median, high, total });
    }
}

#[test]
fn a_day_begins_in_its_zone_even_where_it_has_no_midnight() {
    let hours = |text: &str, zone| {
        let (first, next) = moment(text, zone).unwrap();
        (first.to_rfc3339(), (next - first).num_hours())
    };
    assert_eq!(hours("2026-11-30", Zone::UTC), ("2026-11-30T00:00:00+00:00".into(), 24));
    assert_eq!(hours("2026-10-25", Zone::Europe__Paris), ("2026-10-24T22:00:00+00:00".into(), 25));
    // Clocks of Beirut go from 0:00 to 1:00.
    assert_eq!(hours("2026-03-29", Zone::Asia__Beirut), ("2026-03-28T22:00:00+00:00".into(), 23));
    let at = moment("2026-11-30T10:00:00+02:00", Zone::Europe__Paris).unwrap();
    assert_eq!((at.0.to_rfc3339(), at.0 == at.1), ("2026-11-30T08:00:00+00:00".into(), true));
    assert_eq!(moment("yesterday", Zone::UTC), None);
    for far in ["-262143-01-01", "+262142-12-31", "1999-12-31", "2101-01-01T00:00:00Z"] {
        assert_eq!(moment(far, Zone::UTC), None, "{far}");
    }
}
