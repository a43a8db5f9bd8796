//! The graph of a run: where its steps stand, drawn as SVG. A library lays it out; where it cannot, or
//! where that is wider than a screen, the steps stand in rows of what may run at the same time.

use dagre::{
    EdgeLabel, LayoutOptions, NodeLabel, Point,
    graph::{Graph, GraphOptions},
};
use maud::{Markup, html};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
};
use vigie_core::{
    Timestamp,
    run::{GraphStep, StepView},
    text,
};

use crate::{
    steps::{self, look},
    words::money,
};

/// Of a drawing beside the steps, and on a phone.
const NARROW: f64 = 380.0;
/// What is a little wider is drawn a little smaller.
const STILL_NARROW: f64 = 430.0;
/// Of one over the whole page.
const WIDE: f64 = 1120.0;

const HEIGHT: f64 = 54.0;
const GAP: f64 = 10.0;
const BETWEEN_ROWS: f64 = 38.0;
const MARGIN: f64 = 4.0;
const NARROWEST: f64 = 116.0;
const WIDEST: f64 = 220.0;

/// Letters of a name, and of the line under it, that fit into the widest.
const LETTERS: usize = 21;
const SUB_LETTERS: usize = 32;

/// More steps or arrows than that are put into rows: the library takes its time over them.
const MOST_STEPS: usize = 80;
const MOST_ARROWS: usize = 240;

struct Node<'a> {
    step: &'a GraphStep,
    view: Option<&'a StepView>,
    look: &'static str,
    say: &'static str,
    label: String,
    sub: String,
    width: f64,
}

/// Where everything stands: middles of the nodes, and the way of each arrow.
struct Layout {
    /// Where the leftmost of it lies.
    left: f64,
    width: f64,
    height: f64,
    at: Vec<(f64, f64)>,
    ways: Vec<String>,
}

/// From one node to another, by their places.
type Arrow = (usize, usize);

/// `page` is the address of the run. Nothing where there are no steps.
pub fn draw(page: &str, graph: &[GraphStep], steps: &[StepView], now: Timestamp) -> Markup {
    if graph.is_empty() {
        return html! { p.dim.small { "No steps are known yet." } };
    }
    let by_name: BTreeMap<_, _> = steps.iter().map(|step| (step.step.as_str(), step)).collect();
    let nodes: Vec<_> = graph.iter().map(|step| node(step, &by_name, steps, now)).collect();
    let arrows = arrows(graph);
    let label = sentence(&nodes);
    let whole = with_library(&nodes, &arrows);
    let (narrow, wide) = match whole {
        Some(whole) if whole.width <= STILL_NARROW => (whole, None),
        whole if is_wide(graph) => {
            let wide = whole.filter(|whole| whole.width <= WIDE);
            let wide = wide.unwrap_or_else(|| in_rows(&nodes, &arrows, WIDE));
            (in_rows(&nodes, &arrows, NARROW), Some(wide))
        }
        _ => (in_rows(&nodes, &arrows, NARROW), None),
    };
    let picture = |layout: &Layout, class: &str, least: f64| {
        svg(page, &nodes, &arrows, layout, class, least, &label)
    };
    match wide {
        None => picture(&narrow, "graph", NARROW),
        Some(wide) => html! {
            (picture(&narrow, "graph narrow", NARROW))
            (picture(&wide, "graph wide", WIDE))
        },
    }
}

/// Whether more steps may run at the same time than stand beside each other in a narrow drawing: then
/// there is one over the whole width of a page as well.
pub fn is_wide(graph: &[GraphStep]) -> bool {
    let mut levels = BTreeMap::new();
    for level in levels_of(graph.len(), &arrows(graph)) {
        *levels.entry(level).or_insert(0_usize) += 1;
    }
    levels.values().any(|count| *count > 3)
}

fn node<'a>(
    step: &'a GraphStep,
    by_name: &BTreeMap<&str, &'a StepView>,
    steps: &[StepView],
    now: Timestamp,
) -> Node<'a> {
    let view = by_name.get(step.step.as_str()).copied();
    let (look, say) = view.map_or(("queued", "queued"), look);
    let name = if step.title.is_empty() { &step.step } else { &step.title };
    let label = shortened(&text::reveal(name).text.text, LETTERS);
    let sub = shortened(&text::reveal(&sub(step, view, steps, now)).text.text, SUB_LETTERS);
    let width = (29.0 + 8.0 * letters(&label)).max(22.0 + 5.9 * letters(&sub));
    Node { step, view, look, say, label, sub, width: width.clamp(NARROWEST, WIDEST) }
}

