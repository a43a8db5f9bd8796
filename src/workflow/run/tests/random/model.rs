//! What a workflow comes to, without logs, attempts or an order of time.

use super::{Does, If, Spec, drive::Drive, id};
use crate::{
    run::{Finish, LeftOut, Outcome, RunState, StepState},
    value::StepPath,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Done,
    Failed,
    Denied,
    LeftIf,
    LeftCondition,
    LeftFailed,
    /// Because of a condition or a failure, whichever came first.
    LeftEither,
}

/// What it is to those that need it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    Well,
    Condition,
    Failure,
    Either,
}

fn gives(spec: &Spec, is: Is) -> Gives {
    match is {
        Is::Done if matches!(spec.what, Does::Condition(false)) => Gives::Condition,
        Is::Done | Is::LeftIf => Gives::Well,
        Is::Failed | Is::Denied if spec.goes_on => Gives::Well,
        Is::Failed | Is::Denied | Is::LeftFailed => Gives::Failure,
        Is::LeftCondition => Gives::Condition,
        Is::LeftEither => Gives::Either,
    }
}

fn is_failure(spec: &Spec, is: Is) -> bool {
    matches!(is, Is::Failed | Is::Denied) && !spec.goes_on
}

struct Model<'a> {
    drive: &'a Drive,
    all: Vec<(StepPath, Is)>,
}

impl Model<'_> {
    fn scope(&mut self, specs: &[Spec], path: &dyn Fn(usize) -> StepPath) -> Vec<Is> {
        let mut came_to: Vec<Is> = Vec::new();
        for (place, spec) in specs.iter().enumerate() {
            let here = path(place);
            let needs: Vec<_> =
                spec.needs.iter().map(|need| gives(&specs[*need], came_to[*need])).collect();
            let bad = |kind| needs.contains(&kind);
            let first_ok = spec.needs.first().is_none_or(|need| came_to[*need] == Is::Done);
            let is = if !spec.always && needs.iter().any(|need| *need != Gives::Well) {
                if bad(Gives::Either) || (bad(Gives::Condition) && bad(Gives::Failure)) {
                    Is::LeftEither
                } else if bad(Gives::Condition) {
                    Is::LeftCondition
                } else {
                    Is::LeftFailed
                }
            } else if match spec.only_if {
                None => false,
                Some(If::Is(is_true)) => !is_true,
                Some(If::NeedOk) => !first_ok,
            } {
                Is::LeftIf
            } else {
                self.runs(spec, &here)
            };
            self.all.push((here, is));
            came_to.push(is);
        }
        came_to
    }

    fn runs(&mut self, spec: &Spec, here: &StepPath) -> Is {
        if let Some(done) = self.drive.forced.get(here) {
            return if *done { Is::Done } else { Is::Failed };
        }
        match &spec.what {
            Does::Work { fails } if *fails > spec.retries => Is::Failed,
            Does::Work { .. }
            | Does::Agent
            | Does::Sleep
            | Does::Condition(_)
            | Does::Approval { yes: true, .. } => Is::Done,
            Does::Approval { yes: false, .. } => Is::Denied,
            Does::Foreach { rounds, inner, .. } => {
                let mut bad = Vec::new();
                for round in 0..*rounds {
                    let came_to =
                        self.scope(inner, &|place| here.inner(round, id(place).parse().unwrap()));
                    let failures: Vec<_> = came_to
                        .iter()
                        .zip(inner)
                        .filter(|(is, spec)| is_failure(spec, **is))
                        .map(|(is, _)| *is)
                        .collect();
                    if !failures.is_empty() {
                        bad.push(failures.iter().all(|is| *is == Is::Denied));
                    }
                }
                match bad.as_slice() {
                    [] => Is::Done,
                    bad if bad.iter().all(|only_no| *only_no) => Is::Denied,
                    _ => Is::Failed,
                }
            }
        }
    }
}

pub(super) fn compare(specs: &[Spec], drive: &Drive) {
    let mut model = Model { drive, all: Vec::new() };
    let top = model.scope(specs, &|place| StepPath::top(id(place).parse().unwrap()));
    for (path, is) in &model.all {
        let state = drive.run().step(path);
        let fits = match state {
            Some(StepState::Ended { outcome, .. }) => match outcome {
                Outcome::Done => *is == Is::Done,
                Outcome::Failed { .. } => *is == Is::Failed,
                Outcome::Denied { .. } => *is == Is::Denied,
                Outcome::TimedOut | Outcome::Cancelled => false,
            },
            Some(StepState::LeftOut { why }) => match why {
                LeftOut::If => *is == Is::LeftIf,
                LeftOut::Condition { .. } => matches!(is, Is::LeftCondition | Is::LeftEither),
                LeftOut::Failed { .. } => matches!(is, Is::LeftFailed | Is::LeftEither),
                LeftOut::Stopped => false,
            },
            _ => false,
        };
        assert!(fits, "{path} is {:?} and should be {is:?}", drive.run().step(path));
    }
    assert_eq!(drive.run().steps().count(), model.all.len());
    let failures: Vec<_> =
        top.iter().zip(specs).filter(|(is, spec)| is_failure(spec, **is)).collect();
    let finish = match failures.as_slice() {
        [] => Finish::Succeeded,
        all if all.iter().all(|(is, _)| **is == Is::Denied) => Finish::Denied,
        _ => Finish::Failed,
    };
    assert_eq!(drive.run().state(), RunState::Over(finish));
}
