use super::*;

fn step(name: &str, needs: &[&str]) -> GraphStep {
    GraphStep {
        step: name.into(),
        title: String::new(),
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        always: false,
        conditional: false,
    }
}

fn view(name: &str, state: &str) -> StepView {
    StepView {
        step: name.into(),
        kind: "shell".into(),
        state: state.into(),
        words: String::new(),
        attempt: 1,
        since: None,
        began: None,
        micro_usd: 0,
        text: String::new(),
        file: None,
    }
}

fn drawn(graph: &[GraphStep], steps: &[StepView]) -> String {
    draw("/runs/release-1", graph, steps, Timestamp::default()).into_string()
}

fn boxes(shown: &str) -> usize {
    shown.matches("<rect").count()
}

#[test]
fn a_diamond_is_drawn_once_and_says_how_it_stands() {
    let graph = [step("a", &[]), step("b", &["a"]), step("c", &["a"]), step("d", &["b", "c"])];
    let steps =
        [view("a", "done"), view("b", "running"), view("c", "failed"), view("d", "waiting")];
    let shown = drawn(&graph, &steps);
    assert_eq!(shown.matches("<svg").count(), 1, "{shown}");
    assert_eq!((boxes(&shown), shown.matches("class=\"edge").count()), (4, 4));
    assert_eq!(shown.matches("class=\"edge done\"").count(), 2);
    let says = "aria-label=\"Graph of the run: 1 of 4 steps done, b running, c failed\"";
    assert!(shown.contains("role=\"group\"") && shown.contains(says), "{shown}");
    assert!(shown.contains("href=\"/runs/release-1?step=b#log\""));
    assert!(!shown.contains("NaN") && !shown.contains("inf"));
}

#[test]
fn the_library_and_the_rows_keep_to_the_order() {
    let graph = [step("a", &[]), step("b", &["a"]), step("c", &["a"]), step("d", &["b", "c"])];
    let by_name = BTreeMap::new();
    let nodes: Vec<_> =
        graph.iter().map(|step| node(step, &by_name, &[], Timestamp::default())).collect();
    let arrows = arrows(&graph);
    for layout in [with_library(&nodes, &arrows).unwrap(), in_rows(&nodes, &arrows, NARROW)] {
        let y = |place: usize| layout.at[place].1;
        assert!(y(0) < y(1) && (y(1) - y(2)).abs() < 1.0 && y(2) < y(3));
        assert!((layout.at[1].0 - layout.at[2].0).abs() >= NARROWEST);
        assert!(layout.width <= STILL_NARROW && layout.ways.len() == 4);
    }
}

#[test]
fn sixty_steps_at_once_fit_a_phone_and_a_page() {
    let mut graph = vec![step("first", &[])];
    let names: Vec<_> = (0..58).map(|number| format!("lens-{number}")).collect();
    graph.extend(names.iter().map(|name| step(name, &["first"])));
    let needs: Vec<_> = names.iter().map(String::as_str).collect();
    graph.push(step("last", &needs));
    assert!(is_wide(&graph));
    let shown = drawn(&graph, &[]);
    assert_eq!((shown.matches("<svg").count(), boxes(&shown)), (2, 120), "{shown}");
    for (class, width) in [("narrow", "380"), ("wide", "1120")] {
        let picture = shown.split(&format!("class=\"graph {class}\" viewBox=\"")).nth(1).unwrap();
        assert_eq!(picture.split(' ').nth(2), Some(width), "{class}");
    }
}

#[test]
fn sixty_steps_in_a_line_are_one_column() {
    let names: Vec<_> = (0..60).map(|number| format!("s{number}")).collect();
    let line = names.iter().enumerate().map(|(at, name)| match at {
        0 => step(name, &[]),
        at => step(name, &[&names[at - 1]]),
    });
    let graph: Vec<_> = line.collect();
    assert!(!is_wide(&graph));
    let shown = drawn(&graph, &[]);
    assert_eq!((shown.matches("<svg").count(), boxes(&shown)), (1, 60));
}

#[test]
fn no_steps_and_needs_that_go_round_are_no_trouble() {
    assert!(drawn(&[], &[]).contains("No steps are known yet."));
    let round = [step("a", &["b"]), step("b", &["a"]), step("c", &["c", "gone"])];
    let shown = drawn(&round, &[]);
    assert_eq!(boxes(&shown), 3, "{shown}");
}

#[test]
fn the_same_run_is_drawn_the_same() {
    let graph: Vec<_> = (0..20)
        .map(|at| step(&format!("s{at}"), &[&format!("s{}", at / 3), &format!("s{}", at / 2)]))
        .collect();
    let first = drawn(&graph, &[]);
    for _ in 0..5 {
        assert_eq!(drawn(&graph, &[]), first);
    }
}

#[test]
fn hostile_titles_are_text() {
    let mut hostile = step("a", &[]);
    hostile.title = "</text><script>\u{202e}".into();
    let shown = drawn(&[hostile], &[]);
    assert!(!shown.contains("<script") && !shown.contains('\u{202e}'), "{shown}");
}
