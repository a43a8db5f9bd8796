//! What may still be spent: whether a turn, or a step's own agent, begins on what is left. Whatever runs has
//! what it is expected to cost set aside, so two never begin on the same money.

use crate::{
    Timestamp,
    account::{Account, OwnLimit, Scope, ToldOf},
    caller::Principal,
    id::{RunId, SessionId},
    ledger::moment,
    money,
    outage::{Ends, LimitedView},
    prompt::PromptState,
    run::{KnownRun, Needs, Starter, With},
    session::{Life, Session},
    state::State,
};
use vigie_workflow::{run::WorkKind, value::StepPath};

/// Who asks models what is paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spender {
    Session(SessionId),
    /// An attempt of a step that has an agent for itself.
    Step {
        run: RunId,
        step: StepPath,
    },
}

/// Why nothing begins.
#[derive(Clone, Debug)]
pub(super) struct Blocked {
    pub scope: Scope,
    /// All that may be spent.
    pub limit: u64,
    pub spent: u64,
    /// What others that run have set aside.
    pub aside: u64,
    /// What this one is expected to cost.
    pub costs: u64,
    pub until: Until,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// What others have set aside is free again.
    OthersEnd,
    /// Somebody lets it go on.
    Said,
}

/// When a new day begins, if something waits that may wait for its money.
pub(super) fn next_due(state: &State) -> Option<Timestamp> {
    let today = state.today(state.runs.seen?);
    let day = Scope::Day { day: today.clone() };
    state.limit_of(&state.account(&day, Timestamp::default()))?;
    let waits = state.live().any(|session| state.line_of(session.id).next().is_some())
        || state.runs.held_agents().next().is_some();
    waits.then(|| moment(&today, state.rules.budgets.zone).map(|(_, next)| next))?
}

impl State {
    pub(super) fn today(&self, now: Timestamp) -> String {
        now.with_timezone(&self.rules.budgets.zone).format("%Y-%m-%d").to_string()
    }

    pub(super) fn account(&self, scope: &Scope, now: Timestamp) -> Account {
        let known = self.accounts.get(scope).cloned();
        known.unwrap_or_else(|| Account::new(scope.clone(), now))
    }

    /// All that may be spent there; `None`: as much as it takes.
    pub(super) fn limit_of(&self, account: &Account) -> Option<u64> {
        let once = match &account.limit {
            Some(OwnLimit::Usd { micro_usd, .. }) => Some(*micro_usd),
            Some(OwnLimit::None { .. }) => None,
            None => self.rules.budgets.of(&account.scope),
        };
        once.map(|once| once.saturating_mul(u64::from(account.renewed).saturating_add(1)))
    }

    pub(super) fn scopes_of_session(&self, session: &Session, now: Timestamp) -> Vec<Scope> {
        let root = session.spawn.as_ref().map(|spawn| spawn.root.address());
        vec![
            Scope::Session { session: session.id },
            Scope::Story { story: self.story_of(session) },
            Scope::Tree { root: root.unwrap_or_else(|| session.id.to_string()) },
            Scope::Day { day: self.today(now) },
        ]
    }

    /// What the steps of that run are paid for by.
    pub(super) fn scopes_of_run(&self, run: RunId, now: Timestamp) -> Vec<Scope> {
        let tree = self.root_of_run(run).map(|root| Scope::Tree { root: root.address() });
        let story = Scope::Story { story: self.story_of_run(run) };
        [Some(story), tree, Some(Scope::Day { day: self.today(now) })]
            .into_iter()
            .flatten()
            .collect()
    }

    pub(super) fn scopes_of_spender(&self, spender: &Spender, now: Timestamp) -> Vec<Scope> {
        match spender {
            Spender::Session(id) => {
                let session = self.sessions.get(id);
                session.map(|session| self.scopes_of_session(session, now)).unwrap_or_default()
            }
            Spender::Step { run, .. } => self.scopes_of_run(*run, now),
        }
    }

    /// The key that its name begins with; else the story of whoever started it; else its name.
    pub(super) fn story_of(&self, session: &Session) -> String {
        let mut known = session;
        // Whoever started it is older, so this comes to an end.
        loop {
            if let Some(key) = self.key_in(known.name.as_str()) {
                return key;
            }
            let above = known.spawn.as_ref().and_then(|spawn| match &spawn.by {
                Principal::Session { session } => self.sessions.get(session),
                Principal::Client { .. } => None,
            });
            match above {
                Some(above) => known = above,
                None => return known.name.to_string(),
            }
        }
    }

