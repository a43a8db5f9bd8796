//! Workflows without their text, and an owner that keeps the log in memory.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    Timestamp,
    language::{
        Approval, Call, Claude, Condition, Expect, Foreach, Http, Javascript, Kind, Limits,
        OnCrash, OnTimeout, OutputForm, Overlap, Retry, Shell, Sleep, Step, Triggers, Workflow,
    },
    run::{
        Ended, Entry, Facts, Finish, Frozen, Outcome, Output, Run, RunState, Source, Spent,
        StepState, Told, What, Work, WorkKind,
    },
    template::{Expr, Template},
    value::StepPath,
};

pub(super) fn step(id: &str, kind: Kind) -> Step {
    Step {
        id: id.parse().unwrap(),
        title: String::new(),
        needs: Vec::new(),
        only_if: None,
        always: false,
        continue_on_error: false,
        env: Vec::new(),
        project: None,
        cwd: None,
        in_session: None,
        timeout: None,
        retry: None,
        on_crash: OnCrash::Retry,
        output: OutputForm::Text,
        files: Vec::new(),
        cut_is_fine: false,
        expect: Expect::default(),
        kind,
        line: 1,
    }
}

pub(super) fn shell(id: &str) -> Step {
    let shell = Shell { script: "true".into(), shell: Vec::new(), read_only: false };
    step(id, Kind::Shell(shell))
}

pub(super) fn claude(id: &str, prompt: &str) -> Step {
    let claude = Claude {
        prompt: Template::new(prompt),
        session: None,
        goes_on: None,
        model: None,
        tools: Vec::new(),
        read_only: false,
        schema: None,
        micro_usd: None,
        max_turns: None,
    };
    step(id, Kind::Claude(claude))
}

pub(super) fn http(id: &str, url: &str) -> Step {
    let http = Http {
        method: "GET".into(),
        url: Template::new(url),
        headers: Vec::new(),
        body: None,
        expect: Vec::new(),
        extract: Vec::new(),
        allow_private: false,
        redirects: 0,
    };
    step(id, Kind::Http(http))
}

pub(super) fn javascript(id: &str, input: &[(&str, &str)]) -> Step {
    let input = input.iter().map(|(name, it)| ((*name).to_owned(), Expr::new(*it))).collect();
    step(id, Kind::Javascript(Javascript { code: String::new(), input, memory: 1 }))
}

pub(super) fn sleep(id: &str, seconds: u64) -> Step {
    step(id, Kind::Sleep(Sleep::For(Duration::from_secs(seconds))))
}

pub(super) fn until(id: &str, text: &str) -> Step {
    step(id, Kind::Sleep(Sleep::Until(Template::new(text))))
}

pub(super) fn condition(id: &str, test: &str) -> Step {
    step(id, Kind::Condition(Condition { test: Expr::new(test) }))
}

pub(super) fn approval(id: &str) -> Step {
    let approval = Approval {
        ask: Template::new("Go on?"),
        show: None,
        form: Vec::new(),
        by: Vec::new(),
        count: 1,
        not_starter: false,
        timeout: None,
        on_timeout: OnTimeout::Deny,
        send_back: None,
        no_is_fine: false,
    };
    step(id, Kind::Approval(approval))
}

pub(super) fn call(id: &str) -> Step {
    step(id, Kind::Call(Call { workflow: "other".into(), params: Vec::new() }))
}

pub(super) fn foreach(id: &str, items: &str, parallel: u32, steps: Vec<Step>) -> Step {
    let items = Expr::new(items);
    step(id, Kind::Foreach(Foreach { items, name: "item".into(), parallel, steps }))
}

pub(super) trait With: Sized {
    fn with(self, change: impl FnOnce(&mut Step)) -> Step;

    fn needs(self, ids: &[&str]) -> Step {
        self.with(|step| step.needs = ids.iter().map(|id| id.parse().unwrap()).collect())
    }

    fn only_if(self, expr: &str) -> Step {
        self.with(|step| step.only_if = Some(Expr::new(expr)))
    }

    fn always(self) -> Step {
        self.with(|step| step.always = true)
    }

    fn goes_on(self) -> Step {
        self.with(|step| step.continue_on_error = true)
    }

    fn on_crash(self, on_crash: OnCrash) -> Step {
        self.with(|step| step.on_crash = on_crash)
    }

    fn retry(self, times: u32, seconds: u64) -> Step {
        self.with(|step| {
            step.retry = Some(Retry {
                times,
                backoff: Duration::from_secs(seconds),
                longest: Duration::from_mins(1),
                same_error: true,
            });
        })
    }
}

impl With for Step {
    fn with(mut self, change: impl FnOnce(&mut Step)) -> Step {
        change(&mut self);
        self
    }
}

pub(super) fn workflow(steps: Vec<Step>) -> Workflow {
    Workflow {
        name: "test".parse().unwrap(),
        title: String::new(),
        description: String::new(),
        project: None,
        params: Vec::new(),
        on: Triggers::default(),
        limits: Limits {
            micro_usd: None,
            timeout: None,
            concurrency: 1,
            overlap: Overlap::Queue,
            parallel: 8,
        },
        env: Vec::new(),
        secrets: Vec::new(),
        steps,
        outputs: Vec::new(),
    }
}

pub(super) fn frozen(workflow: Workflow) -> Frozen {
    Frozen {
        source: Source {
            name: "test".into(),
            file: "test.yaml".into(),
            text: String::new(),
            workflow,
        },
        called: BTreeMap::new(),
        params: BTreeMap::new(),
        project: None,
        facts: Facts {
            id: "run_1".into(),
            number: 1,
            started: start(),
            trigger: "a person".into(),
            by: "ada".into(),
        },
    }
}

