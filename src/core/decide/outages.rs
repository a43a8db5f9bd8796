//! What happens when an account of agents is stopped: by its usage limit, an overload, a lost login,
//! an unpaid bill. All of its work waits, which is said once, and goes on by itself, one session after
//! the other.

mod cut;
mod words;

use chrono::TimeDelta;
use serde_json::json;
use std::collections::BTreeSet;
use vigie_workflow::value::StepPath;

use super::{About, Work, afford::Spender, commands::NEEDS_TALKER, hush::Cause, requests::NEAR};
use crate::{
    Timestamp,
    bridge::Post,
    command::Refusal,
    delivery::{Rank, Shown},
    id::{AccountName, AgentName, HumanId, RunId, SessionId},
    limit::named_reset,
    nearest::nearest,
    outage::{Ends, LimitedView, Named, OutageRow, Stand, Trouble, Why, Works},
    prompt::{Prompt, PromptState},
    ringing::Kind,
    run::{Needs, StepHow, With},
    session::{Life, Session},
    state::{Chat, Role, Row, State},
    text,
};

/// Pauses between tries, where no time was named; the last is repeated. Limits of a minute exist, and
/// longer ones are asked about rarely.
const LIMIT_PAUSES: [TimeDelta; 6] = [
    TimeDelta::minutes(1),
    TimeDelta::minutes(2),
    TimeDelta::minutes(5),
    TimeDelta::minutes(15),
    TimeDelta::minutes(30),
    TimeDelta::minutes(60),
];

/// The same for a service that has too much to do; the agent itself has tried for some minutes before.
const OVERLOAD_PAUSES: [TimeDelta; 6] = [
    TimeDelta::seconds(30),
    TimeDelta::minutes(1),
    TimeDelta::minutes(2),
    TimeDelta::minutes(5),
    TimeDelta::minutes(10),
    TimeDelta::minutes(15),
];

/// Past that it is tried no more by itself: nobody's limit lasts longer …
const LIMIT_ENDS: TimeDelta = TimeDelta::days(9);

/// … and an outage of so long needs somebody to look.
const OVERLOAD_ENDS: TimeDelta = TimeDelta::hours(12);

/// An overload that is over sooner is not worth a message.
const SAID_AFTER: TimeDelta = TimeDelta::minutes(5);

/// After a time that was named, so that not everybody's agents come in the same second.
const AFTER_RESET_MS: u64 = 20_000;

/// From one session that goes on to the next.
const STAGGER_MS: u64 = 3_000;

/// Until it is looked again at sessions that may not begin a turn.
const BLOCKED_MS: u64 = 60_000;

/// So much later than was named before is another limit.
const ANOTHER: TimeDelta = TimeDelta::minutes(30);

/// When something is due about an account.
pub(super) fn next_due(state: &State) -> Option<Timestamp> {
    state.troubles.iter().filter_map(|(account, trouble)| due(state, account, trouble)).min()
}

fn due(state: &State, account: &AccountName, trouble: &Trouble) -> Option<Timestamp> {
    let stand = match trouble.stand {
        Stand::Until { at, .. } => Some(at),
        Stand::UntilSaid => None,
        Stand::GoesOn { next, .. } => {
            let any =
                state.ready(account).next().is_some() || state.held_steps(account).next().is_some();
            any.then_some(next)
        }
    };
    let unsaid = trouble.why == Why::Overload && !trouble.is_said() && trouble.holds();
    let said = unsaid.then(|| trouble.since + SAID_AFTER);
    [stand, said].into_iter().flatten().min()
}

impl State {
    /// What is wrong with that agent's account.
    pub fn trouble_of(&self, agent: &AgentName) -> Option<&Trouble> {
        if self.troubles.is_empty() {
            return None;
        }
        self.troubles.get(&self.rules.accounts.of(agent))
    }

    /// Why that session does not work now; `None`: it does, or could.
    pub fn limited(&self, session: &Session, now: Timestamp) -> Option<LimitedView> {
        // What goes on by itself hides nothing that somebody has to say.
        let money = self.limited_by_money(session, now);
        let (asks, passes) = match money {
            Some(view) if view.ends == Ends::BySomebody => (Some(view), None),
            other => (None, other),
        };
        asks.or_else(|| self.limited_by_account(session)).or(passes)
    }

