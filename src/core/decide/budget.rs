//! What a chat, or a whole service, bears: who may use how much of it, and when it bears more.

use chrono::TimeDelta;
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use crate::{
    Timestamp,
    bridge::{Budget, Mark, Refill, Signs},
    delivery::{Delivery, DeliveryState, NewestOf, Outgoing, Rank},
    id::{BridgeName, ChatId},
    state::{ChatState, Purse, State, each},
};

/// When the next delivery that waits for a time becomes due.
pub(super) fn next_due(state: &State) -> Option<Timestamp> {
    let in_flight = |d: &&Delivery| matches!(d.state, DeliveryState::InFlight { .. });
    let busy: HashSet<_> =
        state.deliveries.values().filter(in_flight).map(|d| (&d.to.bridge, &d.to.chat)).collect();
    let (again, flying) = (state.tried_before(), state.flying());
    let waits = state.deliveries.values().filter_map(|delivery| {
        let DeliveryState::Due { not_before, .. } = delivery.state else { return None };
        let (bridge, chat) = (&delivery.to.bridge, &delivery.to.chat);
        let quiet = state.quiet.get(&state.purse(bridge, chat)).copied();
        let held = again.iter().any(|earlier| earlier.is_before(delivery))
            || busy.contains(&(bridge, chat))
            || state.is_shut(delivery)
            || state.place_of(&delivery.to).is_none();
        // What holds it has a moment of its own, or ends with an event. Its own may be past already, and
        // would be asked for again and again.
        if held {
            return None;
        }
        let free = match state.free(delivery, &flying) {
            Free::Now => None,
            Free::At(at) => Some(at),
            Free::OnceItLands => return None,
        };
        not_before.max(quiet).max(free)
    });
    waits.min()
}

/// How much of a budget a rank may use, in percent: what is left over is for those before it.
fn share(rank: Rank) -> usize {
    match rank {
        Rank::Gate => 100,
        Rank::Reply => 90,
        Rank::Final => 80,
        Rank::Note => 75,
        Rank::Progress => 50,
    }
}

/// Calls a rank may have made in one window.
fn allowed(budget: Budget, rank: Rank) -> usize {
    (budget.calls * share(rank) / 100).max(1)
}

/// Where a long window's calls come free again as they were spent, that is all at once after a burst, and
/// for a minute nothing is left for whoever needs a person. So all but gates spend theirs evenly, over
/// parts of a window that are no longer than this; it is what a gate waits at worst.
const EVENLY: Duration = Duration::from_secs(15);

/// What a rank may do in how long, in a budget whose calls come free a window later; both hold.
fn bounds(budget: Budget, rank: Rank) -> [Option<(usize, Duration)>; 2] {
    let calls = allowed(budget, rank);
    let parts = budget.window.as_secs().div_ceil(EVENLY.as_secs());
    let parts = u32::try_from(parts).unwrap_or(u32::MAX);
    let evenly = match rank {
        Rank::Gate | Rank::Reply => None,
        Rank::Final | Rank::Note | Rank::Progress if parts < 2 => None,
        Rank::Final | Rank::Note | Rank::Progress => {
            Some((calls.div_ceil(parts as usize), budget.window / parts))
        }
    };
    [Some((calls, budget.window)), evenly]
}

/// When a budget allows one more call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Free {
    Now,
    At(Timestamp),
    /// Not before something that is under way is over.
    OnceItLands,
}

/// Whether it takes anything of the budget at all, as far as that is known before.
fn is_free(what: &Outgoing, budget: Budget) -> bool {
    match what {
        Outgoing::Mark { mark, .. } => match mark {
            Mark::Stored { words, .. } => words.is_none(),
            Mark::Taken { .. } => budget.signs == Signs::Free,
            Mark::Kept { .. } | Mark::NotTaken { .. } => false,
        },
        Outgoing::Post { .. } | Outgoing::Edit { .. } | Outgoing::Thread { .. } => false,
    }
}

/// Something that was tried already, and holds others back.
pub(super) struct TriedBefore {
    chat: (BridgeName, ChatId),
    rank: Rank,
    number: u64,
    until: Option<Timestamp>,
    /// Nobody knows whether it arrived.
    doubtful: bool,
}

impl TriedBefore {
    /// While it is in doubt nothing else goes into its chat: what is found there next must be it, or
    /// nothing. Otherwise those of its rank stay behind it, so that an answer in parts is never read
    /// out of order.
    fn is_before(&self, other: &Delivery) -> bool {
        if self.chat.0 != other.to.bridge || self.chat.1 != other.to.chat {
            return false;
        }
        if self.number == other.number || matches!(other.what, Outgoing::Thread { .. }) {
            return false; // it may be what waits for its thread
        }
        let first = self.number < other.number;
        match (self.doubtful, is_doubtful(other)) {
            (true, false) => true,
            (true, true) => first,
            (false, true) => false,
            (false, false) => first && self.rank == other.rank,
        }
    }

