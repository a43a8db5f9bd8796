//! Whose a session or run is, and so who is rung first for it.

use std::cmp::Reverse;

use super::{Work, hush::Cause};
use crate::{
    caller::Principal,
    id::{HumanId, RunId, SessionId},
    ringing::Order,
    run::Starter,
    state::State,
};

impl State {
    /// Who stands behind that agent or program.
    pub(super) fn whose(&self, principal: &Principal) -> Option<HumanId> {
        match principal {
            Principal::Session { session } => self.whose_session(*session),
            Principal::Client { token } => self.tokens.get(token).map(|token| token.by.clone()),
        }
    }

    /// Whoever wrote to it last, or else started it.
    pub(super) fn whose_session(&self, id: SessionId) -> Option<HumanId> {
        let session = self.sessions.get(&id)?;
        let of_run = || self.whose_run(session.of_run.as_ref()?.run);
        session.whose.clone().or_else(of_run)
    }

    /// Whoever made it go on last, or else started it.
    pub(super) fn whose_run(&self, id: RunId) -> Option<HumanId> {
        let row = self.root_run(id)?;
        let started = match &row.starter {
            Starter::Human { human, .. } => Some(human.clone()),
            Starter::Agent { principal, .. } => self.whose(principal),
            Starter::Cron { .. } | Starter::Webhook | Starter::Run => None,
        };
        row.retried_by.last().cloned().or(started)
    }

    /// Whether anything wakes them anywhere.
    pub(super) fn can_be_woken(&self, human: &HumanId) -> bool {
        self.waking_chats_of(human).iter().any(|at| self.is_fine(at))
    }

    /// Whoever is rung first before the others; whom nothing wakes comes last.
    pub(super) fn in_order(&self, cause: &Cause, mut people: Vec<HumanId>) -> Vec<HumanId> {
        let named: &[HumanId] = match &self.rules.ringing.order {
            Order::Named(named) => named,
            Order::Whose | Order::Everybody => &[],
        };
        people.sort_by_cached_key(|human| {
            let place = named.iter().position(|named| named == human).unwrap_or(named.len());
            let role = self.rules.people.get(human).map(|person| person.role);
            let is_theirs = cause.whose.as_ref() == Some(human);
            (!self.can_be_woken(human), place, !is_theirs, Reverse(role), human.clone())
        });
        people
    }

    pub(super) fn is_one_by_one(&self) -> bool {
        match self.rules.ringing.order {
            Order::Whose | Order::Named(_) => true,
            Order::Everybody => false,
        }
    }
}

impl Work<'_> {
    /// Whose it is from now on.
    pub(super) fn is_theirs(&mut self, id: SessionId, human: &HumanId) {
        let known = self.state.sessions.get(&id).and_then(|session| session.whose.as_ref());
        if known != Some(human) {
            let whose = Some(human.clone());
            self.change(id, |session| session.whose = whose);
        }
    }
}