    fn limited_by_account(&self, session: &Session) -> Option<LimitedView> {
        let idle = matches!(session.life, Life::Idle { .. } | Life::Starting { .. });
        let trouble = self.trouble_of(&session.agent).filter(|_| idle)?;
        // What is over in a moment marks nobody but those it has cut off.
        let shown = session.cut.is_some() || trouble.is_said();
        (shown && trouble.holds()).then(|| LimitedView {
            whose: self.rules.accounts.of(&session.agent).to_string(),
            words: words::short(trouble, self.rules.accounts.zone.as_deref()),
            detail: words::detail(trouble, self.rules.accounts.zone.as_deref()),
            ends: match trouble.stand {
                Stand::Until { .. } | Stand::GoesOn { .. } => Ends::ByItself,
                Stand::UntilSaid => Ends::BySomebody,
            },
        })
    }

    /// Live sessions of that account.
    fn of_account<'a>(&'a self, account: &'a AccountName) -> impl Iterator<Item = &'a Session> {
        self.live().filter(move |s| self.rules.accounts.of(&s.agent) == *account)
    }

    /// Those of its sessions that take their next prompt now.
    fn ready<'a>(&'a self, account: &'a AccountName) -> impl Iterator<Item = &'a Session> {
        self.of_account(account).filter(|s| self.takes_a_prompt(s) && self.next_for(s).is_some())
    }

    /// The account of the agent that a step has for itself.
    pub(super) fn account_of_step(&self, run: RunId, step: &StepPath) -> Option<AccountName> {
        let work = self.runs.get(run)?.at_work.get(step)?;
        match &work.with {
            With::Held { project, needs: Needs::Agent, .. }
            | With::Runner { project, needs: Needs::Agent, .. } => {
                let agent = self.rules.workflows.agent_of.get(project)?;
                Some(self.rules.accounts.of(agent))
            }
            With::Held { needs: Needs::Process, .. }
            | With::Runner { needs: Needs::Process, .. }
            | With::Session { .. }
            | With::People
            | With::Run { .. } => None,
        }
    }

    /// Why a step that has an agent for itself does not go on: "waits: claude is at its usage limit until
    /// 04:11".
    pub(super) fn trouble_of_step(&self, run: RunId, step: &StepPath) -> Option<String> {
        let account = self.account_of_step(run, step)?;
        let trouble = self.troubles.get(&account)?;
        Some(if trouble.holds() {
            format!(
                "waits: {account} {}",
                words::short(trouble, self.rules.accounts.zone.as_deref())
            )
        } else {
            "goes on in its turn".into()
        })
    }

    /// Steps that wait for that account.
    pub(super) fn held_steps<'a>(
        &'a self,
        account: &'a AccountName,
    ) -> impl Iterator<Item = (RunId, StepPath)> + 'a {
        let held = self.runs.held_agents().map(|(run, step, _)| (run, step));
        held.filter(move |(run, step)| self.account_of_step(*run, step).as_ref() == Some(account))
    }

    /// Whether what waits there may have been begun by a daemon before us.
    pub(super) fn is_adopted(&self, run: RunId, step: &StepPath) -> bool {
        let work = self.runs.get(run).and_then(|known| known.at_work.get(step));
        work.is_some_and(|work| match &work.with {
            With::Held { how, .. } => matches!(**how, StepHow::Adopt | StepHow::GoOn { .. }),
            With::Runner { .. } | With::Session { .. } | With::People | With::Run { .. } => false,
        })
    }

    /// Those of its sessions for which something waits.
    fn held<'a>(&'a self, account: &'a AccountName) -> impl Iterator<Item = &'a Session> {
        self.of_account(account).filter(|s| {
            s.ending.is_none()
                && matches!(s.life, Life::Idle { .. } | Life::Starting { .. })
                && (s.cut.is_some() || self.line_of(s.id).any(|p| p.state == PromptState::Queued))
        })
    }
}

