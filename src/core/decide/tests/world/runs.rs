//! What workflows do: files, the runner, and the runs that are written down.

use std::sync::Arc;
use vigie_workflow::run::{Ended, Outcome, Output, Told};

use super::*;
use crate::{
    run::{
        Catalog, Given, Hook, Known, KnownRun, Origin, RunLife, RunView, StartRun, StepHow,
        StepTold,
    },
    runs::short_name,
};

/// The file of a workflow, read.
pub(in crate::decide::tests) fn source(name: &str, text: &str) -> vigie_workflow::run::Source {
    let (workflow, problems) = vigie_workflow::parse(text.as_bytes(), &|_| Err(String::new()));
    let workflow = workflow.unwrap_or_else(|| panic!("{}", problems.render(name, text)));
    vigie_workflow::run::Source {
        name: name.into(),
        file: format!("workflows/{name}.yaml"),
        text: text.into(),
        workflow,
    }
}

impl World {
    /// Rows of runs as a start reads them.
    pub(super) fn find_runs(&self, found: &mut Found) {
        for row in self.rows.values() {
            let Row::Run(row) = row else { continue };
            let frozen = match &self.rows[&format!("frozen {}", row.id)] {
                Row::Frozen(frozen) => frozen.frozen.clone(),
                other => panic!("{other:?}"),
            };
            let mut known = KnownRun::new(row.clone(), frozen);
            let of_it = format!("log {} ", row.id);
            for (_, line) in
                self.rows.range(of_it.clone()..).take_while(|(key, _)| key.starts_with(&of_it))
            {
                if let Row::RunLog(line) = line {
                    known.take(line);
                }
            }
            found.run_numbers.push((short_name(&row.workflow).to_lowercase(), row.number));
            found.runs.push(known);
        }
    }

    /// These workflows stand in the person's own folder, and nothing else does.
    pub(in crate::decide::tests) fn knows(&mut self, files: &[(&str, &str)]) {
        self.knows_from(files, &Origin::Own);
    }

    pub(in crate::decide::tests) fn knows_from(&mut self, files: &[(&str, &str)], origin: &Origin) {
        let sources: BTreeMap<_, _> =
            files.iter().map(|(name, text)| ((*name).to_owned(), source(name, text))).collect();
        let all = sources.iter().map(|(name, source)| {
            let known = Known {
                name: name.clone(),
                origin: origin.clone(),
                file: source.file.clone(),
                source: Some(source.clone()),
                called: sources.clone(),
                problems: vigie_workflow::Problems::default(),
            };
            (name.clone(), Arc::new(known))
        });
        let all = all.collect();
        self.step(Event::Catalog(Catalog { all }));
    }

    /// A person starts that workflow at the desk; its name.
    pub(in crate::decide::tests) fn runs(
        &mut self,
        workflow: &str,
        params: &[(&str, &str)],
    ) -> String {
        match self.ask(Command::Run(start_run(workflow, params))) {
            Ok(Reply::Run(view)) => view.name,
            other => panic!("{other:?}"),
        }
    }

    /// The same by whichever person.
    pub(in crate::decide::tests) fn runs_as(&mut self, human: &str, workflow: &str) -> String {
        match self.ask_as(human, Command::Run(start_run(workflow, &[]))) {
            Ok(Reply::Run(view)) => view.name,
            other => panic!("{other:?}"),
        }
    }

    pub(in crate::decide::tests) fn ask_as(
        &mut self,
        human: &str,
        what: Command,
    ) -> Result<Reply, Refusal> {
        let request = Request { by: HumanId::new(human), via: "the command line".into(), what };
        self.step(Event::Request(request)).0.expect("requests are answered")
    }

    pub(in crate::decide::tests) fn hook(
        &mut self,
        workflow: &str,
        params: &[(&str, &str)],
        key: Option<&str>,
    ) -> Result<String, Refusal> {
        let StartRun { workflow, params, .. } = start_run(workflow, params);
        let hook = Hook { workflow, params, key: key.map(str::to_owned) };
        match self.step(Event::Hook(hook)).0.expect("hooks are answered")? {
            Reply::Run(view) => Ok(view.name),
            other => panic!("{other:?}"),
        }
    }

    pub(in crate::decide::tests) fn run_id(&self, name: &str) -> RunId {
        self.state.runs.named(name).unwrap_or_else(|| panic!("no run {name}")).row.id
    }

    pub(in crate::decide::tests) fn view(&self, name: &str) -> RunView {
        self.state.run_view(self.run_id(name), self.now).expect("it is known")
    }

    pub(in crate::decide::tests) fn life(&self, name: &str) -> RunLife {
        self.view(name).row.life
    }

