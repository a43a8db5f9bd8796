//! What was used: money and tokens, by day and by what they were used for.

mod chart;

use chrono::NaiveDate;
use maud::{Markup, html};
use vigie_core::{ledger::By, money::exact};

use crate::{
    frame::{Page, Tab},
    words::{money, said, tokens},
};

/// What the page is made of.
pub struct Ledger<'a> {
    pub show: &'a Show,
    /// Every day of the span, oldest first.
    pub days: &'a [Day],
    /// By what was asked for, dearest first.
    pub rows: &'a [Row],
    /// Kinds of work, compared; empty unless it is summed up by them.
    pub work: &'a [Compared],
    pub today: Amount,
    /// What a day may cost, in millionths of a dollar, where something says so.
    pub limit: Option<u64>,
}

/// Money in millionths of a dollar, and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub micro_usd: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Of these tokens, those whose price nobody knows: they are in no sum of money.
    pub unpriced: u64,
}

impl Amount {
    /// Tokens of every kind.
    pub fn tokens(self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }
}

/// What was used on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    pub date: NaiveDate,
    /// By project.
    pub parts: Vec<(String, Amount)>,
}

impl Day {
    fn all(&self) -> Amount {
        self.parts.iter().fold(Amount::default(), |sum, (_, amount)| sum.plus(*amount))
    }
}

/// What was used for one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    /// More about it: its title, its project.
    pub about: String,
    /// Where it is shown.
    pub href: Option<String>,
    pub amount: Amount,
}

/// What is shown, as it stands in the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Show {
    pub span: Span,
    pub by: By,
    /// First and last day of the span.
    pub since: NaiveDate,
    pub until: NaiveDate,
}

impl Show {
    /// The same for another grouping or span, after the `?` of an address.
    fn query(&self, span: Span, by: By) -> String {
        let by = by.as_str();
        match span {
            Span::Days(days) => format!("days={days}&by={by}"),
            Span::Between => format!("since={}&until={}&by={by}", self.since, self.until),
        }
    }
}

/// Which days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// So many, of which today is the last.
    Days(u32),
    /// From a day to a day.
    Between,
}

impl Span {
    /// Those that are offered.
    pub const DAYS: [u32; 5] = [1, 7, 14, 30, 90];
    /// What is shown when nobody says.
    pub const USUAL: Self = Self::Days(14);

    fn label(self) -> String {
        match self {
            Self::Days(1) => "Today".into(),
            Self::Days(days) => format!("{days} days"),
            Self::Between => "These days".into(),
        }
    }
}

/// As it is said above the list.
fn label(by: By) -> &'static str {
    match by {
        By::Day => "Day",
        By::Session => "Session",
        By::Story => "Story",
        By::Project => "Project",
        By::Run => "Run",
        By::Step => "Step",
        By::Model => "Model",
        By::Delegation => "Delegation",
        By::Tree => "Whole tree",
    }
}

/// In the order in which they are offered.
const GROUPINGS: [By; 9] = [
    By::Story,
    By::Session,
    By::Project,
    By::Run,
    By::Step,
    By::Delegation,
    By::Tree,
    By::Model,
    By::Day,
];

/// Pieces of work of one kind, by what each cost: a quarter below `low`, half below `median`, a quarter
/// above `high`, in millionths of a dollar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub what: String,
    pub count: u64,
    pub low: u64,
    pub median: u64,
    pub high: u64,
    /// Half of them took less, in milliseconds.
    pub millis: u64,
    /// Pieces that are left out, since a price is missing.
    pub unpriced: u64,
}

