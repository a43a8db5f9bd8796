//! Whom nothing wakes right now: quiet hours, and what they muted.

use super::Work;
use crate::{
    Timestamp,
    bridge::Level,
    gate::{Gate, Waits},
    id::{BridgeName, HumanId, ProjectName, RunId, SessionId, SessionName},
    ringing::{Happened, Kind, Loudness, Muted, Urgent},
    state::{Row, State},
};

/// What may ring: its kind, and what it is about.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub kind: Kind,
    pub session: Option<SessionId>,
    /// The session or run, as people call it; empty: neither.
    pub name: String,
    pub project: Option<ProjectName>,
    pub whose: Option<HumanId>,
}

/// For whom something rings.
#[derive(Clone, Debug, Default)]
pub(super) struct Whom {
    pub people: Vec<HumanId>,
    /// Where nobody else is, nothing rings.
    pub asleep: Vec<HumanId>,
}

impl Cause {
    /// About Vigie itself.
    pub(super) fn vigie() -> Self {
        Self::of_account(Kind::Trouble, "")
    }

    /// About an account of agents.
    pub(super) fn of_account(kind: Kind, name: &str) -> Self {
        Self { kind, session: None, name: name.into(), project: None, whose: None }
    }
}

impl State {
    pub(super) fn cause_in(&self, kind: Kind, session: SessionId) -> Cause {
        let known = self.sessions.get(&session);
        Cause {
            kind,
            session: Some(session),
            name: known.map(|known| known.name.to_string()).unwrap_or_default(),
            project: known.map(|known| known.project.clone()),
            whose: self.whose_session(session),
        }
    }

    pub(super) fn cause_of_run(&self, kind: Kind, id: RunId) -> Cause {
        let known = self.runs.get(id);
        Cause {
            kind,
            session: None,
            name: known.map(|known| known.row.name()).unwrap_or_default(),
            project: known.and_then(|known| known.row.project.clone()),
            whose: self.whose_run(id),
        }
    }

    pub(super) fn cause_of(&self, gate: &Gate) -> Cause {
        let kind = Kind::of_card(gate.shown.kind);
        match &gate.waits {
            Waits::Session(waits) => self.cause_in(kind, waits.session),
            Waits::Step(waits) => {
                let name = waits.run_name.clone();
                Cause { name, ..self.cause_of_run(kind, waits.of_run) }
            }
        }
    }

    /// Until when nothing about that wakes this person; `None`: it may ring now. What they muted
    /// themselves is silent however urgent it is.
    pub(super) fn hushed(
        &self,
        human: &HumanId,
        cause: &Cause,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.muted_until(human, cause, now).max(self.sleeps_until(human, cause, now))
    }

    fn muted_until(&self, human: &HumanId, cause: &Cause, now: Timestamp) -> Option<Timestamp> {
        let of_session = cause.session.map(|session| Muted::Session { session });
        let muted = [Some(Muted::All), of_session].into_iter().flatten().filter_map(|what| {
            let row = self.mutes.get(&(human.clone(), what))?;
            row.until.filter(|until| *until > now)
        });
        muted.max()
    }

    /// The same by their quiet hours alone.
    pub(super) fn sleeps_until(
        &self,
        human: &HumanId,
        cause: &Cause,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let ringing = &self.rules.ringing;
        let Cause { kind, name, project, .. } = cause;
        let hours = ringing.people.get(human)?;
        let urgent = ringing.is_urgent(*kind, name, project.as_ref());
        if urgent { None } else { hours.quiet_until(now) }
    }
}

impl State {
    /// Whether nothing about that session, or about Vigie itself, wakes whoever goes by that id there. Where
    /// kinds of events are urgent, it could be one of them.
    pub fn is_hushed_on(
        &self,
        bridge: &BridgeName,
        from: &str,
        session: Option<&SessionName>,
        now: Timestamp,
    ) -> bool {
        let Some(human) = self.human_of(bridge, from) else { return false };
        let session = session.and_then(|name| self.session_named(name.as_str()));
        let cause = match session {
            Some(session) => self.cause_in(Kind::Notice, session.id),
            None => Cause::vigie(),
        };
        let sleeps = self.sleeps_until(&human, &cause, now).is_some();
        let mut urgent = self.rules.ringing.urgent.iter();
        let by_kind = urgent.any(|rule| matches!(rule, Urgent::Kind(_)));
        self.muted_until(&human, &cause, now).is_some() || sleeps && !by_kind
    }
}

impl Work<'_> {
    pub(super) fn is_hushed(&self, human: &HumanId, cause: &Cause) -> bool {
        self.state.hushed(human, cause, self.now).is_some()
    }

    /// Everybody it may wake now, and whom it must not.
    pub(super) fn awake(&self, cause: &Cause) -> Whom {
        let all = self.state.rules.people.keys().cloned();
        let (asleep, people) = all.partition(|human| self.is_hushed(human, cause));
        Whom { people, asleep }
    }

    /// Whom news wake: the first of whom anything may, whoever that is first for.
    pub(super) fn woken_by(&self, cause: &Cause) -> Whom {
        let mut whom = self.awake(cause);
        if self.is_for_one(cause) {
            whom.people = self.state.in_order(cause, whom.people);
            whom.people.truncate(1);
        }
        whom
    }

    /// Who would be woken by it if they did not sleep.
    pub(super) fn sleepers(&self, cause: &Cause) -> Vec<(HumanId, Timestamp)> {
        let all = self.state.rules.people.keys().cloned().collect();
        let mut before = Vec::new();
        for human in self.state.in_order(cause, all) {
            if self.state.muted_until(&human, cause, self.now).is_some() {
                continue;
            }
            match self.state.sleeps_until(&human, cause, self.now) {
                Some(until) => before.push((human, until)),
                None if self.is_for_one(cause) => break,
                None => {}
            }
        }
        before
    }

    /// What is about Vigie itself is for all of them.
    fn is_for_one(&self, cause: &Cause) -> bool {
        self.state.is_one_by_one() && !cause.name.is_empty()
    }

    pub(super) fn loudness(&self, kind: Kind) -> Loudness {
        self.state.rules.ringing.loudness(kind)
    }

    /// Remembers what agents said that is in no message of its own.
    pub(super) fn said(&mut self, session: SessionId, words: &str) {
        if self.loudness(Kind::Words) == Loudness::Digest {
            self.happened(&self.state.cause_in(Kind::Words, session), words);
        }
    }

    /// Remembers it for the next digests.
    pub(super) fn happened(&mut self, cause: &Cause, words: &str) {
        let number = self.state.happened.back().map_or(1, |last| last.number + 1);
        let words = super::show::last_words(&crate::text::mask(words).text);
        let who = if cause.name.is_empty() { "Vigie".to_owned() } else { cause.name.clone() };
        let (at, kind) = (self.now, cause.kind);
        self.put(Row::Happened(Happened { number, at, kind, who, words }));
    }

    /// Something is wrong that rings: digests have it as well.
    pub(super) fn trouble(&mut self, cause: &Cause, words: &str) {
        let own = words.strip_prefix(cause.name.as_str()).filter(|_| !cause.name.is_empty());
        self.happened(cause, own.map_or(words, |own| own.trim_start_matches([':', ' '])));
        self.rings_for(cause, Level::Ring);
    }

    /// Something that rings happened: whoever sleeps is rung for it once they may be.
    pub(super) fn rings_for(&mut self, cause: &Cause, level: Level) {
        if level != Level::Ring || self.loudness(cause.kind) != Loudness::Ring {
            return;
        }
        for (human, until) in self.sleepers(cause) {
            self.was_missed(&human, until);
        }
    }
}