    /// How it ended, in a word; what it does otherwise.
    pub(in crate::decide::tests) fn ended(&self, name: &str) -> String {
        match self.life(name) {
            RunLife::Over { status, .. } => {
                serde_json::to_value(status).unwrap().as_str().unwrap().to_owned()
            }
            RunLife::NotRun { why, .. } => format!("not run: {why}"),
            RunLife::Queued => "queued".into(),
            RunLife::Running => "running".into(),
        }
    }

    /// `done`, `running`, of a step.
    pub(in crate::decide::tests) fn step_state(&self, name: &str, step: &str) -> String {
        let view = self.view(name);
        let found = view.steps.iter().find(|view| view.step == step);
        found.unwrap_or_else(|| panic!("no step {step}: {view:?}")).state.clone()
    }

    /// Steps the runner has and did not tell of, by their run and path.
    pub(in crate::decide::tests) fn at_work(&self) -> Vec<String> {
        let open = self.state.runs.open();
        let mut all: Vec<_> = open
            .flat_map(|known| {
                let with_runner = known
                    .at_work
                    .iter()
                    .filter(|(_, work)| matches!(work.with, crate::run::With::Runner { .. }));
                with_runner.map(|(step, _)| format!("{} {step}", known.row.name()))
            })
            .collect();
        all.sort();
        all
    }

    /// The last order about that step.
    pub(in crate::decide::tests) fn order_of(&self, name: &str, step: &str) -> StepOrder {
        let found = self.steps.iter().rev().find(|o| o.name == name && o.step.to_string() == step);
        found.unwrap_or_else(|| panic!("the runner never heard of {step}")).clone()
    }

    pub(in crate::decide::tests) fn tells(&mut self, name: &str, step: &str, told: Told) {
        let order = self.order_of(name, step);
        let told = StepTold {
            run: order.run,
            step: order.step,
            attempt: order.attempt,
            told,
            denied: vec![],
        };
        self.step(Event::Step(told));
    }

    /// The runner did it, and it said that.
    pub(in crate::decide::tests) fn does(&mut self, name: &str, step: &str, text: &str) {
        let output = Output { text: text.into(), exit_code: Some(0), ..Output::default() };
        let ended = Ended { output, ..Ended::of(Outcome::Done) };
        self.tells(name, step, Told::Ended(ended));
    }

    pub(in crate::decide::tests) fn fails(&mut self, name: &str, step: &str) {
        let outcome = Outcome::Failed { why: "exit status 1".into() };
        self.tells(name, step, Told::Ended(Ended::of(outcome)));
    }

    pub(in crate::decide::tests) fn stops(&mut self, name: &str, step: &str) {
        self.tells(name, step, Told::Ended(Ended::of(Outcome::Cancelled)));
    }

    /// The one gate that a step of that run waits at.
    pub(in crate::decide::tests) fn gate_of(&self, name: &str, step: &str) -> Gate {
        let is_its = |gate: &&Gate| {
            gate.step().is_some_and(|w| w.run_name == name && w.step.to_string() == step)
        };
        let mut open = self.state.open_gates().filter(is_its);
        let gate = open.next().unwrap_or_else(|| panic!("nobody is asked about {step}")).clone();
        assert!(open.next().is_none(), "two gates of {step}");
        gate
    }

    pub(in crate::decide::tests) fn answers(
        &mut self,
        human: &str,
        gate: &Gate,
        choice: &str,
    ) -> Result<String, Refusal> {
        let code = gate.code.to_string();
        match self.ask_as(human, Command::Answer { code, choice: choice.into() })? {
            Reply::Done { words } => Ok(words),
            other => panic!("{other:?}"),
        }
    }

    /// Whatever is told of a run that is over changes nothing.
    pub(in crate::decide::tests) fn tells_nothing(&mut self, name: &str, told: Told) {
        let (run, before) = (self.run_id(name), self.commits);
        let step = "ask".parse().unwrap();
        self.step(Event::Step(StepTold { run, step, attempt: 1, told, denied: vec![] }));
        assert_eq!(self.commits, before);
    }

    pub(in crate::decide::tests) fn step_tick(&mut self) {
        self.step(Event::Tick);
    }

    /// How the runner was told about each step of a run, in order: `a begin`, `b adopt`.
    pub(in crate::decide::tests) fn told_runner(&self, name: &str) -> Vec<String> {
        let how = |order: &StepOrder| match order.how {
            StepHow::Begin => "begin",
            StepHow::Adopt => "adopt",
            StepHow::GoOn { .. } => "go on",
            StepHow::Again { .. } => "again",
        };
        let of_it = self.steps.iter().filter(|order| order.name == name);
        of_it.map(|order| format!("{} {}", order.step, how(order))).collect()
    }
}

pub(in crate::decide::tests) fn start_run(workflow: &str, params: &[(&str, &str)]) -> StartRun {
    let params = params.iter();
    let params = params.map(|(name, text)| ((*name).to_owned(), Given::Text((*text).to_owned())));
    StartRun { workflow: workflow.into(), params: params.collect(), project: None, key: None }
}
