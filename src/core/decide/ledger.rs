//! Answers of models, as agents' own records have them: each counted once, priced, and put to the
//! account of whoever it was for.

use std::collections::BTreeMap;

use serde_json::json;

use super::{About, Work};
use crate::{
    account::Scope,
    caller::Principal,
    id::{RunId, SessionId},
    ledger::{LedgerRow, Owner, Tokens, Used, WorkKind},
    prompt::OfStep,
    session::{Counted, Session, Spent},
    state::Row,
};
use vigie_workflow::value::StepPath;

/// What an entry added to the ledger.
struct Entered {
    owner: Owner,
    tokens: Tokens,
    micro_usd: u64,
    /// Those of `tokens` that have no price.
    unpriced: u64,
}

impl Work<'_> {
    /// A session's holder read these in its agent's records.
    pub(super) fn session_used(&mut self, id: SessionId, used: Vec<Used>) {
        if !self.state.sessions.contains_key(&id) {
            return;
        }
        if self.state.sessions.get(&id).is_some_and(|s| s.spent.counted == Counted::Told) {
            self.count_by_records(id);
        }
        let entered: Vec<_> =
            used.into_iter().filter_map(|used| self.enter(used, Whose::Session(id))).collect();
        self.book(&entered);
    }

    /// The records have all of it since the session began, so what its agent told before is in them.
    fn count_by_records(&mut self, id: SessionId) {
        let told = self.state.sessions.get(&id).map_or(0, |s| s.spent.micro_usd);
        self.uncharge(id, told);
        self.change(id, |session| session.spent.count_by_records());
    }

    /// Its agent told totals, which count where there are no records to read.
    pub(super) fn told_cost(&mut self, id: SessionId, update: impl FnOnce(&mut Spent)) {
        let spent = |work: &Self| work.state.sessions.get(&id).map_or(0, |s| s.spent.micro_usd);
        let before = spent(self);
        self.change(id, |session| update(&mut session.spent));
        let more = spent(self).saturating_sub(before);
        let session = self.state.sessions.get(&id).filter(|_| more > 0);
        let scopes = session.map(|session| self.state.scopes_of_session(session, self.now));
        for scope in scopes.into_iter().flatten() {
            self.charge_account(&scope, more, 0);
        }
        self.step_cost_told(id);
        self.check_reserve(id);
        self.stop_what_is_spent();
    }

    /// The same of an attempt of a step that has an agent for itself.
    pub(super) fn step_used(&mut self, run: RunId, step: &StepPath, attempt: u32, used: Vec<Used>) {
        let of = OfStep { run, step: step.clone(), attempt };
        let entered: Vec<_> =
            used.into_iter().filter_map(|used| self.enter(used, Whose::Step(&of))).collect();
        let more = entered.iter().fold(0, |sum: u64, it| sum.saturating_add(it.micro_usd));
        self.state.runs.add_spent(run, step, more);
        self.book(&entered);
    }

    /// Writes an answer down; `None`: it stands there already with as many tokens.
    fn enter(&mut self, used: Used, whose: Whose<'_>) -> Option<Entered> {
        if !used.tokens.can_be() {
            self.cannot_be(&used, whose);
            return None;
        }
        let known = self.state.ledger.get(&used.key).cloned();
        let (before, paid, owner, used) = match known {
            Some(row) => {
                let row = row.as_ref().clone();
                let before = row.used.tokens;
                let (at, tokens) = (row.used.at.max(used.at), before.max(used.tokens));
                (before, row.micro_usd, row.owner, Used { at, tokens, ..row.used })
            }
            None => (Tokens::default(), None, self.owner(&used, whose)?, used),
        };
        let tokens = used.tokens.beyond(before);
        if tokens == Tokens::default() {
            return None;
        }
        let micro_usd = self.state.rules.prices.price(&used);
        let more = micro_usd.unwrap_or(0).saturating_sub(paid.unwrap_or(0));
        self.put(Row::Ledger(LedgerRow { used, micro_usd, owner: owner.clone() }));
        let unpriced = if micro_usd.is_none() { tokens.all() } else { 0 };
        Some(Entered { owner, tokens, micro_usd: more, unpriced })
    }

    /// Records are files of the agent's own: a count that cannot be is written down as such, and counts
    /// for nothing.
    fn cannot_be(&mut self, used: &Used, whose: Whose<'_>) {
        let session = match whose {
            Whose::Session(id) => Some(id),
            Whose::Step(_) => None,
        };
        let about = About { session, gate: None, human: None };
        let detail =
            json!({ "message": used.key.message, "model": used.model, "tokens": used.tokens });
        self.journal("usage_set_aside", about, detail);
    }

    /// Adds to sessions and accounts, each once a decision.
    fn book(&mut self, entered: &[Entered]) {
        let mut sessions: BTreeMap<SessionId, (Tokens, u64)> = BTreeMap::new();
        let mut scopes: BTreeMap<Scope, (u64, u64)> = BTreeMap::new();
        for Entered { owner, tokens, micro_usd, unpriced } in entered {
            if let Some(id) = owner.session {
                let sum = sessions.entry(id).or_default();
                *sum = (sum.0 + *tokens, sum.1.saturating_add(*micro_usd));
            }
            for scope in self.scopes_of(owner) {
                let sum = scopes.entry(scope).or_default();
                *sum = (sum.0.saturating_add(*micro_usd), sum.1.saturating_add(*unpriced));
            }
        }
        for (id, (tokens, micro_usd)) in &sessions {
            self.change(*id, |session| session.spent.count(*tokens, *micro_usd));
        }
        for (scope, (micro_usd, unpriced)) in scopes {
            self.charge_account(&scope, micro_usd, unpriced);
        }
        for id in sessions.into_keys() {
            self.step_cost_told(id);
            self.check_reserve(id);
        }
        self.stop_what_is_spent();
    }

    fn owner(&self, used: &Used, whose: Whose<'_>) -> Option<Owner> {
        match whose {
            Whose::Session(id) => Some(self.owner_session(self.state.sessions.get(&id)?, used)),
            Whose::Step(of) => Some(self.owner_step(of)),
        }
    }

    fn owner_session(&self, session: &Session, used: &Used) -> Owner {
        let turn = session.turn.as_ref().and_then(|turn| turn.of_step.as_deref());
        let step = turn.or(session.counted.as_deref()).map(|of| &of.step);
        let id = session.id;
        let (kind, unit) = match (step, &used.subagent, &session.spawn) {
            (Some(of), _, _) => (WorkKind::Step, unit_of(of)),
            (None, Some(agent), _) => (WorkKind::Subagent, format!("{id}/{agent}")),
            (None, None, Some(_)) => (WorkKind::Session, id.to_string()),
            (None, None, None) => match &used.turn {
                Some(turn) => (WorkKind::Inline, format!("{id}/{turn}")),
                None => (WorkKind::Inline, id.to_string()),
            },
        };
        let run = step.map(|of| of.run).or_else(|| Some(session.of_run.as_ref()?.run));
        let run_name = run.and_then(|run| self.name_of_run(run));
        Owner {
            kind,
            unit,
            session: Some(id),
            name: session.name.to_string(),
            story: self.state.story_of(session),
            project: Some(session.project.clone()),
            run,
            run_name: run_name.or_else(|| Some(session.of_run.as_ref()?.name.clone())),
            step: step.map(|of| of.step.to_string()),
            parent: session.spawn.as_ref().map(|spawn| spawn.by.address()),
            root: session.spawn.as_ref().map(|spawn| spawn.root.address()),
        }
    }

    fn owner_step(&self, of: &OfStep) -> Owner {
        let known = self.state.runs.get(of.run);
        let run_name = self.name_of_run(of.run);
        let name = run_name.clone().unwrap_or_else(|| of.run.to_string());
        Owner {
            kind: WorkKind::Step,
            unit: unit_of(of),
            session: None,
            story: self.state.story_of_run(of.run),
            name: format!("{name} {}", of.step),
            project: known.and_then(|known| known.row.project.clone()),
            run: Some(of.run),
            run_name,
            step: Some(of.step.to_string()),
            parent: self.state.starter_of_run(of.run).map(Principal::address),
            root: self.state.root_of_run(of.run).map(|root| root.address()),
        }
    }

    fn name_of_run(&self, run: RunId) -> Option<String> {
        self.state.runs.get(run).map(|known| known.row.name())
    }
}

#[derive(Clone, Copy)]
enum Whose<'o> {
    Session(SessionId),
    Step(&'o OfStep),
}

fn unit_of(of: &OfStep) -> String {
    format!("{}/{}/{}", of.run, of.step, of.attempt)
}
