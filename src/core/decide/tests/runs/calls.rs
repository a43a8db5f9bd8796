use vigie_workflow::run::{Ended, Outcome, Output, Spent, Told};

use super::*;
use crate::command::Command;

const OUTER: &str = "
name: outer
limits: {cost_usd: 1}
steps:
  - {id: call, workflow: {name: inner, params: {what: '\"tea\"'}}}
  - {id: after, needs: [call], shell: ./serve.sh, env: {CUP: '{{ steps.call.cup }}'}}
";

const INNER: &str = "
name: inner
params: {what: {type: string}}
steps:
  - {id: brew, claude: '{{ params.what }}'}
outputs: {cup: steps.brew.text}
";

fn spends(world: &mut World, run: &str, step: &str, micro_usd: u64, outcome: Outcome) {
    let output = Output { text: "hot".into(), ..Output::default() };
    let spent = Spent { micro_usd, ..Spent::default() };
    world.tells(run, step, Told::Ended(Ended { outcome, output, spent, changed: None }));
}

#[test]
fn a_called_run_gives_its_outputs_and_its_cost() {
    let mut world = World::new();
    world.knows(&[("outer", OUTER), ("inner", INNER)]);
    let run = world.runs("outer", &[]);
    assert_eq!(world.view("inner-1").started_by, "outer-1");
    world.crash();
    spends(&mut world, "inner-1", "brew", 300_000, Outcome::Done);
    assert_eq!(world.ended("inner-1"), "succeeded");
    let order = world.order_of(&run, "after");
    assert!(order.work.env.iter().any(|(_, value)| value.to_string() == "hot"));
    assert_eq!(world.view(&run).spent.micro_usd, 300_000);
    world.does(&run, "after", "");
    assert_eq!(world.ended(&run), "succeeded");
    assert!(!world.said("inner-1 succeeded"), "it is a part of the other");
}

#[test]
fn what_a_called_run_fails_of_its_caller_fails_of() {
    let mut world = World::new();
    world.knows(&[("outer", OUTER), ("inner", INNER)]);
    let run = world.runs("outer", &[]);
    spends(&mut world, "inner-1", "brew", 0, Outcome::Failed { why: "no water".into() });
    assert_eq!(world.ended(&run), "failed");
    assert!(world.said("inner-1") && world.said("no water"));
}

#[test]
fn cancelling_reaches_what_was_called() {
    let mut world = World::new();
    world.knows(&[("outer", OUTER), ("inner", INNER)]);
    let run = world.runs("outer", &[]);
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    assert_eq!(world.stopped.len(), 1);
    assert_eq!(world.ended(&run), "running", "until what it called has ended");
    world.crash();
    world.stops("inner-1", "brew");
    assert_eq!(
        (world.ended("inner-1"), world.ended(&run)),
        ("cancelled".into(), "cancelled".into())
    );
}

#[test]
fn calls_go_so_deep_and_no_deeper() {
    let text = "
name: deep
steps:
  - {id: again, workflow: deep}
";
    let mut world = World::new();
    world.knows(&[("deep", text)]);
    let run = world.runs("deep", &[]);
    assert_eq!(world.ended(&run), "failed");
    assert_eq!(world.state.runs.all().count(), 5);
    assert!(world.said("4 deep and no deeper"));
}

#[test]
fn what_is_spent_below_counts_above() {
    let inner = "
name: inner
params: {what: {type: string}}
steps:
  - {id: brew, claude: '{{ params.what }}'}
  - {id: more, needs: [brew], claude: '{{ params.what }}'}
outputs: {cup: steps.brew.text}
";
    let mut world = World::new();
    world.knows(&[("outer", OUTER), ("inner", inner)]);
    let run = world.runs("outer", &[]);
    spends(&mut world, "inner-1", "brew", 1_200_000, Outcome::Done);
    assert!(world.at_work().is_empty(), "no further agent is begun");
    assert_eq!(world.ended(&run), "failed");
}