    /// The story of the session that started it; else its own name.
    pub(super) fn story_of_run(&self, run: RunId) -> String {
        let starter = self.starter_of_run(run);
        let session = starter.and_then(|principal| match principal {
            Principal::Session { session } => self.sessions.get(session),
            Principal::Client { .. } => None,
        });
        let name = || self.runs.get(run).map_or_else(|| run.to_string(), |it| it.row.name());
        session.map_or_else(name, |session| self.story_of(session))
    }

    /// Who stands above all, where an agent started that run or the one it is a part of.
    pub(super) fn root_of_run(&self, run: RunId) -> Option<Principal> {
        let starter = self.starter_of_run(run)?;
        let spawn = match starter {
            Principal::Session { session } => self.sessions.get(session)?.spawn.as_ref(),
            Principal::Client { .. } => None,
        };
        Some(spawn.map_or_else(|| starter.clone(), |spawn| spawn.root.clone()))
    }

    /// The agent that started it, or the run it is a part of.
    pub(super) fn starter_of_run(&self, run: RunId) -> Option<&Principal> {
        let mut known = self.runs.get(run)?;
        while let Some(above) = known.row.parent.as_ref().and_then(|it| self.runs.get(it.run)) {
            known = above;
        }
        match &known.row.starter {
            Starter::Agent { principal, .. } => Some(principal),
            Starter::Human { .. } | Starter::Cron { .. } | Starter::Webhook | Starter::Run => None,
        }
    }

    /// `PD-285` in `PD-285-tests`.
    fn key_in(&self, name: &str) -> Option<String> {
        let ends = name.match_indices(['-', '_', '.']).map(|(at, _)| at).chain([name.len()]);
        let mut keys = ends.filter_map(|end| self.rules.pattern.key(&name[..end]));
        keys.next()
    }

    /// What its next turn is taken to cost: as much as its dearest so far.
    fn turn_costs(&self, session: &Session) -> u64 {
        session.spent.largest_turn.max(self.rules.budgets.turn)
    }

    /// The same of a step: as much as its attempts so far, and at most what it may itself.
    fn step_costs(&self, known: &KnownRun, step: &StepPath) -> u64 {
        let so_far = known.run.effort(step).1.micro_usd.max(self.rules.budgets.turn);
        let own = known.run.work(step).ok().and_then(|work| match work.what {
            WorkKind::Claude(claude) => claude.micro_usd,
            WorkKind::Shell(_)
            | WorkKind::Http(_)
            | WorkKind::Javascript(_)
            | WorkKind::Turn(_)
            | WorkKind::Approval(_)
            | WorkKind::Call(_) => None,
        });
        own.map_or(so_far, |own| own.min(so_far))
    }

    fn costs_of(&self, spender: &Spender) -> u64 {
        match spender {
            Spender::Session(id) => self.sessions.get(id).map_or(0, |it| self.turn_costs(it)),
            Spender::Step { run, step } => {
                self.runs.get(*run).map_or(0, |known| self.step_costs(known, step))
            }
        }
    }

    /// What turns and steps that run in there, or are on their way in, may still cost.
    fn set_aside(&self, scope: &Scope, now: Timestamp) -> u64 {
        let handed = |id| {
            let mut line = self.line_of(id);
            line.any(|prompt| matches!(prompt.state, PromptState::Handed { .. }))
        };
        let left = |session: &Session| {
            let costs = self.turn_costs(session);
            if session.is_in_a_turn() {
                costs.saturating_sub(session.spent.of_turn())
            } else if handed(session.id) {
                costs
            } else {
                0
            }
        };
        let of_session = |session: &Session| match left(session) {
            0 => 0,
            left if self.scopes_of_session(session, now).contains(scope) => left,
            _ => 0,
        };
        let of_sessions = self.live().map(of_session).fold(0, u64::saturating_add);
        let steps = self.agents_at_work().filter(|(known, ..)| {
            let id = known.row.id;
            self.scopes_of_run(id, now).contains(scope)
        });
        let of_steps =
            steps.map(|(known, step, spent)| self.step_costs(known, step).saturating_sub(spent));
        of_steps.fold(of_sessions, u64::saturating_add)
    }

    /// Steps whose own agents work right now, and what each cost so far.
    pub(super) fn agents_at_work(&self) -> impl Iterator<Item = (&KnownRun, &StepPath, u64)> {
        self.runs.open().flat_map(|known| {
            known.at_work.iter().filter_map(move |(step, work)| match &work.with {
                With::Runner { needs: Needs::Agent, spent, .. } => Some((known, step, *spent)),
                With::Runner { needs: Needs::Process, .. }
                | With::Held { .. }
                | With::Session { .. }
                | With::People
                | With::Run { .. } => None,
            })
        })
    }

