//! Scripts: a step's own, and the command that checks what it did.

use std::time::Instant;
use vigie_workflow::run::{Ended, Outcome};

use super::{
    Keeper, output,
    pour::into_file,
    process::{GRACE, Program, Ran, Status, Takers},
};
use crate::runner::{
    place::{ERR, OUT},
    task::{Kind, Left},
};

/// What the check printed, both of it.
const CHECK_OUT: &str = "check.out";
const CHECK_ERR: &str = "check.err";

impl Keeper {
    /// `None`: broken off.
    pub(super) fn shell(&mut self) -> Option<Left> {
        let Kind::Shell { shell, script } = &self.task.what else { return None };
        let (shell, script) = (shell.clone(), script.clone());
        let ran = self.script(&shell, script, OUT, ERR, self.deadline);
        self.printed(ran).map(Left::Ended)
    }

    /// How a program ended that printed into the two files, which is what it gives.
    pub(super) fn printed(&self, ran: Ran) -> Option<Ended> {
        let code = match &ran {
            Ran::Exited(Status::Code(code)) => Some(*code),
            _ => None,
        };
        let outcome = ran.outcome()?;
        let outcome = outcome.unwrap_or_else(|status| self.failed(status));
        let mut ended = Ended::of(outcome);
        match output::read(&self.folder.join(OUT), self.task.output) {
            Ok((output, formed)) => {
                ended.output = output;
                if let (Outcome::Done, Err(why)) = (&ended.outcome, formed) {
                    ended.outcome = Outcome::Failed { why };
                }
            }
            Err(error) if ended.outcome == Outcome::Done => {
                let why = format!("what it printed cannot be read: {error}");
                ended.outcome = Outcome::Failed { why };
            }
            Err(_) => {} // it never printed anything
        }
        ended.output.exit_code = code;
        self.mask_outcome(&mut ended.outcome);
        Some(ended)
    }

    pub(super) fn failed(&self, status: Status) -> Outcome {
        output::failed(status, &self.folder.join(ERR), &self.folder.join(OUT))
    }

    /// What a step failed of may quote anything.
    pub(super) fn mask_outcome(&self, outcome: &mut Outcome) {
        match outcome {
            Outcome::Failed { why } | Outcome::Denied { why } => *why = self.mask.text(why),
            Outcome::Done | Outcome::TimedOut | Outcome::Cancelled => {}
        }
    }

    /// Whether the command that must succeed does. `None`: broken off.
    pub(super) fn check(&mut self, check: &str) -> Option<Outcome> {
        let ran = self.script(&[], check.to_owned(), CHECK_OUT, CHECK_ERR, self.deadline);
        let line = check.lines().next().unwrap_or_default();
        let line =
            if line.len() < check.trim_end().len() { format!("{line} …") } else { line.into() };
        let mut outcome = ran.outcome()?.unwrap_or_else(|status| {
            let complaints = self.folder.join(CHECK_ERR);
            let printed = self.folder.join(CHECK_OUT);
            let Outcome::Failed { why } = output::failed(status, &complaints, &printed) else {
                return Outcome::Done;
            };
            Outcome::Failed { why: format!("the check `{line}` failed with {why}") }
        });
        self.mask_outcome(&mut outcome);
        Some(outcome)
    }

    fn script(
        &mut self,
        shell: &[String],
        script: String,
        out: &str,
        err: &str,
        deadline: Instant,
    ) -> Ran {
        let usual = ["sh", "-e", "-c"].map(str::to_owned);
        let words = if shell.is_empty() { &usual } else { shell };
        let Some((program, args)) = words.split_first() else {
            return Ran::Failed("no shell is named".into());
        };
        let args = [args, &[script]].concat();
        let takers = self.two_files(out, err);
        let grace = Some(GRACE);
        let program =
            Program { name: program, args: &args, input: None, env: &[], grace, goes_on: false };
        self.run(program, takers, deadline)
    }

    pub(super) fn two_files(&self, out: &str, err: &str) -> Takers {
        let (out, err) = (self.folder.join(out), self.folder.join(err));
        let (mask, other) = (self.mask.clone(), self.mask.clone());
        Takers {
            out: Box::new(move |from, tell| into_file(from, &out, &mask, tell)),
            err: Box::new(move |from, tell| into_file(from, &err, &other, tell)),
        }
    }
}
