//! Who may answer what.

use serde_json::json;
use vigie_workflow::run::ApprovalWork;

use super::{Work, gates::Who, given::Given};
use crate::{
    agent::Asked,
    command::Refusal,
    gate::Gate,
    id::{HumanId, RunId},
    state::{Person, Role},
};

impl Work<'_> {
    /// The one place that says who may answer what, however the answer came. A role that may answer
    /// at all is always needed: what a workflow says narrows that and never widens it.
    /// A no of whoever started a run is theirs all the same: it lets nothing happen.
    pub(super) fn refuse_unless_allowed(
        &mut self,
        gate: &Gate,
        who: &Who,
        given: &Given,
    ) -> Result<(), Refusal> {
        let Some(why) = self.not_allowed(gate, &who.human) else { return Ok(()) };
        match (&why, given) {
            (NotAllowed::Starter { .. }, Given::Deny { .. }) => return Ok(()),
            (NotAllowed::Starter { .. } | NotAllowed::Other, _) => {}
        }
        let detail = json!({ "code": gate.code, "via": who.via });
        self.journal_gate("answer_refused", gate, Some(who.human.clone()), detail);
        let mut may: Vec<_> = self.may_answer(gate);
        may.sort();
        let name = self.state.name_of(&who.human);
        let may = match may.as_slice() {
            [] => "Nobody in the configuration may".into(),
            some => format!("{} may", some.join(", ")),
        };
        Err(Refusal::AlreadyDecided(match why {
            NotAllowed::Starter { run } => {
                format!("{name} started {run}, and whoever starts it may only deny this. {may}.")
            }
            NotAllowed::Other => format!("{name} may not answer this. {may}."),
        }))
    }

    /// Names of those who may answer it.
    pub(super) fn may_answer(&self, gate: &Gate) -> Vec<String> {
        let people = self.state.rules.people.iter();
        let may = people.filter(|(human, _)| self.may(gate, human));
        may.map(|(_, person)| person.name.clone()).collect()
    }

    /// Names of those who may approve that for that run.
    pub(super) fn may_approve(&self, approval: &ApprovalWork, run: RunId) -> Vec<String> {
        let people = self.state.rules.people.iter();
        let may = people.filter(|(human, person)| {
            person.role >= Role::Approver
                && is_named(approval, human, person)
                && !self.is_its_starter(approval, run, human)
        });
        may.map(|(_, person)| person.name.clone()).collect()
    }

    fn is_its_starter(&self, approval: &ApprovalWork, run: RunId, human: &HumanId) -> bool {
        approval.not_starter && self.is_starter(run, human)
    }

    /// Whether they may answer it.
    pub(super) fn may(&self, gate: &Gate, human: &HumanId) -> bool {
        self.not_allowed(gate, human).is_none()
    }

    fn not_allowed(&self, gate: &Gate, human: &HumanId) -> Option<NotAllowed> {
        let Some(person) = self.state.rules.people.get(human) else {
            return Some(NotAllowed::Other);
        };
        if person.role < Role::Approver {
            return Some(NotAllowed::Other);
        }
        let Asked::Approval(approval) = &gate.ask else { return None };
        if !is_named(approval, human, person) {
            return Some(NotAllowed::Other);
        }
        let waits = gate.step()?;
        let started = self.is_its_starter(approval, waits.of_run, human);
        started.then(|| NotAllowed::Starter { run: waits.run_name.clone() })
    }
}

/// Whether the workflow names them, or nobody.
fn is_named(approval: &ApprovalWork, human: &HumanId, person: &Person) -> bool {
    let named = |name: &String| {
        human.as_str().eq_ignore_ascii_case(name)
            || person.name.eq_ignore_ascii_case(name)
            || role_named(name).is_some_and(|role| person.role >= role)
    };
    approval.by.is_empty() || approval.by.iter().any(named)
}

/// Why somebody may not answer.
enum NotAllowed {
    Starter { run: String },
    Other,
}

/// What a workflow calls those who have that role, or more.
fn role_named(name: &str) -> Option<Role> {
    [Role::Viewer, Role::Talker, Role::Approver, Role::Owner].into_iter().find(|role| {
        let word = match role {
            Role::Viewer => "viewer",
            Role::Talker => "talker",
            Role::Approver => "approver",
            Role::Owner => "owner",
        };
        word.eq_ignore_ascii_case(name)
    })
}
