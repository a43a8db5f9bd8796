//! How far agents may go on their own account. Everything is counted out of the rows, in the decision
//! that admits a start, so two starts can never take the same last place.

use chrono::TimeDelta;

use super::Work;
use crate::{
    caller::{AgentRefusal, BoundsLeft, Host, Principal},
    id::SessionId,
    money,
    session::{Amount, Session, Spawn},
};

/// What a tree costs is counted over this long.
const DAY: TimeDelta = TimeDelta::days(1);

/// The time that `starts_a_minute` names.
const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// One bound as it stands for a start.
struct Standing {
    bound: &'static str,
    now: String,
    limit: String,
    holds: bool,
}

impl Work<'_> {
    /// Whether the caller may start one more session with that much set aside for it; otherwise the
    /// first bound that says no.
    pub(super) fn admit(
        &self,
        caller: &Principal,
        wanted: Amount,
        host: Host,
    ) -> Result<(), AgentRefusal> {
        let standings = [
            self.own_reserve(caller),
            self.depth_bound(caller),
            self.number("live sessions that you started", self.children_of(caller), |b| b.children),
            self.number("live sessions altogether", self.state.live().count(), |b| b.live),
            self.number("starts by agents within a minute", self.starts(), |b| b.starts_a_minute),
            self.tree_money(caller, wanted),
            self.tree_tokens(caller, wanted),
            self.load(host),
            self.memory(host),
        ];
        match standings.into_iter().find(|standing| !standing.holds) {
            None => Ok(()),
            Some(Standing { bound, now, limit, .. }) => {
                Err(AgentRefusal::Bound { bound, now, limit, chain: self.whole_chain(caller) })
            }
        }
    }

    /// A session past what was set aside for it does nothing more, so it starts nothing either.
    fn own_reserve(&self, caller: &Principal) -> Standing {
        let own = self.session_of(caller);
        let over = own.filter(|own| own.spawn.as_ref().is_some_and(|spawn| spawn.over_budget));
        let spent = over.map_or(0, |own| own.spent.micro_usd);
        let reserve = over.and_then(|own| own.spawn.as_ref()).map(Spawn::reserve);
        Standing {
            bound: "what was set aside for yourself",
            now: money::spent(spent),
            limit: money::exact(reserve.unwrap_or_default().micro_usd),
            holds: over.is_none(),
        }
    }

    fn depth_bound(&self, caller: &Principal) -> Standing {
        let (own, depth) = (self.own_depth(caller), self.depth_of(caller));
        let limit = self.state.rules.bounds.depth;
        let bound = if depth > own {
            "depth, counted from the deepest session behind the message you act on"
        } else {
            "depth"
        };
        let (now, limit, holds) = (depth.to_string(), limit.to_string(), depth < limit);
        Standing { bound, now, limit, holds }
    }

    fn number(
        &self,
        bound: &'static str,
        now: usize,
        limit: impl Fn(&crate::caller::Bounds) -> u32,
    ) -> Standing {
        let limit = limit(&self.state.rules.bounds);
        let holds = now < usize::try_from(limit).unwrap_or(usize::MAX);
        Standing { bound, now: now.to_string(), limit: limit.to_string(), holds }
    }

    fn tree_money(&self, caller: &Principal, wanted: Amount) -> Standing {
        let (tree, limit) = (self.tree_of(caller), self.state.rules.bounds.tree_micro_usd);
        let (now, more) = (money::spent(tree.micro_usd), money::exact(wanted.micro_usd));
        Standing {
            bound: "money below your root within a day",
            now: format!("{now} and {more} for this one"),
            limit: money::exact(limit),
            holds: (tree + wanted).micro_usd <= limit,
        }
    }

    fn tree_tokens(&self, caller: &Principal, wanted: Amount) -> Standing {
        let (tree, limit) = (self.tree_of(caller), self.state.rules.bounds.tree_tokens);
        Standing {
            bound: "tokens below your root within a day",
            now: format!("{} and {} for this one", tree.tokens, wanted.tokens),
            limit: limit.to_string(),
            holds: (tree + wanted).tokens <= limit,
        }
    }

    fn load(&self, host: Host) -> Standing {
        let limit = self.state.rules.bounds.load_permille;
        Standing {
            bound: "load of this machine per core",
            now: thousandths(host.load_permille),
            limit: thousandths(limit),
            holds: host.load_permille <= limit,
        }
    }

    fn memory(&self, host: Host) -> Standing {
        let limit = self.state.rules.bounds.free_mib;
        Standing {
            bound: "free memory of this machine",
            now: format!("{} MiB", host.free_mib),
            limit: format!("at least {limit} MiB"),
            holds: host.free_mib >= limit,
        }
    }

    /// How far the caller may still go.
    pub(super) fn left_of(&self, caller: &Principal) -> BoundsLeft {
        let bounds = &self.state.rules.bounds;
        let left =
            |limit: u32, now: usize| limit.saturating_sub(u32::try_from(now).unwrap_or(u32::MAX));
        let tree = self.tree_of(caller);
        BoundsLeft {
            depth: bounds.depth.saturating_sub(self.depth_of(caller)),
            children: left(bounds.children, self.children_of(caller)),
            live: left(bounds.live, self.state.live().count()),
            micro_usd: bounds.tree_micro_usd.saturating_sub(tree.micro_usd),
            tokens: bounds.tree_tokens.saturating_sub(tree.tokens),
        }
    }

    /// How deep the caller acts: its own depth, or that of the deepest session behind the messages
    /// it acts on.
    pub(super) fn depth_of(&self, caller: &Principal) -> u32 {
        let stirred = self.session_of(caller).map(|own| self.stirred_of(own.id));
        self.own_depth(caller).max(stirred.unwrap_or_default().depth)
    }

    fn own_depth(&self, caller: &Principal) -> u32 {
        let own = self.session_of(caller).and_then(|own| own.spawn.as_ref());
        own.map_or(0, |spawn| spawn.depth)
    }

    pub(super) fn session_of(&self, caller: &Principal) -> Option<&Session> {
        match caller {
            Principal::Session { session } => self.state.sessions.get(session),
            Principal::Client { .. } => None,
        }
    }

    /// The session or client above them all.
    pub(super) fn root_of(&self, caller: &Principal) -> Principal {
        let spawn = self.session_of(caller).and_then(|own| own.spawn.as_ref());
        spawn.map_or_else(|| caller.clone(), |spawn| spawn.root.clone())
    }

    fn children_of(&self, caller: &Principal) -> usize {
        let own = |s: &&Session| s.spawn.as_ref().is_some_and(|spawn| spawn.by == *caller);
        self.state.live().filter(own).count()
    }

    fn starts(&self) -> usize {
        let lately = |s: &&Session| s.spawn.is_some() && s.created > self.now - MINUTE;
        self.state.sessions.values().filter(lately).count()
    }

    /// What everything that agents started below the caller's root costs: what is live counts with
    /// all that is set aside for it, what has ended with what it spent.
    fn tree_of(&self, caller: &Principal) -> Amount {
        let root = self.root_of(caller);
        let costs = |session: &Session| {
            let spawn = session.spawn.as_ref().filter(|spawn| spawn.root == root)?;
            let spent = session.spent.amount();
            if session.life.is_live() {
                Some(spent.max(spawn.reserve()))
            } else {
                Some(spent).filter(|_| session.created > self.now - DAY)
            }
        };
        self.state.sessions.values().filter_map(costs).sum()
    }

    /// Who started whom, the caller last.
    pub(super) fn whole_chain(&self, caller: &Principal) -> Vec<String> {
        let mut chain = self.chain_of(caller);
        chain.reverse();
        chain.push(self.principal_name(caller));
        chain
    }

    /// What was started below that session and is live, nearest first.
    pub(super) fn live_below(&self, id: SessionId) -> Vec<SessionId> {
        let above = Principal::Session { session: id };
        let below = self.state.live().filter(|s| self.is_below(s.id, &above));
        let mut below: Vec<_> = below.collect();
        below.sort_by_key(|s| (s.spawn.as_ref().map(|spawn| spawn.depth), s.id));
        below.into_iter().map(|s| s.id).collect()
    }
}

fn thousandths(permille: u32) -> String {
    format!("{}.{:02}", permille / 1000, permille % 1000 / 10)
}