pub fn page(ledger: &Ledger) -> Page {
    let show = ledger.show;
    let exported = show.query(Span::Between, show.by);
    let all = ledger.days.iter().fold(Amount::default(), |sum, day| sum.plus(day.all()));
    let main = html! {
        div.head {
            h1 { "Ledger" }
            nav.chips aria-label="Days" {
                @for days in Span::DAYS {
                    @let span = Span::Days(days);
                    a.chip href=(format!("/ledger?{}", show.query(span, show.by))) aria-current=[(span == show.span).then_some("true")] { (span.label()) }
                }
            }
            div.end.under {
                a.btn href=(format!("/ledger.csv?{exported}")) download { "CSV" }
                a.btn href=(format!("/api/v1/usage?{exported}")) download="vigie-usage.json" { "JSON" }
            }
        }
        (days(show))
        (figures(ledger, all))
        @if all.unpriced > 0 { (unpriced(all)) }
        @if all == Amount::default() {
            div.panel.empty { p { b { "Nothing was used in these days." } } p.dim { "Counted is what agents and steps of workflows say they used." } }
        } @else {
            div.cols.even {
                section.band aria-labelledby="per-day" { h2 id="per-day" { (chart::title(ledger.days)) } (chart::per_day(ledger.days, ledger.limit)) }
                section.band aria-labelledby="kinds" { h2 id="kinds" { "Tokens" } (chart::kinds(all)) }
            }
        }
        (grouped(ledger))
    };
    Page { title: "Ledger".into(), tab: Tab::Ledger, main }
}

/// Days of one's own choice.
fn days(show: &Show) -> Markup {
    html! {
        form.head.filters method="get" action="/ledger" data-go {
            input type="hidden" name="by" value=(show.by.as_str());
            div.chips {
                label.field for="since" { "From" input.input id="since" type="date" name="since" value=(show.since) required; }
                label.field for="until" { "To" input.input id="until" type="date" name="until" value=(show.until) required; }
                noscript { button.btn { "Show" } }
            }
        }
    }
}

fn figures(ledger: &Ledger, all: Amount) -> Markup {
    let of_limit = ledger.limit.map(|limit| format!("of {}", exact(limit)));
    html! {
        dl.figures {
            div { dt { "Today" } dd { (money(ledger.today.micro_usd)) @if let Some(limit) = of_limit { " " small { (limit) } } } }
            @if ledger.show.span != Span::Days(1) {
                div { dt { (ledger.show.span.label()) } dd { (money(all.micro_usd)) } }
            }
            div { dt { "Tokens" } dd { (tokens(all.tokens())) " " small { (cached(all)) } } }
            @if all.unpriced > 0 {
                div id="unpriced" { dt { "Without a price" } dd { (tokens(all.unpriced)) " " small { "tokens, in no sum" } } }
            }
        }
    }
}

/// "88 % read from cache": of what went in.
fn cached(amount: Amount) -> String {
    let went_in = amount.input.saturating_add(amount.cache_read).saturating_add(amount.cache_write);
    match amount.cache_read.saturating_mul(100).checked_div(went_in) {
        Some(percent) if amount.cache_read > 0 => format!("{percent} % read from cache"),
        Some(_) | None => String::new(),
    }
}

fn unpriced(all: Amount) -> Markup {
    html! {
        p.small.dim {
            (tokens(all.unpriced)) " of " (tokens(all.tokens()))
            " tokens were used by models whose price Vigie does not know. They are counted as tokens and are in no sum of money, so what it really cost is more."
        }
    }
}

fn grouped(ledger: &Ledger) -> Markup {
    let show = ledger.show;
    html! {
        section.band id="grouped" aria-labelledby="by" {
            h2 id="by" { "By " (label(show.by).to_lowercase()) }
            nav.chips.head aria-label="By" {
                @for by in GROUPINGS {
                    a.chip href=(format!("/ledger?{}", show.query(show.span, by))) aria-current=[(by == show.by).then_some("true")] { (label(by)) }
                }
            }
            @if !ledger.work.is_empty() { (chart::compared(ledger.work)) }
            @if ledger.rows.is_empty() { div.panel.empty { p.dim { "Nothing to list." } } } @else { (table(ledger)) }
        }
    }
}

fn table(ledger: &Ledger) -> Markup {
    let by = label(ledger.show.by);
    html! {
        div.panel {
            table.fold role="table" aria-label=(format!("By {}", by.to_lowercase())) {
                thead role="rowgroup" { tr role="row" {
                    th role="columnheader" scope="col" { (by) }
                    @for name in ["Cost", "Tokens", "Input", "Output", "From cache", "Into cache", "No price"] { th.n role="columnheader" scope="col" { (name) } }
                } }
                tbody role="rowgroup" { @for row in ledger.rows { (line(row)) } }
            }
        }
    }
}

