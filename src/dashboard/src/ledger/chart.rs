//! Charts as SVG, coloured by the style sheet. Lengths are counted in tenths, so that nothing is rounded twice.

use maud::{Markup, html};
use vigie_core::money::exact;

use super::{Amount, Compared, Day};
use crate::{
    steps::took,
    words::{many, money, said, tokens},
};

/// What a chart measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Money,
    Tokens,
}

impl Unit {
    /// Money, unless nothing of it has a price.
    fn of(days: &[Day]) -> Self {
        if days.iter().any(|day| day.all().micro_usd > 0) { Self::Money } else { Self::Tokens }
    }

    fn size(self, amount: Amount) -> u64 {
        match self {
            Self::Money => amount.micro_usd,
            Self::Tokens => amount.tokens(),
        }
    }

    fn words(self, size: u64) -> String {
        match self {
            Self::Money => money(size),
            Self::Tokens => tokens(size),
        }
    }

    /// At the axis: whole dollars are whole.
    fn tick(self, size: u64) -> String {
        match self {
            Self::Money if size.is_multiple_of(1_000_000) => format!("${}", size / 1_000_000),
            Self::Money => exact(size),
            Self::Tokens => tokens(size),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Money => "Cost",
            Self::Tokens => "Tokens",
        }
    }

    /// What no step of an axis is smaller than: a cent, a hundred tokens.
    fn least(self) -> u64 {
        match self {
            Self::Money => 10_000,
            Self::Tokens => 100,
        }
    }
}

/// Drawn twice: for a desk and for a phone.
#[derive(Clone, Copy)]
struct Size {
    class: &'static str,
    width: u64,
    /// Days that bear a label each; of more every second, third, … does.
    labels: usize,
}

const SIZES: [Size; 2] = [
    Size { class: "chart wide-only", width: 576, labels: 16 },
    Size { class: "chart phone-only", width: 336, labels: 8 },
];

/// Steps of the upright axis.
const STEPS: u64 = 4;
/// Of the drawing: its height, where the ground and the top line are, where the bars begin.
const HEIGHT: u64 = 220;
const GROUND: u64 = 194;
const TOP: u64 = 12;
const LEFT: u64 = 40;

/// Colours there are; what is beyond goes under "others".
const PARTS: [&str; 3] = ["a", "b", "c"];

/// "Cost per day".
pub(super) fn title(days: &[Day]) -> &'static str {
    match Unit::of(days) {
        Unit::Money => "Cost per day",
        Unit::Tokens => "Tokens per day",
    }
}

pub(super) fn per_day(days: &[Day], limit: Option<u64>) -> Markup {
    let unit = Unit::of(days);
    let names = largest(days, unit);
    let limit = limit.filter(|_| unit == Unit::Money);
    let most = days.iter().map(|day| unit.size(day.all())).max().unwrap_or(0);
    // A limit far above everything would press the days to the ground.
    let drawn = limit.filter(|limit| *limit <= most.saturating_mul(3));
    let step = step(most.max(drawn.unwrap_or(0)), unit);
    let label = sentence(days, unit, limit);
    html! {
        figure.panel.chart-panel {
            @for size in SIZES { (bars(days, &names, unit, step, drawn, size, &label)) }
            figcaption.legend {
                @for (name, class) in names.iter().zip(PARTS).filter(|(name, _)| !name.is_empty()) {
                    span { svg viewBox="0 0 10 10" aria-hidden="true" { rect class=(class) width="10" height="10" {} } (said(name)) }
                }
                @if drawn.is_some() { span { "The dashed line is the day’s limit" } }
            }
            details { summary { "As a table" } (table(days, &names, unit)) }
        }
    }
}

/// Those that are drawn apart, the largest first; the last one may be all others.
fn largest(days: &[Day], unit: Unit) -> Vec<String> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for (name, amount) in days.iter().flat_map(|day| &day.parts) {
        let size = unit.size(*amount);
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(size),
            None => sums.push((name.clone(), size)),
        }
    }
    sums.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let mut names: Vec<_> = sums.into_iter().map(|(name, _)| name).collect();
    if names.len() > PARTS.len() {
        names.truncate(PARTS.len() - 1);
        names.push("others".into());
    }
    names
}

