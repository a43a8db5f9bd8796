use super::*;
use crate::{
    command::{Command, Refusal},
    state::WorkflowRules,
};

fn one(overlap: &str) -> String {
    format!(
        "
name: one
limits: {{concurrency: 1, overlap: {overlap}}}
steps:
  - {{id: a, shell: sleep 100}}
"
    )
}

#[test]
fn one_more_run_waits_for_its_turn_in_order() {
    let mut world = World::new();
    world.knows(&[("one", &one("queue"))]);
    for _ in 0..3 {
        world.runs("one", &[]);
    }
    assert_eq!(
        ["one-1", "one-2", "one-3"].map(|run| world.ended(run)),
        ["running", "queued", "queued"]
    );
    world.does("one-1", "a", "");
    world.crash();
    assert_eq!(["one-2", "one-3"].map(|run| world.ended(run)), ["running", "queued"]);
    world.ask(Command::CancelRun { name: "one-3".into() }).unwrap();
    assert_eq!(world.ended("one-3"), "cancelled");
    world.does("one-2", "a", "");
    assert_eq!(world.ended("one-2"), "succeeded");
}

#[test]
fn one_more_run_is_not_run_and_the_history_says_why() {
    let mut world = World::new();
    world.knows(&[("one", &one("skip"))]);
    world.runs("one", &[]);
    assert_eq!(world.runs("one", &[]), "one-2");
    assert_eq!(world.ended("one-2"), "not run: one-1 ran at that time");
    assert!(world.journal.contains(&"run_not_run".to_owned()));
    let again = world.ask(Command::RetryRun { name: "one-2".into(), from: None }).unwrap_err();
    assert!(again.to_string().contains("never ran"), "{again}");
}

#[test]
fn one_more_run_takes_the_place_of_the_oldest() {
    let mut world = World::new();
    world.knows(&[("one", &one("replace"))]);
    world.runs("one", &[]);
    world.runs("one", &[]);
    assert_eq!(world.at_work(), ["one-1 a"]);
    assert_eq!(world.stopped.len(), 1);
    world.runs("one", &[]);
    // Whoever waited before the newest never begins, and never two run at a time.
    assert_eq!(world.ended("one-2"), "cancelled");
    assert_eq!(world.at_work(), ["one-1 a"]);
    world.stops("one-1", "a");
    assert_eq!(world.ended("one-1"), "cancelled");
    assert_eq!(world.at_work(), ["one-3 a"]);
}

const WIDE: &str = "
name: wide
limits: {concurrency: 10, parallel: 20}
steps:
  - {id: a, shell: 'true'}
  - {id: b, shell: 'true'}
  - {id: c, claude: one}
  - {id: d, claude: two}
  - {id: e, shell: 'true'}
";

#[test]
fn this_machine_has_so_much_room_and_what_waits_for_it_goes_on() {
    let mut world = World::new();
    world.state.rules.workflows =
        WorkflowRules { host_steps: 4, agents: 1, ..WorkflowRules::default() };
    world.knows(&[("wide", WIDE)]);
    let first = world.runs("wide", &[]);
    assert_eq!(world.at_work(), ["wide-1 a", "wide-1 b", "wide-1 c", "wide-1 e"]);
    let view = world.view(&first);
    let held = view.steps.iter().find(|step| step.step == "d").unwrap();
    assert_eq!(held.words, "waits for room on this machine");
    let second = world.runs("wide", &[]);
    assert_eq!(world.at_work().len(), 4);
    world.does(&first, "a", "");
    assert_eq!(world.at_work(), ["wide-1 b", "wide-1 c", "wide-1 e", "wide-2 a"]);
    world.crash();
    assert_eq!(world.at_work().len(), 4);
    world.does(&first, "c", "");
    for step in ["b", "d", "e"] {
        world.does(&first, step, "");
    }
    assert_eq!(world.ended(&first), "succeeded");
    for step in ["a", "b", "c", "e", "d"] {
        world.does(&second, step, "");
    }
    assert_eq!(world.ended(&second), "succeeded");
    assert!(world.at_work().is_empty());
}

#[test]
fn a_step_that_waits_for_room_and_is_cancelled_needs_no_stopping() {
    let mut world = World::new();
    world.state.rules.workflows = WorkflowRules { project_steps: 1, ..WorkflowRules::default() };
    world.knows(&[("wide", WIDE)]);
    let run = world.runs("wide", &[]);
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    assert_eq!(world.stopped.len(), 1);
    world.stops(&run, "a");
    assert_eq!(world.ended(&run), "cancelled");
}

#[test]
fn so_many_runs_are_open_and_no_more() {
    let text = "
name: nap
limits: {concurrency: 1000}
steps:
  - {id: nap, sleep: 1h}
";
    let mut world = World::new();
    world.state.rules.workflows.runs = 3;
    world.knows(&[("nap", text)]);
    for _ in 0..3 {
        world.runs("nap", &[]);
    }
    let start = super::super::world::start_run("nap", &[]);
    let refusal = world.ask(Command::Run(start)).unwrap_err();
    assert!(matches!(refusal, Refusal::NotRun(_)), "{refusal:?}");
}

#[test]
fn many_runs_that_sleep_wake_each_at_its_time_also_after_a_crash() {
    let text = "
name: nap
params: {minutes: {type: integer}}
limits: {concurrency: 1000}
steps:
  - {id: nap, sleep: 10m}
  - {id: late, needs: [nap], sleep: 1h}
";
    let mut world = World::new();
    world.knows(&[("nap", text)]);
    for minutes in 0..100 {
        world.runs("nap", &[("minutes", &minutes.to_string())]);
        world.now += chrono::TimeDelta::seconds(1);
    }
    world.wait(chrono::TimeDelta::minutes(5));
    world.crash();
    world.wait(chrono::TimeDelta::minutes(10));
    assert!(
        world.state.runs.open().all(|known| { known.run.ended(&"nap".parse().unwrap()).is_some() })
    );
    world.wait(chrono::TimeDelta::hours(1));
    assert_eq!(world.state.runs.open().count(), 0);
}

#[test]
fn a_long_run_is_written_over_several_decisions_and_ends() {
    let text = "
name: long
limits: {parallel: 50}
steps:
  - id: each
    foreach:
      in: range(900)
      as: item
      parallel: 50
      steps:
        - {id: a, if: 'false', shell: 'true'}
        - {id: b, if: 'false', shell: 'true'}
        - {id: c, if: 'false', shell: 'true'}
";
    let mut world = World::new();
    world.knows(&[("long", text)]);
    let run = world.runs("long", &[]);
    assert!((1000..=2000).contains(&world.lines_at_once), "{}", world.lines_at_once);
    world.wait(chrono::TimeDelta::seconds(1));
    assert_eq!(world.ended(&run), "succeeded");
}
