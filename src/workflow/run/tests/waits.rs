use std::time::Duration;

use super::build::*;
use crate::{
    language::{Kind, OnCrash, OnTimeout, Step},
    run::{AskAnswer, Asks, Doubt, Ended, Finish, Outcome, Spent, Stop, Told, What},
};

fn asks(micro_usd: u64) -> Asks {
    Asks {
        tool: "Bash".into(),
        input: serde_json::json!({ "command": "make" }),
        cwd: "/".into(),
        conversation: "talk".into(),
        call: "call".into(),
        spent: Spent { micro_usd, ..Spent::default() },
    }
}

fn yes() -> AskAnswer {
    AskAnswer { allow: true, words: None, by: Some("ada".into()) }
}

#[test]
fn a_sleep_ends_when_its_time_has_come_or_passed_while_nobody_looked() {
    let mut run = Owner::of(vec![sleep("nap", 60), shell("b").needs(&["nap"])]);
    assert_eq!(run.run.deadline(run.now), Some(at(60)));
    assert!(run.run.running().is_empty());
    run.at(59);
    assert_eq!(run.is("nap"), "running");
    let mut late = Owner { run: run.replayed(), log: run.log.clone(), now: run.now, room: 9 };
    run.at(60);
    assert_eq!(run.runs(), ["b"]);
    late.at(100_000);
    assert_eq!(late.runs(), ["b"]);
    assert_eq!(late.run.deadline(late.now), None);
}

#[test]
fn a_sleep_until_a_time_of_day_follows_the_zone() {
    let mut it = workflow(vec![until("morning", "{{ '08' }}:00"), until("bad", "soon")]);
    it.on.timezone = Some("Europe/Paris".into());
    let run = Owner::with(it);
    // The runs of these tests start on 15 January 2027 at 08:00 UTC, which is 09:00 there.
    assert_eq!(run.run.deadline(run.now), Some(at(23 * 3600)));
    assert!(run.is("bad").starts_with("failed: it sleeps until `soon`"));
}

#[test]
fn tries_wait_twice_as_long_each_time_and_end() {
    let mut run = Owner::of(vec![shell("a").retry(3, 20)]);
    for (now, until) in [(0, 20), (20, 60), (60, 120)] {
        run.at(now);
        run.end("a", failed("the line is busy"));
        assert_eq!(run.is("a"), "backoff");
        assert_eq!(run.run.deadline(run.now), Some(at(until)));
        assert!(run.runs().is_empty());
    }
    run.at(120);
    run.end("a", Ended::of(Outcome::TimedOut));
    assert_eq!((run.is("a").as_str(), run.began("a")), ("timed out", 4));
    assert_eq!(run.finish(), Some(Finish::Failed));
    assert_eq!(run.run.why(), "`a`: it took too long");
}

#[test]
fn the_same_error_twice_is_enough() {
    let once =
        || shell("a").retry(5, 1).with(|step| step.retry.as_mut().unwrap().same_error = false);
    let mut run = Owner::of(vec![once()]);
    for (now, why) in [(0, "one"), (9, "two"), (99, "two")] {
        run.at(now);
        run.end("a", failed(why));
    }
    assert_eq!(run.is("a"), "failed: two");
    let mut run = Owner::of(vec![once()]);
    for now in [0, 9, 99] {
        run.at(now);
        run.end("a", Ended::of(Outcome::TimedOut));
    }
    assert_eq!(run.is("a"), "backoff");
}

#[test]
fn a_no_and_a_stop_are_not_tried_again() {
    for outcome in [Outcome::Denied { why: "no".into() }, Outcome::Cancelled] {
        let mut run = Owner::of(vec![shell("a").retry(5, 1)]);
        run.end("a", Ended::of(outcome));
        assert!(run.finish().is_some());
    }
}

#[test]
fn a_try_that_waits_for_room_is_no_reason_to_look_again() {
    let mut run = Owner::of(vec![shell("a").retry(1, 5)]);
    run.end("a", failed("x"));
    run.room = 0;
    run.at(5);
    assert_eq!((run.is("a").as_str(), run.run.deadline(run.now)), ("backoff", None));
    run.room = 1;
    run.go_on();
    assert_eq!(run.runs(), ["a"]);
}

