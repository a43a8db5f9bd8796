//! The graph of a run: where its steps stand, drawn as SVG. A library lays it out; where it cannot, the
//! steps stand in rows of what may run at the same time. Many steps with the same neighbours stand in one
//! frame; what is still wider than its place is moved sideways there.

use dagre::{
    EdgeLabel, LayoutOptions, NodeLabel, Point,
    graph::{Graph, GraphOptions},
};
use maud::{Markup, html};
use std::{
    collections::{BTreeMap, BTreeSet},
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

/// So many steps with the same neighbours stand in one frame.
const FRAMED: usize = 4;
/// Between a frame and what stands in it.
const PADDING: f64 = 8.0;

/// Letters of a name, and of the line under it, that fit into the widest; a letter of the widest of
/// `--sans` in look.css, in pixels.
const LETTERS: usize = 20;
const LETTER: f64 = 8.7;
const SUB_LETTERS: usize = 29;
const SUB_LETTER: f64 = 6.6;

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

/// What the layout takes as one: a step, or several that need the same and that the same ones need.
struct Block {
    steps: Vec<usize>,
    columns: usize,
    width: f64,
    height: f64,
}

/// Where everything stands: middles of the blocks, and the way of each arrow.
struct Layout {
    /// Where the leftmost of it lies.
    left: f64,
    width: f64,
    height: f64,
    at: Vec<(f64, f64)>,
    ways: Vec<String>,
}

/// From one step or block to another, by their places.
type Arrow = (usize, usize);

/// The graph, and whether it is to have the whole width of a page.
pub struct Drawing {
    pub picture: Markup,
    pub wide: bool,
}

/// `page` is the address of the run. A sentence where there are no steps.
pub fn draw(page: &str, graph: &[GraphStep], steps: &[StepView], now: Timestamp) -> Drawing {
    if graph.is_empty() {
        let picture = html! { p.dim.small { "No steps are known yet." } };
        return Drawing { picture, wide: false };
    }
    let by_name: BTreeMap<_, _> = steps.iter().map(|step| (step.step.as_str(), step)).collect();
    let nodes: Vec<_> = graph.iter().map(|step| node(step, &by_name, steps, now)).collect();
    let picture = Picture { page, label: sentence(&nodes), arrows: arrows(graph), nodes };
    let narrow = picture.laid_out(NARROW);
    if narrow.width() <= STILL_NARROW && !narrow.has_frames() {
        return Drawing { picture: picture.svg(&narrow, "graph", NARROW), wide: false };
    }
    let picture = if narrow.has_frames() {
        let wide = picture.laid_out(WIDE);
        html! {
            div.narrow-graph { (picture.fitted(&narrow, STILL_NARROW)) }
            div.wide-graph { (picture.fitted(&wide, WIDE)) }
        }
    } else {
        picture.fitted(&narrow, STILL_NARROW)
    };
    Drawing { picture, wide: true }
}

/// All that is drawn, wherever it will stand.
struct Picture<'a> {
    page: &'a str,
    label: String,
    nodes: Vec<Node<'a>>,
    arrows: Vec<Arrow>,
}

/// It, in its place.
struct Placed {
    blocks: Vec<Block>,
    arrows: Vec<Arrow>,
    layout: Layout,
}

impl Placed {
    fn width(&self) -> f64 {
        self.layout.width
    }

    fn has_frames(&self) -> bool {
        self.blocks.iter().any(|block| block.steps.len() > 1)
    }
}

impl Picture<'_> {
    /// With frames that are at most so wide.
    fn laid_out(&self, most: f64) -> Placed {
        let (blocks, arrows) = blocks(&self.nodes, &self.arrows, most - 2.0 * MARGIN);
        let layout = with_library(&blocks, &arrows).unwrap_or_else(|| in_rows(&blocks, &arrows));
        Placed { blocks, arrows, layout }
    }

    /// As wide as its place where it is about so wide, and to be moved sideways where it is wider.
    fn fitted(&self, placed: &Placed, place: f64) -> Markup {
        if placed.width() <= place {
            return self.svg(placed, "graph", placed.width());
        }
        html! {
            div.scroll-x tabindex="0" role="region" aria-label="Graph" { (self.svg(placed, "graph broad", 0.0)) }
        }
    }
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
    let width = (36.0 + LETTER * letters(&label)).max(22.0 + SUB_LETTER * letters(&sub));
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

