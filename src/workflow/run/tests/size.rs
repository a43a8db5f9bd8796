//! Large runs, and what a phone shows of them. The bound of work is on what is looked at, not on time.

use super::build::*;
use crate::{
    language::{MOST_STEPS, Step},
    run::{Finish, Told},
};

const MANY: usize = 10_000;

/// Ends whatever runs until nothing is left, as an owner would.
fn drive(steps: Vec<Step>) -> Owner {
    let mut wide = workflow(steps);
    wide.limits.parallel = u32::MAX;
    let mut run = Owner { room: usize::MAX, ..Owner::with(wide) };
    run.go_on();
    while run.finish().is_none() {
        for (step, attempt) in run.run.running() {
            let entries = run.run.told(&step, attempt, Told::Ended(said("ok")), run.now);
            run.write(entries);
        }
        let next = run.run.next(usize::MAX, run.now);
        run.write(next);
    }
    run
}

#[test]
fn a_long_chain_and_a_wide_fan_end() {
    const { assert!(MANY < MOST_STEPS) };
    let id = |place: usize| format!("s{place}");
    let chain = (0..MANY).map(|place| match place {
        0 => shell("s0"),
        _ => {
            shell(&id(place)).needs(&[&id(place - 1)]).only_if(&format!("steps.s{}.ok", place - 1))
        }
    });
    let run = drive(chain.collect());
    assert_eq!((run.finish(), run.log.len()), (Some(Finish::Succeeded), 2 * MANY + 1));
    let mut wide: Vec<_> = (0..MANY).map(|place| shell(&id(place)).needs(&["first"])).collect();
    wide.push(shell("first"));
    let all: Vec<_> = (0..MANY).map(id).collect();
    wide.push(shell("last").needs(&all.iter().map(String::as_str).collect::<Vec<_>>()));
    let run = drive(wide);
    assert_eq!((run.finish(), run.log.len()), (Some(Finish::Succeeded), 2 * MANY + 5));
    assert_eq!(run.run.progress(run.now).len(), 1);
}

#[test]
fn a_phone_sees_the_graph_in_lines() {
    let mut run = Owner::of(vec![
        shell("tests"),
        foreach("lenses", "[1, 2, 3]", 1, vec![shell("read")]).needs(&["tests"]),
        sleep("night", 7200).needs(&["tests"]),
        shell("flaky").needs(&["tests"]).retry(1, 90),
        approval("ok").needs(&["tests"]),
        shell("skip").needs(&["tests"]).only_if("false"),
        shell("deploy").needs(&["lenses", "ok", "night", "flaky", "skip"]),
        shell("bad").goes_on(),
    ]);
    run.at(65);
    run.done(&["tests"]);
    run.end("bad", failed("x"));
    run.at(70);
    run.end("flaky", failed("x"));
    run.done(&["lenses[0].read"]);
    let lines: Vec<_> = run.run.progress(at(75)).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "✓ tests · 1m 5s",
            "✗ bad · 1m 5s",
            "● lenses 1/3 · 10s",
            "☾ night · 1h 59m left",
            "↻ flaky · 55s left",
            "? ok · 10s",
            "⊘ skip",
            "◌ deploy · after lenses, ok, night and 1 more",
        ]
    );
}

#[test]
fn a_long_run_folds_into_what_a_phone_shows() {
    let mut steps: Vec<_> = (0..300).map(|place| shell(&format!("a{place}"))).collect();
    steps.extend((0..300).map(|place| shell(&format!("b{place}")).needs(&["a299"])));
    let mut long = workflow(steps);
    long.limits.parallel = 3;
    let mut run = Owner::with(long);
    for place in 0..200 {
        run.done(&[&format!("a{place}")]);
    }
    let lines: Vec<_> = run.run.progress(run.now).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        ["✓ 200 steps done", "● a200 · 0s", "● a201 · 0s", "● a202 · 0s", "◌ 397 steps wait"]
    );
    let all: Vec<_> = (0..500).map(|place| shell(&format!("a{place}"))).collect();
    let mut wide = workflow(all);
    wide.limits.parallel = 500;
    let mut run = Owner { room: 500, ..Owner::with(wide) };
    run.go_on();
    assert_eq!(run.run.progress(run.now)[0].to_string(), "● 500 steps run");
}
