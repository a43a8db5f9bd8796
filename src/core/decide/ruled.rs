//! What policies decide about a request before anybody is asked.

use serde_json::{Value, json};
use vigie_workflow::value::StepPath;

use super::{About, Work, given::verdict, show};
use crate::{
    agent::{Asked, Decision, DeniedCall, Scope},
    bridge::{Fact, Level},
    delivery::Rank,
    gate::{Answer, Gate, Waits},
    id::{RunId, SessionId},
    policy::{Asking, Effect, Fitting, judge},
    state::Row,
    text::{self, Rich},
};

/// Where the journal and late answers say that an answer came from.
const VIA: &str = "Vigie";

/// Denials of one turn that are told one by one; a model may try the same thing a hundred ways.
const TOLD: usize = 5;

/// A decision that no person took.
pub(super) struct Ruled {
    decision: Decision,
    /// As [`Answer::rule`] has it.
    rule: String,
    /// Why it fits.
    why: String,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Policy,
    Grant,
}

impl Ruled {
    pub(super) fn is_by_grant(&self) -> bool {
        self.by == By::Grant
    }
}

impl Work<'_> {
    /// What decides about a permission at once; `None`: people are asked, perhaps two of them. Questions,
    /// plans and approvals of workflows are for people alone.
    pub(super) fn ruled(&self, gate: &mut Gate) -> Option<Ruled> {
        let Asked::Permission { tool, input, cwd, .. } = &gate.ask else { return None };
        let (project, asker, folders) = self.who_asks(&gate.waits);
        let folder = folders.first().map_or("/", String::as_str);
        let cwd = if cwd.is_empty() { folder } else { cwd };
        let at = [cwd.to_owned()];
        let asking = Asking {
            tool,
            input,
            cwd,
            folders: if folders.is_empty() { &at } else { &folders },
            links: None,
            project: project.as_deref(),
            asker: Some(&asker),
            risk: gate.shown.risk,
            now: self.now,
        };
        let decided = judge(&self.state.rules.policies, &asking).decided;
        let denied = decided.as_ref().map(Fitting::denied);
        let (policy, why) = decided.map(|it| (it.policy, it.why)).unzip();
        let effect = policy.map(|policy| policy.effect);
        let rule = policy.map(ToString::to_string).unwrap_or_default();
        let why = why.unwrap_or_default();
        match effect {
            Some(Effect::Allow) => {
                let decision = Decision::Allow { scope: Scope::Once };
                Some(Ruled { decision, rule, why, by: By::Policy })
            }
            Some(Effect::Deny) => {
                let decision = Decision::Deny { reason: denied };
                Some(Ruled { decision, rule, why, by: By::Policy })
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
                let decision = Decision::Allow { scope: Scope::Once };
                Some(Ruled { decision, rule, why, by: By::Grant })
            }
        }
    }

    /// The project and the name of whoever waits, and its folders.
    fn who_asks(&self, waits: &Waits) -> (Option<String>, String, Vec<String>) {
        match waits {
            Waits::Session(waits) => {
                let session = self.state.sessions.get(&waits.session);
                let project = session.map(|session| session.project.to_string());
                let of = session.and_then(|session| {
                    self.state.rules.projects.iter().find(|it| it.name == session.project)
                });
                let cwd = session.map(|session| session.cwd.clone());
                let folders = cwd.into_iter().chain(of.map(|project| project.path.clone()));
                (project, self.session_name(waits.session), folders.collect())
            }
            Waits::Step(waits) => {
                let known = self.state.runs.get(waits.of_run);
                let project = known.and_then(|known| known.row.project.clone());
                (project.map(|name| name.to_string()), waits.run_name.clone(), Vec::new())
            }
        }
    }

    /// A policy said no before its agent asked anybody, and said so to the agent. Each stands in the
    /// audit; the thread is told of the first ones of a turn.
    pub(super) fn tool_denied(&mut self, id: SessionId, call: &DeniedCall) {
        let Some(session) = self.state.sessions.get(&id) else { return };
        let mut told = session.denied.clone();
        let name = session.name.to_string();
        let about = About { session: Some(id), ..About::default() };
        self.journal("tool_denied", about, denial(&name, call));
        let line = text::reveal(&text::mask(&call.line).text).text.text;
        let what = format!("Denied by {}: {line}.", call.rule);
        if told.contains(&what) || told.len() > TOLD {
            return;
        }
        let words = if told.len() == TOLD {
            "More was denied in this turn: `vigie audit` lists all of it.".to_owned()
        } else {
            what.clone()
        };
        self.post_to_session(id, &show::note(Level::Log, Rich::plain(words), vec![]), Rank::Note);
        told.push(what);
        self.change(id, |session| session.denied = told);
    }

    /// The same in a step of a run, which stands in the step's own words as well.
    pub(super) fn step_tool_denied(&mut self, run: RunId, step: &StepPath, call: &DeniedCall) {
        let Some(known) = self.state.runs.get(run) else { return };
        let mut detail = denial(&known.row.name(), call);
        detail["run"] = json!(run);
        detail["step"] = json!(step);
        self.journal("tool_denied", About::default(), detail);
    }

    /// The agent gets it as any other answer. No card was shown, so nothing rang; a no is said without a
    /// sound, for the agent will say that it was stopped.
    pub(super) fn settle_by_rule(&mut self, gate: Gate, ruled: Ruled) -> Gate {
        let Ruled { decision, rule, why, .. } = ruled;
        let id = gate.id;
        let verdict = verdict(&decision);
        let detail = json!({
            "code": gate.code, "title": gate.shown.title, "digest": gate.shown.digest,
            "verdict": verdict, "rule": rule, "why": text::mask(&why).text,
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

/// As the audit keeps it.
fn denial(name: &str, call: &DeniedCall) -> Value {
    let DeniedCall { tool, line, digest, rule, why } = call;
    json!({
        "name": name, "tool": tool, "title": text::mask(line).text, "digest": digest,
        "verdict": "Denied", "rule": rule, "why": text::mask(why).text, "via": VIA,
    })
}
