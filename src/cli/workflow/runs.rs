//! `vigie workflow runs`.

use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Cell, Ink, Out, table},
        plain,
    },
    web::{client::segment, shapes::RunShape},
};
use vigie_core::money;

pub(super) async fn run(workflow: Option<&str>, open: bool, desk: &Desk) -> Result<(), Failure> {
    let workflow = workflow.map(|name| format!("&workflow={}", segment(name))).unwrap_or_default();
    let runs: Vec<RunShape> = desk.client.get(&format!("/runs?open={open}{workflow}")).await?;
    desk.out.show(&runs, |out, runs| {
        if runs.is_empty() {
            return "No run. Begin one: vigie workflow run NAME".into();
        }
        table_of_runs(out, runs)
    })
}

/// A line each.
pub(in crate::cli) fn table_of_runs(out: &Out, runs: &[RunShape]) -> String {
    table(&runs.iter().map(|run| row(out, run)).collect::<Vec<_>>())
}

/// Its mark and its ink.
pub(super) fn look(run: &RunShape) -> (&'static str, Option<Ink>) {
    match run.state.as_str() {
        _ if !run.waiting.is_empty() => ("◆", Some(Ink::Wait)),
        "running" => ("●", None),
        "succeeded" => ("✓", Some(Ink::Good)),
        "failed" | "timed_out" | "denied" => ("✕", Some(Ink::Bad)),
        "cancelled" => ("■", Some(Ink::Dim)),
        "queued" => ("◌", None),
        _ => ("⊘", Some(Ink::Dim)), // it did not run
    }
}

/// Where it stands, and why.
pub(super) fn state(run: &RunShape) -> String {
    if !run.waiting.is_empty() {
        return format!("waits: {}", run.waiting.join(" "));
    }
    let word = run.state.replace('_', " ");
    match &run.why {
        Some(why) => format!("{word}: {}", plain::line(why)),
        None => word,
    }
}

fn row(out: &Out, run: &RunShape) -> Vec<Cell> {
    let (mark, ink) = look(run);
    let cell = |text: String| match ink {
        Some(ink) => Cell::inked(out, ink, text),
        None => Cell::plain(text),
    };
    let cost = if run.micro_usd == 0 { String::new() } else { money::spent(run.micro_usd) };
    vec![
        cell(mark.into()),
        Cell::inked(out, Ink::Bold, plain::line(&run.name)),
        Cell::plain(out.when(run.made)),
        Cell::plain(cost),
        Cell::inked(out, Ink::Dim, format!("by {}", plain::line(&run.started_by))),
        cell(state(run)),
    ]
}