#[test]
fn a_step_killed_half_way_runs_again_with_the_next_number_and_the_same_key() {
    let mut run = Owner::of(vec![shell("a"), shell("b").needs(&["a"]), shell("c").needs(&["b"])]);
    run.done(&["a"]);
    let key = run.work("b").key;
    run.tell("b", Told::Gone);
    assert!(matches!(
        &run.log[run.log.len() - 2].what,
        What::Settled { by: None, how: Doubt::Again, .. }
    ));
    assert_eq!(run.run.running(), [(path("b"), 2)]);
    assert_eq!(run.work("b").key, key);
    run.done(&["b", "c"]);
    assert_eq!((run.began("a"), run.began("b")), (1, 2));
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn a_step_that_breaks_off_every_time_is_not_begun_for_ever() {
    let mut run = Owner::of(vec![shell("a")]);
    for _ in 0..6 {
        run.tell("a", Told::Gone);
    }
    assert_eq!(run.is("a"), "failed: it broke off 6 times in a row, and nobody knows why");
    assert_eq!((run.began("a"), run.finish()), (6, Some(Finish::Failed)));
}

#[test]
fn a_step_killed_half_way_fails_where_it_says_so() {
    let mut run = Owner::of(vec![shell("a").retry(3, 1).on_crash(OnCrash::Fail)]);
    run.tell("a", Told::Gone);
    assert!(run.is("a").starts_with("failed: nobody knows how it ended"));
}

#[test]
fn a_step_in_doubt_waits_for_a_person() {
    let doubt = || {
        let mut run = Owner::of(vec![
            http("pay", "http://x").on_crash(OnCrash::Ask),
            shell("b").needs(&["pay"]),
        ]);
        run.tell("pay", Told::Gone);
        assert_eq!((run.is("pay").as_str(), run.runs().len()), ("in doubt", 0));
        run
    };
    let settle =
        |run: &mut Owner, how| run.event(run.run.settled(&path("pay"), 1, how, "ada", run.now));
    let mut run = doubt();
    assert!(settle(&mut run, Doubt::Done));
    assert!(!settle(&mut run, Doubt::Again));
    assert_eq!(run.runs(), ["b"]);
    let mut run = doubt();
    settle(&mut run, Doubt::Again);
    assert_eq!(run.run.running(), [(path("pay"), 2)]);
    let mut run = doubt();
    settle(&mut run, Doubt::Failed);
    assert_eq!(run.is("pay"), "failed: nobody knows how it ended, and ada says that it failed");
}

#[test]
fn an_agent_that_asks_holds_nothing_meanwhile() {
    let mut few = workflow(vec![claude("ask", "Do it"), shell("b")]);
    few.limits.parallel = 1;
    few.limits.timeout = Some(Duration::from_secs(100));
    let mut run = Owner::with(few);
    assert_eq!(run.runs(), ["ask"]);
    assert!(run.tell("ask", Told::Asks(asks(70))));
    assert_eq!((run.is("ask").as_str(), run.runs()), ("paused", vec!["b".to_owned()]));
    assert_eq!(run.run.asks(&path("ask")).unwrap().tool, "Bash");
    assert_eq!(run.run.spent().micro_usd, 70);
    run.done(&["b"]);
    assert_eq!(run.run.deadline(run.now), None);
    run.at(50_000);
    assert!(run.event(run.run.answered(&path("ask"), 1, yes(), run.now)));
    assert!(!run.event(run.run.answered(&path("ask"), 1, yes(), run.now)));
    assert!(run.run.answer(&path("ask")).unwrap().1.allow);
    let work = serde_json::to_value(run.work("ask").what).unwrap();
    assert_eq!(work["claude"]["conversation"], "talk");
    run.end("ask", cost(100));
    assert_eq!(run.run.spent().micro_usd, 100);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn waiting_for_people_is_no_time_of_the_run() {
    let mut it =
        workflow(vec![shell("a"), approval("ok").needs(&["a"]), shell("b").needs(&["ok"])]);
    it.limits.timeout = Some(Duration::from_secs(100));
    let mut run = Owner::with(it);
    assert_eq!(run.run.deadline(run.now), Some(at(100)));
    run.at(30);
    run.done(&["a"]);
    assert_eq!(run.run.deadline(run.now), None);
    run.at(9_000);
    run.done(&["ok"]);
    assert_eq!(run.run.deadline(run.now), Some(at(9_070)));
    run.at(9_070);
    assert_eq!(run.run.to_stop(), [(path("b"), 1)]);
    run.end("b", Ended::of(Outcome::Cancelled));
    assert_eq!(run.finish(), Some(Finish::TimedOut));
}

fn gate(change: impl FnOnce(&mut crate::language::Approval)) -> Step {
    approval("ok").with(|step| match &mut step.kind {
        Kind::Approval(approval) => change(approval),
        other => panic!("{other:?}"),
    })
}

#[test]
fn a_no_ends_the_run_as_denied() {
    let mut run = Owner::of(vec![approval("ok"), shell("b").needs(&["ok"])]);
    run.end("ok", Ended::of(Outcome::Denied { why: "not on a Friday".into() }));
    assert_eq!(run.finish(), Some(Finish::Denied));
    assert_eq!(run.run.why(), "`ok`: not on a Friday");
    let mut run = Owner::of(vec![approval("ok"), shell("b")]);
    run.end("ok", Ended::of(Outcome::Denied { why: "no".into() }));
    run.end("b", failed("broken"));
    assert_eq!(run.finish(), Some(Finish::Failed));
    assert_eq!(run.run.why(), "`b`: broken");
}

#[test]
fn a_no_that_is_fine_is_read_by_what_follows() {
    let mut run = Owner::of(vec![
        gate(|approval| approval.no_is_fine = true),
        shell("yes").needs(&["ok"]).only_if("steps.ok.approved"),
        shell("no").needs(&["ok"]).only_if("not steps.ok.approved and steps.ok.words == 'later'"),
    ]);
    run.end("ok", Ended::of(Outcome::Denied { why: "later".into() }));
    assert_eq!((run.is("yes").as_str(), run.runs()), ("left out: If", vec!["no".to_owned()]));
}

#[test]
fn silence_is_what_the_approval_says() {
    for (on_timeout, is, finish) in [
        (OnTimeout::Approve, "done", Finish::Succeeded),
        (OnTimeout::Deny, "denied: nobody answered in time", Finish::Denied),
        (OnTimeout::Fail, "failed: nobody answered in time", Finish::Failed),
    ] {
        let mut run = Owner::of(vec![gate(|approval| approval.on_timeout = on_timeout)]);
        run.end("ok", Ended::of(Outcome::TimedOut));
        assert_eq!((run.is("ok").as_str(), run.finish()), (is, Some(finish)));
    }
}

#[test]
fn a_question_that_cannot_be_asked_fails() {
    let run = Owner::of(vec![gate(|approval| {
        approval.ask = crate::template::Template::new("{{ params.x }}?");
    })]);
    assert!(run.is("ok").starts_with("failed: its question cannot be filled in"));
}

#[test]
fn a_stopped_agent_that_waits_for_a_person_ends_at_once() {
    let mut run = Owner::of(vec![claude("a", "x")]);
    run.tell("a", Told::Asks(asks(7)));
    run.event(run.run.stop(Stop::Cancelled, Some("ada"), run.now));
    assert_eq!((run.is("a").as_str(), run.finish()), ("cancelled", Some(Finish::Cancelled)));
    assert_eq!(run.run.spent().micro_usd, 7);
}

#[test]
fn changes_are_measured_from_the_first_try_on() {
    let mut run = Owner::of(vec![shell("a").retry(2, 1)]);
    assert_eq!(run.work("a").since, 1);
    run.tell("a", Told::Gone);
    assert_eq!((run.run.running(), run.work("a").since), (vec![(path("a"), 2)], 1));
    run.end("a", failed("x"));
    run.at(9);
    assert_eq!((run.run.running(), run.work("a").since), (vec![(path("a"), 3)], 1));
    run.done(&["a"]);
    // A person who makes it run again has seen what became of it.
    run.event(run.run.retry(Some("a"), "ada", run.now).unwrap());
    assert_eq!(run.work("a").since, 4);
}