/// A day's sizes in the order of `names`; what has no name of its own is in the last.
fn sizes(day: &Day, names: &[String], unit: Unit) -> Vec<u64> {
    let mut sizes = vec![0_u64; names.len()];
    for (name, amount) in &day.parts {
        let at = names.iter().position(|known| known == name).or(names.len().checked_sub(1));
        if let Some(size) = at.and_then(|at| sizes.get_mut(at)) {
            *size = size.saturating_add(unit.size(*amount));
        }
    }
    sizes
}

/// The smallest of 1, 2, 5, 10, … whose fourfold holds `most`.
fn step(most: u64, unit: Unit) -> u64 {
    let mut power = unit.least();
    loop {
        for step in [power, power.saturating_mul(2), power.saturating_mul(5)] {
            if step.saturating_mul(STEPS) >= most {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Tenths as they stand in SVG.
fn tenths(length: u64) -> String {
    format!("{}.{}", length / 10, length % 10)
}

/// How high something is, in tenths; what is something is seen.
fn high(size: u64, top: u64) -> u64 {
    if size == 0 {
        return 0;
    }
    let room = u128::from((GROUND - TOP) * 10);
    let high = u128::from(size) * room / u128::from(top.max(1));
    u64::try_from(high).unwrap_or(u64::MAX).max(5)
}

fn bars(
    days: &[Day],
    names: &[String],
    unit: Unit,
    step: u64,
    limit: Option<u64>,
    size: Size,
    label: &str,
) -> Markup {
    let top = step.saturating_mul(STEPS);
    let slot = (size.width - LEFT) * 10 / u64::try_from(days.len().max(1)).unwrap_or(1);
    let every = days.len().div_ceil(size.labels).max(1);
    let mut x = LEFT * 10;
    let mut at = |index: usize| {
        let now = x;
        x += slot;
        // The last day has its label: it is the one that people look for.
        (now, (days.len() - 1 - index).is_multiple_of(every))
    };
    html! {
        svg class=(size.class) viewBox=(format!("0 0 {} {HEIGHT}", size.width)) role="img" aria-label=(label) {
            @for mark in 0..=STEPS {
                @let y = GROUND - (GROUND - TOP) * mark / STEPS;
                line.rule x1=(LEFT - 6) x2=(size.width) y1=(y) y2=(y) {}
                text x=(LEFT - 10) y=(y + 4) text-anchor="end" { (unit.tick(step.saturating_mul(mark))) }
            }
            @if let Some(limit) = limit {
                @let y = tenths((GROUND * 10).saturating_sub(high(limit, top)));
                line.cap x1=(LEFT - 6) x2=(size.width) y1=(y) y2=(y) {}
            }
            @for (index, day) in days.iter().enumerate() {
                @let (x, labelled) = at(index);
                (bar(&sizes(day, names, unit), top, x + slot / 8, slot - slot / 4))
                @if labelled {
                    text x=(tenths(x + slot / 2)) y="212" text-anchor="middle" { (day.date.format("%-d")) }
                }
            }
        }
    }
}

/// One day: its parts on top of each other.
fn bar(sizes: &[u64], top: u64, x: u64, width: u64) -> Markup {
    let mut y = GROUND * 10 - 10;
    let mut parts = Vec::new();
    for (size, class) in sizes.iter().zip(PARTS) {
        let high = high(*size, top).min(y.saturating_sub(TOP * 10));
        if high > 0 {
            y -= high;
            parts.push((class, y, high));
        }
    }
    html! {
        @for (class, y, high) in parts {
            rect class=(class) x=(tenths(x)) y=(tenths(y)) width=(tenths(width)) height=(tenths(high)) {}
        }
    }
}

fn sentence(days: &[Day], unit: Unit, limit: Option<u64>) -> String {
    let size = |day: &Day| unit.size(day.all());
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return String::new() };
    let highest = days.iter().max_by_key(|day| size(day)).unwrap_or(last);
    let what = title(days);
    let limit = limit.map(|limit| format!(" The limit is {} a day.", exact(limit)));
    format!(
        "{what}, {} to {}: highest {} on {}, last day {}.{}",
        first.date,
        last.date,
        unit.words(size(highest)),
        highest.date,
        unit.words(size(last)),
        limit.unwrap_or_default()
    )
}

fn table(days: &[Day], names: &[String], unit: Unit) -> Markup {
    html! {
        div.scroll-x tabindex="0" role="region" aria-label=(format!("{}, table", title(days))) {
            table {
                thead { tr { th scope="col" { "Day" } @for name in names { th.n scope="col" { @if name.is_empty() { (unit.name()) } @else { (said(name)) } } } } }
                tbody {
                    @for day in days {
                        tr { th scope="row" { (day.date) } @for size in sizes(day, names, unit) { td.n { (unit.words(size)) } } }
                    }
                }
            }
        }
    }
}

/// Tokens by what kind they are.
pub(super) fn kinds(all: Amount) -> Markup {
    let rows = [
        ("From cache", all.cache_read),
        ("Into cache", all.cache_write),
        ("Input", all.input),
        ("Output", all.output),
    ];
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let spoken = rows.map(|(name, count)| format!("{} {}", name.to_lowercase(), tokens(count)));
    let label = format!("Tokens: {}.", spoken.join(", "));
    html! {
        figure.panel.chart-panel {
            @for size in SIZES {
                @let room = u128::from((size.width - 84 - 54) * 10);
                svg class=(size.class) viewBox=(format!("0 0 {} 108", size.width)) role="img" aria-label=(label) {
                    @for ((name, count), y) in rows.iter().zip([2_u64, 30, 58, 86]) {
                        @let long = u64::try_from(u128::from(*count) * room / u128::from(most)).unwrap_or(0).max(10);
                        text x="74" y=(y + 14) text-anchor="end" { (name) }
                        rect.a x="84" y=(y) width=(tenths(long)) height="18" {}
                        text.val x=(tenths(840 + long + 80)) y=(y + 14) { (tokens(*count)) }
                    }
                }
            }
        }
    }
}

/// Kinds of work: for each a box from the first to the third quarter of what a piece cost, its middle
/// marked.
pub(super) fn compared(work: &[Compared]) -> Markup {
    let top = work.iter().map(|each| each.high).max().unwrap_or(0).max(1);
    let spoken = |each: &Compared| {
        let left_out = if each.unpriced > 0 {
            format!(", {} without a price left out", each.unpriced)
        } else {
            String::new()
        };
        format!(
            "{}: {}, half of them under {}{left_out}",
            each.what,
            pieces(each),
            money(each.median)
        )
    };
    let label = format!(
        "What a piece of work cost. {}.",
        work.iter().map(spoken).collect::<Vec<_>>().join("; ")
    );
    let height = work.len() * 34;
    html! {
        figure.panel.chart-panel {
            @for size in SIZES {
                @let room = u128::from((size.width - 20) * 10);
                @let at = |money: u64| 100 + u64::try_from(u128::from(money) * room / u128::from(top)).unwrap_or(0);
                svg class=(size.class) viewBox=(format!("0 0 {} {height}", size.width)) role="img" aria-label=(label) {
                    @for (number, each) in work.iter().enumerate() {
                        @let y = number * 34;
                        text x="10" y=(y + 11) { (said(&each.what)) ", " (pieces(each)) }
                        rect.soft x=(tenths(at(each.low))) y=(y + 16) width=(tenths((at(each.high) - at(each.low)).max(10))) height="14" {}
                        line.mid x1=(tenths(at(each.median))) x2=(tenths(at(each.median))) y1=(y + 16) y2=(y + 30) {}
                    }
                }
            }
            div.scroll-x tabindex="0" role="region" aria-label="Kinds of work, table" {
                table {
                    thead { tr {
                        th scope="col" { "Work" }
                        @for name in ["Pieces", "A quarter under", "Half under", "A quarter over", "Half took under"] { th.n scope="col" { (name) } }
                    } }
                    tbody { @for each in work { tr {
                        th scope="row" { (said(&each.what)) }
                        td.n { (each.count) }
                        td.n { (money(each.low)) } td.n { (money(each.median)) } td.n { (money(each.high)) }
                        td.n { (took(i64::try_from(each.millis).unwrap_or(i64::MAX))) }
                    } } }
                }
            }
            @if work.iter().any(|each| each.unpriced > 0) {
                figcaption.small.dim { "Pieces with an answer whose price is not known are left out of the money." }
            }
        }
    }
}

fn pieces(each: &Compared) -> String {
    many(usize::try_from(each.count).unwrap_or(usize::MAX), "piece", "pieces")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(date: &str, parts: &[(&str, u64)]) -> Day {
        let amount = |micro_usd| Amount { micro_usd, ..Amount::default() };
        let parts = parts.iter().map(|(name, micro)| ((*name).into(), amount(*micro))).collect();
        Day { date: date.parse().unwrap(), parts }
    }

    #[test]
    fn an_axis_ends_above_the_highest_day_and_not_far() {
        for (most, expected) in
            [(0, 10_000), (40_000, 10_000), (40_001, 20_000), (18_300_000, 5_000_000)]
        {
            assert_eq!(step(most, Unit::Money), expected, "{most}");
        }
        assert!(step(u64::MAX / 8, Unit::Tokens).saturating_mul(4) >= u64::MAX / 8);
        assert_eq!(Unit::Money.tick(5_000_000), "$5");
        assert_eq!(Unit::Money.tick(50_000), "$0.05");
    }

    #[test]
    fn what_has_no_colour_of_its_own_is_drawn_with_the_others() {
        let days = [
            day("2026-11-29", &[("quay", 40), ("docs", 1), ("tidebook", 2)]),
            day("2026-11-30", &[("deckhand", 30), ("quay", 5), ("docs", 4)]),
        ];
        let names = largest(&days, Unit::Money);
        assert_eq!(names, ["quay", "deckhand", "others"]);
        assert_eq!(sizes(&days[0], &names, Unit::Money), [40, 0, 3]);
        assert_eq!(sizes(&days[1], &names, Unit::Money), [5, 30, 4]);
    }

    #[test]
    fn a_chart_says_in_words_what_it_draws_and_stays_inside() {
        let mut days: Vec<_> =
            (1..=30).map(|n| day(&format!("2026-11-{n:02}"), &[("quay", n * 100_000)])).collect();
        days[9].parts[0].1.micro_usd = 18_300_000;
        let drawn = per_day(&days, Some(20_000_000)).into_string();
        let label = "Cost per day, 2026-11-01 to 2026-11-30: highest $18.30 on 2026-11-10, last day $3.00. The limit is $20.00 a day.";
        assert!(drawn.contains(label), "{drawn}");
        assert_eq!(drawn.matches("class=\"cap\"").count(), 2, "one a drawing");
        for y in drawn.split(" y=\"").skip(1) {
            let y: f64 = y.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=220.0).contains(&y), "{y}");
        }
        let wide = drawn.split("</svg>").next().unwrap();
        assert_eq!(wide.matches("y=\"212\"").count(), 15, "every second day bears its number");
        assert!(wide.contains(">30</text>"), "the last day does");
    }

    #[test]
    fn kinds_of_work_stand_beside_each_other_with_their_middle() {
        let kind = |what: &str, median: u64| Compared {
            what: what.into(),
            count: 31,
            low: median / 2,
            median,
            high: median * 2,
            millis: 61_000,
            unpriced: 1,
        };
        let drawn = compared(&[kind("turns <inline>", 840_000), kind("subagents", 1_920_000)]);
        let drawn = drawn.into_string();
        assert!(
            drawn.contains("turns &lt;inline&gt;: 31 pieces, half of them under $0.84, 1 without"),
            "{drawn}"
        );
        assert_eq!(drawn.matches("class=\"soft\"").count(), 4);
        assert!(drawn.contains("1 min 01 s") && drawn.contains("left out of the money"), "{drawn}");
    }

    #[test]
    fn a_limit_far_above_is_said_and_not_drawn() {
        let drawn =
            per_day(&[day("2026-11-30", &[("quay", 1_000_000)])], Some(20_000_000)).into_string();
        assert!(drawn.contains("The limit is $20.00 a day.") && !drawn.contains("class=\"cap\""));
    }
}
