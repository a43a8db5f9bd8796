//! Scripts that only compute, in a process that can do nothing else.

use vigie_workflow::{
    language::OutputForm,
    run::{Ended, Outcome},
};

use super::{
    Keeper, output,
    process::{Program, Ran, Status},
};
use crate::{
    confine::OURSELVES,
    runner::{
        javascript::Script,
        place::{ERR, OUT},
        task::{Kind, Left},
    },
};

impl Keeper {
    /// `None`: broken off.
    pub(super) fn javascript(&mut self) -> Option<Left> {
        let Kind::Javascript { code, input, memory } = &self.task.what else { return None };
        let script = Script { code: code.clone(), input: input.clone(), memory: *memory };
        let input = match serde_json::to_string(&script) {
            Ok(input) => input,
            Err(error) => {
                let why = error.to_string();
                return Some(Left::Ended(Ended::of(Outcome::Failed { why })));
            }
        };
        // It sees even less than other steps, and has none of their environment.
        if let Some(confinement) = &mut self.task.confinement {
            confinement.hide.push(self.task.project.clone());
            confinement.keep.clear();
        }
        self.task.cwd = "/".into();
        self.task.env.clear();
        let args = ["javascript".to_owned()];
        let (name, input) = (&program(), Some(input));
        let program = Program { name, args: &args, input, env: &[], grace: None, goes_on: false };
        let takers = self.two_files(OUT, ERR);
        let ran = self.run(program, takers, self.deadline);
        self.returned(ran).map(Left::Ended)
    }

    fn returned(&self, ran: Ran) -> Option<Ended> {
        let outcome = match ran {
            Ran::Exited(Status::Code(0)) => Outcome::Done,
            Ran::Exited(status) => match output::last_line(&self.folder.join(ERR)) {
                Some(why) => Outcome::Failed { why },
                None => self.failed(status),
            },
            other => match other.outcome()? {
                Ok(outcome) => outcome,
                Err(status) => self.failed(status),
            },
        };
        let mut ended = Ended::of(outcome);
        if ended.outcome == Outcome::Done {
            match output::read(&self.folder.join(OUT), OutputForm::Json) {
                Ok((output, Ok(()))) => ended.output = output,
                Ok((output, Err(why))) => {
                    ended.output = output;
                    let why = why.replace("printed", "returned");
                    ended.outcome = Outcome::Failed { why };
                }
                Err(error) => {
                    let why = format!("what it returned cannot be read: {error}");
                    ended.outcome = Outcome::Failed { why };
                }
            }
        }
        if let Some(serde_json::Value::String(text)) = &ended.output.json
            && ended.output.cut.is_none()
        {
            ended.output.text.clone_from(text);
        }
        self.mask_outcome(&mut ended.outcome);
        Some(ended)
    }
}

/// Our own, whatever its file is by now.
fn program() -> String {
    if cfg!(target_os = "linux") {
        return OURSELVES.into();
    }
    std::env::current_exe().map_or_else(|_| "vigie".into(), |path| path.to_string_lossy().into())
}
