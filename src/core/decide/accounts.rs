//! Budgets: what is left decides whether a turn begins, and a turn ends when nothing is. A turn that runs
//! has what it is expected to cost set aside, so two turns never begin on the same money.

use serde_json::json;
use std::fmt::Write as _;

use super::{About, Work, requests::NEAR, show, taps::Told};
use crate::{
    account::{Account, OwnLimit, Scope, ToldOf, Wanted},
    bridge::{Action, Button, Level, Weight},
    command::Refusal,
    id::{HumanId, SessionId},
    ledger::Owner,
    nearest::nearest,
    prompt::PromptState,
    ringing::Kind,
    session::Session,
    state::{Role, Row},
    text::Rich,
};

/// Why no turn begins.
struct Blocked {
    scope: Scope,
    /// All that may be spent.
    limit: u64,
    spent: u64,
    /// What running turns have set aside.
    aside: u64,
    /// What the next turn is expected to cost.
    turn: u64,
}

impl Work<'_> {
    /// What is paid for by that entry, besides its session.
    pub(super) fn scopes_of(&self, owner: &Owner) -> Vec<Scope> {
        let session = owner.session.map(|session| Scope::Session { session });
        let tree = owner.root.clone().or_else(|| Some(owner.session?.to_string()));
        let story = Scope::Story { story: owner.story.clone() };
        let day = Scope::Day { day: self.today() };
        session
            .into_iter()
            .chain([story, day])
            .chain(tree.map(|root| Scope::Tree { root }))
            .collect()
    }

    pub(super) fn scopes_of_session(&self, session: &Session) -> [Scope; 4] {
        let root = session.spawn.as_ref().map(|spawn| spawn.root.address());
        [
            Scope::Session { session: session.id },
            Scope::Story { story: self.story_of(session) },
            Scope::Tree { root: root.unwrap_or_else(|| session.id.to_string()) },
            Scope::Day { day: self.today() },
        ]
    }

    fn today(&self) -> String {
        self.now.with_timezone(&self.state.rules.budgets.zone).format("%Y-%m-%d").to_string()
    }

    fn account(&self, scope: &Scope) -> Account {
        let known = self.state.accounts.get(scope).cloned();
        known.unwrap_or_else(|| Account::new(scope.clone(), self.now))
    }

    /// Adds money, and tokens that have no price.
    pub(super) fn charge_account(&mut self, scope: &Scope, micro_usd: u64, unpriced: u64) {
        let account = self.account(scope);
        let micro_usd = account.micro_usd.saturating_add(micro_usd);
        let unpriced = account.unpriced.saturating_add(unpriced);
        self.put(Row::Account(Account { micro_usd, unpriced, changed: self.now, ..account }));
    }

    /// What its agent told is counted anew; no more is taken back than was put to its accounts.
    pub(super) fn uncharge(&mut self, id: SessionId, told: u64) {
        let own = self.account(&Scope::Session { session: id }).micro_usd;
        let back = told.min(own);
        let session = self.state.sessions.get(&id).filter(|_| back > 0);
        let scopes = session.map(|session| self.scopes_of_session(session));
        for scope in scopes.into_iter().flatten() {
            let account = self.account(&scope);
            let micro_usd = account.micro_usd.saturating_sub(back);
            self.put(Row::Account(Account { micro_usd, changed: self.now, ..account }));
        }
    }

    /// All that may be spent there; `None`: as much as it takes.
    fn limit_of(&self, account: &Account) -> Option<u64> {
        let once = match &account.limit {
            Some(OwnLimit::Usd { micro_usd, .. }) => Some(*micro_usd),
            Some(OwnLimit::None { .. }) => None,
            None => self.state.rules.budgets.of(&account.scope),
        };
        once.map(|once| once.saturating_mul(u64::from(account.renewed).saturating_add(1)))
    }

    /// What its next turn is taken to cost: as much as its dearest so far.
    fn turn_costs(&self, session: &Session) -> u64 {
        session.spent.largest_turn.max(self.state.rules.budgets.turn)
    }

    /// What turns that run in there, or are on their way in, may still cost.
    fn set_aside(&self, scope: &Scope) -> u64 {
        let handed = |id| {
            let mut line = self.state.line_of(id);
            line.any(|prompt| matches!(prompt.state, PromptState::Handed { .. }))
        };
        let there = |session: &&Session| self.scopes_of_session(session).contains(scope);
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
        self.state.live().filter(there).map(left).fold(0, u64::saturating_add)
    }

    /// Whether what is left holds another turn; otherwise the first account that says no.
    fn blocked(&self, session: &Session) -> Option<Blocked> {
        let turn = self.turn_costs(session);
        self.scopes_of_session(session).into_iter().find_map(|scope| {
            let account = self.account(&scope);
            let limit = self.limit_of(&account)?;
            let aside = self.set_aside(&scope);
            let (spent, wanted) = (account.micro_usd, turn.saturating_add(aside));
            let fits = account.told < ToldOf::Asked && spent.saturating_add(wanted) <= limit;
            (!fits).then_some(Blocked { scope, limit, spent, aside, turn })
        })
    }

    /// Whether its line may go on; a person is asked once where it may not.
    pub(super) fn may_begin_turn(&mut self, id: SessionId) -> bool {
        let Some(session) = self.state.sessions.get(&id) else { return false };
        let Some(blocked) = self.blocked(session) else { return true };
        // What other turns have set aside is free again when they end.
        let alone = blocked.spent.saturating_add(blocked.turn) <= blocked.limit;
        let account = self.account(&blocked.scope);
        if account.told < ToldOf::Asked && !alone {
            self.ask_for_more(id, account, &blocked);
        }
        false
    }

    fn ask_for_more(&mut self, id: SessionId, account: Account, blocked: &Blocked) {
        let Blocked { scope, limit, spent, turn, .. } = blocked;
        let words = format!(
            "{} of {} for {} is spent, and a turn of {} may cost {}. What you wrote waits. \
             Does it go on with as much again?",
            show::money(*spent),
            show::money(*limit),
            self.label(scope),
            self.session_name(id),
            show::money(*turn)
        );
        self.put(Row::Account(Account { told: ToldOf::Asked, changed: self.now, ..account }));
        self.journal_session("budget_spent", id);
        self.ask_for_money(id, &words);
    }

    /// A session stands still until somebody decides, so that is said however quiet limits are.
    fn ask_for_money(&mut self, id: SessionId, words: &str) {
        self.happened(&self.state.cause_in(Kind::Limit, id), words);
        let post = show::note(Level::Ring, Rich::plain(words), vec![go_on(id)]);
        self.post_what_asks(Kind::Limit, id, &post);
    }

    /// After something was counted: people are warned, and what is past its limit ends its turns.
    pub(super) fn stop_what_is_spent(&mut self) {
        let live: Vec<_> = self.state.live().map(|session| session.id).collect();
        for id in live {
            let Some(session) = self.state.sessions.get(&id) else { continue };
            for scope in self.scopes_of_session(session) {
                self.look_at_account(id, &scope);
            }
        }
    }

    fn look_at_account(&mut self, id: SessionId, scope: &Scope) {
        let Some(account) = self.state.accounts.get(scope).cloned() else { return };
        let Some(limit) = self.limit_of(&account) else { return };
        if account.micro_usd >= limit {
            return self.stop_in(id, account, limit);
        }
        let warn_at = u128::from(limit) * u128::from(self.state.rules.budgets.warn_percent);
        let most = u128::from(account.micro_usd) * 100 >= warn_at;
        if most && account.told == ToldOf::Nothing {
            let words = format!(
                "{} of {} for {} is spent. At the limit its turn stops, and you are asked.",
                show::money(account.micro_usd),
                show::money(limit),
                self.label(scope)
            );
            self.put(Row::Account(Account { told: ToldOf::Warned, ..account }));
            self.journal_session("budget_nearly_spent", id);
            self.tell(id, Level::Note, &words, vec![]);
        }
    }

    /// The limit is reached: its turn is stopped, and that is said once an account.
    fn stop_in(&mut self, id: SessionId, account: Account, limit: u64) {
        let Some(session) = self.state.sessions.get(&id) else { return };
        let stops =
            session.turn.is_some() && session.interrupting.is_none() && session.ending.is_none();
        if account.told < ToldOf::Asked {
            let words = format!(
                "{} of {} for {} is spent. {} and its context is kept. Does it go on with as much again?",
                show::money(account.micro_usd),
                show::money(limit),
                self.label(&account.scope),
                if stops { "Its turn is stopped," } else { "Nothing begins there," }
            );
            self.put(Row::Account(Account { told: ToldOf::Asked, ..account }));
            self.journal_session("budget_spent", id);
            self.ask_for_money(id, &words);
        }
        if stops {
            self.interrupt(id);
        }
    }

    /// As people call it.
    fn label(&self, scope: &Scope) -> String {
        match scope {
            Scope::Session { session } => self.session_name(*session),
            Scope::Story { story } => format!("the story {story}"),
            Scope::Tree { root } => {
                let name = root.parse().ok().map(|id| self.session_name(id));
                let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| root.clone());
                format!("{name} and all it started")
            }
            Scope::Day { day } => format!("the day {day}"),
        }
    }

    /// A person lets that session go on: whatever keeps it gets as much again, as often as it takes.
    pub(super) fn as_much_again(&mut self, id: SessionId, by: &HumanId) -> Told {
        if let Err(refusal) = self.may_spend(by) {
            return Told::Unseen(refusal.sentence());
        }
        let mut renewed = Vec::new();
        // One account after another says no; there are four.
        for _ in 0..4 {
            let Some(session) = self.state.sessions.get(&id).cloned() else { break };
            let Some(blocked) = self.blocked(&session) else { break };
            let account = self.account(&blocked.scope);
            let again = account.renewed.saturating_add(1);
            let once = blocked.limit / u64::from(again);
            let needed = blocked.spent.saturating_add(blocked.turn).saturating_add(blocked.aside);
            let times = needed.div_ceil(once.max(1)).saturating_sub(1);
            let times = u32::try_from(times).unwrap_or(u32::MAX).max(again);
            let (told, changed) = (ToldOf::Nothing, self.now);
            let account = Account { renewed: times, told, changed, ..account };
            let limit = self.limit_of(&account).unwrap_or_default();
            renewed.push(format!("{} for {}", show::money(limit), self.label(&blocked.scope)));
            self.put(Row::Account(account));
        }
        if renewed.is_empty() {
            return Told::Unseen("Nothing waits for money there.".into());
        }
        let about = About { session: Some(id), gate: None, human: Some(by.clone()) };
        self.journal("budget_renewed", about, json!({ "now": renewed }));
        Told::Unseen(format!("Now {}.", renewed.join(", ")))
    }

    /// `vigie budget`, and `/budget`: sets what a session or story may spend, or tells how it stands.
    pub(super) fn budget(
        &mut self,
        name: Option<&str>,
        wanted: Option<Wanted>,
        by: &HumanId,
    ) -> Result<String, Refusal> {
        match (name, wanted) {
            (Some(name), Some(wanted)) => self.set_budget(name, wanted, by),
            (name, _) => self.cost_words(name),
        }
    }

    fn set_budget(&mut self, name: &str, wanted: Wanted, by: &HumanId) -> Result<String, Refusal> {
        self.may_spend(by)?;
        if let Some(id) = self.stands_still(name).filter(|_| wanted == Wanted::More) {
            let (Told::Seen(words) | Told::Unseen(words)) = self.as_much_again(id, by);
            return Ok(words);
        }
        let scope = self.scope_named(name)?;
        let label = self.label(&scope);
        let account = self.account(&scope);
        let whose = by.clone();
        let (limit, renewed) = match wanted {
            Wanted::Usd { micro_usd } => (Some(OwnLimit::Usd { micro_usd, by: whose }), 0),
            Wanted::NoLimit => (Some(OwnLimit::None { by: whose }), 0),
            Wanted::Usual => (None, 0),
            Wanted::More => (account.limit.clone(), account.renewed.saturating_add(1)),
        };
        let (told, changed) = (ToldOf::Nothing, self.now);
        let account = Account { limit, renewed, told, changed, ..account };
        let now = self.limit_of(&account);
        let spent = show::money(account.micro_usd);
        self.put(Row::Account(account));
        let about = About { session: None, gate: None, human: Some(by.clone()) };
        let detail = json!({ "name": label, "micro_usd": now });
        self.journal("budget_set", about, detail);
        self.stop_what_is_spent();
        Ok(match now {
            Some(limit) => format!("{label} may cost {}; {spent} is spent.", show::money(limit)),
            None => format!("{label} may cost as much as it takes; {spent} is spent."),
        })
    }

    /// The session of that name, if it is kept from going on: by its own budget, or that of its story, its
    /// tree or the day. More is for whichever it is.
    fn stands_still(&self, name: &str) -> Option<SessionId> {
        let session = self.state.session_named(name.trim().trim_matches(['[', ']']))?;
        self.blocked(session).map(|_| session.id)
    }

    /// A session that runs under that name, else a story that was worked on.
    fn scope_named(&self, name: &str) -> Result<Scope, Refusal> {
        let name = name.trim().trim_matches(['[', ']']);
        if let Some(story) = self.state.rules.pattern.key(name) {
            return Ok(Scope::Story { story });
        }
        if let Some(session) = self.state.session_named(name) {
            return Ok(Scope::Session { session: session.id });
        }
        let names: Vec<_> = self.state.live().map(|s| s.name.as_str()).collect();
        let near = nearest(name, names.iter().copied(), NEAR);
        let near = near.into_iter().map(str::to_owned).collect();
        Err(Refusal::NoSession { name: name.into(), near })
    }

    fn may_spend(&self, by: &HumanId) -> Result<(), Refusal> {
        let known = self.state.rules.people.get(by);
        if known.is_some_and(|person| person.role >= Role::Approver) {
            return Ok(());
        }
        let name = self.state.name_of(by);
        Err(Refusal::AlreadyDecided(format!(
            "{name} may not decide what may be spent; an approver or an owner may."
        )))
    }

    /// What was spent of what may be, by that session or story; else by the day and whatever runs.
    pub(super) fn cost_words(&self, name: Option<&str>) -> Result<String, Refusal> {
        let scopes = match name {
            Some(name) => {
                let session = self.state.session_named(name.trim().trim_matches(['[', ']']));
                let session = session.map(|session| Scope::Session { session: session.id });
                let named = self.scope_named(name)?;
                session.into_iter().filter(|own| *own != named).chain([named.clone()]).collect()
            }
            None => self.scopes_at_work(),
        };
        let lines = scopes.iter().map(|scope| self.cost_line(scope));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    fn cost_line(&self, scope: &Scope) -> String {
        let account = self.account(scope);
        let session = match scope {
            Scope::Session { session } => self.state.sessions.get(session),
            Scope::Story { .. } | Scope::Tree { .. } | Scope::Day { .. } => None,
        };
        let mut line = format!("{}: {}", self.label(scope), show::money(account.micro_usd));
        if let Some(limit) = self.limit_of(&account) {
            let _ = write!(line, " of {}", show::money(limit));
        }
        if let Some(session) = session {
            let spent = session.spent;
            let (input, output) =
                (show::count(spent.input_tokens), show::count(spent.output_tokens));
            let _ = write!(line, ", {input} tokens in and {output} out");
        }
        if account.told == ToldOf::Asked {
            line.push_str("; stopped until somebody lets it go on");
        }
        if account.unpriced > 0 {
            let _ = write!(
                line,
                "; and {} tokens of models without a price, which `vigie usage --by model` names",
                show::count(account.unpriced)
            );
        }
        line
    }

    /// The day, each session that runs, its story, and what has a limit.
    fn scopes_at_work(&self) -> Vec<Scope> {
        let mut scopes = vec![Scope::Day { day: self.today() }];
        for session in self.state.live() {
            for scope in self.scopes_of_session(session) {
                let shown = match &scope {
                    Scope::Session { .. } | Scope::Day { .. } => true,
                    Scope::Story { story } => *story != session.name.to_string(),
                    Scope::Tree { .. } => false,
                };
                let limited = self.limit_of(&self.account(&scope)).is_some();
                if (shown || limited) && !scopes.contains(&scope) {
                    scopes.push(scope);
                }
            }
        }
        scopes
    }

    /// Whether a session's line stands still for want of money.
    pub(super) fn waits_for_money(&self, session: &Session) -> bool {
        self.blocked(session).is_some()
    }
}

fn go_on(session: SessionId) -> Button {
    Button {
        label: "As much again".into(),
        detail: None,
        weight: Weight::Plain,
        action: Action::AsMuchAgain { session },
    }
}