/// Steps with the same neighbours as one block each, and the arrows between blocks; a frame is at most so wide.
fn blocks(nodes: &[Node], arrows: &[Arrow], most: f64) -> (Vec<Block>, Vec<Arrow>) {
    let mut neighbours = vec![(BTreeSet::new(), BTreeSet::new()); nodes.len()];
    for (from, to) in arrows {
        neighbours[*to].0.insert(*from);
        neighbours[*from].1.insert(*to);
    }
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (place, key) in neighbours.iter().enumerate() {
        alike.entry(key).or_default().push(place);
    }
    let mut taken: Vec<Vec<usize>> = Vec::new();
    for steps in alike.into_values() {
        if steps.len() >= FRAMED {
            taken.push(steps);
        } else {
            taken.extend(steps.into_iter().map(|step| vec![step]));
        }
    }
    taken.sort_unstable(); // as the steps are written
    let mut block_of = vec![0; nodes.len()];
    for (place, steps) in taken.iter().enumerate() {
        for step in steps {
            block_of[*step] = place;
        }
    }
    let between = arrows.iter().map(|(from, to)| (block_of[*from], block_of[*to]));
    let between: BTreeSet<_> = between.collect();
    let blocks = taken.into_iter().map(|steps| block(steps, nodes, most)).collect();
    (blocks, between.into_iter().collect())
}

fn block(steps: Vec<usize>, nodes: &[Node], most: f64) -> Block {
    let cell = cell(&steps, nodes);
    if steps.len() == 1 {
        return Block { steps, columns: 1, width: cell, height: HEIGHT };
    }
    let fits = |columns: &usize| row_width(*columns, cell) + 2.0 * PADDING <= most;
    let columns = (1..=steps.len()).rev().find(fits).unwrap_or(1);
    let rows = number(steps.len().div_ceil(columns));
    let width = row_width(columns, cell) + 2.0 * PADDING;
    let height = rows * (HEIGHT + GAP) - GAP + 2.0 * PADDING;
    Block { steps, columns, width, height }
}

/// How wide the widest of them is.
fn cell(steps: &[usize], nodes: &[Node]) -> f64 {
    steps.iter().map(|step| nodes[*step].width).fold(0.0, f64::max)
}

fn row_width(columns: usize, cell: f64) -> f64 {
    number(columns) * (cell + GAP) - GAP
}

/// `None`: there is too much of it, or the library cannot.
fn with_library(blocks: &[Block], arrows: &[Arrow]) -> Option<Layout> {
    if blocks.len() > MOST_STEPS || arrows.len() > MOST_ARROWS {
        return None;
    }
    // A picture that cannot be drawn so is drawn in rows; the page is there in any case.
    catch_unwind(AssertUnwindSafe(|| laid_out(blocks, arrows))).ok().flatten()
}

