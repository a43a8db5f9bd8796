use super::build::*;
use crate::{
    language::{Expect, Kind, Step},
    run::Ended,
    template::Expr,
};

fn expecting(expect: Expect) -> Step {
    shell("a").with(|step| step.expect = expect)
}

fn is(step: Step, ended: Ended) -> String {
    let mut run = Owner::of(vec![step]);
    run.end("a", ended);
    run.is("a")
}

fn changed(paths: &[&str]) -> Ended {
    Ended { changed: Some(paths.iter().map(|path| (*path).to_owned()).collect()), ..done() }
}

#[test]
fn what_changed_is_held_against_what_may() {
    let only = || {
        expecting(Expect {
            changed_only: Some(vec!["src/**".into(), "*.md".into()]),
            unchanged: vec!["src/secret/*".into()],
            ..Expect::default()
        })
    };
    assert!(Owner::of(vec![only()]).work("a").measure);
    assert_eq!(is(only(), changed(&["src/a/b.rs", "./README.md"])), "done");
    assert_eq!(
        is(only(), changed(&["Cargo.toml", "x"])),
        "failed: it changed `Cargo.toml`, `x`, outside of src/**, *.md"
    );
    assert_eq!(
        is(only(), changed(&["src/secret/key"])),
        "failed: it changed `src/secret/key`, which may not change"
    );
    assert_eq!(
        is(only(), done()),
        "failed: what it changed could not be measured, and its `expect` asks for that"
    );
}

#[test]
fn what_it_claims_is_what_changed() {
    let claimed =
        || expecting(Expect { claimed: Some(Expr::new("output.json.files")), ..Expect::default() });
    let ended = |files: serde_json::Value, paths: &[&str]| {
        let mut ended = changed(paths);
        ended.output.json = Some(serde_json::json!({ "files": files }));
        ended
    };
    assert_eq!(is(claimed(), ended(serde_json::json!(["./b", "a"]), &["a", "b"])), "done");
    assert_eq!(
        is(claimed(), ended(serde_json::json!(["a", "c"]), &["a", "b"])),
        "failed: it changed `b` and does not say so; it says it changed `c` and did not"
    );
    assert_eq!(
        is(claimed(), ended("a".into(), &["a"])),
        "failed: `output.json.files` is no list of paths, so what it says it changed cannot be checked"
    );
}

#[test]
fn what_must_be_true_is_looked_at() {
    let that = || {
        expecting(Expect { that: vec![Expr::new("output.text == 'green'")], ..Expect::default() })
    };
    assert_eq!(is(that(), said("green")), "done");
    assert_eq!(
        is(that(), said("red")),
        "failed: it is expected that `output.text == 'green'`, and that is not so"
    );
    assert_eq!(is(that(), failed("red")), "failed: red");
    let none = expecting(Expect { that: vec![Expr::new("output.nothing")], ..Expect::default() });
    assert!(is(none, done()).starts_with("failed: whether `output.nothing` cannot be told"));
}

#[test]
fn a_read_only_step_that_changed_something_failed() {
    let read_only = || {
        claude("a", "x").with(|step| match &mut step.kind {
            Kind::Claude(claude) => claude.read_only = true,
            other => panic!("{other:?}"),
        })
    };
    assert!(Owner::of(vec![read_only()]).work("a").measure);
    assert_eq!(
        is(read_only(), changed(&["a", "b", "c", "d", "e"])),
        "failed: it is read-only and changed `a`, `b`, `c` and 2 more"
    );
    assert_eq!(is(read_only(), changed(&[])), "done");
}

#[test]
fn what_failed_its_expectations_is_tried_again() {
    let step = expecting(Expect {
        that: vec![Expr::new("output.ok and output.text")],
        ..Expect::default()
    });
    let mut run = Owner::of(vec![step.retry(1, 1)]);
    run.end("a", done());
    assert_eq!(run.is("a"), "backoff");
    run.at(1);
    run.end("a", said("x"));
    assert_eq!(run.is("a"), "done");
}
