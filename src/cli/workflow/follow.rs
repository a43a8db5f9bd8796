//! A run told as it goes, until it is over.

use std::{collections::HashMap, ops::ControlFlow, time::Duration};
use tokio::time::timeout;

use super::runs;
use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Format, Ink, Out},
        plain,
    },
    web::{
        client::{ClientError, segment},
        shapes::{Event, RunShape, StepShape},
    },
};

/// Events come in crowds; a run is looked at once for each crowd.
const CROWD: Duration = Duration::from_millis(100);
/// Something may have happened before we began to listen.
const A_WHILE: Duration = Duration::from_secs(2);
/// A daemon that restarts is back within seconds; after so long without it we give up.
const GONE: Duration = Duration::from_mins(1);
/// Between two tries to reach it again.
const AGAIN: Duration = Duration::from_millis(500);

/// Tells what changes in `run`, and fails as it does.
pub(super) async fn run(begun: RunShape, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/runs/{}", segment(&begun.id));
    let mut told = Told::default();
    let mut run = begun;
    let mut after = None;
    let mut gone = Duration::ZERO;
    loop {
        told.tell(&run, &desk.out)?;
        if !run.is_open() {
            return over(&run, &desk.out);
        }
        let looked = match next_event(&mut after, desk).await {
            Ok(()) => {
                tokio::time::sleep(CROWD).await;
                desk.client.get::<RunShape>(&path).await
            }
            Err(error) => Err(error),
        };
        match looked {
            Ok(now) => (run, gone) = (now, Duration::ZERO),
            // The run goes on without us, and so does a daemon that restarts.
            Err(ClientError::NotRunning | ClientError::Broken(_) | ClientError::Silent)
                if gone < GONE =>
            {
                tokio::time::sleep(AGAIN).await;
                gone += AGAIN;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until something happens, or for a while.
async fn next_event(after: &mut Option<u64>, desk: &Desk) -> Result<(), ClientError> {
    let path = match *after {
        Some(after) => format!("/events?after={after}"),
        None => "/events".into(),
    };
    let each = |line: &[u8]| {
        if let Ok(event) = serde_json::from_slice::<Event>(line) {
            *after = Some(event.seq);
        }
        ControlFlow::Break(())
    };
    timeout(A_WHILE, desk.client.lines(&path, each)).await.unwrap_or(Ok(()))
}

/// What was said of each step.
#[derive(Default)]
struct Told {
    steps: HashMap<String, String>,
    waiting: Vec<String>,
}

impl Told {
    fn tell(&mut self, run: &RunShape, out: &Out) -> Result<(), Failure> {
        if out.format() == Format::Json {
            return Ok(()); // programs get the whole at its end
        }
        // As it happened: many may have changed since the last look.
        let mut steps: Vec<&StepShape> = run.steps.iter().collect();
        steps.sort_by_key(|step| step.since);
        for step in steps {
            let line = line(step);
            let before = self.steps.insert(step.step.clone(), line.clone());
            let begun = !matches!(step.state.as_str(), "waiting" | "ready");
            if before.as_ref() != Some(&line) && begun {
                out.print(&plain::line(&line))?;
            }
        }
        for code in run.waiting.iter().filter(|code| !self.waiting.contains(code)) {
            let words = format!("{} waits for you: vigie answer {code} …", run.name);
            out.print(&out.ink(Ink::Wait, &plain::line(&words)))?;
        }
        self.waiting.clone_from(&run.waiting);
        Ok(())
    }
}

fn line(step: &StepShape) -> String {
    let words = if step.words.is_empty() { String::new() } else { format!("  {}", step.words) };
    format!("{}  {}{words}", step.step, step.state)
}

fn over(run: &RunShape, out: &Out) -> Result<(), Failure> {
    out.show(run, |out, run| {
        let (mark, ink) = runs::look(run);
        let words = format!("{mark} {}  {}", plain::line(&run.name), runs::state(run));
        ink.map_or(words.clone(), |ink| out.ink(ink, &words))
    })?;
    let words = format!("{} {}", run.name, run.state.replace('_', " "));
    match run.state.as_str() {
        "succeeded" => Ok(()),
        "failed" | "timed_out" => Err(Failure::not_right(&run.state, words)),
        _ => Err(Failure::stopped(&run.state, words)),
    }
}
