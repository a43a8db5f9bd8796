//! Files that are no workflows, and texts made to hurt.

use super::*;
use proptest::prelude::*;
use std::fmt::Write as _;

fn first(bytes: &[u8]) -> String {
    let (workflow, problems) = check(bytes);
    assert!(workflow.is_none());
    let first = &problems.all[0];
    let hint = first.hint.as_deref().unwrap_or("-");
    format!("{}:{} {} / {hint}", first.line, first.column, first.what)
}

#[test]
fn what_is_no_workflow_says_why() {
    let spaces = vec![b' '; 8 * 1024 * 1024];
    let cases: [&[u8]; 12] = [
        b"",
        b"# nothing\n",
        b"name: a\nsteps: []\n---\nname: b\nsteps: []\n",
        b"- id: a\n",
        b"name: t\nsteps:\n\t- id: a\n",
        b"name: n\nsteps: []\n",
        b"name: m\nsteps: {a: {shell: \"true\"}}\n",
        b"name: caf\xe9\n",
        &spaces,
        b"just words",
        b"name: a\nsteps:\n  - id: a\n    shell: {{ x }}\n",
        b"name: [unclosed\n",
    ];
    let told: Vec<_> = cases.into_iter().map(first).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
        1:1 there is no workflow in this file / it starts with `name: …` and has `steps:`
        1:1 there is no workflow in this file / it starts with `name: …` and has `steps:`
        3:1 a second document starts here / one workflow is one file: put it into a file of its own
        1:1 a workflow is a map, not a list / its keys: name, title, description, project, params, on, limits, env, secrets, steps, outputs, defaults
        3:1 a tab cannot indent / use spaces
        2:8 there are no steps / -
        2:8 `steps` is a list, not a map / begin each step with `- id: …`
        1:10 the byte 0xe9 here is no UTF-8 / save the file as UTF-8
        0:0 the file has 8388608 bytes, and a workflow at most 1048576 / -
        1:1 a workflow is a map, not `just words` / its keys: name, title, description, project, params, on, limits, env, secrets, steps, outputs, defaults
        4:13 a list or a map cannot be a key / put it in quotes if it is text, such as "{{ … }}"
        2:1 this is no YAML: while parsing a flow sequence, expected ',' or ']' / -
        "#);
}

#[test]
fn a_mark_at_the_start_and_line_ends_of_windows_are_fine() {
    let text = "\u{feff}name: c\r\nsteps:\r\n  - id: a\r\n    shell: |\r\n      echo a\r\n      echo b\r\n";
    let Kind::Shell(shell) = &good(text).steps[0].kind else { panic!() };
    assert_eq!(shell.script, "echo a\necho b\n");
}

#[test]
fn deep_texts_are_refused_and_nothing_overflows() {
    let depth = 5_000;
    for text in [
        format!("name: d\nx-v: {}{}\n", "[".repeat(depth), "]".repeat(depth)),
        format!("name: d\nx-v: {}", "[".repeat(depth)),
        format!("name: d\nx-v: {}1{}\n", "{a: ".repeat(depth), "}".repeat(depth)),
        format!("name: d\nx-v:\n  {}1\n", "- ".repeat(depth)),
        (0..depth).fold(String::new(), |text, level| text + &" ".repeat(level.min(150)) + "a:\n"),
        format!("{}a", "? ".repeat(depth)),
    ] {
        let told = first(text.as_bytes());
        assert!(!told.is_empty());
    }
    insta::assert_snapshot!(first(format!("x: {}", "[".repeat(depth)).as_bytes()), @r"1:259 more than 64 lists and maps stand in one another here / -");
}

#[test]
fn ten_lines_do_not_become_a_billion() {
    let mut text = "name: laughs\nx-a: &a [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
    for (name, of) in ["ba", "cb", "dc", "ed", "fe", "gf"].map(|pair| pair.split_at(1)) {
        let many = vec![format!("*{of}"); 10].join(", ");
        writeln!(text, "x-{name}: &{name} [{many}]").unwrap();
    }
    insta::assert_snapshot!(first(text.as_bytes()), @r"6:18 what anchors and aliases repeat comes to too much / at most 50000 values may be repeated in one file");
    let long = "y".repeat(100_000);
    let text = format!("name: long\nx-a: &a {long}\nx-b: [{}]\n", vec!["*a"; 100].join(", "));
    assert!(first(text.as_bytes()).contains("comes to too much"));
    assert!(first(b"name: x\nx-a: &a [*a]\n").contains("stands inside of what it repeats"));
    assert!(first(b"name: x\nx-a: *b\n").contains("no YAML"));
}

#[test]
fn mistakes_end_somewhere() {
    let text = format!("name: many\nsteps:\n{}", "  - banana: 1\n".repeat(5_000));
    let (_, problems) = check(text.as_bytes());
    assert!(problems.all.len() <= 202, "{}", problems.all.len());
    assert!(problems.all.iter().any(|problem| problem.what.contains("there is more")));
}

const WHOLE: &str = include_str!("../../cases/every-key.yaml");

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (workflow, problems) = check(&bytes);
        prop_assert_eq!(workflow.is_none(), problems.has_errors());
    }

    #[test]
    fn a_workflow_with_a_slip_is_read_or_refused(
        slips in proptest::collection::vec((any::<proptest::sample::Index>(), "[\\-:\\[\\]{}&*!|>'\"%@` \n\t#,a0~?é<]{0,3}", 0_usize..4), 1..6),
    ) {
        let mut chars: Vec<char> = WHOLE.chars().collect();
        for (at, put, taken) in slips {
            let at = at.index(chars.len());
            let end = (at + taken).min(chars.len());
            chars.splice(at..end, put.chars());
        }
        let text: String = chars.into_iter().collect();
        let (workflow, problems) = check(text.as_bytes());
        prop_assert_eq!(workflow.is_none(), problems.has_errors());
        let lines = text.lines().count().max(1);
        for problem in &problems.all {
            prop_assert!(problem.line <= lines + 1, "{:?}", problem);
        }
        problems.render("f", &text);
    }
}
