//! A run of every kind of step, whose owner dies after each entry of its log in turn.

use super::build::*;
use crate::{
    language::{Step, Workflow},
    run::{Ended, Finish, Outcome, Told, What, WorkKind},
    template::Expr,
};

fn all_kinds() -> Workflow {
    let rounds = foreach(
        "each",
        "steps.list.json",
        2,
        vec![claude("look", "At {{ item }}"), approval("good").needs(&["look"])],
    );
    let steps: Vec<Step> = vec![
        shell("list"),
        rounds.needs(&["list"]),
        sleep("nap", 60).needs(&["list"]),
        http("get", "http://x/{{ steps.list.json[0] }}").needs(&["nap"]).retry(2, 5),
        javascript("sum", &[("all", "steps.each.results")]).needs(&["each"]),
        condition("enough", "steps.sum.json > 1").needs(&["sum"]),
        call("other").needs(&["enough"]),
        condition("never", "false"),
        shell("not").needs(&["never"]),
        shell("bad").needs(&["list"]).goes_on(),
        shell("tidy").needs(&["other", "bad", "get", "not"]).always(),
    ];
    let mut workflow = workflow(steps);
    workflow.outputs = vec![("sum".into(), Expr::new("steps.sum.json"))];
    workflow
}

fn end_of(run: &Owner, step: &str) -> Ended {
    match (step, &run.work(step).what) {
        ("list", _) => gave(serde_json::json!(["x", "y", "z"])),
        ("sum", WorkKind::Javascript(work)) => {
            gave(work.input["all"].as_array().unwrap().len().into())
        }
        ("bad", _) => failed("always"),
        // The second try ends well, whichever number it has.
        ("get", _) if tries(run) == 0 => failed("busy"),
        _ => done(),
    }
}

fn tries(run: &Owner) -> usize {
    let fails = |what: &What| {
        matches!(what, What::Ended { step, ended, .. }
            if step.to_string() == "get" && matches!(ended.outcome, Outcome::Failed { .. }))
    };
    run.log.iter().filter(|entry| fails(&entry.what)).count()
}

fn finish(run: &mut Owner) {
    run.go_on();
    while run.finish().is_none() {
        if let Some(step) = run.runs().first() {
            let ended = end_of(run, step);
            run.end(step, ended);
        } else {
            let deadline = run.run.deadline(run.now).expect("nothing can happen");
            run.now = deadline;
            run.go_on();
        }
    }
}

fn came_to(run: &Owner) -> Vec<(String, String)> {
    run.run.steps().map(|(step, _)| (step.to_string(), run.is(&step.to_string()))).collect()
}

#[test]
fn a_run_cut_after_any_entry_ends_as_it_would_have() {
    let mut whole = Owner::with(all_kinds());
    finish(&mut whole);
    assert_eq!(whole.finish(), Some(Finish::Succeeded));
    assert_eq!(whole.run.outputs(), serde_json::json!({ "sum": 3 }));
    for kept in 0..whole.log.len() {
        let log = whole.log[..kept].to_vec();
        let now = log.last().map_or(start(), |entry| entry.at);
        let mut run = Owner { log: log.clone(), now, ..Owner::with(all_kinds()) };
        run.run = run.replayed();
        for (step, attempt) in run.run.running() {
            // Questions and runs that were called are no processes: they still stand.
            let lost = !matches!(
                run.work(&step.to_string()).what,
                WorkKind::Approval(_) | WorkKind::Call(_)
            );
            if lost {
                let entries = run.run.told(&step, attempt, Told::Gone, run.now);
                run.write(entries);
            }
        }
        finish(&mut run);
        assert_eq!(run.finish(), whole.finish(), "cut after {kept}");
        assert_eq!(run.run.outputs(), whole.run.outputs());
        assert_eq!(came_to(&run), came_to(&whole), "cut after {kept}");
        for entry in &log {
            if let What::Ended { step, ended, .. } = &entry.what
                && ended.outcome == Outcome::Done
            {
                let (before, after) =
                    (whole.began(&step.to_string()), run.began(&step.to_string()));
                assert_eq!(before, after, "{step} ran again, cut after {kept}");
            }
        }
    }
}