impl Work<'_> {
    fn put_trouble(&mut self, account: &AccountName, trouble: Option<Trouble>) {
        self.put(Row::Outage(OutageRow { account: account.clone(), trouble }));
    }

    /// Somewhere in so many milliseconds.
    fn jitter(&mut self, most: u64) -> TimeDelta {
        let random = self.ids.make(|_, random| random) % u128::from(most.max(1));
        TimeDelta::milliseconds(i64::try_from(random).unwrap_or_default())
    }

    /// What the account of a turn that ended so is from now on.
    pub(super) fn account_fails(
        &mut self,
        account: &AccountName,
        why: Why,
        at: Timestamp,
        said: &str,
    ) {
        let old = self.state.troubles.get(account).cloned();
        let holds = old.as_ref().is_some_and(Trouble::holds);
        // A turn of another session, in the same trouble or one that matters less.
        let weaker = old.as_ref().is_some_and(|old| weight(why) < weight(old.why));
        if holds && weaker {
            return;
        }
        let zone = self.state.rules.accounts.zone.clone();
        let named = named_reset(said, at, zone.as_deref());
        let same = old.filter(|old| old.why == why && !has_worked(old));
        let first = same.is_none();
        let mut trouble = same.unwrap_or_else(|| Trouble {
            why,
            since: self.now,
            words: String::new(),
            zone: None,
            stand: Stand::UntilSaid,
            tries: 0,
            early: None,
            said: Vec::new(),
            said_words: String::new(),
        });
        // Too early is no sign that the time is wrong.
        let early = trouble.early.take().filter(|at| *at > self.now && !holds);
        // Nor is a try within the minute that was named, of which the seconds are not said.
        let too_early = early.is_some()
            || named.as_ref().is_some_and(|named| {
                (TimeDelta::zero()..TimeDelta::minutes(1)).contains(&(self.now - named.at))
            });
        if !first && !holds && !too_early {
            trouble.tries += 1;
        }
        if first || !holds {
            trouble.words = text::mask(said.trim()).text;
        }
        trouble.zone = named.as_ref().and_then(|named| named.zone.clone()).or(trouble.zone.take());
        let before = trouble.stand;
        trouble.stand = match (before, named) {
            // Several sessions name the same time; the latest counts.
            (Stand::Until { at, named: Named::ByAgent }, named) if holds => {
                let at = named.map_or(at, |named| at.max(named.at));
                Stand::Until { at, named: Named::ByAgent }
            }
            (stand, None) if holds && !first => stand,
            (_, named) => match (early, named.map(|named| named.at)) {
                (Some(early), named) => self.until_named(named.map_or(early, |at| at.max(early))),
                (None, named) => self.stand(&trouble, named),
            },
        };
        let named_anew = match (before, trouble.stand) {
            (Stand::Until { at: old, .. }, Stand::Until { at, named: Named::ByAgent }) => {
                !holds || at > old + ANOTHER
            }
            (_, Stand::Until { named: Named::ByAgent, .. }) => !holds,
            _ => false,
        };
        let another = named_anew && !too_early;
        let gave_up = why.passes() && trouble.stand == Stand::UntilSaid;
        if another || gave_up {
            trouble.said.clear();
            trouble.said_words.clear();
        }
        self.put_trouble(account, Some(trouble));
        let detail = json!({ "account": account, "why": why });
        self.journal("account_stopped", About::default(), detail);
        self.show_account(account);
    }

    /// Until when it waits.
    fn stand(&mut self, trouble: &Trouble, named: Option<Timestamp>) -> Stand {
        let (pauses, ends): (&[TimeDelta], _) = match trouble.why {
            Why::Limit => (&LIMIT_PAUSES, LIMIT_ENDS),
            Why::Overload => (&OVERLOAD_PAUSES, OVERLOAD_ENDS),
            Why::Login => return Stand::UntilSaid,
            Why::Billing => {
                return match named {
                    Some(at) => Stand::Until { at: at.max(self.now), named: Named::ByAgent },
                    None => Stand::UntilSaid,
                };
            }
        };
        if self.now - trouble.since >= ends {
            return Stand::UntilSaid;
        }
        let tries = usize::try_from(trouble.tries).unwrap_or(usize::MAX);
        let pause = pauses[tries.min(pauses.len() - 1)];
        let named = named.filter(|at| trouble.tries == 0 || *at > self.now + pause);
        if let Some(at) = named {
            return self.until_named(at);
        }
        let spread = u64::try_from(pause.num_milliseconds() / 5).unwrap_or_default();
        Stand::Until { at: self.now + pause + self.jitter(spread), named: Named::ByUs }
    }

    fn until_named(&mut self, at: Timestamp) -> Stand {
        let at = at.max(self.now) + self.jitter(AFTER_RESET_MS);
        Stand::Until { at, named: Named::ByAgent }
    }

    /// The service answered a turn of that session: if that began after the account was stopped, it
    /// works again.
    pub(super) fn account_answers(&mut self, id: SessionId) {
        if self.state.troubles.is_empty() {
            return;
        }
        let Some(session) = self.state.sessions.get(&id) else { return };
        let account = self.state.rules.accounts.of(&session.agent);
        let began = session.turn.as_ref().map(|turn| turn.since);
        self.account_works_since(&account, began);
    }

    fn account_works_since(&mut self, account: &AccountName, began: Option<Timestamp>) {
        let Some(mut trouble) = self.state.troubles.get(account).cloned() else { return };
        if has_worked(&trouble) || began.is_none_or(|began| began <= trouble.since) {
            return;
        }
        let next = match trouble.stand {
            Stand::GoesOn { next, .. } => next,
            Stand::Until { .. } | Stand::UntilSaid => self.now,
        };
        trouble.stand = Stand::GoesOn { next, works: Works::Yes };
        self.put_trouble(account, Some(trouble));
        self.show_account(account);
    }

    /// The same of a step's own agent.
    pub(super) fn account_answers_step(&mut self, run: RunId, step: &StepPath) {
        let Some(account) = self.state.account_of_step(run, step) else { return };
        let work = self.state.runs.get(run).and_then(|known| known.at_work.get(step));
        let since = work.and_then(|work| match work.with {
            With::Runner { since, .. } => since,
            With::Held { .. } | With::Session { .. } | With::People | With::Run { .. } => None,
        });
        self.account_works_since(&account, since);
    }

    /// What waited for its time goes on.
    pub(super) fn retry_accounts(&mut self) {
        let due = |(account, trouble): (&AccountName, &Trouble)| {
            trouble.until().is_some_and(|at| at <= self.now).then(|| account.clone())
        };
        for account in self.state.troubles.iter().filter_map(due).collect::<Vec<_>>() {
            self.lets_go(&account);
        }
    }

    fn note_early(&mut self, account: &AccountName) {
        let Some(mut trouble) = self.state.troubles.get(account).cloned() else { return };
        if let Stand::Until { at, named: Named::ByAgent } = trouble.stand {
            trouble.early = Some(at);
            self.put_trouble(account, Some(trouble));
        }
    }

    fn lets_go(&mut self, account: &AccountName) {
        let Some(mut trouble) = self.state.troubles.get(account).cloned() else { return };
        trouble.stand = Stand::GoesOn { next: self.now, works: Works::NotYet };
        self.put_trouble(account, Some(trouble));
        self.journal("account_retried", About::default(), json!({ "account": account }));
        self.show_account(account);
    }

    /// The sessions of accounts that go on get their next prompt, one after the other, those first
    /// whose work was cut off or waits the longest.
    pub(super) fn hand_one_by_one(&mut self) {
        let going =
            self.state.troubles.iter().filter_map(|(account, trouble)| match trouble.stand {
                Stand::GoesOn { next, works } => Some((account.clone(), next, works)),
                Stand::Until { .. } | Stand::UntilSaid => None,
            });
        for (account, next, works) in going.collect::<Vec<_>>() {
            let ready = self.ready_of(&account);
            let steps = self.state.held_steps(&account).next().is_some();
            if (!ready.is_empty() || steps) && next <= self.now {
                // What may not begin for the money it would cost lets the next go first.
                let went = ready.into_iter().any(|id| self.hand_next(id));
                let went = went || self.hand_step_of(&account);
                self.goes_on_in(&account, works, if went { STAGGER_MS } else { BLOCKED_MS });
                continue;
            }
            // Whatever is on its way will tell whether it works.
            let tells = |s: &Session| {
                let waits = self.state.line_of(s.id).next().is_some() && !self.is_poor(s.id);
                s.turn.is_some() || s.is_in_a_turn() || waits
            };
            // Who has no money waits for a person, and keeps nobody.
            let none = !self.state.held(&account).any(|s| !self.is_poor(s.id)) && !steps;
            let mut at_work = self.state.agents_at_work();
            let step_tells = at_work.any(|(known, step, _)| {
                self.state.account_of_step(known.row.id, step).as_ref() == Some(&account)
            });
            drop(at_work);
            let telling = step_tells || self.state.of_account(&account).any(tells);
            if none && (works == Works::Yes || !telling) {
                self.account_is_well(&account);
            } else if next <= self.now && self.state.ready(&account).next().is_some() {
                self.goes_on_in(&account, works, STAGGER_MS);
            }
        }
    }

    /// The next of its sessions is looked at so many milliseconds later, and not all at once.
    fn goes_on_in(&mut self, account: &AccountName, works: Works, pause: u64) {
        let next = self.now + TimeDelta::milliseconds(pause.cast_signed()) + self.jitter(pause);
        if let Some(mut trouble) = self.state.troubles.get(account).cloned() {
            trouble.stand = Stand::GoesOn { next, works };
            self.put_trouble(account, Some(trouble));
        }
    }

    /// Whether only a person's word about money lets it go on.
    fn is_poor(&self, id: SessionId) -> bool {
        self.state.waits_for_somebody(&Spender::Session(id), self.now)
    }

    /// In the order in which they go on.
    fn ready_of(&self, account: &AccountName) -> Vec<SessionId> {
        let ready = self.state.ready(account).filter(|s| !self.is_poor(s.id));
        let mut ready: Vec<_> = ready.map(|s| (order(self.state, s), s.id)).collect();
        ready.sort_unstable();
        ready.into_iter().map(|(_, id)| id).collect()
    }

    fn account_is_well(&mut self, account: &AccountName) {
        let Some(trouble) = self.state.troubles.get(account).cloned() else { return };
        if trouble.is_said() {
            let post = words::over(account, &trouble, self.zone(), self.now);
            self.edit_all(&trouble.said, &post, Rank::Note);
        }
        self.put_trouble(account, None);
        self.journal("account_works", About::default(), json!({ "account": account }));
        self.show_account(account);
    }

    fn zone(&self) -> Option<&str> {
        self.state.rules.accounts.zone.as_deref()
    }

    /// Says what is not said, and changes what is when it is no longer so.
    pub(super) fn tell_of_accounts(&mut self) {
        let accounts: Vec<_> = self.state.troubles.keys().cloned().collect();
        for account in accounts {
            let Some(mut trouble) = self.state.troubles.get(&account).cloned() else { continue };
            let soon = trouble.why == Why::Overload
                && trouble.stand != Stand::UntilSaid
                && self.now - trouble.since < SAID_AFTER;
            if !trouble.is_said() && (soon || !trouble.holds()) {
                continue;
            }
            let post = words::post(self.state, &account, &trouble, self.now);
            let words = words::of(&post);
            if !trouble.is_said() {
                trouble.said = self.say_of_account(&account, trouble.why, &post);
            } else if trouble.said_words == words {
                continue;
            } else {
                self.edit_all(&trouble.said, &post, Rank::Note);
            }
            trouble.said_words = words;
            self.put_trouble(&account, Some(trouble));
            self.show_account(&account);
        }
    }

    /// Says it in every chat, as loud as such news are set to be and no louder than it is.
    fn say_of_account(&mut self, account: &AccountName, why: Why, post: &Post) -> Vec<Shown> {
        let kind = if why.passes() { Kind::Limit } else { Kind::Trouble };
        let words = words::of(post);
        let words = words.strip_prefix(account.as_str()).unwrap_or(&words).trim().to_owned();
        let cause = Cause::of_account(kind, account.as_str());
        self.happened(&cause, &words);
        let Some(most) = self.loudness(kind).level() else { return Vec::new() };
        self.rings_for(&cause, most.min(post.level));
        let chats = self.state.hearing();
        let say = |chat: &Chat| {
            let level = self.level_in(chat, most.min(post.level), &cause);
            self.post_as_loud(chat, None, Post { level, ..post.clone() }, Rank::Final)
        };
        chats.iter().map(say).collect()
    }

    /// Brings the threads of its sessions up to date.
    fn show_account(&mut self, account: &AccountName) {
        for id in self.state.of_account(account).map(|s| s.id).collect::<Vec<_>>() {
            self.show_thread(id);
        }
    }

    /// Why prompts of that session are kept: "claude is at its usage limit until 04:11".
    pub(super) fn limited_words(&self, id: SessionId) -> Option<String> {
        let session = self.state.sessions.get(&id)?;
        let trouble = self.state.trouble_of(&session.agent).filter(|trouble| trouble.holds())?;
        let account = self.state.rules.accounts.of(&session.agent);
        Some(format!("{account} {}", words::short(trouble, self.zone())))
    }

    /// Whether nothing of others goes into that session now either.
    pub(super) fn is_held_back(&self, session: &Session) -> bool {
        session.cut.is_some() || self.state.trouble_of(&session.agent).is_some_and(Trouble::holds)
    }

    /// Where calls are counted, whoever wrote before is not told again why their words wait.
    pub(super) fn first_to_hear(&self, prompt: &Prompt) -> bool {
        let Some(message) = &prompt.message else { return true };
        if !self.counts_calls(&message.place) {
            return true;
        }
        let agent =
            |id| self.state.sessions.get(&id).map(|s| self.state.rules.accounts.of(&s.agent));
        let account = agent(prompt.session);
        !self.state.prompts.values().any(|other| {
            other.number < prompt.number
                && other.by == prompt.by
                && other.state == PromptState::Queued
                && other.message.as_ref().is_some_and(|m| m.place.chat == message.place.chat)
                && agent(other.session) == account
        })
    }

    /// A person wants it tried now.
    pub(super) fn retry_account(
        &mut self,
        name: Option<&str>,
        by: &HumanId,
    ) -> Result<String, Refusal> {
        let may = self.state.rules.people.get(by).is_some_and(|p| p.role >= Role::Talker);
        if !may {
            return Err(Refusal::AlreadyDecided(NEEDS_TALKER.into()));
        }
        let troubled: Vec<_> = self.state.troubles.keys().cloned().collect();
        let meant: Vec<_> = match name.map(str::trim).filter(|name| !name.is_empty()) {
            None => troubled.clone(),
            Some(name) => {
                let is_it = |it: &&AccountName| it.as_str().eq_ignore_ascii_case(name);
                troubled.iter().filter(is_it).cloned().collect()
            }
        };
        if meant.is_empty() {
            let name = name.map(str::trim).filter(|name| !name.is_empty());
            let Some(name) = name else { return Err(Refusal::NothingStopped) };
            let known = self.state.rules.agents.iter().map(|it| self.state.rules.accounts.of(it));
            let known: BTreeSet<_> = known.chain(troubled.iter().cloned()).collect();
            if known.iter().any(|it| it.as_str().eq_ignore_ascii_case(name)) {
                return Err(Refusal::AccountWorks { account: name.into(), troubled });
            }
            let near = nearest(name, known.iter().map(AccountName::as_str), NEAR);
            let near = near.into_iter().map(str::to_owned).collect();
            let known = known.iter().map(ToString::to_string).collect();
            return Err(Refusal::NoAccount { name: name.into(), near, known });
        }
        for account in &meant {
            self.note_early(account);
            self.lets_go(account);
        }
        let names: Vec<_> = meant.iter().map(ToString::to_string).collect();
        Ok(format!("Trying {} again; what waits goes in now.", names.join(", ")))
    }

    /// Whether an account of that name is stopped.
    pub(super) fn is_troubled(&self, name: &str) -> bool {
        self.state.troubles.keys().any(|account| account.as_str().eq_ignore_ascii_case(name))
    }
}

fn has_worked(trouble: &Trouble) -> bool {
    matches!(trouble.stand, Stand::GoesOn { works: Works::Yes, .. })
}

/// What matters more when several things are wrong at once.
fn weight(why: Why) -> u8 {
    match why {
        Why::Overload => 0,
        Why::Limit => 1,
        Why::Billing => 2,
        Why::Login => 3,
    }
}

/// What was cut off goes first, by its time, then by the age of what waits.
fn order(state: &State, session: &Session) -> (u8, i64, u64) {
    let first = state.line_of(session.id).next().map_or(u64::MAX, |prompt| prompt.number);
    match &session.cut {
        Some(cut) => (0, cut.at.timestamp_millis(), first),
        None => (1, 0, first),
    }
}
