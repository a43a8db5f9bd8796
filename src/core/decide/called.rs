//! Whom a gate rings: those who may answer it and can be woken, the others once they can be; and
//! again, further and further, while nobody answers.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Work,
    hush::{Cause, Whom},
    ring::{Spot, Why},
};
use crate::{
    Timestamp,
    gate::Gate,
    id::{GateId, HumanId, SessionId},
    ringing::{Loudness, Rung},
    session::Begun,
    state::{Row, State},
};

/// Reminders that would follow within this come along with the first of them.
const ALONG: chrono::TimeDelta = chrono::TimeDelta::minutes(5);

/// When something that is held may ring, or is to be said again.
pub(super) fn next_call(state: &State) -> Option<Timestamp> {
    let looks = state.open_gates().filter_map(|gate| gate.rung.look_at);
    let again = state.open_gates().filter_map(|gate| state.remind_at(gate));
    looks.chain(again).min()
}

impl State {
    /// When it is said again, if nobody answers.
    fn remind_at(&self, gate: &Gate) -> Option<Timestamp> {
        let every = self.rules.ringing.remind?;
        let more = gate.rung.reminded < self.rules.ringing.reminders;
        (more && !gate.rung.called.is_empty()).then_some(gate.rung.last? + every)
    }

    /// Whether the turn a session is in was begun by somebody who sits at its terminal.
    fn is_at_desk(&self, session: SessionId) -> bool {
        let turn = self.sessions.get(&session).and_then(|session| session.turn.as_ref());
        turn.is_some_and(|turn| turn.begun == Begun::Desk)
    }
}

