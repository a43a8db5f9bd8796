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

/// What it printed, and what it complained about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Stream {
    Out,
    Err,
}

/// Between two looks at what is still being printed.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn run(args: &Logs, desk: &Desk) -> Result<(), Failure> {
    let mut printer = Printer { desk, from: HashMap::new(), last: None };
    loop {
        let run: RunShape = desk.client.get(&format!("/runs/{}", segment(&args.run))).await?;
        let wanted = |step: &&StepShape| args.step.as_ref().is_none_or(|name| step.step == *name);
        let mut steps: Vec<_> = run.steps.iter().filter(wanted).collect();
        steps.sort_by_key(|step| step.since);
        if let (Some(step), true) = (&args.step, steps.is_empty()) {
            // It is told with the names that come near.
            printer.part(&run, step, Stream::Out, 0).await?;
        }
        for step in steps.into_iter().filter(|step| step.attempt > 0) {
            for stream in [Stream::Out, Stream::Err] {
                printer.all_of(&run, step, stream).await?;
            }
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
    from: HashMap<(String, u32, Stream), u64>,
    /// The step whose output stands last on the terminal.
    last: Option<(String, Stream)>,
}

impl Printer<'_> {
    /// Everything that is new of a step.
    async fn all_of(
        &mut self,
        run: &RunShape,
        step: &StepShape,
        stream: Stream,
    ) -> Result<(), Failure> {
        let key = (step.step.clone(), step.attempt, stream);
        loop {
            let from = self.from.get(&key).copied().unwrap_or_default();
            let part = self.part(run, &step.step, stream, from).await?;
            if part.next == from {
                return Ok(());
            }
            self.print(&part, stream)?;
            self.from.insert(key.clone(), part.next);
        }
    }

    async fn part(
        &self,
        run: &RunShape,
        step: &str,
        stream: Stream,
        from: u64,
    ) -> Result<OutputShape, Failure> {
        let stream = match stream {
            Stream::Out => "out",
            Stream::Err => "err",
        };
        let (run, step) = (segment(&run.id), segment(step));
        let path = format!("/runs/{run}/steps/{step}/output?offset={from}&stream={stream}");
        Ok(self.desk.client.get(&path).await?)
    }

    fn print(&mut self, part: &OutputShape, stream: Stream) -> Result<(), Failure> {
        let out = &self.desk.out;
        if out.format() == Format::Json {
            return out.show(part, |_, _| String::new());
        }
        let now = Some((part.step.clone(), stream));
        if self.last != now {
            let more = match stream {
                Stream::Out => "",
                Stream::Err => " (stderr)",
            };
            out.print(&out.ink(Ink::Bold, &format!("{}{more}:", plain::line(&part.step))))?;
            self.last = now;
        }
        out.print(&plain::lines(&recording::without_escapes(&part.text)))
    }
}
