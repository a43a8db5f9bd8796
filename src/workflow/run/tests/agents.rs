use proptest::prelude::*;

use super::build::*;
use crate::{
    language::{Kind, Step},
    run::{ClaudeWork, Finish, Spent, Told, WorkKind},
};

fn agent(id: &str, micro_usd: Option<u64>) -> Step {
    claude(id, "x").with(|step| match &mut step.kind {
        Kind::Claude(claude) => claude.micro_usd = micro_usd,
        other => panic!("{other:?}"),
    })
}

fn limited(micro_usd: u64, steps: Vec<Step>) -> Owner {
    let mut it = workflow(steps);
    it.limits.micro_usd = Some(micro_usd);
    Owner::with(it)
}

fn work(run: &Owner, step: &str) -> ClaudeWork {
    match run.work(step).what {
        WorkKind::Claude(work) => work,
        other => panic!("{other:?}"),
    }
}

fn may(run: &Owner, step: &str) -> Option<u64> {
    work(run, step).micro_usd
}

#[test]
fn agents_side_by_side_share_what_is_left() {
    let mut run = limited(900, vec![agent("a", None), agent("b", None), agent("c", Some(100))]);
    assert_eq!([may(&run, "a"), may(&run, "b"), may(&run, "c")], [Some(300), Some(300), Some(100)]);
    run.end("a", cost(10));
    run.end("b", cost(10));
    run.end("c", cost(10));
    assert_eq!((run.run.spent().micro_usd, run.finish()), (30, Some(Finish::Succeeded)));
}

#[test]
fn an_agent_waits_for_money_that_another_may_still_leave() {
    let mut run = limited(100, vec![agent("a", Some(100)), agent("b", Some(60)), shell("c")]);
    assert_eq!(run.runs(), ["a", "c"]);
    run.end("a", cost(50));
    assert_eq!((run.runs(), may(&run, "b")), (vec!["b".to_owned(), "c".to_owned()], Some(50)));
}

#[test]
fn a_run_that_spent_what_it_may_is_stopped_with_a_sentence() {
    let mut run = limited(
        100,
        vec![
            agent("a", None),
            agent("b", None).needs(&["a"]),
            shell("tidy").needs(&["b"]).always(),
            agent("sum", None).needs(&["b"]).always(),
        ],
    );
    run.end("a", cost(100));
    assert_eq!(run.is("b"), "left out: Stopped");
    assert_eq!(run.is("sum"), "failed: nothing is left of what the agents of this run may cost");
    run.done(&["tidy"]);
    assert_eq!(run.finish(), Some(Finish::Failed));
    assert_eq!(run.run.why(), "its agents cost what the run may cost, and steps are left");
    let entries = run.run.retry(None, "ada", run.now).unwrap();
    run.event(entries);
    assert_eq!(may(&run, "b"), Some(100));
}

#[test]
fn more_than_it_may_stops_what_is_left() {
    let mut run = limited(100, vec![agent("a", None), shell("b").needs(&["a"])]);
    run.end("a", cost(101));
    assert_eq!((run.is("b").as_str(), run.finish()), ("left out: Stopped", Some(Finish::Failed)));
    // With nothing left to do there is nothing to stop.
    let mut run = limited(100, vec![agent("a", None)]);
    run.end("a", cost(101));
    assert_eq!(run.finish(), Some(Finish::Succeeded));
}

#[test]
fn an_agent_that_waits_for_a_person_holds_no_money() {
    let mut run = limited(100, vec![agent("a", Some(100)), agent("b", Some(30))]);
    let asks = crate::run::Asks {
        tool: "Write".into(),
        input: serde_json::Value::Null,
        cwd: String::new(),
        conversation: "talk".into(),
        call: String::new(),
        spent: Spent { micro_usd: 20, ..Spent::default() },
    };
    run.tell("a", Told::Asks(asks));
    assert_eq!((run.runs(), may(&run, "b")), (vec!["b".to_owned()], Some(30)));
    let answer = crate::run::AskAnswer { allow: false, words: None, by: None };
    run.event(run.run.answered(&path("a"), 1, answer, run.now));
    assert_eq!(may(&run, "a"), Some(50));
}

#[test]
fn a_step_goes_on_with_a_conversation() {
    let goes_on = claude("b", "And now?").needs(&["a"]).with(|step| match &mut step.kind {
        Kind::Claude(claude) => claude.goes_on = Some("a".parse().unwrap()),
        other => panic!("{other:?}"),
    });
    let steps = || vec![claude("a", "Hello"), goes_on.clone()];
    let mut run = Owner::of(steps());
    let mut ended = cost(7);
    ended.output.conversation = Some("talk".into());
    run.at(3);
    run.end("a", ended);
    assert_eq!(work(&run, "b").conversation.as_deref(), Some("talk"));
    run.at(8);
    run.end("b", cost(2));
    let report = run.run.report();
    assert_eq!((report.delegated.spent.micro_usd, report.inline.spent.micro_usd), (7, 2));
    assert_eq!((report.delegated.wall_ms, report.inline.wall_ms), (3000, 5000));
    let mut run = Owner::of(steps());
    run.done(&["a"]);
    assert_eq!(run.is("b"), "failed: it goes on with the conversation of `a`, and `a` left none");
}

#[test]
fn a_turn_in_a_session_has_the_prompt_and_its_name() {
    let turn = claude("a", "Say {{ 1 + 1 }}").with(|step| match &mut step.kind {
        Kind::Claude(claude) => {
            claude.session = Some(crate::template::Template::new("{{ run.trigger }}"));
        }
        other => panic!("{other:?}"),
    });
    let run = Owner::of(vec![turn]);
    let work = serde_json::to_value(run.work("a").what).unwrap();
    assert_eq!(work["turn"], serde_json::json!({ "session": "a person", "prompt": "Say 2" }));
}

proptest! {
    #[test]
    fn agents_that_keep_to_theirs_never_cost_more_than_the_run_may(
        limit in 1..500_u64,
        parallel in 1..5_u32,
        own in proptest::collection::vec(proptest::option::of(1..200_u64), 1..12),
        order in proptest::collection::vec(any::<usize>(), 12),
        takes in proptest::collection::vec(0..=100_u64, 12),
    ) {
        let steps = own.iter().enumerate().map(|(place, own)| agent(&format!("a{place}"), *own));
        let mut it = workflow(steps.collect());
        it.limits.micro_usd = Some(limit);
        it.limits.parallel = parallel;
        let mut run = Owner::with(it);
        for (order, takes) in order.iter().zip(takes) {
            let runs = run.runs();
            let may: u64 = runs.iter().filter_map(|step| may(&run, step)).sum();
            prop_assert!(run.run.spent().micro_usd + may <= limit);
            let Some(step) = runs.get(order % runs.len().max(1)) else { break };
            let most = self::may(&run, step).unwrap();
            run.end(step, cost(most * takes / 100));
        }
        prop_assert!(run.finish().is_some());
        prop_assert!(run.run.spent().micro_usd <= limit);
    }
}
