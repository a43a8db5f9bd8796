//! An owner of a run that ends its steps in any order, loses its memory, and writes half of what it
//! should.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::super::build::*;
use super::{Does, Spec, steps};
use crate::{
    language::OnCrash,
    run::{
        AskAnswer, Asks, Doubt, Ended, Entry, Finish, Outcome, Run, RunState, Spent, StepState,
        Stop, Told, What, WorkKind,
    },
    value::StepPath,
};

pub(super) struct Drive {
    run: Run,
    log: Vec<Entry>,
    specs: Vec<Spec>,
    choices: std::vec::IntoIter<u16>,
    now: i64,
    /// Steps that ended because somebody said so, and whether as done.
    pub(super) forced: HashMap<StepPath, bool>,
    sent_back: HashSet<StepPath>,
    /// From here on all ends well.
    is_well: bool,
}

impl Drive {
    pub(super) fn new(specs: &[Spec], parallel: u32, choices: Vec<u16>) -> Self {
        let mut workflow = workflow(steps(specs));
        workflow.limits.parallel = parallel;
        let run = Run::new(Arc::new(frozen(workflow)));
        let mut drive = Self {
            run,
            log: Vec::new(),
            specs: specs.to_vec(),
            choices: choices.into_iter(),
            now: 0,
            forced: HashMap::new(),
            sent_back: HashSet::new(),
            is_well: false,
        };
        drive.go_on();
        drive
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    fn choose(&mut self, among: usize) -> usize {
        usize::from(self.choices.next().unwrap_or(1)) % among.max(1)
    }

    fn write(&mut self, entries: &[Entry]) {
        for entry in entries {
            let text = serde_json::to_string(entry).unwrap();
            assert_eq!(&serde_json::from_str::<Entry>(&text).unwrap(), entry);
            self.run.apply(entry);
            self.log.push(entry.clone());
        }
    }

    /// What comes, some of it perhaps lost.
    fn take(&mut self, entries: &[Entry]) {
        if !entries.is_empty() && self.choose(12) == 0 {
            let kept = self.choose(entries.len() + 1);
            self.write(&entries[..kept]);
            self.crash();
        } else {
            self.write(entries);
        }
    }

    fn go_on(&mut self) {
        for _ in 0..2000 {
            let room = self.room();
            let next = self.run.next(room, at(self.now));
            if next.is_empty() {
                self.force();
                assert!(self.run.next(room, at(self.now)).is_empty());
                return;
            }
            self.take(&next);
        }
        panic!("it never comes to rest");
    }

    fn room(&mut self) -> usize {
        let works = self.run.running().iter().any(|(step, _)| self.is_work(step));
        self.choose(3) + usize::from(!works)
    }

    fn is_work(&self, step: &StepPath) -> bool {
        matches!(
            self.run.work(step).map(|work| work.what),
            Ok(WorkKind::Shell(_) | WorkKind::Claude(_))
        )
    }

    /// All memory is lost; what ran may have ended meanwhile, or may be gone.
    fn crash(&mut self) {
        self.run = self.replayed();
        for (step, attempt) in self.run.running() {
            // A question is no process: it still stands.
            let is_question = !self.is_work(&step);
            if is_question || self.choose(3) == 0 {
                continue;
            }
            let told = if self.choose(3) > 0 { Told::Gone } else { self.end_of(&step) };
            let entries = self.run.told(&step, attempt, told, at(self.now));
            self.write(&entries);
        }
    }

    fn replayed(&self) -> Run {
        let mut run = Run::new(Arc::new(self.run.frozen().clone()));
        for entry in &self.log {
            run.apply(entry);
        }
        let (live, again) = (&self.run.state, &run.state);
        assert_eq!(format!("{:?}", live.nodes), format!("{:?}", again.nodes));
        assert_eq!(format!("{:?}", live.blocks), format!("{:?}", again.blocks));
        assert_eq!(format!("{:?}", live.clock), format!("{:?}", again.clock));
        assert_eq!(format!("{:?}", live.money), format!("{:?}", again.money));
        assert_eq!(live.attention, again.attention);
        assert_eq!(
            (live.run, live.holding, &live.failed),
            (again.run, again.holding, &again.failed)
        );
        run
    }

    pub(super) fn some_of_the_way(&mut self) {
        for _ in 0..self.choose(30) {
            if matches!(self.run.state(), RunState::Over(_)) {
                return;
            }
            self.one();
        }
    }

    pub(super) fn finish(&mut self) {
        for _ in 0..5000 {
            if matches!(self.run.state(), RunState::Over(_)) {
                self.replayed();
                return;
            }
            self.one();
        }
        panic!("it never ends: {:?}", self.run.steps().collect::<Vec<_>>());
    }

    pub(super) fn stop(&mut self) {
        let entries = self.run.stop(Stop::Cancelled, None, at(self.now));
        self.write(&entries);
        self.go_on();
    }

    /// Everything that failed is tried again, and now all ends well.
    pub(super) fn again(&mut self) {
        let RunState::Over(finish) = self.run.state() else { panic!() };
        let entries = self.run.retry(None, "ada", at(self.now));
        assert_eq!(entries.is_err(), finish == Finish::Succeeded, "{entries:?}");
        let Ok(entries) = entries else { return };
        self.is_well = true;
        self.write(&entries);
        self.go_on();
        self.finish();
        let lost = self.forced.values().any(|done| !done);
        assert!(
            lost || self.run.state() == RunState::Over(Finish::Succeeded),
            "{}",
            self.run.why()
        );
    }

    /// One thing happens.
    fn one(&mut self) {
        let stopped: HashSet<_> = self.run.to_stop().into_iter().collect();
        let running = self.run.running();
        let asks = self.paused();
        let doubts: Vec<_> = self
            .run
            .steps()
            .filter_map(|(step, state)| match state {
                StepState::InDoubt { attempt } => Some((step, attempt)),
                _ => None,
            })
            .collect();
        let deadline = self.run.deadline(at(self.now));
        let choices = running.len() + doubts.len() + asks.len() + usize::from(deadline.is_some());
        assert!(choices > 0, "nothing can happen: {:?}", self.run.steps().collect::<Vec<_>>());
        if self.choose(15) == 0 {
            self.crash();
        } else {
            let chosen = self.choose(choices);
            if let Some((step, attempt)) = running.get(chosen) {
                let is_stopped = stopped.contains(&(step.clone(), *attempt));
                self.end(step, *attempt, is_stopped);
            } else if let Some((step, attempt)) = doubts.get(chosen - running.len()) {
                let how = [Doubt::Done, Doubt::Again, Doubt::Failed][self.choose(3)];
                let entries = self.run.settled(step, *attempt, how, "ada", at(self.now));
                self.take(&entries);
            } else if let Some((step, attempt)) = asks.get(chosen - running.len() - doubts.len()) {
                let answer = AskAnswer { allow: true, words: None, by: None };
                let entries = self.run.answered(step, *attempt, answer, at(self.now));
                self.take(&entries);
            } else if let Some(deadline) = deadline {
                self.now = (deadline - start()).num_seconds();
            }
        }
        self.go_on();
    }

    fn paused(&self) -> Vec<(StepPath, u32)> {
        let paused = self.run.steps().filter_map(|(step, state)| match state {
            StepState::Paused { attempt, .. } => Some((step, attempt)),
            _ => None,
        });
        paused.collect()
    }

    fn end(&mut self, step: &StepPath, attempt: u32, is_stopped: bool) {
        let asks = !is_stopped && self.choose(3) == 0;
        let entries = match self.spec(step).what {
            Does::Agent if asks && self.run.answer(step).is_none() => {
                self.run.told(step, attempt, Told::Asks(question()), at(self.now))
            }
            Does::Approval { back: Some(back), .. }
                if !is_stopped && !self.is_well && !self.sent_back.contains(step) =>
            {
                self.sent_back.insert(step.clone());
                let to = super::id(back).parse().unwrap();
                self.run.sent_back(step, &to, "ada", "again", at(self.now))
            }
            _ if is_stopped => {
                let told = Told::Ended(Ended::of(Outcome::Cancelled));
                self.run.told(step, attempt, told, at(self.now))
            }
            _ => self.run.told(step, attempt, self.end_of(step), at(self.now)),
        };
        self.take(&entries);
    }

    fn spec(&self, step: &StepPath) -> Spec {
        let mut specs = &self.specs;
        let mut found = None;
        for segment in step.segments() {
            let place: usize = segment.step.as_str()[1..].parse().unwrap();
            found = Some(&specs[place]);
            if let Does::Foreach { inner, .. } = &specs[place].what {
                specs = inner;
            }
        }
        found.unwrap().clone()
    }

    /// As its spec says, after what the log says of the tries before.
    fn end_of(&self, step: &StepPath) -> Told {
        let outcome = match self.spec(step).what {
            Does::Work { fails } if !self.is_well && self.failures(step) < fails => {
                Outcome::Failed { why: "it broke".into() }
            }
            Does::Approval { yes: false, .. } if !self.is_well => {
                Outcome::Denied { why: "no".into() }
            }
            _ => Outcome::Done,
        };
        Told::Ended(Ended::of(outcome))
    }

    fn failures(&self, step: &StepPath) -> u32 {
        let (mut count, mut last, mut left_behind) = (0, 0, 0);
        for entry in &self.log {
            match &entry.what {
                What::Began { step: it, attempt } if it == step => last = *attempt,
                What::Ended { step: it, ended, attempt }
                    if it == step && *attempt > left_behind =>
                {
                    count += u32::from(matches!(ended.outcome, Outcome::Failed { .. }));
                }
                What::Reset { steps, .. } if steps.iter().any(|it| holds(it, step)) => {
                    (count, left_behind) = (0, last);
                }
                _ => {}
            }
        }
        count
    }

    /// Reads from the log what people and `on_crash` said.
    fn force(&mut self) {
        self.forced.clear();
        for entry in &self.log {
            match &entry.what {
                What::Settled { step, how: Doubt::Done, .. } => {
                    self.forced.insert(step.clone(), true);
                }
                What::Settled { step, how: Doubt::Failed, .. } => {
                    self.forced.insert(step.clone(), false);
                }
                What::Reset { steps, .. } => {
                    self.forced.retain(|step, _| !steps.iter().any(|it| holds(it, step)));
                }
                _ => {}
            }
        }
    }

    /// No attempt is used twice, and nothing that was over runs again unless somebody said so.
    pub(super) fn log_is_sound(&self) {
        let mut last: HashMap<&StepPath, u32> = HashMap::new();
        let mut over: HashSet<&StepPath> = HashSet::new();
        // What a reset left behind may still end, which is no end of its step.
        let mut left_behind: HashMap<&StepPath, u32> = HashMap::new();
        for entry in &self.log {
            match &entry.what {
                What::Began { step, attempt } => {
                    assert!(!over.contains(step), "{step} ran again");
                    let before = last.insert(step, *attempt).unwrap_or(0);
                    assert!(*attempt > before, "{step} used {attempt} again");
                }
                What::Ended { step, ended, attempt }
                    if ended.outcome == Outcome::Done
                        && left_behind.get(step).is_none_or(|before| attempt > before) =>
                {
                    over.insert(step);
                }
                What::LeftOut { step, .. } => {
                    assert!(over.insert(step), "{step} was over already");
                }
                What::Reset { steps, .. } => {
                    let these =
                        last.iter().filter(|(it, _)| steps.iter().any(|step| holds(step, it)));
                    left_behind.extend(these.map(|(step, attempt)| (*step, *attempt)));
                    over.retain(|step| {
                        // A `foreach` goes on where something inside of it runs again.
                        !steps.iter().any(|it| holds(it, step) || holds(step, it))
                    });
                }
                _ => {}
            }
        }
        for (step, _) in self.run.steps() {
            let spec = self.spec(&step);
            assert!(spec.on_crash == OnCrash::Ask || !self.waits_for_nobody(&step));
        }
    }

    fn waits_for_nobody(&self, step: &StepPath) -> bool {
        matches!(self.run.step(step), Some(StepState::InDoubt { .. }))
    }
}

fn question() -> Asks {
    Asks {
        tool: "Bash".into(),
        input: serde_json::Value::Null,
        cwd: "/".into(),
        conversation: "talk".into(),
        call: "call".into(),
        spent: Spent { micro_usd: 3, ..Spent::default() },
    }
}

/// Whether a step is that one, or stands inside of it.
fn holds(outer: &StepPath, step: &StepPath) -> bool {
    let (outer, step) = (outer.segments(), step.segments());
    let Some((last, above)) = outer.split_last() else { return false };
    step.len() >= outer.len()
        && step[..above.len()] == *above
        && step[above.len()].step == last.step
}