impl Work<'_> {
    /// Who may answer it and has not, whoever is rung first before the others.
    fn may_in_order(&self, gate: &Gate) -> Vec<HumanId> {
        let people = self.state.rules.people.keys();
        let may = |human: &&HumanId| self.may(gate, human) && !gate.yes.contains(human);
        self.state.in_order(&self.state.cause_of(gate), people.filter(may).cloned().collect())
    }

    /// How many of them are rung at a time.
    fn at_a_time(&self, gate: &Gate) -> usize {
        if self.state.is_one_by_one() {
            (gate.people_needed() as usize).saturating_sub(gate.yes.len()).max(1)
        } else {
            usize::MAX
        }
    }

    fn rings_at_all(&self, cause: &Cause) -> bool {
        self.loudness(cause.kind) == Loudness::Ring
    }

    /// Decides whom a gate that opens rings now, and whom later.
    pub(super) fn call_people(&mut self, gate: &mut Gate) {
        let cause = self.state.cause_of(gate);
        if !self.rings_at_all(&cause) {
            return;
        }
        let desk = gate.session().filter(|session| self.state.is_at_desk(*session));
        let desk_until = desk.map(|_| self.now + self.state.rules.ringing.desk_delay);
        let mut rung =
            Rung { desk_until: desk_until.filter(|until| *until > self.now), ..Rung::default() };
        let mut left = self.at_a_time(gate);
        for human in self.may_in_order(gate) {
            if left == 0 {
                break;
            }
            if self.is_hushed(&human, &cause) {
                rung.held.insert(human);
                continue;
            }
            let whose = if rung.desk_until.is_some() { &mut rung.held } else { &mut rung.called };
            whose.insert(human);
            left -= 1;
        }
        if !rung.called.is_empty() {
            rung.last = Some(self.now);
        }
        gate.rung = rung;
        self.look_again(gate, &cause);
    }

    /// Notes when whoever is held can be rung.
    pub(super) fn look_again(&self, gate: &mut Gate, cause: &Cause) {
        let desk = gate.rung.desk_until;
        let held = gate.rung.held.iter();
        let until = held.filter_map(|human| self.state.hushed(human, cause, self.now).max(desk));
        gate.rung.look_at = until.filter(|at| *at > self.now).min();
    }

    /// For whom it rings wherever it is said now.
    pub(super) fn called_now(&self, gate: &Gate) -> Whom {
        let cause = self.state.cause_of(gate);
        if !self.rings_at_all(&cause) {
            return Whom::default();
        }
        let may = self.may_in_order(gate);
        let mut whom = self.awake(&cause);
        if may.is_empty() {
            return whom; // nobody can answer it, which somebody should know
        }
        let everybody = gate.rung == Rung::default(); // it is of an older Vigie
        let called = |human: &HumanId| everybody || gate.rung.called.contains(human);
        whom.people.retain(|human| may.contains(human) && called(human));
        whom
    }

    /// Rings for those who could not be woken before, once for all that waits.
    pub(super) fn ring_what_was_held(&mut self) {
        let mut rings: BTreeMap<Spot, Vec<GateId>> = BTreeMap::new();
        for mut gate in self.open_gates_by_age() {
            if gate.rung.held.is_empty() {
                continue;
            }
            let cause = self.state.cause_of(&gate);
            let before = gate.rung.look_at;
            let due = self.no_longer_held(&mut gate, &cause);
            self.look_again(&mut gate, &cause);
            if due.is_empty() {
                if gate.rung.look_at != before {
                    self.put(Row::Gate(gate));
                }
                continue;
            }
            let whom = Whom { people: due, ..self.awake(&cause) };
            for at in self.where_they_are(&whom) {
                rings.entry(at).or_default().push(gate.id);
            }
            gate.rung.called.extend(whom.people);
            gate.rung.last = Some(self.now);
            self.put(Row::Gate(gate));
        }
        self.ring_all(rings, &Why::Waited);
    }

    /// Takes those out who can be woken by now, and returns whom of them it rings; the others come after
    /// them.
    pub(super) fn no_longer_held(&self, gate: &mut Gate, cause: &Cause) -> Vec<HumanId> {
        if gate.rung.desk_until.is_some_and(|until| until > self.now) {
            return Vec::new();
        }
        let (held, free): (BTreeSet<_>, BTreeSet<_>) = std::mem::take(&mut gate.rung.held)
            .into_iter()
            .partition(|human| self.is_hushed(human, cause));
        gate.rung.held = held;
        let mut due = self.state.in_order(cause, free.into_iter().collect());
        due.truncate(self.at_a_time(gate));
        due
    }

    /// Somebody said yes where several have to: nobody calls them again. Returns whom it rings now,
    /// where nobody else was called.
    pub(super) fn call_after_a_yes(&self, gate: &mut Gate, by: &HumanId) -> Option<HumanId> {
        gate.rung.called.remove(by);
        gate.rung.held.remove(by);
        let cause = self.state.cause_of(gate);
        let waits = gate.rung.called.is_empty() && self.rings_at_all(&cause);
        let next = if waits { self.next_person(gate, &cause) } else { None };
        if let Some(next) = &next {
            gate.rung.called.insert(next.clone());
            gate.rung.last = Some(self.now);
        }
        next
    }

    pub(super) fn ring_next(&mut self, next: Option<HumanId>, gate: GateId) {
        let Some(next) = next else { return };
        let people = vec![next];
        let rings = self.where_they_are(&Whom { people, asleep: Vec::new() });
        self.ring_all(rings.into_iter().map(|at| (at, vec![gate])).collect(), &Why::Waited);
    }

    fn ring_all(&mut self, rings: BTreeMap<Spot, Vec<GateId>>, why: &Why) {
        for (at, gates) in &rings {
            for id in gates {
                if let Some(mut gate) = self.state.gates.get(id).cloned() {
                    self.rings_there(&mut gate, at);
                    self.put(Row::Gate(gate));
                }
            }
        }
        for (at, gates) in rings {
            self.ring_there(&at, &gates, why);
        }
    }

    /// Says what nobody answered again: in reply to its card, then over the other services of the same
    /// people, then to the next person. It ends with the answer, or after a number of times.
    pub(super) fn remind(&mut self) {
        let now = self.now;
        let by = |gate: &Gate, by| self.state.remind_at(gate).is_some_and(|at| at <= by);
        let mut due = self.open_gates_by_age();
        if !due.iter().any(|gate| by(gate, now)) {
            return;
        }
        due.retain(|gate| by(gate, now + ALONG));
        let mut rings: BTreeMap<Spot, Vec<GateId>> = BTreeMap::new();
        for mut gate in due {
            let cause = self.state.cause_of(&gate);
            let (asleep, awake): (BTreeSet<_>, BTreeSet<_>) = std::mem::take(&mut gate.rung.called)
                .into_iter()
                .partition(|human| self.is_hushed(human, &cause));
            gate.rung.held.extend(asleep);
            gate.rung.called = awake;
            let next = self.next_person(&gate, &cause);
            if !gate.rung.called.is_empty() || next.is_some() {
                for at in self.next_step(&mut gate, next) {
                    rings.entry(at).or_default().push(gate.id);
                }
                gate.rung.reminded += 1;
                gate.rung.last = Some(now);
            }
            self.look_again(&mut gate, &cause);
            self.put(Row::Gate(gate));
        }
        self.ring_all(rings, &Why::Still);
    }

    /// Where it is said again.
    fn next_step(&self, gate: &mut Gate, next: Option<HumanId>) -> BTreeSet<Spot> {
        let called: Vec<_> = gate.rung.called.iter().cloned().collect();
        let asleep = self.awake(&self.state.cause_of(gate)).asleep;
        let there =
            |people: Vec<HumanId>| self.where_they_are(&Whom { people, asleep: asleep.clone() });
        let same = || there(called.clone());
        let elsewhere = || -> BTreeSet<Spot> {
            let all = called.iter().flat_map(|human| self.state.waking_chats_of(human));
            all.filter(|at| self.state.is_fine(at) && !gate.rang.contains(at)).collect()
        };
        if gate.rung.reminded == 0 && !called.is_empty() {
            return same();
        }
        let others = elsewhere();
        if !others.is_empty() {
            return others;
        }
        match next {
            Some(next) => {
                gate.rung.called.insert(next.clone());
                there(vec![next])
            }
            None => same(),
        }
    }

    /// Who comes after all that were called.
    fn next_person(&self, gate: &Gate, cause: &Cause) -> Option<HumanId> {
        let mut people = self.may_in_order(gate).into_iter();
        people.find(|human| {
            let known = gate.rung.called.contains(human) || gate.rung.held.contains(human);
            !known && self.state.can_be_woken(human) && !self.is_hushed(human, cause)
        })
    }

    pub(super) fn open_gates_by_age(&self) -> Vec<Gate> {
        let mut open: Vec<Gate> = self.state.open_gates().cloned().collect();
        open.sort_by_key(|gate| (gate.opened, gate.id));
        open
    }
}
