use super::build::*;
use crate::{
    language::OnCrash,
    run::{Ended, Finish, Outcome, RunState, Stop, Told},
};

fn cancelled() -> Ended {
    Ended::of(Outcome::Cancelled)
}

#[test]
fn a_stop_leaves_out_what_has_not_begun_and_waits_for_what_runs() {
    let mut run = Owner::of(vec![
        shell("a"),
        shell("b").needs(&["a"]),
        sleep("nap", 99),
        shell("tidy").needs(&["b"]).always(),
        shell("after").needs(&["tidy"]),
        shell("try").retry(3, 50),
        http("pay", "http://x").on_crash(OnCrash::Ask),
    ]);
    run.end("try", failed("x"));
    run.tell("pay", Told::Gone);
    assert!(run.event(run.run.stop(Stop::Cancelled, Some("ada"), run.now)));
    assert!(!run.event(run.run.stop(Stop::Cancelled, None, run.now)));
    assert_eq!(run.run.state(), RunState::Stopping(Stop::Cancelled));
    assert_eq!(run.run.to_stop(), [(path("a"), 1)]);
    for step in ["b", "after", "try"] {
        assert_eq!(run.is(step), "left out: Stopped", "{step}");
    }
    assert_eq!([run.is("nap"), run.is("pay")], ["cancelled", "cancelled"]);
    // What is needed by something that always runs is over by now.
    assert_eq!(run.runs(), ["a", "tidy"]);
    run.end("a", cancelled());
    run.done(&["tidy"]);
    assert_eq!(run.finish(), Some(Finish::Cancelled));
    assert_eq!(run.run.why(), "by ada");
    assert!(!run.event(run.run.stop(Stop::Cancelled, None, run.now)));
}

#[test]
fn a_stop_ends_rounds_and_begins_no_more() {
    let inner = vec![shell("a"), shell("b").needs(&["a"])];
    let mut run = Owner::of(vec![foreach("each", "[1, 2, 3]", 1, inner)]);
    run.event(run.run.stop(Stop::Replaced, None, run.now));
    assert_eq!(run.runs(), ["each[0].a"]);
    run.end("each[0].a", done());
    assert_eq!(
        (run.is("each[0].b").as_str(), run.is("each").as_str()),
        ("left out: Stopped", "cancelled")
    );
    assert_eq!(
        (run.finish(), run.run.why()),
        (Some(Finish::Cancelled), "a newer run took its place")
    );
}

#[test]
fn a_foreach_that_always_runs_is_not_stopped() {
    let mut run = Owner::of(vec![foreach("tidy", "[1, 2]", 1, vec![shell("a")]).always()]);
    run.event(run.run.stop(Stop::Cancelled, None, run.now));
    assert!(run.run.to_stop().is_empty());
    run.done(&["tidy[0].a", "tidy[1].a"]);
    assert_eq!((run.is("tidy").as_str(), run.finish()), ("done", Some(Finish::Cancelled)));
}

#[test]
fn a_step_that_fails_while_it_is_stopped_is_not_tried_again() {
    let mut run = Owner::of(vec![shell("a").retry(3, 1)]);
    run.event(run.run.stop(Stop::TimedOut, None, run.now));
    run.end("a", failed("killed"));
    assert_eq!(run.finish(), Some(Finish::TimedOut));
}

#[test]
fn a_step_lost_in_a_crash_is_not_run_again_by_a_stopped_run() {
    let mut run = Owner::of(vec![shell("a")]);
    run.event(run.run.stop(Stop::Cancelled, None, run.now));
    run.tell("a", Told::Gone);
    assert_eq!((run.is("a").as_str(), run.finish()), ("cancelled", Some(Finish::Cancelled)));
}
