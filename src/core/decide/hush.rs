//! Whom nothing wakes right now: quiet hours, and what they muted.

use super::Work;
use crate::{
    Timestamp,
    gate::{Gate, Waits},
    id::{HumanId, ProjectName, SessionId},
    ringing::{Happened, Kind, Loudness, Muted},
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
        Self { kind: Kind::Trouble, session: None, name: String::new(), project: None }
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
        }
    }

    pub(super) fn cause_of(&self, gate: &Gate) -> Cause {
        let kind = Kind::of_card(gate.shown.kind);
        match &gate.waits {
            Waits::Session(waits) => self.cause_in(kind, waits.session),
            Waits::Step(waits) => {
                let known = self.runs.get(waits.of_run);
                let project = known.and_then(|known| known.row.project.clone());
                Cause { kind, session: None, name: waits.run_name.clone(), project }
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
        let of_session = cause.session.map(|session| Muted::Session { session });
        let muted = [Some(Muted::All), of_session].into_iter().flatten().filter_map(|what| {
            let row = self.mutes.get(&(human.clone(), what))?;
            row.until.filter(|until| *until > now)
        });
        let ringing = &self.rules.ringing;
        let Cause { kind, name, project, .. } = cause;
        let quiet = ringing
            .people
            .get(human)
            .filter(|_| !ringing.is_urgent(*kind, name, project.as_ref()))
            .and_then(|hours| hours.quiet_until(now));
        muted.max().max(quiet)
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

    pub(super) fn loudness(&self, kind: Kind) -> Loudness {
        self.state.rules.ringing.loudness(kind)
    }

    /// Remembers what agents said that is in no message of its own.
    pub(super) fn said(&mut self, who: &str, words: &str) {
        if self.loudness(Kind::Words) == Loudness::Digest {
            self.happened(Kind::Words, who, words);
        }
    }

    /// Remembers it for the next digests.
    pub(super) fn happened(&mut self, kind: Kind, who: &str, words: &str) {
        let number = self.state.happened.back().map_or(1, |last| last.number + 1);
        let words = super::show::last_words(&crate::text::mask(words).text);
        let (at, who) = (self.now, who.to_owned());
        self.put(Row::Happened(Happened { number, at, kind, who, words }));
    }
}
