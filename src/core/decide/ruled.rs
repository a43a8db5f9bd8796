//! What policies decide about a request before anybody is asked.

use serde_json::json;

use super::{Work, given::verdict, show};
use crate::{
    agent::{Asked, Decision, Scope},
    bridge::{Fact, Level},
    delivery::Rank,
    gate::{Answer, Gate, Waits},
    policy::{Asking, Effect, Policy, judge},
    state::Row,
    text::{self, Rich},
};

/// Where the journal and late answers say that an answer came from.
const VIA: &str = "Vigie";

/// A decision that no person took.
pub(super) struct Ruled {
    decision: Decision,
    /// As [`Answer::rule`] has it.
    rule: String,
    /// Why it fits.
    why: String,
}

impl Work<'_> {
    /// What decides about a permission at once; `None`: people are asked, perhaps two of them. Questions,
    /// plans and approvals of workflows are for people alone.
    pub(super) fn ruled(&self, gate: &mut Gate) -> Option<Ruled> {
        let Asked::Permission { tool, input, cwd, .. } = &gate.ask else { return None };
        let (project, asker, folder) = self.who_asks(&gate.waits);
        let asking = Asking {
            tool,
            input,
            cwd: if cwd.is_empty() { &folder } else { cwd },
            project: project.as_deref(),
            asker: Some(&asker),
            risk: gate.shown.risk,
            now: self.now,
        };
        let decided = judge(&self.state.rules.policies, &asking).decided;
        let (policy, why) = decided.map(|it| (it.policy, it.why)).unzip();
        let effect = policy.map(|policy| policy.effect);
        let rule = policy.map(ToString::to_string).unwrap_or_default();
        let why = why.unwrap_or_default();
        match effect {
            Some(Effect::Allow) => {
                let decision = Decision::Allow { scope: Scope::Once };
                Some(Ruled { decision, rule, why })
            }
            Some(Effect::Deny) => {
                let reason = policy.map(|policy| denied(policy, &why));
                Some(Ruled { decision: Decision::Deny { reason }, rule, why })
            }
            Some(Effect::AskTwo) => {
                gate.needed = 2;
                let value = format!("Two people have to approve it: {rule}");
                gate.shown.facts.push(Fact { label: "Needs".into(), value });
                None
            }
            // What a person allowed for longer is no answer to what policies deny, or want two for.
            Some(Effect::Ask) | None => {
                let (rule, why) = self.granted(&asking, gate.session())?;
                Some(Ruled { decision: Decision::Allow { scope: Scope::Once }, rule, why })
            }
        }
    }

    /// The project, the name and the folder of whoever waits.
    fn who_asks(&self, waits: &Waits) -> (Option<String>, String, String) {
        match waits {
            Waits::Session(waits) => {
                let session = self.state.sessions.get(&waits.session);
                let project = session.map(|session| session.project.to_string());
                let folder = session.map(|session| session.cwd.clone()).unwrap_or_default();
                (project, self.session_name(waits.session), folder)
            }
            Waits::Step(waits) => {
                let known = self.state.runs.get(waits.of_run);
                let project = known.and_then(|known| known.row.project.clone());
                (project.map(|name| name.to_string()), waits.run_name.clone(), String::new())
            }
        }
    }

    /// The agent gets it as any other answer. No card was shown, so nothing rang; a no is said without a
    /// sound, for the agent will say that it was stopped.
    pub(super) fn settle_by_rule(&mut self, gate: Gate, ruled: Ruled) -> Gate {
        let Ruled { decision, rule, why } = ruled;
        let id = gate.id;
        let verdict = verdict(&decision);
        let detail = json!({
            "code": gate.code, "title": gate.shown.title, "digest": gate.shown.digest,
            "verdict": verdict, "rule": rule, "why": why,
        });
        self.put(Row::Gate(gate.clone()));
        self.journal_gate("gate_ruled", &gate, None, detail);
        if let (Decision::Deny { .. }, Some(session)) = (&decision, gate.session()) {
            let what = text::reveal(&text::mask(&gate.shown.title).text).text.text;
            let words = Rich::plain(format!("Denied by {rule}: {what}."));
            self.post_to_session(session, &show::note(Level::Log, words, vec![]), Rank::Note);
        }
        let (at, via) = (self.now, VIA.into());
        let answer = Answer { by: None, decision, verdict, at, via, rule: Some(rule) };
        self.settle_with(gate.clone(), &answer);
        self.state.gates.get(&id).cloned().unwrap_or(gate)
    }
}

/// What the agent reads.
fn denied(policy: &Policy, why: &str) -> String {
    let reason = policy.reason.as_deref().map(|reason| format!(" {reason}")).unwrap_or_default();
    format!(
        "{policy} does not allow this, because {why}.{reason} Nobody was asked; do it another way, or ask your person in words."
    )
}
