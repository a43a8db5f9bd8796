//! The check of what may be spent: `[budget]`.

use std::ops::RangeInclusive;
use toml::Spanned;

use super::{
    Budgets,
    bounds::{USD, micro_usd},
    check::Check,
    rows::BudgetRow,
};

/// Below the least a warning would come with the first answer; above the most after the last.
const PERCENT: RangeInclusive<u32> = 1..=100;

impl Check<'_> {
    pub(super) fn budget(&mut self, row: BudgetRow) -> Budgets {
        let usual = Budgets::default();
        let usd = "Dollars at list price, from 0.01 to 1000000, such as 5 or 2.5.";
        let mut money =
            |value| self.within(value, &USD, usd).map(micro_usd).map(Spanned::into_inner);
        let (session, story) = (money(row.session_usd), money(row.story_usd));
        let (tree, day) = (money(row.tree_usd), money(row.day_usd));
        let turn = money(row.turn_usd).unwrap_or(usual.turn);
        let percent = "A whole number from 1 to 100, such as 80.";
        let warn_percent =
            self.count(row.warn_percent, &PERCENT, percent).unwrap_or(usual.warn_percent);
        let zone = row.timezone.and_then(|name| match vigie_workflow::cron::zone(name.get_ref()) {
            Ok(zone) => Some(zone),
            Err(words) => {
                self.add(name.span(), words, None);
                None
            }
        });
        let zone = zone.unwrap_or(usual.zone);
        Budgets { session, story, tree, day, turn, warn_percent, zone }
    }
}