pub(super) fn start() -> Timestamp {
    chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

pub(super) fn at(seconds: i64) -> Timestamp {
    start() + chrono::TimeDelta::seconds(seconds)
}

pub(super) fn path(text: &str) -> StepPath {
    text.parse().unwrap()
}

pub(super) fn done() -> Ended {
    Ended::of(Outcome::Done)
}

pub(super) fn said(text: &str) -> Ended {
    Ended { output: Output { text: text.into(), ..Output::default() }, ..done() }
}

pub(super) fn gave(json: serde_json::Value) -> Ended {
    Ended { output: Output { json: Some(json), ..Output::default() }, ..done() }
}

pub(super) fn failed(why: &str) -> Ended {
    Ended::of(Outcome::Failed { why: why.into() })
}

pub(super) fn cost(micro_usd: u64) -> Ended {
    Ended { spent: Spent { micro_usd, ..Spent::default() }, ..done() }
}

/// Owns a run as the core does, with a log in memory.
pub(super) struct Owner {
    pub(super) run: Run,
    pub(super) log: Vec<Entry>,
    pub(super) now: Timestamp,
    pub(super) room: usize,
}

impl Owner {
    pub(super) fn of(steps: Vec<Step>) -> Self {
        Self::with(workflow(steps))
    }

    pub(super) fn with(workflow: Workflow) -> Self {
        Self::frozen(frozen(workflow))
    }

    pub(super) fn frozen(frozen: Frozen) -> Self {
        let run = Run::new(Arc::new(frozen));
        let mut owner = Self { run, log: Vec::new(), now: start(), room: 100 };
        owner.go_on();
        owner
    }

    /// Writes down what comes until nothing does.
    pub(super) fn go_on(&mut self) {
        loop {
            let begun = self.run.running().iter().filter(|it| self.takes_room(&it.0)).count();
            let next = self.run.next(self.room.saturating_sub(begun), self.now);
            if next.is_empty() {
                return;
            }
            self.write(next);
            assert!(self.log.len() < 200_000, "it never comes to rest");
        }
    }

    fn takes_room(&self, step: &StepPath) -> bool {
        !matches!(
            self.run.work(step).map(|work| work.what),
            Ok(WorkKind::Approval(_) | WorkKind::Call(_))
        )
    }

    pub(super) fn write(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.run.apply(&entry);
            self.log.push(entry);
        }
    }

    pub(super) fn event(&mut self, entries: Vec<Entry>) -> bool {
        let any = !entries.is_empty();
        self.write(entries);
        self.go_on();
        any
    }

    pub(super) fn tell(&mut self, step: &str, told: Told) -> bool {
        let step = path(step);
        let running = self.run.running();
        let Some((_, attempt)) = running.iter().rev().find(|(it, _)| *it == step) else {
            panic!("{step} does not run but {running:?}");
        };
        let entries = self.run.told(&step, *attempt, told, self.now);
        self.event(entries)
    }

    pub(super) fn end(&mut self, step: &str, ended: Ended) {
        assert!(self.tell(step, Told::Ended(ended)));
    }

    pub(super) fn done(&mut self, steps: &[&str]) {
        for step in steps {
            self.end(step, done());
        }
    }

    pub(super) fn at(&mut self, seconds: i64) {
        self.now = at(seconds);
        self.go_on();
    }

    /// What runs, by name.
    pub(super) fn runs(&self) -> Vec<String> {
        let mut runs: Vec<_> =
            self.run.running().into_iter().map(|(step, _)| step.to_string()).collect();
        runs.sort();
        runs
    }

    pub(super) fn step(&self, step: &str) -> StepState {
        self.run.step(&path(step)).unwrap()
    }

    pub(super) fn work(&self, step: &str) -> Work {
        self.run.work(&path(step)).unwrap()
    }

    /// In a word, or the sentence it failed with.
    pub(super) fn is(&self, step: &str) -> String {
        match self.step(step) {
            StepState::Waiting => "waiting".into(),
            StepState::Ready => "ready".into(),
            StepState::Running { .. } => "running".into(),
            StepState::Paused { .. } => "paused".into(),
            StepState::InDoubt { .. } => "in doubt".into(),
            StepState::Backoff { .. } => "backoff".into(),
            StepState::Ended { outcome, .. } => match outcome {
                Outcome::Done => "done".into(),
                Outcome::Failed { why } => format!("failed: {why}"),
                Outcome::Denied { why } => format!("denied: {why}"),
                Outcome::TimedOut => "timed out".into(),
                Outcome::Cancelled => "cancelled".into(),
            },
            StepState::LeftOut { why } => format!("left out: {why:?}"),
        }
    }

    pub(super) fn finish(&self) -> Option<Finish> {
        match self.run.state() {
            RunState::Over(finish) => Some(finish),
            RunState::Running | RunState::Stopping(_) => None,
        }
    }

    pub(super) fn began(&self, step: &str) -> usize {
        let step = path(step);
        let is_it = |what: &What| matches!(what, What::Began { step: it, .. } if *it == step);
        self.log.iter().filter(|entry| is_it(&entry.what)).count()
    }

    /// The same run, from its log alone.
    pub(super) fn replayed(&self) -> Run {
        let mut run = Run::new(Arc::new(self.run.frozen().clone()));
        for entry in &self.log {
            run.apply(entry);
        }
        run
    }
}
