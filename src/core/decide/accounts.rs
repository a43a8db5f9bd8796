//! Budgets: people are warned, and asked; a turn, or a step's own agent, ends when nothing is left.

use serde_json::json;
use std::fmt::Write as _;

use super::{
    About, Work,
    afford::{Blocked, Spender, Until, of_limit},
    requests::NEAR,
    show,
    taps::Told,
};
use crate::{
    account::{Account, OwnLimit, Scope, ToldOf, Wanted},
    bridge::{Action, Button, Level, Post, Weight},
    command::Refusal,
    delivery::Rank,
    id::{HumanId, RunId, SessionId},
    ledger::Owner,
    money,
    nearest::nearest,
    ringing::Kind,
    session::Session,
    state::{Role, Row},
    text::Rich,
};

impl Work<'_> {
    /// What is paid for by that entry, besides its session.
    pub(super) fn scopes_of(&self, owner: &Owner) -> Vec<Scope> {
        let session = owner.session.map(|session| Scope::Session { session });
        let tree = owner.root.clone().or_else(|| Some(owner.session?.to_string()));
        let story = Scope::Story { story: owner.story.clone() };
        let day = Scope::Day { day: self.state.today(self.now) };
        session
            .into_iter()
            .chain([story, day])
            .chain(tree.map(|root| Scope::Tree { root }))
            .collect()
    }

    /// Adds money, and tokens that have no price.
    pub(super) fn charge_account(&mut self, scope: &Scope, micro_usd: u64, unpriced: u64) {
        let account = self.state.account(scope, self.now);
        let micro_usd = account.micro_usd.saturating_add(micro_usd);
        let unpriced = account.unpriced.saturating_add(unpriced);
        self.put(Row::Account(Account { micro_usd, unpriced, changed: self.now, ..account }));
    }

    /// What its agent told is counted anew; no more is taken back than was put to its accounts.
    pub(super) fn uncharge(&mut self, id: SessionId, told: u64) {
        let own = self.state.account(&Scope::Session { session: id }, self.now).micro_usd;
        let back = told.min(own);
        let session = self.state.sessions.get(&id).filter(|_| back > 0);
        let scopes = session.map(|session| self.state.scopes_of_session(session, self.now));
        for scope in scopes.into_iter().flatten() {
            let account = self.state.account(&scope, self.now);
            let micro_usd = account.micro_usd.saturating_sub(back);
            self.put(Row::Account(Account { micro_usd, changed: self.now, ..account }));
        }
    }

    /// Whether its line may go on; a person is asked once where it may not.
    pub(super) fn may_begin_turn(&mut self, id: SessionId) -> bool {
        self.may_begin(&Spender::Session(id))
    }

    /// Whether that may be paid for; a person is asked once where it may not.
    pub(super) fn may_begin(&mut self, spender: &Spender) -> bool {
        let Some(blocked) = self.state.blocked(spender, self.now) else { return true };
        let account = self.state.account(&blocked.scope, self.now);
        if account.told < ToldOf::Asked && blocked.until == Until::Said {
            self.ask_for_more(spender, account, &blocked);
        }
        false
    }

    fn ask_for_more(&mut self, spender: &Spender, account: Account, blocked: &Blocked) {
        let (what, waits) = match spender {
            Spender::Session(_) => ("a turn", "What you wrote waits."),
            Spender::Step { .. } => ("a step", "It waits."),
        };
        let words = format!(
            "{} for {} is spent, and {what} of {} may cost {}. {waits} Does it go on with as much again?",
            of_limit(blocked),
            self.state.label(&blocked.scope),
            self.name_of_spender(spender),
            money::spent(blocked.costs)
        );
        self.put(Row::Account(Account { told: ToldOf::Asked, changed: self.now, ..account }));
        self.note_spent("budget_spent", spender);
        self.ask_about_money(spender, &words);
    }

    /// After something was counted: people are warned, and what is past its limit ends its turns.
    pub(super) fn stop_what_is_spent(&mut self) {
        let sessions = self.state.live().map(|session| Spender::Session(session.id));
        let steps = self
            .state
            .agents_at_work()
            .map(|(known, step, _)| Spender::Step { run: known.row.id, step: step.clone() });
        for spender in sessions.chain(steps).collect::<Vec<_>>() {
            for scope in self.state.scopes_of_spender(&spender, self.now) {
                self.look_at_account(&spender, &scope);
            }
        }
    }

    fn look_at_account(&mut self, spender: &Spender, scope: &Scope) {
        let Some(account) = self.state.accounts.get(scope).cloned() else { return };
        let Some(limit) = self.state.limit_of(&account) else { return };
        if account.micro_usd >= limit {
            return self.stop_in(spender, account, limit);
        }
        let warn_at = u128::from(limit) * u128::from(self.state.rules.budgets.warn_percent);
        let most = u128::from(account.micro_usd) * 100 >= warn_at;
        if most && account.told == ToldOf::Nothing {
            let words = format!(
                "{} of {} for {} is spent. At the limit {} stops, and you are asked.",
                money::spent(account.micro_usd),
                money::exact(limit),
                self.state.label(scope),
                match spender {
                    Spender::Session(_) => "its turn",
                    Spender::Step { .. } => "its step",
                }
            );
            self.put(Row::Account(Account { told: ToldOf::Warned, ..account }));
            self.note_spent("budget_nearly_spent", spender);
            let post = show::note(Level::Note, Rich::plain(words), vec![]);
            self.tell_spender(spender, &post, Rank::Note);
        }
    }

    /// The limit is reached: its turn is stopped, and that is said once an account.
    fn stop_in(&mut self, spender: &Spender, account: Account, limit: u64) {
        let stops = match spender {
            Spender::Session(id) => self.state.sessions.get(id).is_some_and(|session| {
                session.turn.is_some() && session.interrupting.is_none() && session.ending.is_none()
            }),
            Spender::Step { .. } => true,
        };
        if account.told < ToldOf::Asked {
            let words = format!(
                "{} of {} for {} is spent. {} Does it go on with as much again?",
                money::spent(account.micro_usd),
                money::exact(limit),
                self.state.label(&account.scope),
                match (spender, stops) {
                    (Spender::Session(_), true) => "Its turn is stopped, and its context is kept.",
                    (Spender::Session(_), false) =>
                        "Nothing begins there, and its context is kept.",
                    (Spender::Step { .. }, _) => "Its step is stopped, and its context is kept.",
                }
            );
            self.put(Row::Account(Account { told: ToldOf::Asked, ..account }));
            self.note_spent("budget_spent", spender);
            self.ask_about_money(spender, &words);
        }
        match spender {
            Spender::Session(id) if stops => {
                self.interrupt(*id);
                self.change(*id, |session| {
                    if let Some(turn) = &mut session.turn {
                        turn.out_of_money = true;
                    }
                });
            }
            Spender::Session(_) => {}
            Spender::Step { run, step } => self.hold_agent(*run, step),
        }
    }

    fn name_of_spender(&self, spender: &Spender) -> String {
        match spender {
            Spender::Session(id) => self.session_name(*id),
            Spender::Step { run, step } => {
                let run = self.state.runs.get(*run).map(|known| known.row.name());
                format!("{} {step}", run.unwrap_or_default())
            }
        }
    }

    fn note_spent(&mut self, kind: &str, spender: &Spender) {
        match spender {
            Spender::Session(id) => self.journal_session(kind, *id),
            Spender::Step { run, step } => {
                self.journal(kind, About::default(), json!({ "run": run, "step": step }));
            }
        }
    }

    /// It stands still until somebody decides, so that is said however quiet limits are; it stands in the
    /// next digest, and offers what there is to do.
    fn ask_about_money(&mut self, spender: &Spender, words: &str) {
        let short = words.split(". ").next().unwrap_or(words);
        let asks = self.state.blocked(spender, self.now).filter(|it| it.until == Until::Said);
        let in_all = asks.and_then(|blocked| self.state.limit_of(&self.renewed(&blocked)));
        let in_all = in_all.map(|limit| format!(" That is {} in all.", money::exact(limit)));
        let words = format!("{words}{}", in_all.unwrap_or_default());
        let post = show::note(Level::Ring, Rich::plain(words), vec![go_on(spender)]);
        match spender {
            Spender::Session(id) => {
                self.happened(&self.state.cause_in(Kind::Limit, *id), short);
                self.post_what_asks(Kind::Limit, *id, &post);
                self.show_thread(*id);
            }
            Spender::Step { run, .. } => {
                self.happened(&self.state.cause_of_run(Kind::Limit, *run), short);
                self.post_news_of_run(Kind::Limit, *run, &post, Rank::Gate);
            }
        }
    }

    fn tell_spender(&mut self, spender: &Spender, post: &Post, rank: Rank) {
        match spender {
            Spender::Session(id) => self.post_news(Kind::Limit, *id, post, rank),
            Spender::Step { run, .. } => self.post_news_of_run(Kind::Limit, *run, post, rank),
        }
    }

    /// Another session goes on with its work, on the money it had.
    pub(super) fn carry_accounts(&mut self, from: SessionId, to: SessionId) {
        let tree = |id: SessionId| Scope::Tree { root: id.to_string() };
        for (before, scope) in [
            (Scope::Session { session: from }, Scope::Session { session: to }),
            (tree(from), tree(to)),
        ] {
            if let Some(account) = self.state.accounts.get(&before).cloned() {
                self.put(Row::Account(Account { scope, changed: self.now, ..account }));
            }
        }
    }

    /// A person lets that go on: whatever keeps it gets as much again, as often as it takes.
    pub(super) fn as_much_again(&mut self, spenders: &[Spender], by: &HumanId) -> Told {
        if let Err(refusal) = self.may_spend(by) {
            return Told::Unseen(refusal.sentence());
        }
        let mut renewed = Vec::new();
        for spender in spenders {
            // One account after another says no; there are four.
            for _ in 0..4 {
                let Some(blocked) = self.state.blocked(spender, self.now) else { break };
                if blocked.until != Until::Said {
                    break;
                }
                renewed.push(self.renew(&blocked));
            }
        }
        if renewed.is_empty() {
            return Told::Unseen("Nothing waits for money there.".into());
        }
        let session = spenders.iter().find_map(|spender| match spender {
            Spender::Session(id) => Some(*id),
            Spender::Step { .. } => None,
        });
        let about = About { session, gate: None, human: Some(by.clone()) };
        self.journal("budget_renewed", about, json!({ "now": renewed }));
        self.show_limits();
        Told::Unseen(format!("Now {}.", renewed.join(", ")))
    }

    /// As often as it takes for what waits to fit. Gives what it may cost now, and what.
    fn renew(&mut self, blocked: &Blocked) -> String {
        let account = self.renewed(blocked);
        let limit = self.state.limit_of(&account).unwrap_or_default();
        self.put(Row::Account(account));
        format!("{} for {}", money::exact(limit), self.state.label(&blocked.scope))
    }

    fn renewed(&self, blocked: &Blocked) -> Account {
        let account = self.state.account(&blocked.scope, self.now);
        let again = account.renewed.saturating_add(1);
        let once = blocked.limit / u64::from(again);
        let needed = blocked.spent.saturating_add(blocked.costs).saturating_add(blocked.aside);
        let times = needed.div_ceil(once.max(1)).saturating_sub(1);
        let times = u32::try_from(times).unwrap_or(u32::MAX).max(again);
        let (told, changed) = (ToldOf::Nothing, self.now);
        Account { renewed: times, told, changed, ..account }
    }

    /// What may be spent has changed: threads say how they stand now.
    fn show_limits(&mut self) {
        let idle = self.state.live().filter(|session| !session.is_in_a_turn());
        for id in idle.map(|session| session.id).collect::<Vec<_>>() {
            self.show_thread(id);
        }
    }

    /// Whether a session's next turn is not paid for.
    pub(super) fn is_out_of_money(&self, session: &Session) -> bool {
        self.state.blocked(&Spender::Session(session.id), self.now).is_some()
    }

    /// What that tap lets go on: the steps of a run, or a session.
    pub(super) fn steps_that_wait(&self, run: RunId) -> Vec<Spender> {
        let held = self.state.runs.held_agents().filter(|(of, ..)| self.is_part_of(*of, run));
        held.map(|(run, step, _)| Spender::Step { run, step }).collect()
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
        let scope = self.scope_named(name)?;
        let waiting = self.spenders_in(&scope);
        // The day's money is the day's alone: whatever waits for its own as well still does.
        let of_all = matches!(scope, Scope::Day { .. });
        if wanted == Wanted::More
            && !of_all
            && waiting.iter().any(|spender| self.state.waits_for_somebody(spender, self.now))
        {
            // Whatever keeps it, which may be the day's money.
            let (Told::Unseen(words) | Told::Seen(words)) = self.as_much_again(&waiting, by);
            return Ok(words);
        }
        let label = self.state.label(&scope);
        let account = self.state.account(&scope, self.now);
        let whose = by.clone();
        let (limit, renewed) = match wanted {
            Wanted::Usd { micro_usd } => (Some(OwnLimit::Usd { micro_usd, by: whose }), 0),
            Wanted::NoLimit => (Some(OwnLimit::None { by: whose }), 0),
            Wanted::Usual => (None, 0),
            Wanted::More => (account.limit.clone(), account.renewed.saturating_add(1)),
        };
        let (told, changed) = (ToldOf::Nothing, self.now);
        let account = Account { limit, renewed, told, changed, ..account };
        let now = self.state.limit_of(&account);
        let spent = money::spent(account.micro_usd);
        if now.is_none() && wanted == Wanted::More {
            return Ok(format!("{label} has no limit that more would raise; {spent} is spent."));
        }
        self.put(Row::Account(account));
        let about = About { session: None, gate: None, human: Some(by.clone()) };
        let detail = json!({ "name": label, "micro_usd": now });
        self.journal("budget_set", about, detail);
        self.stop_what_is_spent();
        self.show_limits();
        Ok(match now {
            Some(limit) => format!("{label} may cost {}; {spent} is spent.", money::exact(limit)),
            None => format!("{label} may cost as much as it takes; {spent} is spent."),
        })
    }

    /// Sessions that run, and steps that wait, which that is spent for.
    fn spenders_in(&self, scope: &Scope) -> Vec<Spender> {
        let sessions = self.state.live().map(|session| Spender::Session(session.id));
        let held = self.state.runs.held_agents();
        let steps = held.map(|(run, step, _)| Spender::Step { run, step });
        let there = |it: &Spender| self.state.scopes_of_spender(it, self.now).contains(scope);
        sessions.chain(steps).filter(there).collect()
    }

    /// A run or session of that name, a story that was worked on, or the day.
    fn scope_named(&self, name: &str) -> Result<Scope, Refusal> {
        let name = name.trim().trim_matches(['[', ']']);
        if let Some(known) = self.state.runs.named(name) {
            return Ok(Scope::Story { story: self.state.story_of_run(known.row.id) });
        }
        if let Some(story) = self.state.rules.pattern.key(name) {
            return Ok(Scope::Story { story });
        }
        if let Some(session) = self.state.session_named(name) {
            return Ok(Scope::Session { session: session.id });
        }
        if name.eq_ignore_ascii_case("day") || name.eq_ignore_ascii_case("today") {
            return Ok(Scope::Day { day: self.state.today(self.now) });
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
        let account = self.state.account(scope, self.now);
        let session = match scope {
            Scope::Session { session } => self.state.sessions.get(session),
            Scope::Story { .. } | Scope::Tree { .. } | Scope::Day { .. } => None,
        };
        let mut line = format!("{}: {}", self.state.label(scope), money::spent(account.micro_usd));
        let limit = self.state.limit_of(&account);
        if let Some(limit) = limit {
            let _ = write!(line, " of {}", money::exact(limit));
        }
        if let Some(session) = session {
            let spent = session.spent;
            let all = [spent.input_tokens, spent.output_tokens, spent.cached_tokens];
            let [input, output, cached] = all.map(show::count);
            let _ = write!(line, ", {input} tokens in, {output} out, {cached} through caches");
        }
        if account.told == ToldOf::Asked && limit.is_some() {
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
        let mut scopes = vec![Scope::Day { day: self.state.today(self.now) }];
        for session in self.state.live() {
            for scope in self.state.scopes_of_session(session, self.now) {
                let shown = match &scope {
                    Scope::Session { .. } | Scope::Day { .. } => true,
                    Scope::Story { story } => *story != session.name.to_string(),
                    Scope::Tree { .. } => false,
                };
                let account = self.state.account(&scope, self.now);
                let limited = self.state.limit_of(&account).is_some();
                if (shown || limited) && !scopes.contains(&scope) {
                    scopes.push(scope);
                }
            }
        }
        scopes
    }
}

fn go_on(spender: &Spender) -> Button {
    Button {
        label: "As much again".into(),
        detail: None,
        weight: Weight::Plain,
        action: match spender {
            Spender::Session(session) => Action::AsMuchAgain { session: *session },
            Spender::Step { run, .. } => Action::RunGoesOn { run: *run },
        },
    }
}
