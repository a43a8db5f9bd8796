//! After a start: what was going on in runs, and who goes on with it.

use vigie_workflow::{
    run::{Told, WorkKind},
    value::StepPath,
};

use crate::{decide::Work, id::RunId, run::StepHow};

impl Work<'_> {
    /// After a start: every attempt that was at work is found again, or what became of it is.
    pub(in crate::decide) fn boot_runs(&mut self) {
        self.state.runs.booted = Some(self.now);
        let open: Vec<_> = self.state.runs.open().map(|known| known.row.id).collect();
        for id in &open {
            self.boot_run(*id);
            self.state.runs.touch(*id);
        }
    }

    fn boot_run(&mut self, id: RunId) {
        let Some(known) = self.state.runs.get(id) else { return };
        for (step, attempt) in known.run.running() {
            let Some(known) = self.state.runs.get(id) else { return };
            let how = match known.run.answer(&step) {
                Some((asks, answer)) => {
                    StepHow::GoOn { asks: asks.clone(), answer: answer.clone() }
                }
                None => StepHow::Adopt,
            };
            self.find_step(id, step, attempt, how);
        }
        self.stop_what_is_to_stop(id);
    }

    fn find_step(&mut self, run: RunId, step: StepPath, attempt: u32, how: StepHow) {
        if self.has_open_gate(run, &step, attempt) {
            return self.people_have(run, step, attempt);
        }
        if self.finds_step_turn(run, &step, attempt) || self.finds_called(run, &step, attempt) {
            return;
        }
        let is_turn = |work: &WorkKind| matches!(work, WorkKind::Turn(_));
        let known = self.state.runs.get(run);
        let work = known.and_then(|known| known.run.work(&step).ok());
        if work.is_some_and(|work| is_turn(&work.what)) {
            return self.tell_run(run, &step, attempt, Told::Gone);
        }
        self.hand_step(run, step, attempt, how);
    }
}
