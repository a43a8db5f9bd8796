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
fn a_stop_ends_rounds_that_were_to_run_again() {
    let inner = vec![shell("a"), shell("tidy").always()];
    let each = foreach("each", "[1, 2]", 1, inner);
    let mut run = Owner::of(vec![each, approval("ok").needs(&["each"])]);
    run.done(&["each[0].a", "each[0].tidy", "each[1].a", "each[1].tidy"]);
    let to = "each".parse().unwrap();
    assert!(run.event(run.run.sent_back(&path("ok"), &to, "ada", "again", run.now)));
    run.event(run.run.stop(Stop::Cancelled, None, run.now));
    run.end("each[0].a", cancelled());
    for round in 0..2 {
        run.done(&[&format!("each[{round}].tidy")]);
    }
    assert_eq!(run.finish(), Some(Finish::Cancelled));
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

#[test]
fn a_person_who_stops_it_again_does_not_wait_for_what_always_runs() {
    let mut run = Owner::of(vec![shell("a").always(), shell("b").needs(&["a"]).always()]);
    run.event(run.run.stop(Stop::Cancelled, Some("ada"), run.now));
    assert!(run.run.to_stop().is_empty());
    assert!(run.event(run.run.stop(Stop::Cancelled, Some("ada"), run.now)));
    assert_eq!(run.run.to_stop(), [(path("a"), 1)]);
    assert!(!run.event(run.run.stop(Stop::Cancelled, Some("ada"), run.now)));
    run.end("a", cancelled());
    assert_eq!(run.is("b"), "left out: Stopped");
    assert_eq!(run.finish(), Some(Finish::Cancelled));
}

#[test]
fn a_retry_from_a_step_takes_along_what_was_stopped() {
    let mut run = Owner::of(vec![
        shell("tests").retry(3, 3600),
        shell("deploy").needs(&["tests"]),
        shell("note"),
    ]);
    run.end("tests", failed("x"));
    run.event(run.run.stop(Stop::Cancelled, Some("ada"), run.now));
    run.end("note", cancelled());
    assert_eq!(run.finish(), Some(Finish::Cancelled));
    run.event(run.run.retry(Some("deploy"), "ada", run.now).unwrap());
    assert_eq!(run.runs(), ["note", "tests"]);
    run.done(&["tests", "note", "deploy"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}