fn laid_out(blocks: &[Block], arrows: &[Arrow]) -> Option<Layout> {
    let options = GraphOptions { directed: true, multigraph: false, compound: false };
    let mut graph = Graph::with_options(options);
    for (place, block) in blocks.iter().enumerate() {
        let label = NodeLabel { width: block.width, height: block.height, ..NodeLabel::default() };
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
    let mut at = Vec::with_capacity(blocks.len());
    let (mut left, mut right, mut height) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (place, block) in blocks.iter().enumerate() {
        let label = graph.node(&place.to_string())?;
        let (x, y) = (label.x?, label.y?);
        if !x.is_finite() || !y.is_finite() {
            return None;
        }
        right = right.max(x + block.width / 2.0 + MARGIN);
        height = height.max(y + block.height / 2.0 + MARGIN);
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

/// Rows of what may run at the same time.
fn in_rows(blocks: &[Block], arrows: &[Arrow]) -> Layout {
    let levels = levels_of(blocks.len(), arrows);
    let deepest = levels.iter().copied().max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); deepest + 1];
    for (place, level) in levels.into_iter().enumerate() {
        rows[level].push(place);
    }
    let row_width = |row: &Vec<usize>| {
        let all: f64 = row.iter().map(|place| blocks[*place].width + GAP).sum();
        all - GAP + 2.0 * MARGIN
    };
    let width = rows.iter().map(row_width).fold(0.0, f64::max);
    let mut at = vec![(0.0, 0.0); blocks.len()];
    let mut top = MARGIN;
    for row in &rows {
        let height = row.iter().map(|place| blocks[*place].height).fold(0.0, f64::max);
        let mut x = (width - row_width(row)) / 2.0 + MARGIN;
        for place in row {
            at[*place] = (x + blocks[*place].width / 2.0, top + height / 2.0);
            x += blocks[*place].width + GAP;
        }
        top += height + BETWEEN_ROWS;
    }
    let edge = |place: usize, side: f64| {
        let (x, y) = at[place];
        (x, y + side * blocks[place].height / 2.0)
    };
    let ways = arrows.iter().map(|(from, to)| across(edge(*from, 1.0), edge(*to, -1.0)));
    let ways = ways.collect();
    Layout { left: 0.0, width, height: top - BETWEEN_ROWS + MARGIN, at, ways }
}

/// From the lower edge of one to the upper edge of the other.
fn across((x, y): (f64, f64), (x_end, end): (f64, f64)) -> String {
    let middle = f64::midpoint(y, end);
    format!("M{x:.1} {y:.1}C{x:.1} {middle:.1} {x_end:.1} {middle:.1} {x_end:.1} {end:.1}")
}

impl Picture<'_> {
    /// A picture that is narrower than `least` is not blown up: it stands in the middle.
    fn svg(&self, placed: &Placed, class: &str, least: f64) -> Markup {
        let Placed { blocks, arrows, layout } = placed;
        let width = layout.width.max(least);
        let left = layout.left + (layout.width - width) / 2.0;
        let view = format!("{left:.0} 0 {width:.0} {:.0}", layout.height);
        let (width, height) = (format!("{width:.0}"), format!("{:.0}", layout.height));
        html! {
            svg class=(class) viewBox=(view) width=(width) height=(height) role="group" aria-label=(self.label) {
                @for (way, (from, to)) in layout.ways.iter().zip(arrows) {
                    path class=(self.arrow_class(&blocks[*from], &blocks[*to])) d=(way) {}
                }
                @for (block, at) in blocks.iter().zip(&layout.at) { (self.block(block, *at)) }
            }
        }
    }

    fn block(&self, block: &Block, (x, y): (f64, f64)) -> Markup {
        if let [only] = block.steps.as_slice() {
            return picture(self.page, &self.nodes[*only], (x, y));
        }
        let cell = cell(&block.steps, &self.nodes);
        let (left, top) = (x - block.width / 2.0, y - block.height / 2.0);
        let place = |number_of_step: usize| {
            let column = number(number_of_step % block.columns);
            let row = number(number_of_step / block.columns);
            let x = left + PADDING + column * (cell + GAP) + cell / 2.0;
            (x, top + PADDING + row * (HEIGHT + GAP) + HEIGHT / 2.0)
        };
        html! {
            rect.frame x=(format!("{left:.1}")) y=(format!("{top:.1}"))
                width=(format!("{:.1}", block.width)) height=(format!("{:.1}", block.height)) rx="10" {}
            @for (at, step) in block.steps.iter().enumerate() {
                (picture(self.page, &self.nodes[*step], place(at)))
            }
        }
    }

    fn arrow_class(&self, from: &Block, to: &Block) -> &'static str {
        let all = |block: &Block, look: &str| {
            block.steps.iter().all(|step| self.nodes[*step].look == look)
        };
        match (all(from, "done"), all(to, "queued")) {
            (true, _) => "edge done",
            (false, true) => "edge next",
            (false, false) => "edge",
        }
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
