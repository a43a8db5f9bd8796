//! What happened while somebody did not look: one text a day for whoever wants one, and on demand.

use chrono::TimeDelta;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Work, ring::Spot, show};
use crate::{
    Timestamp,
    account::Scope,
    bridge::Level,
    delivery::{Outgoing, Rank},
    gate::Gate,
    id::{GateId, HumanId},
    money,
    ringing::{DigestRow, Happened, Kind, Loudness},
    session::Life,
    state::{Row, State},
    text::{Rich, Style},
};

/// Names of one sort in a digest; of the rest it says how many there are.
const NAMED: usize = 8;

/// What `/digest` looks back on for whoever never had one.
const A_DAY: TimeDelta = TimeDelta::days(1);

/// When the next digest is due.
pub(super) fn next_digest(state: &State) -> Option<Timestamp> {
    let people = state.rules.ringing.people.iter();
    let next = people.filter_map(|(human, hours)| {
        let last = state.digests.get(human)?;
        hours.digest_after(last.day)
    });
    next.min()
}

impl Work<'_> {
    /// One a day for each who wants it, and one for all that was missed while the machine slept.
    pub(super) fn say_digests(&mut self) {
        let mut due: BTreeMap<Spot, (Timestamp, u64, Vec<HumanId>)> = BTreeMap::new();
        let people: BTreeMap<_, _> = self.state.rules.ringing.people.clone().into_iter().collect();
        for (human, hours) in people {
            let Some(day) = hours.last_digest(self.now) else { continue };
            let last = self.state.digests.get(&human).cloned();
            if last.as_ref().is_some_and(|last| last.day >= day) {
                continue;
            }
            let (at, spent_micro_usd) = (self.now, self.spent_by_all());
            self.put(Row::Digest(DigestRow { human: human.clone(), day, at, spent_micro_usd }));
            // Whoever sets a digest has the first one the next time it is due.
            let Some(last) = last else { continue };
            let Some(spot) = self.likeliest_chat_of(&human) else { continue };
            let entry = due.entry(spot).or_insert((last.at, last.spent_micro_usd, Vec::new()));
            entry.0 = entry.0.min(last.at);
            entry.1 = entry.1.min(last.spent_micro_usd);
            entry.2.push(human);
        }
        for (spot, (since, spent, people)) in due {
            self.say_digest(&spot, since, spent, &people);
        }
    }

    fn say_digest(&mut self, at: &Spot, since: Timestamp, spent: u64, people: &[HumanId]) {
        let (Some(chat), Some(first)) = (self.state.chat_of(&at.0, &at.1), people.first()) else {
            return;
        };
        let text = self.since_then(first, since, spent);
        let held = self.take_held(at, people);
        let rings = !held.is_empty() || people.iter().any(|human| self.missed(human, since));
        let level = if rings { Level::Ring } else { Level::Note };
        let post = show::note(level, text, vec![]);
        self.deliver(super::outbox::Draft {
            to: show::main_of(&chat),
            what: Outgoing::Post { post, reply_to: None },
            rank: Rank::Final,
            session: None,
            newest: None,
            not_before: None,
        });
    }

    /// What was held for them and may ring by now rings with the digest.
    fn take_held(&mut self, at: &Spot, people: &[HumanId]) -> Vec<GateId> {
        let mut taken = Vec::new();
        for mut gate in self.open_gates_by_age() {
            let cause = self.state.cause_of(&gate);
            let desk = gate.rung.desk_until.is_some_and(|until| until > self.now);
            let mine = |human: &&HumanId| {
                gate.rung.held.contains(*human) && !desk && !self.is_hushed(human, &cause)
            };
            let mine: Vec<_> = people.iter().filter(mine).cloned().collect();
            if mine.is_empty() {
                continue;
            }
            gate.rung.held.retain(|human| !mine.contains(human));
            gate.rung.called.extend(mine);
            gate.rung.last = Some(self.now);
            self.look_again(&mut gate, &cause);
            self.rings_there(&mut gate, at);
            taken.push(gate.id);
            self.put(Row::Gate(gate));
        }
        taken
    }

    /// Whether something came without a sound that would have rung at any other hour, and that person
    /// can be woken now.
    fn missed(&self, human: &HumanId, since: Timestamp) -> bool {
        let hours = self.state.rules.ringing.people.get(human);
        let quiet = |at| hours.is_some_and(|hours| hours.quiet_until(at).is_some());
        let loud = |kind| self.loudness(kind) == Loudness::Ring;
        let rung = |event: &&Happened| event.at >= since && loud(event.kind) && quiet(event.at);
        !quiet(self.now) && self.state.happened.iter().any(|event| rung(&event))
    }

    /// `/digest`: since the last one, or of a day.
    pub(super) fn digest_for(&self, human: &HumanId) -> Rich {
        let last = self.state.digests.get(human);
        let since = last.map_or(self.now - A_DAY, |last| last.at);
        let spent = last.map_or(0, |last| last.spent_micro_usd);
        self.since_then(human, since, spent)
    }

    /// By steps of workflows as well.
    fn spent_by_all(&self) -> u64 {
        let days = self.state.accounts.values().filter(|it| matches!(it.scope, Scope::Day { .. }));
        days.map(|day| day.micro_usd).sum()
    }

    fn since_then(&self, human: &HumanId, since: Timestamp, spent: u64) -> Rich {
        let clock = self.clock_of(human, since);
        let mut text = Rich::plain(format!("Since {clock}:"));
        let before = text.text.len();
        let may = |gate: &&Gate| self.may(gate, human);
        let mut open: Vec<_> = self.state.open_gates().filter(may).collect();
        open.sort_by_key(|gate| (gate.opened, gate.id));
        let open: Vec<_> = open.into_iter().map(|gate| gate.id).collect();
        if !open.is_empty() {
            text.push(&format!("\nWaiting for you ({}):", open.len()), Some(Style::Bold));
            self.push_waiting(&mut text, &open);
        }
        let stopped: Vec<_> = self.stopped_lines().collect();
        if !stopped.is_empty() {
            text.push(
                &format!("\nStopped until you say so ({}):", stopped.len()),
                Some(Style::Bold),
            );
            for line in stopped.iter().take(NAMED) {
                text.push(&format!("\n{line}"), None);
            }
            text.push(&more_than(stopped.len()), None);
        }
        for (title, kinds) in [
            ("Failed", &[Kind::Failure][..]),
            ("Stuck", &[Kind::Stuck]),
            ("Limits", &[Kind::Limit]),
            ("Trouble", &[Kind::Trouble]),
            ("Done", &[Kind::Done]),
            ("Said", &[Kind::Words]),
        ] {
            self.push_happened(&mut text, title, kinds, since);
        }
        let works = |life: &Life| matches!(life, Life::Working { .. });
        let at_work = self.state.live().filter(|s| works(&s.life)).map(|s| s.name.to_string());
        let at_work: Vec<_> = at_work.collect();
        if !at_work.is_empty() {
            let names = at_work.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = more_than(at_work.len());
            text.push(&format!("\nAt work: {names}{more}"), None);
        }
        let cost = self.spent_by_all().saturating_sub(spent);
        if cost > 0 {
            text.push(&format!("\nCost: {}, at list price", money::spent(cost)), None);
        }
        if text.text.len() == before {
            text.push(" nothing happened, and nothing waits for you.", None);
        }
        text
    }

    /// A line for each session or run, with what it said last and how often there was more.
    fn push_happened(&self, text: &mut Rich, title: &str, kinds: &[Kind], since: Timestamp) {
        let lately = |event: &&Happened| {
            let set = self.loudness(event.kind);
            event.at >= since && kinds.contains(&event.kind) && set != Loudness::Log
        };
        let mut last: BTreeMap<&str, (usize, &Happened)> = BTreeMap::new();
        for event in self.state.happened.iter().filter(lately) {
            let entry = last.entry(event.who.as_str()).or_insert((0, event));
            *entry = (entry.0 + 1, event);
        }
        if last.is_empty() {
            return;
        }
        text.push(&format!("\n{title} ({}):", last.len()), Some(Style::Bold));
        let mut newest: Vec<_> = last.into_iter().collect();
        newest.sort_by_key(|(_, (_, event))| std::cmp::Reverse(event.number));
        for (who, (times, event)) in newest.iter().take(NAMED) {
            let mut line = format!("\n{who}");
            if *times > 1 {
                let _ = write!(line, " ({times} times)");
            }
            let words = crate::text::reveal(&event.words).text.text;
            if !words.is_empty() {
                let _ = write!(line, ": {words}");
            }
            text.push(&line, None);
        }
        text.push(&more_than(newest.len()), None);
    }
}

fn more_than(all: usize) -> String {
    if all > NAMED { format!(" and {} more", all - NAMED) } else { String::new() }
}
