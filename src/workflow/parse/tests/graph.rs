//! What needs what.

use super::*;
use std::fmt::Write as _;

#[test]
fn circles_are_named_in_order() {
    insta::assert_snapshot!(told("name: cycle
steps:
  - {id: a, needs: [c], shell: \"true\"}
  - {id: b, needs: [a], shell: \"true\"}
  - {id: c, needs: [b], shell: \"true\"}
  - {id: d, shell: \"true\"}
  - {id: e, needs: [e], shell: \"true\"}
  - {id: f, needs: [a, e], shell: \"true\"}
"), @r#"
        f:3:21: error: steps need one another in a circle: a -> c -> b -> a (lines 3, 5, 4)
         3 |   - {id: a, needs: [c], shell: "true"}
           |                     ^
           hint: take one of these out of `needs`
        f:7:21: error: steps need one another in a circle: e -> e (line 7)
         7 |   - {id: e, needs: [e], shell: "true"}
           |                     ^
           hint: take one of these out of `needs`
        "#);
}

#[test]
fn a_long_circle_is_found_and_not_told_at_length() {
    let mut text = "name: long\nsteps:\n".to_owned();
    for step in 0..9_000 {
        let need = (step + 1) % 9_000;
        writeln!(text, "  - {{id: s{step}, needs: [s{need}], shell: 'true'}}").unwrap();
    }
    let told = told(&text);
    assert!(told.contains("s0 -> s1 -> s2"), "{told}");
    assert!(told.len() < 1_000);
}

#[test]
fn needs_that_are_not_there() {
    insta::assert_snapshot!(told("name: needs
steps:
  - {id: build, shell: \"true\"}
  - {id: test, needs: biuld, shell: \"true\"}
  - {id: deploy, needs: [Build, banana, {a: b}], shell: \"true\"}
"), @r#"
        f:4:23: error: there is no step `biuld` here
         4 |   - {id: test, needs: biuld, shell: "true"}
           |                       ^^^^^
           hint: did you mean `build`?
        f:5:26: error: there is no step `Build` here
         5 |   - {id: deploy, needs: [Build, banana, {a: b}], shell: "true"}
           |                          ^^^^^
           hint: did you mean `build`?
        f:5:33: error: there is no step `banana` here
         5 |   - {id: deploy, needs: [Build, banana, {a: b}], shell: "true"}
           |                                 ^^^^^^
        f:5:41: error: `needs` is text, not a map
         5 |   - {id: deploy, needs: [Build, banana, {a: b}], shell: "true"}
           |                                         ^^^^^^
        "#);
}

/// 10,000 steps with five needs each, each reading one from afar.
pub(super) fn large(steps: usize) -> String {
    let mut text = "name: large\nsteps:\n".to_owned();
    for step in 0..steps {
        let needs: Vec<_> =
            (1..=5).filter(|back| step >= *back).map(|back| format!("s{}", step - back)).collect();
        writeln!(text, "- {{id: s{step}, needs: [{}], shell: a}}", needs.join(", ")).unwrap();
    }
    text
}

#[test]
fn a_large_workflow_is_read_whole() {
    let workflow = good(&large(10_000));
    assert_eq!(workflow.steps.len(), 10_000);
    assert_eq!(workflow.steps[9_999].needs.len(), 5);
}
