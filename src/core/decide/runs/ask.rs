//! What steps ask people: an approval, a permission for an agent in them, and what became of one in
//! doubt. They live over every restart and are answered by their code anywhere.

use vigie_workflow::{
    language::OnCrash,
    run::{ApprovalWork, AskAnswer, Doubt, Ended, Outcome, Output, Told},
    value::StepPath,
};

use super::PATIENCE;
use crate::{
    agent::{Asked, Choice, Decision, Question},
    bridge::Fact,
    caller::Principal,
    decide::{Work, card, given::field_title},
    gate::{Answer, Gate, GateState, StepWaits, Waits},
    id::{HumanId, RunId},
    run::Starter,
    state::State,
    text,
};

/// What can have become of a step in doubt, in the order of the options.
const BECAME: [(Doubt, &str, &str); 3] = [
    (Doubt::Done, "It was done", "The run goes on after it, with nothing as its output"),
    (Doubt::Again, "Run it again", "It may then have been done twice"),
    (Doubt::Failed, "It failed", "The run goes on as after a failure"),
];

impl Work<'_> {
    pub(super) fn ask_approval(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        approval: ApprovalWork,
    ) {
        let timeout = approval.timeout.and_then(|t| chrono::TimeDelta::from_std(t).ok());
        let until = self.now.checked_add_signed(timeout.unwrap_or(PATIENCE));
        let until = until.unwrap_or(self.now + PATIENCE);
        if let Some(why) = self.too_few_to_approve(run, &approval) {
            return self.tell_ended(run, step, attempt, Outcome::Failed { why });
        }
        let verb = "asks for approval";
        let ask = Asked::Approval(approval);
        if self.begin_step_gate(run, step, attempt, ask, verb, until).is_none() {
            return;
        }
        self.people_have(run, step.clone(), attempt);
    }

    pub(super) fn ask_permission(&mut self, run: RunId, step: &StepPath, attempt: u32) {
        let asks = self.state.runs.get(run).and_then(|known| known.run.asks(step)).cloned();
        let Some(asks) = asks else { return };
        let ask = Asked::Permission {
            tool: asks.tool,
            input: asks.input,
            cwd: asks.cwd,
            can_remember: false,
        };
        let until = self.now + PATIENCE;
        self.begin_step_gate(run, step, attempt, ask, "", until);
    }

    /// Nobody knows how it ended: a person says, where its workflow does not.
    pub(super) fn ask_in_doubt(&mut self, run: RunId, step: &StepPath, attempt: u32) {
        let known = self.state.runs.get(run);
        let definition = known.and_then(|known| known.run.definition(step));
        if definition.is_none_or(|step| step.on_crash != OnCrash::Ask) {
            return;
        }
        let option = |(_, label, about): &(Doubt, &str, &str)| Choice {
            label: (*label).into(),
            description: (*about).into(),
        };
        let question = Question {
            text: format!("{step} had begun, and nobody knows how it ended. What became of it?"),
            header: "doubt".into(),
            options: BECAME.iter().map(option).collect(),
            multiple: false,
        };
        let ask = Asked::Questions { questions: vec![question] };
        let until = self.now + PATIENCE;
        self.begin_step_gate(run, step, attempt, ask, "is in doubt", until);
    }

    fn begin_step_gate(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        ask: Asked,
        verb: &str,
        until: crate::Timestamp,
    ) -> Option<Gate> {
        let known = self.state.runs.get(run)?;
        let name = known.row.name();
        let row = known.row.clone();
        let mut shown = card::shown(&ask, "");
        let verb = if verb.is_empty() { shown.title.clone() } else { verb.into() };
        shown.title = format!("{verb} ({step})");
        let fact = |label: &str, value: String| Fact { label: label.into(), value };
        shown.facts.push(fact("Started by", self.started_by(&row)));
        let waits =
            Waits::Step(StepWaits { of_run: run, run_name: name, step: step.clone(), attempt });
        Some(self.begin_gate(waits, ask, shown, until))
    }

    /// What nobody can ever approve is not waited for.
    fn too_few_to_approve(&self, run: RunId, approval: &ApprovalWork) -> Option<String> {
        let (count, may) = (approval.count.max(1) as usize, self.may_approve(approval, run));
        if may.len() >= count {
            return None;
        }
        let who = if may.is_empty() { "nobody".into() } else { format!("only {}", may.join(", ")) };
        let needed = if count > 1 { format!(", and {count} have to") } else { String::new() };
        let not = if approval.not_starter { " (whoever started it may not)" } else { "" };
        Some(format!(
            "{who} may approve this{needed}{not}; add people to the configuration, or change `by`, `count` or `not_starter` of the step"
        ))
    }

    pub(super) fn has_open_gate(&self, run: RunId, step: &StepPath, attempt: u32) -> bool {
        let is_its = |waits: &StepWaits| waits.step == *step && waits.attempt == attempt;
        let gates = self.state.runs.gates_of(run).into_iter();
        let mut gates = gates.filter_map(|gate| self.state.gates.get(&gate)?.step());
        gates.any(is_its)
    }

    pub(super) fn close_gates_of_step(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: Option<u32>,
    ) {
        for id in self.state.runs.gates_of(run) {
            let is_its = |waits: &StepWaits| {
                waits.step == *step && attempt.is_none_or(|attempt| waits.attempt == attempt)
            };
            let gate = self.state.gates.get(&id).filter(|gate| gate.step().is_some_and(is_its));
            let Some(mut gate) = gate.cloned() else { continue };
            let why = self.why_closed(run);
            gate.state = GateState::Closed { why, at: self.now };
            self.close_gate(&gate);
        }
    }

    fn why_closed(&self, run: RunId) -> String {
        use vigie_workflow::run::{Finish, RunState, Stop};
        let state = self.state.runs.get(run).map(|known| known.run.state());
        match state {
            Some(RunState::Stopping(Stop::Cancelled) | RunState::Over(Finish::Cancelled)) => {
                "The run was cancelled"
            }
            Some(RunState::Stopping(Stop::Replaced)) => "A newer run took its place",
            Some(RunState::Stopping(Stop::TimedOut) | RunState::Over(Finish::TimedOut)) => {
                "The run took too long"
            }
            Some(RunState::Stopping(Stop::OverBudget)) => "The run has spent what it may",
            Some(
                RunState::Running
                | RunState::Over(Finish::Succeeded | Finish::Failed | Finish::Denied),
            )
            | None => "The run went on without it",
        }
        .into()
    }

    /// A person, or the time, decided: the run goes on with that.
    pub(in crate::decide) fn step_answered(&mut self, gate: &Gate, answer: &Answer) {
        let Some(waits) = gate.step().cloned() else { return };
        let StepWaits { of_run: run, step, attempt, .. } = waits;
        let by = answer.by.as_ref().map(|human| self.state.name_of(human));
        let by = by.or_else(|| answer.rule.clone());
        match &gate.ask {
            Asked::Approval(approval) => {
                self.state.runs.end_work(run, &step);
                self.approval_decided(run, &step, attempt, gate, approval, answer);
            }
            Asked::Permission { .. } => {
                let (allow, words) = match &answer.decision {
                    Decision::Allow { .. } => (true, None),
                    Decision::Deny { reason } => (false, reason.clone()),
                    Decision::Answers { .. }
                    | Decision::Plan { .. }
                    | Decision::Approve { .. }
                    | Decision::SendBack { .. } => (false, None),
                };
                let Some(known) = self.state.runs.get(run) else { return };
                let answer = AskAnswer { allow, words, by };
                let entries = known.run.answered(&step, attempt, answer, self.now);
                self.write_log(run, entries);
            }
            Asked::Questions { .. } => {
                let chosen = match &answer.decision {
                    Decision::Answers { answers } => answers.first().cloned(),
                    Decision::Allow { .. }
                    | Decision::Deny { .. }
                    | Decision::Plan { .. }
                    | Decision::Approve { .. }
                    | Decision::SendBack { .. } => None,
                };
                let option = BECAME.iter().find(|(_, label, _)| Some(*label) == chosen.as_deref());
                let how = option.map_or(Doubt::Failed, |(how, ..)| *how);
                let by = by.unwrap_or_else(|| "the deadline".into());
                self.settle_doubt(run, &step, attempt, how, &by);
            }
            Asked::Plan { .. } => {}
        }
    }

    fn approval_decided(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        gate: &Gate,
        approval: &ApprovalWork,
        answer: &Answer,
    ) {
        let people = match &answer.by {
            Some(by) if !gate.yes.contains(by) => std::slice::from_ref(by),
            Some(_) => gate.yes.as_slice(),
            None => &[],
        };
        let names: Vec<_> = people.iter().map(|human| self.state.name_of(human)).collect();
        let by = names.join(", ");
        let answers = approval.form.iter().zip(&gate.picked);
        let answers = answers.filter_map(|(field, picked)| {
            Some((field.id.to_string(), serde_json::Value::from(picked.as_deref()?)))
        });
        let answers: serde_json::Map<_, _> = answers.collect();
        let (outcome, words) = match &answer.decision {
            _ if answer.by.is_none() => (Outcome::TimedOut, None),
            Decision::SendBack { words } => {
                let Some(to) = &approval.send_back else { return };
                let Some(known) = self.state.runs.get(run) else { return };
                let words = text::mask(words).text;
                let entries = known.run.sent_back(step, to, &by, &words, self.now);
                return self.write_log(run, entries);
            }
            Decision::Approve { words, .. } => (Outcome::Done, words.clone()),
            Decision::Deny { reason } => {
                let said = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                (Outcome::Denied { why: format!("{by} said no{said}") }, reason.clone())
            }
            Decision::Allow { .. } | Decision::Plan { .. } | Decision::Answers { .. } => {
                (Outcome::Done, None)
            }
        };
        let mut output = Output::default();
        let mut give = |name: &str, value: serde_json::Value| {
            output.values.insert(name.into(), value);
        };
        if !by.is_empty() {
            give("by", by.into());
        }
        if let Some(words) = words {
            give("words", words.into());
        }
        give("answers", answers.into());
        let ended = Ended { output, ..Ended::of(outcome) };
        self.tell_run(run, step, attempt, Told::Ended(ended));
    }

    /// Whether that person started the run, or the one that called it: at the desk, with a token they
    /// made, or by trying it again. Who started the session of an agent is not kept.
    pub(in crate::decide) fn is_starter(&self, run: RunId, human: &HumanId) -> bool {
        let Some(row) = self.root_run(run) else { return false };
        let started = match &row.starter {
            Starter::Human { human, .. } => Some(human),
            Starter::Agent { principal, .. } => match self.root_of(principal) {
                Principal::Client { token } => self.state.tokens.get(&token).map(|token| &token.by),
                Principal::Session { .. } => None,
            },
            Starter::Cron { .. } | Starter::Webhook | Starter::Run => None,
        };
        started == Some(human) || row.retried_by.contains(human)
    }
}

impl State {
    /// What the card shows of the form and of those who said yes.
    pub(in crate::decide) fn approval_facts(&self, gate: &Gate) -> Vec<Fact> {
        let Asked::Approval(approval) = &gate.ask else {
            return self.said_yes(gate, gate.people_needed()).into_iter().collect();
        };
        let picked = approval.form.iter().zip(&gate.picked).filter_map(|(field, picked)| {
            let value = text::reveal(&text::mask(picked.as_deref()?).text).text.text;
            Some(Fact { label: text::reveal(&field_title(field)).text.text, value })
        });
        picked.chain(self.said_yes(gate, gate.people_needed())).collect()
    }

    /// Who said yes so far, where more than one has to.
    pub(in crate::decide) fn said_yes(&self, gate: &Gate, needed: u32) -> Option<Fact> {
        let names: Vec<_> = gate.yes.iter().map(|human| self.name_of(human)).collect();
        let who = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let value = format!("{} of {needed}{who}", names.len());
        (needed > 1).then(|| Fact { label: "Said yes".into(), value })
    }
}
