//! How a run ends: by itself, because it is stopped, or not for good, since it is tried again.

use serde_json::json;
use vigie_workflow::run::{Finish, RetryError, RunState, Stop};

use crate::{
    command::Refusal,
    decide::{About, Work},
    id::RunId,
    run::{RunLife, RunRow},
    state::{Row, State},
};

impl Work<'_> {
    pub(super) fn finish_run(&mut self, id: RunId, status: Finish, why: &str) {
        let Some(known) = self.state.runs.get(id) else { return };
        let mut row = known.row.clone();
        let spent = known.run.spent();
        row.life = RunLife::Over { status, why: why.into(), at: self.now };
        let (name, parent, workflow) = (row.name(), row.parent.clone(), row.workflow.clone());
        self.put(Row::Run(row));
        for gate in self.state.runs.gates_of(id) {
            let step = self.state.gates.get(&gate).and_then(|gate| gate.step()).cloned();
            if let Some(waits) = step {
                self.close_gates_of_step(id, &waits.step, None);
            }
        }
        let detail = json!({
            "run": id, "name": name, "workflow": workflow, "status": status, "why": why,
            "micro_usd": spent.micro_usd,
        });
        self.journal("run_over", About::default(), detail);
        self.show_run_over(id);
        match parent {
            Some(parent) => self.called_run_over(&parent, id),
            None => self.next_in_line(&workflow),
        }
    }

    /// Ends it, and what it called. `by`: as people are called.
    pub(super) fn stop_run(&mut self, id: RunId, why: Stop, by: Option<&str>) {
        let Some(known) = self.state.runs.get(id) else { return };
        let entries = known.run.stop(why, by, self.now);
        self.write_log(id, entries);
    }

    /// What a person, or an agent, wants ended. The words are for whoever wanted it.
    pub(super) fn cancel_run(
        &mut self,
        id: RunId,
        about: About,
        by: &str,
    ) -> Result<String, Refusal> {
        let Some(known) = self.state.runs.get(id) else {
            return Err(Refusal::NotRun("that run is not known any more".into()));
        };
        let name = known.row.name();
        match &known.row.life {
            RunLife::Queued | RunLife::Running => {}
            RunLife::Over { .. } => return Err(Refusal::NotRun(format!("{name} is over already"))),
            RunLife::NotRun { .. } => return Err(Refusal::NotRun(format!("{name} never ran"))),
        }
        let again = matches!(known.run.state(), RunState::Stopping(_));
        self.journal("run_cancelled", about, json!({ "run": id, "name": name, "by": by }));
        self.stop_run(id, Stop::Cancelled, Some(by));
        Ok(if again {
            format!("Stopping {name} at once, with what always runs.")
        } else {
            format!("Stopping {name}.")
        })
    }

    /// Runs what failed again, or that step and all that needs it.
    pub(super) fn retry_run(
        &mut self,
        id: RunId,
        from: Option<&str>,
        about: About,
        by: &str,
    ) -> Result<String, Refusal> {
        let Some(known) = self.state.runs.get(id) else {
            return Err(Refusal::NotRun("that run is not known any more".into()));
        };
        let name = known.row.name();
        match &known.row.life {
            RunLife::NotRun { .. } => {
                return Err(Refusal::NotRun(format!("{name} never ran; start it anew")));
            }
            RunLife::Queued | RunLife::Running => {
                return Err(Refusal::NotRun(format!("{name} still runs")));
            }
            RunLife::Over { .. } => {}
        }
        if known.row.parent.is_some() {
            let above = self.state.root_run(id).map(RunRow::name).unwrap_or_default();
            let words = format!("{name} is a part of {above}: try that again");
            return Err(Refusal::NotRun(words));
        }
        let entries = known.run.retry(from, by, self.now).map_err(|error| match error {
            RetryError::NoStep { ref near, .. } if !near.is_empty() => {
                let near = near.join(", ");
                Refusal::NotRun(format!("{name}: {error}; did you mean {near}?"))
            }
            RetryError::Running | RetryError::NothingFailed | RetryError::NoStep { .. } => {
                Refusal::NotRun(format!("{name}: {error}"))
            }
        })?;
        let life = self.takes_its_turn(id)?;
        let Some(mut row) = self.state.runs.get(id).map(|known| known.row.clone()) else {
            return Err(Refusal::NotRun("that run is not known any more".into()));
        };
        row.began = (life == RunLife::Running).then_some(self.now);
        row.life = life;
        row.shown = Vec::new();
        if let Some(human) = about.human.as_ref().filter(|human| !row.retried_by.contains(human)) {
            row.retried_by.push(human.clone());
        }
        self.put(Row::Run(row));
        self.journal(
            "run_retried",
            about,
            json!({ "run": id, "name": name, "by": by, "from": from }),
        );
        self.write_log(id, entries);
        Ok(format!("{name} goes on."))
    }

    /// A log that went on after its end is one of a run that is open.
    pub(super) fn reopen(&mut self, id: RunId) {
        let Some(known) = self.state.runs.get(id) else { return };
        if !known.row.life.is_open() {
            let began = Some(self.now);
            let row = RunRow { life: RunLife::Running, began, ..known.row.clone() };
            self.put(Row::Run(row));
        }
    }
}

impl State {
    /// The run at the top of those that called each other down to this one.
    pub(in crate::decide) fn root_run(&self, id: RunId) -> Option<&RunRow> {
        let mut row = &self.runs.get(id)?.row;
        for _ in 0..=super::DEEPEST_CALL {
            match row.parent.as_ref().and_then(|parent| self.runs.get(parent.run)) {
                Some(above) => row = &above.row,
                None => break,
            }
        }
        Some(row)
    }
}