    /// Whether `other` stays behind it now.
    pub(super) fn goes_before(&self, other: &Delivery, now: Timestamp) -> bool {
        (self.doubtful || self.until.is_some_and(|until| until > now)) && self.is_before(other)
    }
}

fn is_doubtful(delivery: &Delivery) -> bool {
    match delivery.state {
        DeliveryState::Due { tries, .. } => tries.doubtful > 0,
        DeliveryState::InFlight { .. }
        | DeliveryState::Sent { .. }
        | DeliveryState::Missed { .. }
        | DeliveryState::Failed { .. }
        | DeliveryState::Replaced => false,
    }
}

impl State {
    pub(super) fn tried_before(&self) -> Vec<TriedBefore> {
        let tried = |d: &Delivery| match d.state {
            DeliveryState::Due { not_before: until, tries } if tries.made > 0 => {
                let chat = (d.to.bridge.clone(), d.to.chat.clone());
                let doubtful = tries.doubtful > 0;
                Some(TriedBefore { chat, rank: d.rank, number: d.number, until, doubtful })
            }
            DeliveryState::Due { .. }
            | DeliveryState::InFlight { .. }
            | DeliveryState::Sent { .. }
            | DeliveryState::Missed { .. }
            | DeliveryState::Failed { .. }
            | DeliveryState::Replaced => None,
        };
        self.deliveries.values().filter_map(tried).collect()
    }

    /// Calls under way, which nobody knows yet to be spent. A chat has one at a time, and what several
    /// chats share could be spent several times over.
    pub(super) fn flying(&self) -> HashMap<Purse, usize> {
        let mut flying = HashMap::new();
        let under_way = |d: &&Delivery| matches!(d.state, DeliveryState::InFlight { .. });
        for delivery in self.deliveries.values().filter(under_way) {
            self.takes_off(delivery, &mut flying);
        }
        flying
    }

    /// When its budget allows it.
    pub(super) fn free(&self, delivery: &Delivery, flying: &HashMap<Purse, usize>) -> Free {
        let (bridge, chat) = (&delivery.to.bridge, &delivery.to.chat);
        let budget = self.limits_of(bridge, chat).budget;
        let budget = budget.filter(|budget| !is_free(&delivery.what, *budget));
        let Some(budget) = budget else { return Free::Now };
        let purse = self.purse(bridge, chat);
        let under_way = flying.get(&purse).copied().unwrap_or_default();
        let spent = self.spent.get(&purse);
        // All others wait for what is in doubt, so it waits for none.
        let rank = if is_doubtful(delivery) { Rank::Gate } else { delivery.rank };
        let bounds = match budget.refill {
            Refill::AfterWindow => bounds(budget, rank),
            Refill::Steadily => [Some((allowed(budget, rank), budget.window)), None],
        };
        let mut free = Free::Now;
        for (calls, window) in bounds.into_iter().flatten() {
            let Some(left) = calls.checked_sub(under_way).filter(|left| *left > 0) else {
                return Free::OnceItLands;
            };
            let at = spent.and_then(|spent| match budget.refill {
                Refill::AfterWindow => {
                    spent.fewer_in(left, TimeDelta::from_std(window).unwrap_or(TimeDelta::MAX))
                }
                Refill::Steadily => spent.fewer_left(left, each(budget)),
            });
            if let Some(at) = at {
                free = match free {
                    Free::At(earlier) => Free::At(at.max(earlier)),
                    Free::Now | Free::OnceItLands => Free::At(at),
                };
            }
        }
        free
    }

    /// Counts what is being sent to what is under way.
    pub(super) fn takes_off(&self, delivery: &Delivery, flying: &mut HashMap<Purse, usize>) {
        let budget = self.limits_of(&delivery.to.bridge, &delivery.to.chat).budget;
        if budget.is_some_and(|budget| !is_free(&delivery.what, budget)) {
            let purse = self.purse(&delivery.to.bridge, &delivery.to.chat);
            *flying.entry(purse).or_default() += 1;
        }
    }

    /// Whether its chat takes nothing.
    pub(super) fn is_shut(&self, delivery: &Delivery) -> bool {
        let row = self.chats.get(&(delivery.to.bridge.clone(), delivery.to.chat.clone()));
        row.is_some_and(|row| match row.state {
            ChatState::Shut { .. } => delivery.newest != Some(NewestOf::ReadAlong),
            ChatState::Open | ChatState::Left => false,
        })
    }

    /// Forgets calls that no window reaches any more.
    pub(super) fn forget_spent(&mut self, now: Timestamp) {
        let limits = &self.rules.limits;
        let longest = limits.values().filter_map(|limits| limits.budget).map(|b| b.window).max();
        let Some(longest) = longest.and_then(|window| TimeDelta::from_std(window).ok()) else {
            return;
        };
        self.spent.retain(|_, spent| spent.forget(now - longest, now));
    }
}
