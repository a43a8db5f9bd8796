//! The check of how far agents may go on their own account: `[bounds]`.

use std::ops::RangeInclusive;
use toml::Spanned;

use super::{
    Bounds,
    check::Check,
    rows::{BoundsRow, Text},
    values,
};

/// Every generation multiplies; deeper than this nobody sees who asked for what.
const DEPTH: RangeInclusive<u32> = 0..=16;
const CHILDREN: RangeInclusive<u32> = 1..=100;
/// A session is a process of some hundred MiB, so no machine holds more.
const LIVE: RangeInclusive<u32> = 1..=1000;
const STARTS: RangeInclusive<u32> = 1..=1000;
/// One answer costs more than the least; beyond the most, a decimal point slipped.
pub(super) const USD: RangeInclusive<f64> = 0.01..=1_000_000.0;
const TOKENS: RangeInclusive<u64> = 1000..=1_000_000_000_000;
/// Per core. At the upper end a machine does nothing else any more, so that stands for "any".
const LOAD: RangeInclusive<f64> = 0.1..=1000.0;
/// Up to 1 TiB.
const MEMORY: RangeInclusive<u64> = MIB..=MIB << 20;

const MIB: u64 = 1 << 20;

impl Check<'_> {
    pub(super) fn bounds(&mut self, row: BoundsRow) -> Bounds {
        let usual = Bounds::default();
        let depth = "A whole number from 0, with which agents start nothing, to 16.";
        let children = "A whole number from 1 to 100; with `depth = 0` agents start nothing.";
        let many = "A whole number from 1 to 1000.";
        let usd = "Dollars at list price, from 0.01 to 1000000, such as 2 or 0.5.";
        let tokens = "A whole number of tokens, at least 1000, such as 2_000_000.";
        let tree_usd = self.within(row.tree_usd, &USD, usd).map(micro_usd);
        let start_usd = self.within(row.start_usd, &USD, usd).map(micro_usd);
        let tree_tokens = self.whole(row.tree_tokens, &TOKENS, tokens);
        let start_tokens = self.whole(row.start_tokens, &TOKENS, tokens);
        let (tree_micro_usd, start_micro_usd) = self.shares(
            "usd",
            (tree_usd, start_usd),
            (usual.tree_micro_usd, usual.start_micro_usd),
        );
        let (tree_tokens, start_tokens) = self.shares(
            "tokens",
            (tree_tokens, start_tokens),
            (usual.tree_tokens, usual.start_tokens),
        );
        Bounds {
            depth: self.count(row.depth, &DEPTH, depth).unwrap_or(usual.depth),
            children: self.count(row.children, &CHILDREN, children).unwrap_or(usual.children),
            live: self.count(row.live, &LIVE, many).unwrap_or(usual.live),
            starts_a_minute: self
                .count(row.starts_a_minute, &STARTS, many)
                .unwrap_or(usual.starts_a_minute),
            tree_micro_usd,
            tree_tokens,
            start_micro_usd,
            start_tokens,
            load_permille: self.load(row.max_load).unwrap_or(usual.load_permille),
            free_mib: self.memory(row.min_free_memory).unwrap_or(usual.free_mib),
        }
    }

    /// What a whole tree may use and what one start sets aside of it, which is no more.
    fn shares(
        &mut self,
        of: &str,
        (tree, start): (Option<Spanned<u64>>, Option<Spanned<u64>>),
        (usual_tree, usual_start): (u64, u64),
    ) -> (u64, u64) {
        let tree = tree.map_or(usual_tree, Spanned::into_inner);
        let Some(start) = start else { return (tree, usual_start.min(tree)) };
        if *start.get_ref() > tree {
            let words = "one start would set aside more than its whole tree may use".to_owned();
            let hint = format!("Make `start_{of}` smaller, or `tree_{of}` larger.");
            self.add(start.span(), words, Some(hint));
        }
        (tree, start.into_inner())
    }

    /// The value where it lies in `range`; else what is possible is said.
    pub(super) fn within<V>(
        &mut self,
        value: Option<Spanned<V>>,
        range: &RangeInclusive<V>,
        hint: &str,
    ) -> Option<Spanned<V>>
    where
        V: PartialOrd + std::fmt::Display,
    {
        let value = value?;
        if range.contains(value.get_ref()) {
            return Some(value);
        }
        let words = format!("{} is not possible here", value.get_ref());
        self.add(value.span(), words, Some(hint.into()));
        None
    }

    fn whole(
        &mut self,
        value: Option<Spanned<i64>>,
        range: &RangeInclusive<u64>,
        hint: &str,
    ) -> Option<Spanned<u64>> {
        let most = |bound: u64| i64::try_from(bound).unwrap_or(i64::MAX);
        let range = most(*range.start())..=most(*range.end());
        let value = self.within(value, &range, hint)?;
        let span = value.span();
        Some(Spanned::new(span, value.into_inner().unsigned_abs()))
    }

    pub(super) fn count(
        &mut self,
        value: Option<Spanned<i64>>,
        range: &RangeInclusive<u32>,
        hint: &str,
    ) -> Option<u32> {
        let range = u64::from(*range.start())..=u64::from(*range.end());
        let value = self.whole(value, &range, hint)?;
        u32::try_from(value.into_inner()).ok()
    }

    fn load(&mut self, value: Option<Spanned<f64>>) -> Option<u32> {
        let hint = "The load of one core, from 0.1 to 1000, such as 4.0.";
        let load = self.within(value, &LOAD, hint)?.into_inner();
        Some(thousandths(load))
    }

    fn memory(&mut self, value: Text) -> Option<u64> {
        let hint = "Write a number and MiB or GiB, such as 512 MiB; at most 1024 GiB.";
        let in_bounds = |text: &str| values::size(text).filter(|bytes| MEMORY.contains(bytes));
        let bytes = self.read(&value?, in_bounds, "no size for memory", hint)?;
        Some(bytes / MIB)
    }
}

/// Dollars in millionths; within [`USD`] nothing is lost that anybody would pay.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within `USD`")]
pub(super) fn micro_usd(dollars: Spanned<f64>) -> Spanned<u64> {
    let span = dollars.span();
    Spanned::new(span, (dollars.into_inner() * 1e6).round() as u64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within `LOAD`")]
fn thousandths(load: f64) -> u32 {
    (load * 1000.0).round() as u32
}
