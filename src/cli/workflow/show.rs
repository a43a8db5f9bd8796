//! `vigie workflow show`: one run, step by step.

use super::runs;
use crate::{
    cli::{
        Desk,
        failure::Failure,
        out::{Ink, Out},
        plain,
    },
    web::{
        client::segment,
        shapes::{RunShape, StepShape},
    },
};
use vigie_core::money;

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
    about.extend((run.micro_usd > 0).then(|| money::spent(run.micro_usd)));
    let mut lines = vec![head, out.ink(Ink::Dim, &about.join(", "))];
    for (name, value) in &run.params {
        lines.push(format!("  {name} = {}", plain::line(&value.to_string())));
    }
    lines.extend(steps(out, run));
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

/// How its steps stand, and under each that failed, why.
fn steps(out: &Out, run: &RunShape) -> Vec<String> {
    let failed = |step: &&StepShape| {
        matches!(step.state.as_str(), "failed" | "denied" | "timed_out") && !step.words.is_empty()
    };
    let mut failed: Vec<_> = run.steps.iter().filter(failed).collect();
    let mut lines = Vec::new();
    for line in &run.progress {
        lines.push(plain::line(line));
        let named = |step: &&StepShape| line.split(' ').nth(1) == Some(step.step.as_str());
        if let Some(at) = failed.iter().position(named) {
            let why = format!("    {}", plain::line(&failed.remove(at).words));
            lines.push(out.ink(Ink::Bad, &why));
        }
    }
    // Those that go by a title, or stand in a round.
    lines.extend(failed.into_iter().map(|step| {
        let words = format!("{} {}: {}", step.step, step.state.replace('_', " "), step.words);
        out.ink(Ink::Bad, &plain::line(&words))
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use vigie_core::Timestamp;

    fn step(step: &str, state: &str, words: &str) -> StepShape {
        StepShape {
            step: step.into(),
            kind: "shell".into(),
            state: state.into(),
            words: words.into(),
            attempt: 1,
            since: None,
            text: String::new(),
            file: None,
        }
    }

    #[test]
    fn what_failed_says_why_under_its_line() {
        let run: RunShape = serde_json::from_value(serde_json::json!({
            "id": "run_1", "name": "release-12", "workflow": "release", "number": 12,
            "state": "cancelled", "why": "by ines", "started_by": "ines", "project": null,
            "key": null, "made": Timestamp::default(), "ended": Timestamp::default(),
            "params": {}, "steps": [], "micro_usd": 0, "input_tokens": 0, "output_tokens": 0,
            "progress": ["✗ tests · 3s", "■ tests-too · 1s", "✗ each 1/2"],
            "outputs": {}, "waiting": [], "report": [],
        }))
        .unwrap();
        let steps = vec![
            step("tests", "failed", "exit code 3: no such quay"),
            step("tests-too", "cancelled", ""),
            step("each[1].a", "timed_out", "it took longer than it may"),
        ];
        let out = Out::plain(Clock::fixed(Timestamp::default()));
        insta::assert_snapshot!(words(&out, &RunShape { steps, ..run }), @r"
        ■ release-12  cancelled: by ines
        by ines, now
        ✗ tests · 3s
            exit code 3: no such quay
        ■ tests-too · 1s
        ✗ each 1/2
        each[1].a timed out: it took longer than it may
        ");
    }
}