fn line(row: &Row) -> Markup {
    let Amount { micro_usd, input, output, cache_read, cache_write, unpriced } = row.amount;
    html! {
        tr role="row" {
            th role="rowheader" scope="row" {
                @match &row.href {
                    Some(href) => { a.key href=(href) { (said(&row.name)) } }
                    None => { span.key { (said(&row.name)) } }
                }
                @if !row.about.is_empty() { " " span.dim dir="auto" { (said(&row.about)) } }
            }
            td.n role="cell" { (money(micro_usd)) }
            td.n role="cell" data-l="Tokens" { (tokens(row.amount.tokens())) }
            td.n role="cell" data-l="Input" { (tokens(input)) }
            td.n role="cell" data-l="Output" { (tokens(output)) }
            td.n role="cell" data-l="From cache" { (tokens(cache_read)) }
            td.n role="cell" data-l="Into cache" { (tokens(cache_write)) }
            td.n role="cell" data-l=[(unpriced > 0).then_some("No price")] { @if unpriced > 0 { (tokens(unpriced)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(date: &str, parts: &[(&str, u64)]) -> Day {
        let amount = |micro_usd| Amount { micro_usd, input: 1_000, ..Amount::default() };
        let parts = parts.iter().map(|(name, micro)| ((*name).into(), amount(*micro))).collect();
        Day { date: date.parse().unwrap(), parts }
    }

    fn show(by: By) -> Show {
        let (since, until) = ("2026-11-29".parse().unwrap(), "2026-11-30".parse().unwrap());
        Show { span: Span::USUAL, by, since, until }
    }

    fn shown(days: &[Day], rows: &[Row], by: By) -> String {
        let ledger = Ledger {
            show: &show(by),
            days,
            rows,
            work: &[],
            today: Amount::default(),
            limit: Some(20_000_000),
        };
        page(&ledger).main.into_string()
    }

    #[test]
    fn a_row_leads_to_its_session_and_its_words_are_text() {
        let row = Row {
            name: "PD-285".into(),
            about: "<b>Retry\u{202e}".into(),
            href: Some("/sessions/ses_1".into()),
            amount: Amount {
                micro_usd: 7_020_000,
                input: 5,
                unpriced: 61_400,
                ..Amount::default()
            },
        };
        let shown = shown(&[day("2026-11-30", &[("quay", 7_020_000)])], &[row], By::Story);
        assert!(shown.contains("href=\"/sessions/ses_1\""), "{shown}");
        assert!(!shown.contains("<b>Retry") && !shown.contains('\u{202e}'), "{shown}");
        assert!(shown.contains("$7.02") && shown.contains("61 k"), "{shown}");
        assert!(shown.contains("/ledger.csv?since=2026-11-29&amp;until=2026-11-30&amp;by=story"));
    }

    #[test]
    fn tokens_without_a_price_are_said_and_stand_in_no_sum() {
        let mut days = [day("2026-11-30", &[("quay", 0)])];
        days[0].parts[0].1.unpriced = 1_000;
        let said = shown(&days, &[], By::Model);
        assert!(said.contains("whose price Vigie does not know"), "{said}");
        assert!(said.contains("Tokens per day"), "money that is not known is not drawn: {said}");
        days[0].parts[0].1.unpriced = 0;
        assert!(!shown(&days, &[], By::Model).contains("whose price"));
    }

    #[test]
    fn a_span_keeps_to_itself_while_the_grouping_changes() {
        let own = Show { span: Span::Between, ..show(By::Story) };
        assert_eq!(own.query(own.span, By::Model), "since=2026-11-29&until=2026-11-30&by=model");
        assert_eq!(own.query(Span::Days(7), By::Run), "days=7&by=run");
    }

    #[test]
    fn nothing_used_is_said_and_draws_no_chart() {
        let shown = shown(&[day("2026-11-30", &[])], &[], By::Story);
        assert!(shown.contains("Nothing was used in these days.") && !shown.contains("<rect"));
    }
}
