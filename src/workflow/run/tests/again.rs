use super::build::*;
use crate::{
    language::Kind,
    run::{Ended, Finish, Outcome, RetryError, Stop, Told, What},
};

fn back(run: &mut Owner, to: &str, why: &str) -> bool {
    run.event(run.run.sent_back(&path("ok"), &to.parse().unwrap(), "ada", why, run.now))
}

const PROMPT: &str = "Plan{% if run.sent_back %}, but {{ run.sent_back.words }} ({{ run.sent_back.round }}){% endif %}";

#[test]
fn an_approval_sends_a_step_back_with_words() {
    let mut run = Owner::of(vec![
        claude("plan", PROMPT),
        shell("other"),
        approval("ok").needs(&["plan", "other"]),
        shell("build").needs(&["ok"]).only_if("steps.ok.round == 2"),
    ]);
    run.done(&["plan", "other"]);
    assert!(back(&mut run, "plan", "smaller"));
    assert!(!back(&mut run, "plan", "smaller"));
    assert_eq!(run.run.running(), [(path("plan"), 2)]);
    let work = serde_json::to_value(run.work("plan").what).unwrap();
    assert_eq!(work["claude"]["prompt"], "Plan, but smaller (2)");
    assert_eq!((run.is("ok").as_str(), run.is("build").as_str()), ("waiting", "waiting"));
    run.done(&["plan"]);
    assert_eq!(run.run.running(), [(path("ok"), 2)]);
    run.done(&["ok", "build"]);
    assert_eq!((run.began("other"), run.finish()), (1, Some(Finish::Succeeded)));
}

#[test]
fn words_of_sending_back_reach_whoever_does_not_read_them() {
    let turn = claude("turn", "Turn\n").needs(&["plan"]).with(|step| {
        let Kind::Claude(claude) = &mut step.kind else { unreachable!() };
        claude.session = Some(crate::template::Template::new("front"));
    });
    let mut run = Owner::of(vec![
        claude("before", "Before"),
        claude("plan", "Plan {{ steps.before.text }}").needs(&["before"]),
        turn,
        shell("script").needs(&["plan"]),
        approval("ok").needs(&["turn", "script"]),
    ]);
    run.end("before", said("</data-0> a trap"));
    run.done(&["plan", "turn"]);
    assert_eq!(run.work("script").env, []);
    run.done(&["script"]);
    assert!(back(&mut run, "plan", "smaller"));
    let prompt = |run: &Owner, step: &str, kind: &str| {
        let work = serde_json::to_value(run.work(step).what).unwrap();
        work[kind]["prompt"].as_str().unwrap().to_owned()
    };
    let plan = prompt(&run, "plan", "claude");
    assert!(plan.ends_with(">\n\nSent back by ada, who says: smaller"), "{plan}");
    run.done(&["plan"]);
    assert_eq!(prompt(&run, "turn", "turn"), "Turn\n\nSent back by ada, who says: smaller");
    let env = run.work("script").env;
    assert_eq!(env, [("VIGIE_SENT_BACK".into(), crate::value::Sealed::plain("smaller"))]);
}

#[test]
fn what_runs_beside_an_approval_is_stopped_before_it_runs_again() {
    let mut run = Owner::of(vec![
        shell("plan"),
        claude("tests", "x").needs(&["plan"]),
        approval("ok").needs(&["plan"]),
    ]);
    run.done(&["plan"]);
    back(&mut run, "plan", "");
    assert_eq!(run.run.to_stop(), [(path("tests"), 1)]);
    assert_eq!(run.runs(), ["plan", "tests"]);
    run.done(&["plan"]);
    assert_eq!((run.is("tests").as_str(), run.is("ok").as_str()), ("waiting", "running"));
    let late = run.run.told(&path("tests"), 1, Told::Ended(cost(5)), run.now);
    assert!(run.event(late));
    assert_eq!(run.run.running(), [(path("tests"), 2), (path("ok"), 2)]);
    assert_eq!(run.run.spent().micro_usd, 5);
    assert!(run.run.to_stop().is_empty());
}

#[test]
fn sending_back_may_be_done_in_a_round() {
    let inner = vec![shell("a"), approval("ok").needs(&["a"])];
    let mut run = Owner::of(vec![foreach("each", "[1]", 1, inner)]);
    run.done(&["each[0].a"]);
    let entries =
        run.run.sent_back(&path("each[0].ok"), &"a".parse().unwrap(), "ada", "no", run.now);
    assert!(run.event(entries));
    run.done(&["each[0].a", "each[0].ok"]);
    assert_eq!((run.began("each"), run.finish()), (1, Some(Finish::Succeeded)));
}

