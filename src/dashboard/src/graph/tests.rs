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
    whole(graph, steps).picture.into_string()
}

fn whole(graph: &[GraphStep], steps: &[StepView]) -> Drawing {
    draw("/runs/release-1", graph, steps, Timestamp::default())
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
    let (blocks, arrows) = blocks(&nodes, &arrows(&graph), NARROW);
    for layout in [with_library(&blocks, &arrows).unwrap(), in_rows(&blocks, &arrows)] {
        let y = |place: usize| layout.at[place].1;
        assert!(y(0) < y(1) && (y(1) - y(2)).abs() < 1.0 && y(2) < y(3));
        assert!((layout.at[1].0 - layout.at[2].0).abs() >= NARROWEST);
        assert!(layout.width <= STILL_NARROW && layout.ways.len() == 4);
    }
}

#[test]
fn sixty_steps_at_once_stand_in_a_frame_that_fits_a_phone_and_a_page() {
    let mut graph = vec![step("first", &[])];
    let names: Vec<_> = (0..58).map(|number| format!("lens-{number}")).collect();
    graph.extend(names.iter().map(|name| step(name, &["first"])));
    let needs: Vec<_> = names.iter().map(String::as_str).collect();
    graph.push(step("last", &needs));
    let Drawing { picture, wide } = whole(&graph, &[]);
    let shown = picture.into_string();
    assert!(wide && !shown.contains("scroll-x"), "{shown}");
    assert_eq!(shown.matches("class=\"frame\"").count(), 2, "{shown}");
    assert_eq!((shown.matches("<svg").count(), boxes(&shown)), (2, 122), "{shown}");
    assert_eq!(shown.matches("class=\"edge").count(), 4, "the frame is what is needed and needs");
    let widths = shown
        .split("viewBox=\"")
        .skip(1)
        .map(|rest| rest.split(' ').nth(2).unwrap().parse::<f64>().unwrap());
    let widths: Vec<_> = widths.collect();
    assert!(widths[0] <= STILL_NARROW && widths[1] <= WIDE, "{widths:?}");
}

#[test]
fn what_is_wider_than_its_place_is_moved_there_and_no_line_runs_under_a_step() {
    // Eight that begin, each needed by another: nothing that one frame may hold.
    let names: Vec<_> = (0..8).map(|at| (format!("begin-{at}"), format!("then-{at}"))).collect();
    let begin = names.iter().map(|(begin, _)| step(begin, &[]));
    let then = names.iter().map(|(begin, then)| step(then, &[begin]));
    let graph: Vec<_> = begin.chain(then).collect();
    let Drawing { picture, wide } = whole(&graph, &[]);
    let shown = picture.into_string();
    assert!(wide && shown.contains("class=\"graph broad\""), "{shown}");
    assert!(shown.contains("tabindex=\"0\"") && !shown.contains("class=\"frame\""));
    let by_name = BTreeMap::new();
    let nodes: Vec<_> =
        graph.iter().map(|step| node(step, &by_name, &[], Timestamp::default())).collect();
    let (blocks, arrows) = blocks(&nodes, &arrows(&graph), NARROW);
    for layout in [with_library(&blocks, &arrows).unwrap(), in_rows(&blocks, &arrows)] {
        let rows = layout.at.iter().map(|(_, y)| format!("{y:.0}")).collect::<BTreeSet<_>>();
        assert_eq!(rows.len(), 2, "a row of what begins, and one of what follows");
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
    let Drawing { picture, wide } = whole(&graph, &[]);
    let shown = picture.into_string();
    assert!(!wide);
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
