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
    /// What we want it to stay under: the ratio where there is one, else the value.
    pub(crate) at_most: Option<f64>,
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
        Self { what: what.into(), value, unit, against: None, at_most: None }
    }

    pub(crate) fn against(mut self, what: impl Into<String>, value: f64) -> Self {
        self.against = Some(Against { what: what.into(), value, ratio: self.value / value });
        self
    }

    pub(crate) fn at_most(mut self, limit: f64) -> Self {
        self.at_most = Some(limit);
        self
    }

    fn is_missed(&self) -> bool {
        let compared = self.against.as_ref().map_or(self.value, |against| against.ratio);
        self.at_most.is_some_and(|limit| compared.is_nan() || compared > limit)
    }
}

/// The one that so many in a hundred do not pass. Sorts `samples`.
pub(crate) fn percentile(samples: &mut [f64], hundredth: usize) -> f64 {
    samples.sort_by(f64::total_cmp);
    let rank = (samples.len() * hundredth).div_ceil(100);
    samples.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

pub(crate) fn p50_p99(samples: &mut [f64]) -> (f64, f64) {
    (percentile(samples, 50), percentile(samples, 99))
}

/// Two rows: the middle one, and the one that one in twenty passes.
pub(crate) fn p50_p95(what: &str, samples: &mut [f64], at_most: [f64; 2]) -> [Figure; 2] {
    let n = samples.len();
    [(50, at_most[0]), (95, at_most[1])].map(|(hundredth, limit)| {
        let value = percentile(samples, hundredth);
        Figure::new(format!("{what}, p{hundredth} of {n}"), value, "ms").at_most(limit)
    })
}

/// The same beside a plainer way, with the ratio that is aimed at, if one is.
pub(crate) fn p50_p95_against(
    what: &str,
    samples: &mut [f64],
    plainer: &str,
    plain: &mut [f64],
    ratio: Option<f64>,
) -> [Figure; 2] {
    let n = samples.len();
    [50, 95].map(|hundredth| {
        let value = percentile(samples, hundredth);
        let figure = Figure::new(format!("{what}, p{hundredth} of {n}"), value, "ms")
            .against(plainer, percentile(plain, hundredth));
        Figure { at_most: ratio, ..figure }
    })
}

pub(crate) fn median(samples: &mut [f64]) -> f64 {
    percentile(samples, 50)
}

/// One line a figure.
pub(crate) fn words(figures: &[Figure]) -> String {
    let rows: Vec<[String; 5]> = figures.iter().map(row).collect();
    let heads = ["figure", "value", "against", "ratio", "at most"].map(String::from);
    let width = |column: usize| {
        let all = rows.iter().chain([&heads]).map(|row| row[column].chars().count());
        all.max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3, 4].map(width);
    let line = |row: &[String; 5]| {
        let [what, value, against, ratio, most] = row;
        let [first, second, third, fourth, fifth] = widths;
        format!(
            "| {what:first$} | {value:>second$} | {against:third$} | {ratio:>fourth$} | {most:>fifth$} |\n"
        )
    };
    let rule = line(&widths.map(|width| "-".repeat(width)));
    let body: String = rows.iter().map(line).collect();
    format!("{}{rule}{body}", line(&heads))
}

fn row(figure: &Figure) -> [String; 5] {
    let value = format!("{} {}", short(figure.value), figure.unit);
    let (against, ratio) = figure.against.as_ref().map_or_else(Default::default, |against| {
        let Against { what, value, ratio } = against;
        (format!("{what}: {} {}", short(*value), figure.unit), short(*ratio))
    });
    let missed = if figure.is_missed() { "missed: " } else { "" };
    let most = figure.at_most.map(|limit| format!("{missed}{}", short(limit)));
    [figure.what.clone(), value, against, ratio, most.unwrap_or_default()]
}

/// Three digits are all that such figures are good for.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
