//! `vigie workflow logs`: what the steps of a run printed.

use std::{collections::HashMap, time::Duration};

use super::args::Logs;
use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Format, Ink},
        plain,
    },
    looks::recording,
    web::{
        client::segment,
        shapes::{OutputShape, RunShape, StepShape},
    },
};

/// Between two looks at what is still being printed.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn run(args: &Logs, desk: &Desk) -> Result<(), Failure> {
    let mut printer = Printer { desk, from: HashMap::new(), last: None };
    loop {
        let run: RunShape = desk.client.get(&format!("/runs/{}", segment(&args.run))).await?;
        let wanted = |step: &&StepShape| args.step.as_ref().is_none_or(|name| step.step == *name);
        let steps: Vec<_> = run.steps.iter().filter(wanted).collect();
        if let (Some(step), true) = (&args.step, steps.is_empty()) {
            // It is told with the names that come near.
            printer.part(&run, step, 0).await?;
        }
        for step in steps.into_iter().filter(|step| step.attempt > 0) {
            printer.all_of(&run, step).await?;
        }
        if !args.follow || !run.is_open() {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

struct Printer<'a> {
    desk: &'a Desk,
    /// Where each attempt of a step goes on.
    from: HashMap<(String, u32), u64>,
    /// The step whose output stands last on the terminal.
    last: Option<String>,
}

impl Printer<'_> {
    /// Everything that is new of a step.
    async fn all_of(&mut self, run: &RunShape, step: &StepShape) -> Result<(), Failure> {
        let key = (step.step.clone(), step.attempt);
        loop {
            let from = self.from.get(&key).copied().unwrap_or_default();
            let part = self.part(run, &step.step, from).await?;
            if part.next == from {
                return Ok(());
            }
            self.print(&part)?;
            self.from.insert(key.clone(), part.next);
        }
    }

    async fn part(&self, run: &RunShape, step: &str, from: u64) -> Result<OutputShape, Failure> {
        let path =
            format!("/runs/{}/steps/{}/output?offset={from}", segment(&run.id), segment(step));
        Ok(self.desk.client.get(&path).await?)
    }

    fn print(&mut self, part: &OutputShape) -> Result<(), Failure> {
        let out = &self.desk.out;
        if out.format() == Format::Json {
            return out.show(part, |_, _| String::new());
        }
        if self.last.as_ref() != Some(&part.step) {
            out.print(&out.ink(Ink::Bold, &format!("{}:", plain::line(&part.step))))?;
            self.last = Some(part.step.clone());
        }
        out.print(&plain::lines(&recording::without_escapes(&part.text)))
    }
}
