use super::*;
use crate::command::{Command, Refusal};

const CHAIN: &str = "
name: chain
steps:
  - {id: a, shell: echo one}
  - {id: b, needs: [a], shell: echo two}
  - {id: c, needs: [b], shell: echo three}
";

#[test]
fn steps_run_one_after_the_other_and_the_run_is_over_with_the_last() {
    let mut world = World::new();
    world.knows(&[("chain", CHAIN)]);
    let run = world.runs("chain", &[]);
    assert_eq!(run, "chain-1");
    for step in ["a", "b", "c"] {
        assert_eq!(world.at_work(), [format!("chain-1 {step}")]);
        world.does(&run, step, "fine");
    }
    assert_eq!(world.ended(&run), "succeeded");
    assert_eq!(world.told_runner(&run), ["a begin", "b begin", "c begin"]);
    assert!(world.said("chain-1 succeeded after 0 s"), "{:?}", world.shown);
    assert_eq!(world.runs("chain", &[]), "chain-2");
}

#[test]
fn a_failure_rings_and_a_retry_goes_on_from_there() {
    let mut world = World::new();
    world.knows(&[("chain", CHAIN)]);
    let run = world.runs("chain", &[]);
    world.does(&run, "a", "fine");
    world.fails(&run, "b");
    assert_eq!(world.ended(&run), "failed");
    assert_eq!(world.level_of("chain-1 failed"), crate::bridge::Level::Ring);
    assert_eq!(world.step_state(&run, "c"), "left_out");
    assert_eq!(world.taps("Retry chain-1"), "chain-1 goes on.");
    world.does(&run, "b", "fine");
    world.does(&run, "c", "fine");
    assert_eq!(world.ended(&run), "succeeded");
    assert_eq!(world.told_runner(&run), ["a begin", "b begin", "b begin", "c begin"]);
}

#[test]
fn a_cancelled_run_ends_when_its_steps_have() {
    let mut world = World::new();
    world.knows(&[("chain", CHAIN)]);
    let run = world.runs("chain", &[]);
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    assert_eq!(world.stopped.len(), 1);
    assert_eq!(world.ended(&run), "running");
    world.stops(&run, "a");
    assert_eq!(world.ended(&run), "cancelled");
    let again = world.ask(Command::CancelRun { name: run }).unwrap_err();
    assert!(matches!(again, Refusal::NotRun(_)), "{again:?}");
}