/// The line under its name: how far it is, what it took, what it cost.
fn sub(step: &GraphStep, view: Option<&StepView>, steps: &[StepView], now: Timestamp) -> String {
    let Some(view) = view.filter(|view| view.state != "waiting" && view.state != "ready") else {
        return match (step.always, step.conditional) {
            (true, _) => "always runs".into(),
            (false, true) => "if it is to".into(),
            (false, false) => view.map_or_else(String::new, |view| view.kind.clone()),
        };
    };
    let (look, say) = look(view);
    let mut parts = Vec::new();
    // Shape and colour say the rest.
    if !matches!(look, "done" | "running" | "failed") {
        parts.push(say.to_owned());
    }
    if view.kind == "foreach" {
        let inside = format!("{}[", view.step);
        let inner: Vec<_> = steps.iter().filter(|step| step.step.starts_with(&inside)).collect();
        let over = inner.iter().filter(|step| step.state == "done").count();
        if !inner.is_empty() {
            parts.push(format!("{over} of {}", inner.len()));
        }
    }
    parts.extend(steps::step_took(view, now));
    if view.micro_usd > 0 {
        parts.push(money(view.micro_usd));
    }
    parts.join(", ")
}

fn letters(text: &str) -> f64 {
    number(text.chars().count())
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

fn arrows(graph: &[GraphStep]) -> Vec<Arrow> {
    let places: BTreeMap<_, _> =
        graph.iter().enumerate().map(|(place, step)| (step.step.as_str(), place)).collect();
    let needs = |(to, step): (usize, &GraphStep)| {
        let from = step.needs.iter().filter_map(|need| places.get(need.as_str()).copied());
        from.filter(|from| *from != to).map(|from| (from, to)).collect::<Vec<_>>()
    };
    graph.iter().enumerate().flat_map(needs).collect()
}

/// "Graph of the run: 5 of 8 steps done, ok waits for you".
fn sentence(nodes: &[Node]) -> String {
    let done = nodes.iter().filter(|node| node.look == "done").count();
    let mut sentence = format!("Graph of the run: {done} of {} steps done", nodes.len());
    let news = nodes.iter().filter(|node| !matches!(node.look, "done" | "queued" | "skipped"));
    for node in news.take(5) {
        sentence.push_str(", ");
        sentence.push_str(&node.label);
        sentence.push(' ');
        sentence.push_str(node.say);
    }
    sentence
}

/// `None`: there is too much of it, or the library cannot.
fn with_library(nodes: &[Node], arrows: &[Arrow]) -> Option<Layout> {
    if nodes.len() > MOST_STEPS || arrows.len() > MOST_ARROWS {
        return None;
    }
    // A picture that cannot be drawn so is drawn in rows; the page is there in any case.
    catch_unwind(AssertUnwindSafe(|| laid_out(nodes, arrows))).ok().flatten()
}

fn laid_out(nodes: &[Node], arrows: &[Arrow]) -> Option<Layout> {
    let options = GraphOptions { directed: true, multigraph: false, compound: false };
    let mut graph = Graph::with_options(options);
    for (place, node) in nodes.iter().enumerate() {
        let label = NodeLabel { width: node.width, height: HEIGHT, ..NodeLabel::default() };
        graph.set_node(place.to_string(), Some(label));
    }
    for (from, to) in arrows {
        graph.set_edge(from.to_string(), to.to_string(), Some(EdgeLabel::default()), None);
    }
    let options = LayoutOptions {
        nodesep: GAP,
        edgesep: GAP / 2.0,
        ranksep: BETWEEN_ROWS,
        marginx: MARGIN,
        marginy: MARGIN,
        // Of orders that are as good, the one that is nearest to how the steps are written.
        tie_keep_first: true,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut graph, Some(options));
    let mut at = Vec::with_capacity(nodes.len());
    let (mut left, mut right, mut height) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (place, node) in nodes.iter().enumerate() {
        let label = graph.node(&place.to_string())?;
        let (x, y) = (label.x?, label.y?);
        if !x.is_finite() || !y.is_finite() {
            return None;
        }
        right = right.max(x + node.width / 2.0 + MARGIN);
        height = height.max(y + HEIGHT / 2.0 + MARGIN);
        at.push((x, y));
    }
    let mut ways = Vec::with_capacity(arrows.len());
    for (from, to) in arrows {
        let points = &graph.edge(&from.to_string(), &to.to_string(), None)?.points;
        for point in points {
            (left, right) = (left.min(point.x - MARGIN), right.max(point.x + MARGIN));
        }
        ways.push(through(points)?);
    }
    Some(Layout { left, width: right - left, height, at, ways })
}

/// A line through points, bent at each but the first and the last.
fn through(points: &[Point]) -> Option<String> {
    let (first, rest) = points.split_first()?;
    let last = rest.last()?;
    let mut way = format!("M{:.1} {:.1}", first.x, first.y);
    for pair in rest.windows(2) {
        let (here, next) = (&pair[0], &pair[1]);
        let (x, y) = (f64::midpoint(here.x, next.x), f64::midpoint(here.y, next.y));
        let _ = write!(way, "Q{:.1} {:.1} {x:.1} {y:.1}", here.x, here.y); // a String takes everything
    }
    let _ = write!(way, "L{:.1} {:.1}", last.x, last.y);
    Some(way)
}

/// How many steps at least come before each.
fn levels_of(count: usize, arrows: &[Arrow]) -> Vec<usize> {
    let mut levels = vec![0; count];
    // What needs itself over others would go on forever: there are never more levels than steps.
    for _ in 0..count {
        let mut changed = false;
        for (from, to) in arrows {
            let level: usize = levels[*from] + 1;
            if levels[*to] < level && level < count {
                levels[*to] = level;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    levels
}

/// Rows of what may run at the same time, broken where they are wider than `most`.
fn in_rows(nodes: &[Node], arrows: &[Arrow], most: f64) -> Layout {
    let levels = levels_of(nodes.len(), arrows);
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let deepest = levels.iter().copied().max().unwrap_or(0);
    for level in 0..=deepest {
        let mut row: Vec<usize> = Vec::new();
        let mut taken = 0.0;
        for place in (0..nodes.len()).filter(|place| levels[*place] == level) {
            let more = nodes[place].width + GAP;
            if !row.is_empty() && taken + more > most - 2.0 * MARGIN + GAP {
                rows.push(std::mem::take(&mut row));
                taken = 0.0;
            }
            taken += more;
            row.push(place);
        }
        rows.push(row);
    }
    let row_width = |row: &Vec<usize>| {
        let all: f64 = row.iter().map(|place| nodes[*place].width + GAP).sum();
        all - GAP + 2.0 * MARGIN
    };
    let width = rows.iter().map(row_width).fold(0.0, f64::max);
    let mut at = vec![(0.0, 0.0); nodes.len()];
    for (number_of_row, row) in rows.iter().enumerate() {
        let y = MARGIN + HEIGHT / 2.0 + number(number_of_row) * (HEIGHT + BETWEEN_ROWS);
        let mut x = (width - row_width(row)) / 2.0 + MARGIN;
        for place in row {
            at[*place] = (x + nodes[*place].width / 2.0, y);
            x += nodes[*place].width + GAP;
        }
    }
    let height = 2.0 * MARGIN + number(rows.len()) * (HEIGHT + BETWEEN_ROWS) - BETWEEN_ROWS;
    let ways = arrows.iter().map(|(from, to)| across(at[*from], at[*to])).collect();
    Layout { left: 0.0, width, height, at, ways }
}

/// From the lower edge of one to the upper edge of the other.
fn across(from: (f64, f64), to: (f64, f64)) -> String {
    let (y, end) = (from.1 + HEIGHT / 2.0, to.1 - HEIGHT / 2.0);
    let middle = f64::midpoint(y, end);
    let (x, x_end) = (from.0, to.0);
    format!("M{x:.1} {y:.1}C{x:.1} {middle:.1} {x_end:.1} {middle:.1} {x_end:.1} {end:.1}")
}

fn svg(
    page: &str,
    nodes: &[Node],
    arrows: &[Arrow],
    layout: &Layout,
    class: &str,
    least: f64,
    label: &str,
) -> Markup {
    // A small picture is not blown up: it stands in the middle.
    let width = layout.width.max(least);
    let left = layout.left + (layout.width - width) / 2.0;
    let view = format!("{left:.0} 0 {width:.0} {:.0}", layout.height);
    html! {
        svg class=(class) viewBox=(view) role="group" aria-label=(label) {
            @for (way, (from, to)) in layout.ways.iter().zip(arrows) {
                path class=(arrow_class(&nodes[*from], &nodes[*to])) d=(way) {}
            }
            @for (node, at) in nodes.iter().zip(&layout.at) { (picture(page, node, *at)) }
        }
    }
}

fn arrow_class(from: &Node, to: &Node) -> &'static str {
    match (from.look, to.look) {
        ("done", _) => "edge done",
        (_, "queued") => "edge next",
        _ => "edge",
    }
}

fn picture(page: &str, node: &Node, (x, y): (f64, f64)) -> Markup {
    let step = &node.step.step;
    let href = match node.view {
        Some(view) if steps::has_log(view) => format!("{page}?step={step}#log"),
        Some(_) | None => format!("#step-{step}"),
    };
    let place = format!("translate({:.1} {:.1})", x - node.width / 2.0, y - HEIGHT / 2.0);
    // What is in doubt waits for a person as well.
    let look = if node.look == "doubt" { "waiting" } else { node.look };
    html! {
        a href=(href) {
            g class=(format!("node {look}")) transform=(place) {
                title { (node.step.step) }
                rect width=(format!("{:.1}", node.width)) height=(HEIGHT) rx="6" {}
                g transform="translate(11 14)" { (mark(look)) }
                text x="29" y="23" { (node.label) }
                text.sub x="11" y="42" { (node.sub) }
                text.say { " " (node.say) }
            }
        }
    }
}

fn mark(look: &str) -> Markup {
    html! {
        @match look {
            "done" => { path.mark d="M0 5l4 4 6-8" {} }
            "failed" => { path.mark d="M1 1l8 8M9 1l-8 8" {} }
            "waiting" => { path.mark d="M5 0l5 5-5 5-5-5z" {} }
            "running" => { circle.mark cx="5" cy="5" r="4" {} }
            "skipped" => { path.mark d="M1 5h8" {} }
            _ => { circle.mark cx="5" cy="5" r="4" stroke-dasharray="2 2.4" {} }
        }
    }
}

#[cfg(test)]
mod tests;
