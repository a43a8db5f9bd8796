//! A step that calls another workflow: a run of its own, for its outputs.

use vigie_workflow::{
    run::{CallWork, Ended, Finish, Outcome, Output, RunState, Stop, Told},
    value::StepPath,
};

use super::{
    DEEPEST_CALL,
    start::{Making, home_of, stays_home},
};
use crate::{
    Timestamp,
    decide::Work,
    id::RunId,
    run::{AtWork, RunLife, RunParent, Starter, With},
    state::State,
};

impl Work<'_> {
    pub(super) fn call_workflow(
        &mut self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        call: CallWork,
        project: Option<&str>,
        until: Option<Timestamp>,
    ) {
        match self.making_of_call(run, step, attempt, call, project) {
            Ok(making) => {
                let child = self.make_run(making);
                let work = AtWork { attempt, with: With::Run { child }, until };
                self.state.runs.begin_work(run, step.clone(), work);
            }
            Err(why) => self.tell_ended(run, step, attempt, Outcome::Failed { why }),
        }
    }

    fn making_of_call(
        &self,
        run: RunId,
        step: &StepPath,
        attempt: u32,
        call: CallWork,
        project: Option<&str>,
    ) -> Result<Making, String> {
        let known = self.state.runs.get(run).ok_or("its run is gone")?;
        if self.depth_of_run(run) >= DEEPEST_CALL {
            return Err(format!("workflows call each other {DEEPEST_CALL} deep and no deeper"));
        }
        let frozen = known.run.frozen();
        let source = frozen.called.get(&call.workflow).cloned();
        let source = source.ok_or_else(|| format!("there is no workflow `{}`", call.workflow))?;
        let given = call.params.into_iter();
        let given = given.map(|(name, value)| (name.to_string(), crate::run::Given::Json(value)));
        let params = super::start::typed(&source, &given.collect())
            .map_err(|mistakes| format!("`{}`: {}", call.workflow, mistakes.join("; ")))?;
        let project = match project.or_else(|| home_of(&source.name)) {
            Some(name) => {
                Some(self.project(Some(name)).map_err(|refusal| refusal.to_string())?.name)
            }
            None => known.row.project.clone(),
        };
        if let Some(project) = &project {
            self.stays(run, project)?;
            stays_home(&source.name, project)?;
        }
        Ok(Making {
            source,
            called: frozen.called.clone(),
            params,
            project,
            starter: Starter::Run,
            key: None,
            place: known.row.place.clone(),
            parent: Some(RunParent { run, step: step.clone(), attempt }),
        })
    }

    /// How many runs stand above it.
    fn depth_of_run(&self, run: RunId) -> usize {
        let mut depth = 0;
        let mut at = self.state.runs.get(run);
        while let Some(parent) = at.and_then(|known| known.row.parent.as_ref())
            && depth < DEEPEST_CALL
        {
            depth += 1;
            at = self.state.runs.get(parent.run);
        }
        depth
    }

    /// What it came to is told to the step that waits for it.
    pub(super) fn called_run_over(&mut self, parent: &RunParent, child: RunId) {
        let Some(known) = self.state.runs.get(child) else { return };
        let RunLife::Over { status, why, .. } = &known.row.life else { return };
        let name = known.row.name();
        let why = if why.is_empty() { name.clone() } else { format!("{name}: {why}") };
        let outcome = match status {
            Finish::Succeeded => Outcome::Done,
            Finish::Failed => Outcome::Failed { why },
            Finish::Denied => Outcome::Denied { why },
            Finish::Cancelled => Outcome::Cancelled,
            Finish::TimedOut => Outcome::TimedOut,
        };
        // A run that somebody stopped by itself, while the one above goes on, failed that one's step.
        let above = self.state.runs.get(parent.run).map(|known| known.run.state());
        let outcome = match (outcome, above) {
            (Outcome::Cancelled, Some(RunState::Running)) => {
                Outcome::Failed { why: format!("{name} was cancelled") }
            }
            (outcome, _) => outcome,
        };
        let (outputs, spent) = (known.run.outputs(), known.run.spent());
        let values = match &outputs {
            serde_json::Value::Object(values) => values.clone().into_iter().collect(),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_)
            | serde_json::Value::Array(_) => std::collections::BTreeMap::new(),
        };
        let json = Some(outputs).filter(|outputs| !outputs.is_null());
        let output = Output { json, values, ..Output::default() };
        let ended = Ended { outcome, output, spent, changed: None };
        let RunParent { run, step, attempt } = parent;
        self.state.runs.end_work(*run, step);
        self.tell_run(*run, step, *attempt, Told::Ended(ended));
    }

    /// Nobody waits for it any more.
    pub(super) fn stop_called(&mut self, child: RunId) {
        let parent = self.state.runs.get(child).and_then(|known| known.row.parent.as_ref());
        let above = parent.and_then(|parent| self.state.runs.get(parent.run));
        let above = above.map(|above| above.run.state());
        let why = match above {
            Some(RunState::Stopping(why)) => why,
            Some(RunState::Running | RunState::Over(_)) | None => Stop::Cancelled,
        };
        self.stop_run(child, why, None);
    }

    /// After a start: the run that was begun for this step.
    pub(super) fn finds_called(&mut self, run: RunId, step: &StepPath, attempt: u32) -> bool {
        let of_step = RunParent { run, step: step.clone(), attempt };
        let is_its = |known: &&crate::run::KnownRun| known.row.parent.as_ref() == Some(&of_step);
        let child = self.state.runs.all().rev().find(is_its);
        let child = child.map(|child| (child.row.id, child.row.life.is_open(), child.row.made));
        let Some((id, open, work)) = child else { return false };
        let until = self.state.runs.get(run).and_then(|known| known.run.work(step).ok());
        let until = until.and_then(|work| work.timeout);
        let until = until.and_then(|timeout| {
            work.checked_add_signed(chrono::TimeDelta::from_std(timeout).ok()?)
        });
        if open {
            let with = With::Run { child: id };
            self.state.runs.begin_work(run, step.clone(), AtWork { attempt, with, until });
        } else {
            self.called_run_over(&of_step, id);
        }
        true
    }

    /// What the runs below it spent so far counts against each run above.
    pub(super) fn check_budget_above(&mut self, id: RunId) {
        let mut at = id;
        for _ in 0..DEEPEST_CALL {
            let known = self.state.runs.get(at);
            let Some(parent) = known.and_then(|known| known.row.parent.as_ref()) else { return };
            at = parent.run;
            let Some(above) = self.state.runs.get(at) else { return };
            let limit = above.run.frozen().source.workflow.limits.micro_usd;
            let stops = above.run.state() != RunState::Running;
            if limit.is_some_and(|limit| self.state.spent_with_calls(at) > limit) && !stops {
                self.stop_run(at, Stop::OverBudget, None);
            }
        }
    }
}

impl State {
    /// In millionths of a dollar, open calls included.
    pub(super) fn spent_with_calls(&self, id: RunId) -> u64 {
        let Some(known) = self.runs.get(id) else { return 0 };
        let below = known.at_work.values().filter_map(|work| match &work.with {
            With::Run { child } => Some(self.spent_with_calls(*child)),
            With::Runner { .. } | With::Held { .. } | With::Session { .. } | With::People => None,
        });
        known.run.spent().micro_usd.saturating_add(below.sum())
    }
}