    /// Whether what is left holds that too; otherwise the first account that says no.
    pub(super) fn blocked(&self, spender: &Spender, now: Timestamp) -> Option<Blocked> {
        let costs = self.costs_of(spender);
        let blocked = |scope: Scope| {
            let account = self.account(&scope, now);
            let limit = self.limit_of(&account)?;
            let spent = account.micro_usd;
            let said = account.told >= ToldOf::Asked || spent.saturating_add(costs) > limit;
            let until = if said { Until::Said } else { Until::OthersEnd };
            let aside = self.set_aside(&scope, now);
            let fits = !said && spent.saturating_add(costs).saturating_add(aside) <= limit;
            (!fits).then_some(Blocked { scope, limit, spent, aside, costs, until })
        };
        let all: Vec<_> = self.scopes_of_spender(spender, now);
        let all: Vec<_> = all.into_iter().filter_map(blocked).collect();
        // What only a person changes is what they have to hear of.
        let said = all.iter().find(|blocked| blocked.until == Until::Said).cloned();
        said.or_else(|| all.into_iter().next())
    }

    /// Whether only a person lets it go on.
    pub(super) fn waits_for_somebody(&self, spender: &Spender, now: Timestamp) -> bool {
        self.blocked(spender, now).is_some_and(|blocked| blocked.until == Until::Said)
    }

    /// As people call it.
    pub(super) fn label(&self, scope: &Scope) -> String {
        let name = |id: &SessionId| self.sessions.get(id).map(|session| session.name.to_string());
        match scope {
            Scope::Session { session } => name(session).unwrap_or_default(),
            Scope::Story { story } if self.runs.named(story).is_some() => story.clone(),
            Scope::Story { story } => format!("the story {story}"),
            Scope::Tree { root } => {
                let name = root.parse().ok().and_then(|id| name(&id));
                format!("{} and all it started", name.unwrap_or_else(|| root.clone()))
            }
            Scope::Day { day } => format!("the day {day}"),
        }
    }

    /// That a session does nothing more for the money it would cost.
    pub(super) fn limited_by_money(
        &self,
        session: &Session,
        now: Timestamp,
    ) -> Option<LimitedView> {
        if !matches!(session.life, Life::Idle { .. } | Life::Starting { .. }) {
            return None;
        }
        let name = session.name.to_string();
        if let Some(spawn) = session.spawn.as_ref().filter(|spawn| spawn.over_budget) {
            let of = spent_of(session.spent.amount(), spawn.reserve());
            return Some(LimitedView {
                whose: name,
                words: format!(
                    "has used up what was set aside for it ({of}); whoever writes to it sets as much again aside"
                ),
                detail: "used up: write to it".into(),
                ends: Ends::BySomebody,
            });
        }
        let blocked = self.blocked(&Spender::Session(session.id), now)?;
        let waits = self.line_of(session.id).next().is_some();
        match blocked.until {
            Until::OthersEnd if !waits => None,
            // There may be enough for less than what is expected, and nobody has asked for anything.
            Until::Said if !waits && session.cut.is_none() && blocked.spent < blocked.limit => None,
            Until::OthersEnd => Some(LimitedView {
                whose: self.label(&blocked.scope),
                words: "has the rest of its money set aside for what runs".into(),
                detail: "waits for money that others may still need".into(),
                ends: Ends::ByItself,
            }),
            Until::Said => Some(LimitedView {
                whose: self.label(&blocked.scope),
                words: format!("{}; budget {name} more lets it go on", used_up(&blocked)),
                detail: format!("{} spent: budget {name} more", of_limit(&blocked)),
                ends: Ends::BySomebody,
            }),
        }
    }
}

/// "$4.98 of $5.00".
pub(super) fn of_limit(blocked: &Blocked) -> String {
    format!("{} of {}", money::spent(blocked.spent), money::exact(blocked.limit))
}

/// "has $4.98 of $5.00 spent, and a turn may cost $0.05".
pub(super) fn used_up(blocked: &Blocked) -> String {
    let of = of_limit(blocked);
    if blocked.spent >= blocked.limit {
        format!("has used up its money ({of})")
    } else {
        format!("has {of} spent, and what comes next may cost {}", money::spent(blocked.costs))
    }
}

/// "$2.04 of $2.00, 12 of 10 tokens": whatever is past what was set aside.
pub(super) fn spent_of(spent: crate::session::Amount, reserve: crate::session::Amount) -> String {
    let dollars = (spent.micro_usd > reserve.micro_usd).then(|| {
        format!("{} of {}", money::spent(spent.micro_usd), money::exact(reserve.micro_usd))
    });
    let tokens = (spent.tokens > reserve.tokens)
        .then(|| format!("{} of {} tokens", spent.tokens, reserve.tokens));
    dollars.into_iter().chain(tokens).collect::<Vec<_>>().join(", ")
}
