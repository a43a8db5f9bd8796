use super::build::*;
use crate::run::{Finish, Told};

#[test]
fn a_chain_runs_one_after_the_other() {
    let mut run = Owner::of(vec![shell("a"), shell("b").needs(&["a"]), shell("c").needs(&["b"])]);
    for step in ["a", "b", "c"] {
        assert_eq!(run.runs(), [step]);
        run.done(&[step]);
    }
    assert_eq!(run.finish(), Some(Finish::Succeeded));
    assert!(run.run.why().is_empty());
}

#[test]
fn steps_side_by_side_run_as_room_and_workflow_allow() {
    let steps = || ["a", "b", "c", "d"].map(shell).to_vec();
    assert_eq!(Owner::of(steps()).runs(), ["a", "b", "c", "d"]);
    let mut few = workflow(steps());
    few.limits.parallel = 2;
    let mut run = Owner::with(few);
    assert_eq!(run.runs(), ["a", "b"]);
    run.room = 1;
    run.done(&["b"]);
    assert_eq!(run.runs(), ["a"]);
    run.done(&["a"]);
    assert_eq!(run.runs(), ["c"]);
}

#[test]
fn what_waits_for_people_takes_no_room() {
    let mut run = workflow(vec![approval("ok"), call("other"), shell("a"), shell("b")]);
    run.limits.parallel = 2;
    let mut run = Owner::with(run);
    assert_eq!(run.runs(), ["a", "ok", "other"]);
    run.room = 0;
    run.done(&["a"]);
    assert_eq!(run.runs(), ["ok", "other"]);
}

