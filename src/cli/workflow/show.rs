//! `vigie workflow show`: one run, step by step.

use super::runs;
use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Ink, Out},
        plain,
    },
    web::{client::segment, shapes::RunShape},
};

pub(super) async fn run(name: &str, desk: &Desk) -> Result<(), Failure> {
    let run: RunShape = desk.client.get(&format!("/runs/{}", segment(name))).await?;
    desk.out.show(&run, words)
}

pub(super) fn words(out: &Out, run: &RunShape) -> String {
    let (mark, ink) = runs::look(run);
    let head = format!("{mark} {}  {}", plain::line(&run.name), runs::state(run));
    let head = ink.map_or(head.clone(), |ink| out.ink(ink, &head));
    let mut about = vec![format!("by {}, {}", plain::line(&run.started_by), out.when(run.made))];
    about.extend(run.project.as_ref().map(|project| format!("in {project}")));
    about.extend((run.micro_usd > 0).then(|| runs::dollars(run.micro_usd)));
    let mut lines = vec![head, out.ink(Ink::Dim, &about.join(", "))];
    for (name, value) in &run.params {
        lines.push(format!("  {name} = {}", plain::line(&value.to_string())));
    }
    lines.extend(run.progress.iter().map(|line| plain::line(line)));
    for code in &run.waiting {
        lines.push(out.ink(Ink::Wait, &format!("Waits for you: vigie answer {code} …")));
    }
    let gives = run.outputs.as_object().is_some_and(|outputs| !outputs.is_empty());
    if gives && !run.is_open() {
        lines.push(format!("Outputs: {}", plain::line(&run.outputs.to_string())));
    }
    lines.extend(run.report.iter().map(|line| out.ink(Ink::Dim, &plain::line(line))));
    lines.join("\n")
}
