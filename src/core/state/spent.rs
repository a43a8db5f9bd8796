//! What calls to a service took of a budget.

use chrono::TimeDelta;
use std::collections::VecDeque;

use super::State;
use crate::{
    Timestamp,
    bridge::Budget,
    id::{BridgeName, ChatId},
};

/// Calls that were made with one budget.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// When each was made, oldest first, as far back as a window reaches.
    calls: VecDeque<Timestamp>,
    /// When the last of them comes free again, if they do one after the other.
    all_free: Option<Timestamp>,
}

impl Spent {
    fn add(&mut self, at: Timestamp, each: TimeDelta, most: i32) {
        self.calls.push_back(at);
        // No more is owed than a whole budget, though its calls were made when it was a larger one.
        let free = self.all_free.map_or(at, |free| free.max(at)) + each;
        self.all_free = Some(free.min(at + each * most));
    }

    /// When the newest calls are fewer than `left`, in a budget whose calls come free a `window` after
    /// they were made. `None`: they are.
    pub fn fewer_in(&self, left: usize, window: TimeDelta) -> Option<Timestamp> {
        let at = self.calls.get(self.calls.len().checked_sub(left)?)?;
        Some(*at + window)
    }

    /// When fewer than `left` are not free yet, in a budget whose calls come free one after the other.
    /// `None`: nothing was spent.
    pub fn fewer_left(&self, left: usize, each: TimeDelta) -> Option<Timestamp> {
        let before = i32::try_from(left.saturating_sub(1)).unwrap_or(i32::MAX);
        self.all_free.map(|free| free - each * before)
    }

    /// Forgets calls before that time; `false` when nothing is left that counts `now`.
    pub fn forget(&mut self, before: Timestamp, now: Timestamp) -> bool {
        while self.calls.front().is_some_and(|at| *at <= before) {
            self.calls.pop_front();
        }
        !self.calls.is_empty() || self.all_free.is_some_and(|free| free > now)
    }
}

impl State {
    /// A call, or several, to that chat.
    pub fn spend(&mut self, bridge: &BridgeName, chat: &ChatId, calls: usize, at: Timestamp) {
        let Some(budget) = self.limits_of(bridge, chat).budget else { return };
        let (purse, each) = (self.purse(bridge, chat), each(budget));
        let spent = self.spent.entry(purse).or_default();
        let most = i32::try_from(budget.calls).unwrap_or(i32::MAX);
        for _ in 0..calls {
            spent.add(at, each, most);
        }
    }
}

/// [`Budget::each`], for reckoning with times.
pub fn each(budget: Budget) -> TimeDelta {
    TimeDelta::from_std(budget.each()).unwrap_or(TimeDelta::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_became_smaller_owes_one_of_it() {
        let begin: Timestamp = "2026-12-01T13:00:00Z".parse().unwrap();
        let mut spent = Spent::default();
        // A hundred and fifty within fifteen seconds, as ten a second bears, counted as one in five.
        for call in 0..150 {
            spent.add(begin + TimeDelta::milliseconds(call * 100), TimeDelta::seconds(5), 10);
        }
        let last = begin + TimeDelta::milliseconds(14_900);
        let free = |left: usize| spent.fewer_left(left, TimeDelta::seconds(5)).unwrap() - last;
        assert_eq!([10, 8, 1].map(|left| free(left).num_seconds()), [5, 15, 50]);
    }
}
