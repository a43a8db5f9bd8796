//! Figures, and how they are shown.

use serde::Serialize;

/// One measured figure, and what it is compared with.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// The plainer way and its value in the same unit.
    pub(crate) against: Option<Against>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Against {
    pub(crate) what: String,
    pub(crate) value: f64,
    /// `Figure::value` in these.
    pub(crate) ratio: f64,
}

impl Figure {
    pub(crate) fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, against: None }
    }

    pub(crate) fn against(mut self, what: impl Into<String>, value: f64) -> Self {
        self.against = Some(Against { what: what.into(), value, ratio: self.value / value });
        self
    }
}

/// The middle one and the one that one in a hundred passes. Sorts `samples`.
pub(crate) fn p50_p99(samples: &mut [f64]) -> (f64, f64) {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1);
    let at = |hundredth: usize| samples.get(last * hundredth / 100).copied().unwrap_or(f64::NAN);
    (at(50), at(99))
}

pub(crate) fn median(samples: &mut [f64]) -> f64 {
    p50_p99(samples).0
}

/// One line a figure.
pub(crate) fn words(figures: &[Figure]) -> String {
    let rows: Vec<[String; 4]> = figures.iter().map(row).collect();
    let heads = ["figure", "value", "against", "ratio"].map(String::from);
    let width = |column: usize| {
        let all = rows.iter().chain([&heads]).map(|row| row[column].chars().count());
        all.max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 4]| {
        let [what, value, against, ratio] = row;
        let [a, b, c, d] = widths;
        format!("| {what:a$} | {value:>b$} | {against:c$} | {ratio:>d$} |\n")
    };
    let rule = line(&widths.map(|width| "-".repeat(width)));
    let body: String = rows.iter().map(line).collect();
    format!("{}{rule}{body}", line(&heads))
}

fn row(figure: &Figure) -> [String; 4] {
    let value = format!("{} {}", short(figure.value), figure.unit);
    let (against, ratio) = figure.against.as_ref().map_or_else(Default::default, |against| {
        let Against { what, value, ratio } = against;
        (format!("{what}: {} {}", short(*value), figure.unit), short(*ratio))
    });
    [figure.what.clone(), value, against, ratio]
}

/// Three digits are all that such figures are good for.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
