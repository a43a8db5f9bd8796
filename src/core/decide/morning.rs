//! What happened while somebody did not look: one text a day for whoever wants one, and on demand.

use chrono::{NaiveDate, TimeDelta};
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
    ringing::{DigestRow, Happened, Kind, Loudness, Missed},
    session::Life,
    state::{Chat, Row, State},
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
    let missed = state.digests.values().filter_map(|row| Some(row.missed.as_ref()?.until));
    next.chain(missed).min()
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
            let missed = last.as_ref().and_then(|last| last.missed.clone());
            let row = DigestRow { human: human.clone(), day, at, spent_micro_usd, missed };
            self.put(Row::Digest(row));
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
        let missed = self.take_missed(people);
        let rings = !held.is_empty() || missed.is_some();
        let level = if rings { Level::Ring } else { Level::Note };
        self.say_of_the_night(&chat, level, text);
    }

    fn say_of_the_night(&mut self, chat: &Chat, level: Level, text: Rich) {
        let post = show::note(level, text, vec![]);
        self.deliver(super::outbox::Draft {
            to: show::main_of(chat),
            what: Outgoing::Post { post, reply_to: None },
            rank: Rank::Final,
            session: None,
            newest: None,
            not_before: None,
        });
    }

    /// Somebody sleeps through something that rings.
    pub(super) fn was_missed(&mut self, human: &HumanId, until: Timestamp) {
        let known = self.state.digests.get(human).cloned();
        let row = known.unwrap_or_else(|| DigestRow {
            human: human.clone(),
            day: self.today_of(human),
            at: self.now,
            spent_micro_usd: self.spent_by_all(),
            missed: None,
        });
        if row.missed.is_none() {
            let missed = Some(Missed { since: self.now, until });
            self.put(Row::Digest(DigestRow { missed, ..row }));
        }
    }

    fn today_of(&self, human: &HumanId) -> NaiveDate {
        let hours = self.state.rules.ringing.people.get(human);
        hours.map_or(self.now.date_naive(), |hours| hours.today(self.now))
    }

    fn sleeps_now(&self, human: &HumanId) -> Option<Timestamp> {
        self.state.rules.ringing.people.get(human)?.quiet_until(self.now)
    }

    /// What those of them missed who are awake rings with what is said now. Returns since when.
    fn take_missed(&mut self, people: &[HumanId]) -> Option<Timestamp> {
        let mut since = None;
        for human in people {
            if self.sleeps_now(human).is_some() {
                continue;
            }
            let Some(row) = self.state.digests.get(human).cloned() else { continue };
            let Some(missed) = &row.missed else { continue };
            since = since.into_iter().chain([missed.since]).min();
            self.put(Row::Digest(DigestRow { missed: None, ..row }));
        }
        since
    }

    /// A quiet time is over in which something came that would have rung: one message rings for all of it,
    /// and for what still waits, unless the digest did.
    pub(super) fn ring_what_was_missed(&mut self) {
        let mut due: BTreeMap<Spot, Vec<HumanId>> = BTreeMap::new();
        for row in self.state.digests.values().cloned().collect::<Vec<_>>() {
            let Some(missed) = row.missed.clone().filter(|missed| missed.until <= self.now) else {
                continue;
            };
            if let Some(until) = self.sleeps_now(&row.human) {
                let missed = Some(Missed { until, ..missed });
                self.put(Row::Digest(DigestRow { missed, ..row }));
            } else if let Some(spot) = self.likeliest_chat_of(&row.human) {
                due.entry(spot).or_default().push(row.human);
            }
        }
        for (at, people) in due {
            let Some(chat) = self.state.chat_of(&at.0, &at.1) else { continue };
            let (Some(first), Some(since)) = (people.first().cloned(), self.take_missed(&people))
            else {
                continue;
            };
            let clock = self.clock_of(&first, since);
            let mut text = Rich::plain(format!("Since {clock}, while nothing was to wake you:"));
            self.push_open(&mut text, &first);
            let loud = |event: &Happened| self.loudness(event.kind) == Loudness::Ring;
            self.push_all_that_happened(&mut text, since, &loud);
            self.take_held(&at, &people);
            self.say_of_the_night(&chat, Level::Ring, text);
        }
    }

    /// What was held for them and may ring by now rings with the digest.
    fn take_held(&mut self, at: &Spot, people: &[HumanId]) -> Vec<GateId> {
        let mut taken = Vec::new();
        for mut gate in self.open_gates_by_age() {
            let cause = self.state.cause_of(&gate);
            let mine = self.no_longer_held(&mut gate, &cause);
            if mine.is_empty() || !mine.iter().all(|human| people.contains(human)) {
                continue; // it rings for others, where they are
            }
            gate.rung.called.extend(mine);
            gate.rung.last = Some(self.now);
            self.look_again(&mut gate, &cause);
            self.rings_there(&mut gate, at);
            taken.push(gate.id);
            self.put(Row::Gate(gate));
        }
        taken
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
        self.push_open(&mut text, human);
        self.push_stopped(&mut text);
        let set = |event: &Happened| self.loudness(event.kind) != Loudness::Log;
        self.push_all_that_happened(&mut text, since, &set);
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

    /// What waits for that person.
    fn push_open(&self, text: &mut Rich, human: &HumanId) {
        let may = |gate: &Gate| self.may(gate, human) && !gate.yes.contains(human);
        let open: Vec<_> = self.open_gates_by_age().into_iter().filter(may).map(|g| g.id).collect();
        if !open.is_empty() {
            text.push(&format!("\nWaiting for you ({}):", open.len()), Some(Style::Bold));
            self.push_waiting(text, &open);
        }
    }

    /// What stands still until somebody says so.
    fn push_stopped(&self, text: &mut Rich) {
        let stopped: Vec<_> = self.stopped_lines().collect();
        if stopped.is_empty() {
            return;
        }
        text.push(&format!("\nStopped until you say so ({}):", stopped.len()), Some(Style::Bold));
        for line in stopped.iter().take(NAMED) {
            text.push(&format!("\n{line}"), None);
        }
        text.push(&more_than(stopped.len()), None);
    }

    pub(super) fn push_all_that_happened(
        &self,
        text: &mut Rich,
        since: Timestamp,
        told: &dyn Fn(&Happened) -> bool,
    ) {
        for (title, kind) in [
            ("Failed", Kind::Failure),
            ("Stuck", Kind::Stuck),
            ("Limits", Kind::Limit),
            ("Trouble", Kind::Trouble),
            ("Done", Kind::Done),
            ("Said", Kind::Words),
        ] {
            let of_kind = |event: &Happened| event.kind == kind && event.at >= since && told(event);
            self.push_happened(text, title, &of_kind);
        }
    }

    /// A line for each session or run, with what it said last and how often there was more.
    fn push_happened(&self, text: &mut Rich, title: &str, told: &dyn Fn(&Happened) -> bool) {
        let mut last: BTreeMap<&str, (usize, &Happened)> = BTreeMap::new();
        for event in self.state.happened.iter().filter(|event| told(event)) {
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