#[test]
fn a_step_left_out_by_its_own_if_counts_as_done_and_gives_nothing() {
    let mut run = Owner::of(vec![
        shell("a").only_if("false"),
        shell("b").needs(&["a"]).only_if("not steps.a.text and steps.a.status == 'left_out'"),
    ]);
    assert_eq!(run.is("a"), "left out: If");
    run.done(&["b"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn a_false_condition_leaves_out_all_below_it_and_fails_nothing() {
    let mut run = Owner::of(vec![
        condition("small", "params.size == 'small'"),
        shell("quick").needs(&["small"]),
        shell("notes").needs(&["quick"]),
        shell("other"),
        shell("tidy").needs(&["notes"]).always(),
    ]);
    assert!(run.is("small").starts_with("failed: its condition cannot be told"));
    let mut frozen = run.run.frozen().clone();
    frozen.params.insert("size".parse().unwrap(), "large".into());
    run = Owner::frozen(frozen);
    assert_eq!(run.is("small"), "done");
    assert!(run.is("notes").starts_with("left out: Condition"));
    run.done(&["other", "tidy"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn a_failure_leaves_out_what_needs_it_and_nothing_else() {
    let mut run = Owner::of(vec![
        shell("a"),
        shell("b").needs(&["a"]),
        shell("c").needs(&["b"]),
        shell("d"),
        shell("e").needs(&["d"]),
    ]);
    run.end("a", failed("it exited with 1"));
    assert_eq!(run.runs(), ["d"]);
    let left_out =
        "left out: Failed { of: StepPath([Segment { step: StepId(\"a\"), round: None }]) }";
    assert_eq!([run.is("b"), run.is("c")], [left_out, left_out]);
    run.done(&["d", "e"]);
    assert_eq!(run.finish(), Some(Finish::Failed));
    assert_eq!(run.run.why(), "`a`: it exited with 1");
}

#[test]
fn a_need_that_failed_leaves_out_at_once_though_others_run() {
    let mut run = Owner::of(vec![shell("a"), approval("ok"), shell("c").needs(&["a", "ok"])]);
    run.end("a", failed("no"));
    assert!(run.is("c").starts_with("left out"));
    assert_eq!(run.runs(), ["ok"]);
}

#[test]
fn a_failure_that_is_fine_lets_what_needs_it_run() {
    let mut run = Owner::of(vec![
        shell("lint").goes_on(),
        shell("b").needs(&["lint"]).only_if("steps.lint.why == 'two warnings'"),
    ]);
    run.end("lint", failed("two warnings"));
    run.done(&["b"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn always_runs_once_all_it_needs_is_over() {
    let mut run = Owner::of(vec![
        shell("a"),
        shell("b").needs(&["a"]),
        shell("slow"),
        shell("tidy").needs(&["b", "slow"]).always().only_if("not steps.b.ok"),
    ]);
    run.end("a", failed("no"));
    assert_eq!(run.is("tidy"), "waiting");
    run.done(&["slow"]);
    assert_eq!(run.runs(), ["tidy"]);
    run.done(&["tidy"]);
    assert_eq!(run.finish(), Some(Finish::Failed));
}

#[test]
fn a_gate_in_one_branch_never_holds_another() {
    let mut run = Owner::of(vec![
        approval("left"),
        shell("l").needs(&["left"]),
        approval("right"),
        shell("r").needs(&["right"]),
        approval("never").only_if("1 == 2"),
        shell("past").needs(&["never"]),
    ]);
    assert_eq!(run.runs(), ["left", "past", "right"]);
    run.end("left", done());
    assert_eq!(run.runs(), ["l", "past", "right"]);
    let again = run.replayed();
    assert_eq!(again.running(), run.run.running());
    run.done(&["l", "past", "right", "r"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn an_if_that_cannot_be_told_fails_its_step_with_a_sentence() {
    let run = Owner::of(vec![shell("a").only_if("steps.b.text == 'x'"), shell("b")]);
    assert_eq!(
        run.is("a"),
        "failed: its `if` cannot be told: the step `b` is not over, so nothing can be read of it"
    );
    let run = Owner::of(vec![shell("a").only_if("params.nothing")]);
    assert!(run.is("a").starts_with("failed: its `if` cannot be told"), "{}", run.is("a"));
}

#[test]
fn rounds_run_as_many_at_a_time_as_it_says() {
    let inner = vec![shell("read"), shell("note").needs(&["read"]).only_if("index != 1")];
    let mut run = Owner::of(vec![
        foreach("each", "['x', 'y', 'z']", 2, inner),
        javascript("sum", &[("all", "steps.each.results")]).needs(&["each"]),
    ]);
    assert_eq!(run.runs(), ["each[0].read", "each[1].read"]);
    run.end("each[1].read", said("why"));
    assert_eq!(run.is("each[1].note"), "left out: If");
    assert_eq!(run.runs(), ["each[0].read", "each[2].read"]);
    run.done(&["each[0].read", "each[0].note", "each[2].read"]);
    assert_eq!(run.is("each"), "running");
    run.done(&["each[2].note"]);
    assert_eq!(run.is("each"), "done");
    let input = &serde_json::to_value(run.work("sum").what).unwrap()["javascript"]["input"]["all"];
    assert_eq!(input.as_array().unwrap().len(), 3);
    assert_eq!(input[1]["read"]["text"], "why");
    assert_eq!(input[1]["note"]["status"], "left_out");
    assert_eq!(input[0]["note"]["ok"], true);
    run.done(&["sum"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn a_round_that_fails_fails_the_whole_when_all_are_over() {
    let inner = || vec![shell("a"), shell("b").needs(&["a"])];
    let mut run = Owner::of(vec![
        foreach("each", "[1, 2]", 1, inner()).goes_on(),
        shell("after").needs(&["each"]),
    ]);
    run.end("each[0].a", failed("bad"));
    assert_eq!(run.runs(), ["each[1].a"]);
    run.done(&["each[1].a", "each[1].b"]);
    assert_eq!(run.is("each"), "failed: 1 of 2 rounds failed, the first with `each[0].a`: bad");
    assert_eq!(run.run.ended(&path("each")).unwrap().output.values["failed"], 1);
    assert_eq!(run.runs(), ["after"]);
}

#[test]
fn rounds_stand_in_rounds() {
    let inner = foreach("in", "[item, item + 1]", 9, vec![shell("x").only_if("item == index + 1")]);
    let mut run = Owner::of(vec![foreach("out", "range(2)|list", 9, vec![inner])]);
    // The inner item hides the outer one.
    assert_eq!(run.is("out[0].in[0].x"), "left out: If");
    run.done(&["out[1].in[0].x", "out[1].in[1].x"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn steps_are_listed_as_written_with_rounds_below_what_they_are_of() {
    let inner = vec![shell("x"), shell("y")];
    let run = Owner::of(vec![foreach("each", "[1, 2]", 2, inner), shell("after")]);
    let listed: Vec<_> = run.run.steps().map(|(step, _)| step.to_string()).collect();
    assert_eq!(listed, ["each", "each[0].x", "each[0].y", "each[1].x", "each[1].y", "after"]);
}

#[test]
fn lists_that_are_none_or_too_long_fail_with_a_sentence() {
    let items = |items: &str| Owner::of(vec![foreach("each", items, 1, vec![shell("a")])]);
    assert_eq!(items("[]").is("each"), "done");
    assert_eq!(
        items("'abc'").is("each"),
        "failed: `'abc'` gives a text, and its items must be a list"
    );
    let long = items("range(1001)|list");
    assert_eq!(long.is("each"), "failed: it has 1001 items, and 1000 are the most");
    let deep = foreach("in", "range(1000)|list", 1, vec![shell("a")]);
    let mut many = Owner::of(vec![foreach("out", "range(21)|list", 30, vec![deep])]);
    assert!(many.is("out[20].in").ends_with("and 20000 are the most"), "{}", many.is("out[20].in"));
    assert_eq!(many.is("out[0].in"), "running");
    many.event(many.run.stop(crate::run::Stop::Cancelled, None, many.now));
}

#[test]
fn what_is_late_or_told_twice_gives_nothing() {
    let mut run = Owner::of(vec![shell("a"), shell("b").needs(&["a"])]);
    let told =
        |run: &Owner, attempt| run.run.told(&path("a"), attempt, Told::Ended(done()), run.now);
    assert!(told(&run, 2).is_empty());
    run.done(&["a"]);
    assert!(told(&run, 1).is_empty());
    assert!(run.run.told(&path("nothing"), 1, Told::Gone, run.now).is_empty());
    assert!(run.run.told(&path("b"), 1, Told::Ended(failed("no")), run.now).len() == 1);
}

#[test]
fn what_is_too_deep_to_be_read_back_fails_the_step() {
    let deep =
        |lists: usize| (0..lists).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    for (lists, json) in [(64, true), (65, false)] {
        let mut run = Owner::of(vec![shell("a")]);
        let output = crate::run::Output { json: Some(deep(lists)), ..Default::default() };
        run.end("a", crate::run::Ended { output, ..done() });
        let ended = run.run.ended(&path("a")).unwrap();
        assert_eq!(ended.output.json.is_some(), json);
        assert_eq!(run.is("a") == "done", json, "{}", run.is("a"));
    }
}
