//! What is set aside for a session that an agent started: past it the turn is stopped, and only a
//! person's words set aside as much again.

use super::{Work, afford::spent_of, show};
use crate::{
    bridge::Level, caller::Principal, delivery::Rank, id::SessionId, ringing::Kind, session::Spawn,
    text::Rich,
};

impl Work<'_> {
    /// It was measured what a session has spent so far.
    pub(super) fn check_reserve(&mut self, id: SessionId) {
        let Some(session) = self.state.sessions.get(&id) else { return };
        let Some(spawn) = session.spawn.clone() else { return };
        let (spent, reserve) = (session.spent.amount(), spawn.reserve());
        if spent.is_within(reserve) {
            return;
        }
        // A turn that began by itself is stopped like the first.
        let stops = session.turn.is_some() && session.interrupting.is_none();
        let stops = stops && session.ending.is_none();
        if !spawn.over_budget {
            self.change_spawn(id, |spawn| spawn.over_budget = true);
            self.journal_session("reserve_spent", id);
            self.say_spent(id, &spawn.by, &spent_of(spent, reserve));
        }
        if stops {
            self.interrupt(id);
        }
    }

    fn say_spent(&mut self, id: SessionId, by: &Principal, spent: &str) {
        let name = self.session_name(id);
        let words = format!(
            "{name} has used up what was set aside for it: {spent}. It stops, and its context is kept. Write to it, and it goes on with as much again."
        );
        self.happened(&self.state.cause_in(Kind::Limit, id), &format!("has used up {spent}"));
        let post = show::note(Level::Ring, Rich::plain(words), vec![]);
        self.post_news(Kind::Limit, id, &post, Rank::Gate);
        if let Principal::Session { session } = by {
            let words = format!(
                "{name}, which you started, has used up what was set aside for it: {spent}. It stopped and goes on only when a person writes to it; the person knows."
            );
            self.mail_from_vigie(*session, &words);
        }
    }

    /// Whether nothing but a person stirs that session.
    pub(super) fn is_spent(&self, id: SessionId) -> bool {
        let spawn = self.state.sessions.get(&id).and_then(|s| s.spawn.as_ref());
        spawn.is_some_and(|spawn| spawn.over_budget)
    }

    /// A person wrote to a session that had stopped: as much again is set aside, as often as it
    /// takes to be above what is spent.
    pub(super) fn renew_reserve(&mut self, id: SessionId) {
        let spent = self.state.sessions.get(&id).map(|s| s.spent.amount()).unwrap_or_default();
        self.change_spawn(id, |spawn| {
            let times = |spent: u64, each: u64| {
                u32::try_from(spent.checked_div(each).unwrap_or(0)).unwrap_or(u32::MAX)
            };
            let spent =
                times(spent.micro_usd, spawn.micro_usd).max(times(spent.tokens, spawn.tokens));
            spawn.renewed = spawn.renewed.saturating_add(1).max(spent);
            spawn.over_budget = false;
        });
        self.journal_session("reserve_renewed", id);
    }

    fn change_spawn(&mut self, id: SessionId, change: impl FnOnce(&mut Spawn)) {
        self.change(id, |session| {
            if let Some(spawn) = &mut session.spawn {
                change(spawn);
            }
        });
    }
}