#[test]
fn a_retry_runs_what_failed_and_what_was_left_out_because_of_it() {
    let mut run = Owner::of(vec![
        shell("a"),
        shell("b").needs(&["a"]),
        shell("c").needs(&["b"]),
        shell("tidy").needs(&["c"]).always(),
        shell("fine").goes_on(),
    ]);
    assert_eq!(run.run.retry(None, "ada", run.now), Err(RetryError::Running));
    run.done(&["a"]);
    run.end("b", failed("x"));
    run.end("fine", failed("y"));
    run.done(&["tidy"]);
    assert_eq!(run.finish(), Some(Finish::Failed));
    let entries = run.run.retry(None, "ada", run.now).unwrap();
    run.event(entries);
    assert_eq!(run.run.running(), [(path("b"), 2)]);
    assert_ne!(run.work("b").key, "run_1:b:0");
    run.done(&["b", "c", "tidy"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
    assert_eq!((run.began("a"), run.began("fine"), run.began("tidy")), (1, 1, 2));
    assert_eq!(run.run.retry(None, "ada", run.now), Err(RetryError::NothingFailed));
}

#[test]
fn a_retry_from_a_step_runs_all_that_needs_it() {
    let mut run = Owner::of(vec![
        shell("a"),
        shell("build").needs(&["a"]),
        shell("c").needs(&["build"]),
        shell("d"),
    ]);
    run.done(&["a", "build", "c", "d"]);
    assert_eq!(
        run.run.retry(Some("biuld"), "ada", run.now),
        Err(RetryError::NoStep { step: "biuld".into(), near: vec!["build".into()] })
    );
    let entries = run.run.retry(Some("build"), "ada", run.now).unwrap();
    run.event(entries);
    assert_eq!(run.runs(), ["build"]);
    run.done(&["build", "c"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn a_retry_runs_the_rounds_that_failed_alone() {
    let inner = vec![shell("a"), shell("b").needs(&["a"])];
    let mut run =
        Owner::of(vec![foreach("each", "[1, 2, 3]", 1, inner), shell("after").needs(&["each"])]);
    run.done(&["each[0].a", "each[0].b", "each[1].a"]);
    run.end("each[1].b", failed("x"));
    run.end("each[2].a", failed("x"));
    assert_eq!(run.finish(), Some(Finish::Failed));
    let entries = run.run.retry(None, "ada", run.now).unwrap();
    run.event(entries);
    // One round at a time, as before.
    assert_eq!(run.run.running(), [(path("each[1].b"), 2)]);
    run.done(&["each[1].b", "each[2].a", "each[2].b", "after"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
    assert_eq!((run.began("each"), run.began("each[0].a"), run.began("each[1].a")), (2, 1, 1));
    assert_eq!(run.replayed().state(), run.run.state());
}

#[test]
fn rounds_that_run_again_never_use_a_number_twice() {
    let mut run = Owner::of(vec![
        shell("list"),
        foreach("each", "steps.list.json", 9, vec![shell("a")]).needs(&["list"]),
    ]);
    run.end("list", gave(serde_json::json!([1, 2, 3])));
    run.done(&["each[0].a", "each[1].a", "each[2].a"]);
    let entries = run.run.retry(Some("list"), "ada", run.now).unwrap();
    run.event(entries);
    run.end("list", gave(serde_json::json!([1, 2])));
    assert_eq!(run.run.running(), [(path("each[0].a"), 2), (path("each[1].a"), 2)]);
    assert_eq!(run.run.step(&path("each[2].a")), None);
    run.event(run.run.stop(Stop::Cancelled, None, run.now));
    run.end("each[0].a", Ended::of(Outcome::Cancelled));
    run.end("each[1].a", Ended::of(Outcome::Cancelled));
    assert_eq!(run.finish(), Some(Finish::Cancelled));
    let entries = run.run.retry(Some("list"), "ada", run.now).unwrap();
    run.event(entries);
    run.end("list", gave(serde_json::json!([1, 2, 3])));
    assert_eq!(run.run.running().len(), 3);
    assert!(run.run.running().contains(&(path("each[2].a"), 2)));
}

#[test]
fn a_foreach_that_is_tried_again_runs_all_its_rounds() {
    let mut run = Owner::of(vec![foreach("each", "[1, 2]", 2, vec![shell("a")]).retry(1, 10)]);
    run.done(&["each[0].a"]);
    run.end("each[1].a", failed("x"));
    assert_eq!(run.is("each"), "backoff");
    run.at(10);
    assert_eq!(run.run.running(), [(path("each[0].a"), 2), (path("each[1].a"), 2)]);
    run.done(&["each[0].a", "each[1].a"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn a_retry_of_a_stopped_run_goes_on_where_it_was() {
    let mut run = Owner::of(vec![shell("a"), shell("b").needs(&["a"]), shell("c").needs(&["b"])]);
    run.done(&["a"]);
    run.event(run.run.stop(Stop::Cancelled, None, run.now));
    run.end("b", Ended::of(Outcome::Cancelled));
    assert_eq!(run.finish(), Some(Finish::Cancelled));
    let entries = run.run.retry(None, "ada", run.now).unwrap();
    run.event(entries);
    run.done(&["b", "c"]);
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn a_log_that_does_not_fit_changes_nothing() {
    let mut run = Owner::of(vec![shell("a"), approval("ok")]);
    let before = run.run.running();
    for what in [
        What::Began { step: path("a"), attempt: 1 },
        What::Began { step: path("nothing"), attempt: 1 },
        What::Ended { step: path("a"), attempt: 7, ended: Box::new(done()) },
        What::Reset {
            steps: vec![path("x[3].y")],
            by: String::new(),
            why: String::new(),
            from: Some(path("z")),
        },
    ] {
        run.run.apply(&crate::run::Entry { at: at(1), what });
    }
    assert_eq!(run.run.running(), before);
    assert!(matches!(run.run.definition(&path("ok")).unwrap().kind, Kind::Approval(_)));
}
