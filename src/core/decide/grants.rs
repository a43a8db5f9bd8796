//! Grants: given with an answer, looked at before anybody is asked, listed and taken back.

use chrono::TimeDelta;
use serde_json::json;

use super::{About, Work, gates::Who, ruled::Ruled};
use crate::{
    agent::Asked,
    bridge::Risk,
    command::{GrantView, Refusal, Reply},
    gate::{Asker, Gate},
    grant::{Grant, Kind, Over, Scope},
    id::{GateCode, GateId, HumanId, SessionId},
    policy::Asking,
    state::{Role, Row, State},
};

/// How long a grant holds that is not of one session: a day's work.
pub(super) const HOURS: i64 = 8;

/// Grants that hold at the same time. Each is looked at for each request.
const MOST: usize = 200;

/// How long a grant is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    Session,
    Hours,
}

/// What a yes for longer than this one request would cover. `None`: it cannot be given.
pub(super) fn kind_of(gate: &Gate) -> Option<Kind> {
    let Asked::Permission { tool, input, cwd, .. } = &gate.ask else { return None };
    let sure = gate.needed == 1 && gate.session().is_some() && !cwd.is_empty();
    sure.then(|| Kind::of(tool, input, cwd, gate.shown.risk)).flatten()
}

impl Work<'_> {
    /// Keeps what a person allowed for longer. The words tell what it covers, and how it ends.
    pub(super) fn give_grant(
        &mut self,
        gate: &Gate,
        lasting: Lasting,
        who: &Who,
    ) -> Result<String, Refusal> {
        let choices = vec!["approve".into(), "deny".into()];
        let unfit = || Refusal::NoSuchChoice { choice: "for longer".into(), choices };
        let session = gate.session().and_then(|id| self.state.sessions.get(&id));
        let (kind, session) = kind_of(gate).zip(session).ok_or_else(unfit)?;
        let now = self.now;
        let live = self.state.grants.values().filter(|grant| grant.is_live(now)).count();
        if live >= MOST {
            return Err(Refusal::AlreadyDecided(format!(
                "{MOST} grants hold already, and nothing was decided. Take some back (/grants), or approve this once."
            )));
        }
        let scope = match lasting {
            Lasting::Session => Scope::Session { session: session.id, name: session.name.clone() },
            Lasting::Hours => Scope::Project {
                project: session.project.clone(),
                until: now + TimeDelta::hours(HOURS),
            },
        };
        let number = self.state.grants.last_key_value().map_or(1, |(number, _)| number + 1);
        let (by, via, risk) = (who.human.clone(), who.via.clone(), gate.shown.risk);
        let grant = Grant { number, by, at: now, via, kind, scope, risk, over: None };
        self.put(Row::Grant(grant.clone()));
        self.journal_grant("grant_given", &who.human, &grant);
        Ok(format!(
            "Approved. Grant {number} allows {}. /revoke {number} takes it back.",
            told(&grant)
        ))
    }

    /// The grant by which a request goes ahead, as the journal names it.
    pub(super) fn granted(
        &self,
        asking: &Asking<'_>,
        session: Option<SessionId>,
    ) -> Option<(String, String)> {
        // What needs its code is asked about each time.
        if asking.risk == Risk::Code {
            return None;
        }
        let grants = self.state.grants.values();
        let grant = grants
            .filter(|grant| self.state.counts(grant))
            .find(|grant| grant.covers(asking, session))?;
        let by = self.state.name_of(&grant.by);
        Some((format!("grant {} of {by}", grant.number), format!("it allows {}", told(grant))))
    }

    /// What else waits that a grant just given covers is answered with it: each once, and its cards say
    /// so. Gives the codes of those.
    pub(super) fn answer_others_granted(&mut self, answered: GateId) -> Vec<GateCode> {
        let waits = |gate: &&Gate| {
            let plain = gate.shown.risk != Risk::Code && gate.needed == 1;
            gate.id != answered && plain && gate.is_by(Asker::Request)
        };
        let mut open: Vec<Gate> = self.state.open_gates().filter(waits).cloned().collect();
        open.sort_by_key(|gate| (gate.opened, gate.id));
        let mut codes = Vec::new();
        for gate in open {
            if let Some(ruled) = self.ruled(&mut gate.clone()).filter(Ruled::is_by_grant) {
                codes.push(gate.code.clone());
                self.settle_by_rule(gate, ruled);
            }
        }
        codes
    }

    /// Whoever may answer requests may also see, and take back, what was answered for longer.
    fn may_see_grants(&self, human: &HumanId) -> Result<(), Refusal> {
        if self.state.rules.people.get(human).is_some_and(|it| it.role >= Role::Approver) {
            return Ok(());
        }
        let name = self.state.name_of(human);
        let words = format!("{name} may not see or take back grants; an approver or an owner may.");
        Err(Refusal::AlreadyDecided(words))
    }

    pub(super) fn revoke_grant(&mut self, by: &HumanId, number: u64) -> Result<Reply, Refusal> {
        self.may_see_grants(by)?;
        let now = self.now;
        let grant = self.state.grants.get(&number).filter(|grant| grant.is_live(now)).cloned();
        let Some(mut grant) = grant else {
            let live = self.state.live_grants(now);
            let known: Vec<String> = live.iter().map(|grant| grant.number.to_string()).collect();
            let there = match known.as_slice() {
                [] => "No grant holds now.".to_owned(),
                some => format!("Those that hold: {}.", some.join(", ")),
            };
            return Err(Refusal::NoGrant { number, there });
        };
        grant.over = Some(Over::Revoked { by: by.clone(), at: now });
        self.put(Row::Grant(grant.clone()));
        self.journal_grant("grant_revoked", by, &grant);
        let words = format!("Grant {number} is over: it allowed {}.", told(&grant));
        Ok(Reply::Done { words })
    }

    /// Its program ended, and with it what it was allowed.
    pub(super) fn end_grants_of(&mut self, session: SessionId) {
        let now = self.now;
        let its = |grant: &&Grant| match &grant.scope {
            Scope::Session { session: its, .. } => grant.over.is_none() && *its == session,
            Scope::Project { .. } => false,
        };
        let grants: Vec<Grant> = self.state.grants.values().filter(its).cloned().collect();
        for mut grant in grants {
            grant.over = Some(Over::Ended { at: now });
            self.put(Row::Grant(grant));
        }
    }

    fn journal_grant(&mut self, kind: &str, by: &HumanId, grant: &Grant) {
        let session = match &grant.scope {
            Scope::Session { session, .. } => Some(*session),
            Scope::Project { .. } => None,
        };
        let about = About { session, human: Some(by.clone()), ..About::default() };
        let detail = json!({ "grant": grant.number, "words": told(grant), "kind": grant.kind });
        self.journal(kind, about, detail);
    }

    /// `/grants`.
    pub(super) fn slash_grants(&self, human: &HumanId) -> Result<String, Refusal> {
        self.may_see_grants(human)?;
        Ok(self.grants_list())
    }

    /// `/revoke 3`.
    pub(super) fn slash_revoke(
        &mut self,
        human: &HumanId,
        arguments: &str,
    ) -> Result<String, Refusal> {
        self.may_see_grants(human)?;
        let Ok(number) = arguments.trim().trim_start_matches('#').parse() else {
            let words = format!("Which one? Write /revoke and its number.\n{}", self.grants_list());
            return Err(Refusal::AlreadyDecided(words));
        };
        self.revoke_grant(human, number)?;
        Ok(format!("Grant {number} is over."))
    }

    fn grants_list(&self) -> String {
        let live = self.state.live_grants(self.now);
        if live.is_empty() {
            return "No grant holds: every request is asked about, but for what policies say."
                .into();
        }
        let row = |grant: &Grant| {
            let by = self.state.name_of(&grant.by);
            let counts = if self.state.counts(grant) {
                String::new()
            } else {
                format!(" It counts for nothing: {by} may no longer approve.")
            };
            format!("{}: {} ({by}, {}){counts}", grant.number, told(grant), grant.via)
        };
        let rows: Vec<String> = live.iter().map(row).collect();
        format!("{}\n/revoke NUMBER takes one back.", rows.join("\n"))
    }
}

impl State {
    /// Whether whoever gave it may still do so.
    fn counts(&self, grant: &Grant) -> bool {
        self.rules.people.get(&grant.by).is_some_and(|person| person.role >= Role::Approver)
    }

    /// Those that hold, each with whether it counts.
    pub(super) fn grant_views(&self, now: crate::Timestamp) -> Vec<GrantView> {
        let grants = self.live_grants(now).into_iter();
        grants.map(|grant| GrantView { counts: self.counts(&grant), grant }).collect()
    }

    /// Those that cover anything, oldest first.
    pub(super) fn live_grants(&self, now: crate::Timestamp) -> Vec<Grant> {
        self.grants.values().filter(|grant| grant.is_live(now)).cloned().collect()
    }
}

/// What it covers, for whom, and until when.
fn told(grant: &Grant) -> String {
    match &grant.scope {
        Scope::Session { name, .. } => format!("{}, for {name} until it ends", grant.kind),
        Scope::Project { project, until } => {
            format!("{}, in {project} until {}", grant.kind, until.format("%d %b %H:%M UTC"))
        }
    }
}
