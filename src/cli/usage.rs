//! `vigie usage` and `vigie budget`: what was spent, and what may be.

use std::fmt::Write as _;

use super::{
    Desk,
    args::{Budget, Usage, UsageWhat},
    failure::Failure,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::{
    config::{PRICES_AS_OF, PRICES_FILE, PriceList},
    web::{
        client::{ClientError, segment},
        csv::cell,
        shapes::{
            DelegationShape, Done, PriceShape, PricesShape, SetBudget, SpreadShape, UsageLine,
            UsageShape,
        },
    },
};
use vigie_core::money;

pub(super) async fn run(args: Usage, desk: &Desk) -> Result<(), Failure> {
    if let Some(UsageWhat::Prices) = args.what {
        return prices(desk).await;
    }
    let span = span(&args);
    if args.delegations {
        let rows: Vec<DelegationShape> =
            desk.client.get(&format!("/usage/delegations?{span}")).await?;
        return desk.out.show(&rows, delegation_words);
    }
    let shape: UsageShape =
        desk.client.get(&format!("/usage?by={}&{span}", segment(&args.by))).await?;
    if args.csv {
        return desk.out.print(&csv(&shape));
    }
    desk.out.show(&shape, words)
}

fn span(args: &Usage) -> String {
    let part = |key: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!("{key}={}", segment(value)))
    };
    let parts = [part("since", &args.since), part("until", &args.until)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("&")
}

pub(super) async fn budget(args: Budget, desk: &Desk) -> Result<(), Failure> {
    let done: Done = match (args.name, args.amount) {
        (Some(name), Some(budget)) => {
            desk.client.post("/budget", &SetBudget { name, budget }).await?
        }
        (Some(name), None) => desk.client.get(&format!("/budget?name={}", segment(&name))).await?,
        (None, _) => desk.client.get("/budget").await?,
    };
    desk.out.show(&done, |_, done| plain::lines(&done.words))
}

fn words(out: &Out, shape: &UsageShape) -> String {
    if shape.rows.is_empty() {
        return "No answer of a model was counted in that time.".into();
    }
    let head = [shape.by.as_str(), "money", "in", "out", "cache read", "cache write", "answers"];
    let mut rows = vec![head.iter().map(|word| Cell::inked(out, Ink::Dim, *word)).collect()];
    rows.extend(shape.rows.iter().map(|line| cells(line, Cell::plain(name(line)))));
    if shape.rows.len() > 1 {
        rows.push(cells(&shape.total, Cell::inked(out, Ink::Bold, "total")));
    }
    let mut text = table(&rows);
    for model in &shape.unpriced {
        let words = format!(
            "no price for model {}: {} tokens unpriced",
            plain::line(&model.model),
            count(model.tokens)
        );
        let _ = write!(text, "\n{}", out.ink(Ink::Wait, &words));
    }
    if !shape.unpriced.is_empty() {
        text.push_str("\nA price goes into prices.toml beside the configuration; `vigie usage prices` shows where.");
    }
    text
}

fn name(line: &UsageLine) -> String {
    if line.label.is_empty() { "(none)".into() } else { plain::line(&line.label) }
}

fn cells(line: &UsageLine, first: Cell) -> Vec<Cell> {
    let write = line.cache_write_5m.saturating_add(line.cache_write_1h);
    let numbers = [line.input, line.output, line.cache_read, write, line.messages];
    let spent = if line.unpriced_tokens > 0 {
        format!("{} + ?", money::spent(line.micro_usd))
    } else {
        money::spent(line.micro_usd)
    };
    [first, Cell::plain(spent)]
        .into_iter()
        .chain(numbers.map(|number| Cell::plain(count(number))))
        .collect()
}

/// As RFC 4180 has it; what a spreadsheet would compute is kept from it.
fn csv(shape: &UsageShape) -> String {
    let mut text = format!(
        "key,{},input,output,cache_read,cache_write_5m,cache_write_1h,micro_usd,unpriced_tokens,answers\r\n",
        shape.by
    );
    for line in &shape.rows {
        let _ = write!(
            text,
            "{},{},{},{},{},{},{},{},{},{}\r\n",
            cell(&line.key),
            cell(&line.label),
            line.input,
            line.output,
            line.cache_read,
            line.cache_write_5m,
            line.cache_write_1h,
            line.micro_usd,
            line.unpriced_tokens,
            line.messages
        );
    }
    text
}

fn delegation_words(out: &Out, rows: &Vec<DelegationShape>) -> String {
    if rows.is_empty() {
        return "No work was counted in that time.".into();
    }
    let head = ["work", "n", "money", "tokens", "took"];
    let mut lines = vec![head.iter().map(|word| Cell::inked(out, Ink::Dim, *word)).collect()];
    for row in rows {
        lines.push(vec![
            Cell::plain(row.words.as_str()),
            Cell::plain(count(row.count)),
            Cell::plain(spread(&row.micro_usd, money::spent)),
            Cell::plain(spread(&row.tokens, count)),
            Cell::plain(spread(&row.millis, took)),
        ]);
    }
    let mut text = table(&lines);
    text.push_str("\nMedians, and between which numbers the middle half lies.");
    for row in rows.iter().filter(|row| row.unpriced > 0) {
        let _ = write!(text, "\n{}: {} with a model that has no price.", row.words, row.unpriced);
    }
    text
}

fn spread(spread: &SpreadShape, shown: impl Fn(u64) -> String) -> String {
    format!("{} ({} to {})", shown(spread.median), shown(spread.low), shown(spread.high))
}

fn took(millis: u64) -> String {
    let seconds = millis.div_ceil(1000);
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

/// What holds here, whether Vigie runs or not: what runs reads the file when it changes.
/// Those that count: of the Vigie that runs, which may have another configuration than this command.
async fn prices(desk: &Desk) -> Result<(), Failure> {
    let (shape, own) = match desk.client.get::<PricesShape>("/usage/prices").await {
        Ok(shape) => {
            (shape, format!("{PRICES_FILE} beside the configuration that Vigie runs with"))
        }
        Err(ClientError::NotRunning) => (prices_here(desk)?, {
            desk.around.config.with_file_name(PRICES_FILE).display().to_string()
        }),
        Err(error) => return Err(error.into()),
    };
    desk.out.show(&shape, |out, shape| {
        let mut text = price_words(out, shape);
        let shipped = format!("list prices of {PRICES_AS_OF} that ship with Vigie");
        if let Some(file) = &shape.file {
            let _ = write!(text, "\n* of {}; the rest are {shipped}.", file.display());
        } else {
            let _ = write!(text, "\nThey are {shipped}. To change or add some, write {own}.");
        }
        text.push_str(
            "\nWhat you change there counts within seconds; an answer keeps the price of its moment.",
        );
        text
    })
}

fn prices_here(desk: &Desk) -> Result<PricesShape, Failure> {
    let list =
        PriceList::load(&desk.around.config).map_err(|error| Failure::usage(error.to_string()))?;
    let models = list.prices.iter().map(|(model, price)| PriceShape::new(model, price, &list.own));
    Ok(PricesShape {
        file: list.file.clone(),
        us_permille: list.prices.us_permille(),
        models: models.collect(),
    })
}

fn price_words(out: &Out, shape: &PricesShape) -> String {
    let head = ["model", "in", "out", "cache read", "write 5 min", "write 1 h"];
    let mut rows = vec![head.iter().map(|word| Cell::inked(out, Ink::Dim, *word)).collect()];
    for price in &shape.models {
        let own = if price.own { " *" } else { "" };
        let numbers = [
            price.input,
            price.output,
            price.cache_read,
            price.cache_write_5m,
            price.cache_write_1h,
        ];
        let first = Cell::plain(format!("{}{own}", plain::line(&price.model)));
        rows.push(
            [first].into_iter().chain(numbers.map(|n| Cell::plain(money::dollars(n)))).collect(),
        );
    }
    format!("{}\nDollars for a million tokens.", table(&rows))
}

/// "1,234,567".
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::web::shapes::UnpricedShape;
    use vigie_core::Timestamp;

    fn line(label: &str, micro_usd: u64, unpriced_tokens: u64) -> UsageLine {
        UsageLine {
            key: label.into(),
            label: label.into(),
            input: 1200,
            output: 345,
            cache_read: 1_234_567,
            cache_write_5m: 10,
            cache_write_1h: 5,
            micro_usd,
            unpriced_tokens,
            messages: 7,
        }
    }

    #[test]
    fn what_has_no_price_is_said_and_stands_in_no_sum() {
        let out = Out::plain(Clock::fixed(Timestamp::default()));
        let shape = UsageShape {
            by: "story".into(),
            rows: vec![line("PD-285", 4_123_456, 0), line("PD-2\u{1b}[2J", 1234, 999)],
            total: line("total", 4_124_690, 999),
            unpriced: vec![UnpricedShape { model: "heron-9".into(), tokens: 999 }],
        };
        insta::assert_snapshot!(words(&out, &shape), @r"
        story            money            in     out  cache read  cache write  answers
        PD-285           $4.13            1,200  345  1,234,567   15           7
        PD-2⟦U+001B⟧[2J  under $0.01 + ?  1,200  345  1,234,567   15           7
        total            $4.13 + ?        1,200  345  1,234,567   15           7
        no price for model heron-9: 999 tokens unpriced
        A price goes into prices.toml beside the configuration; `vigie usage prices` shows where.
        ");
        let none = UsageShape::default();
        assert_eq!(words(&out, &none), "No answer of a model was counted in that time.");
    }

    #[test]
    fn a_spreadsheet_gets_whole_numbers_and_computes_nothing() {
        let shape = UsageShape {
            by: "session".into(),
            rows: vec![line("=1+1", 5, 0)],
            ..UsageShape::default()
        };
        let lines: Vec<_> = csv(&shape).lines().map(str::to_owned).collect();
        assert_eq!(lines[1], "\"'=1+1\",\"'=1+1\",1200,345,1234567,10,5,5,0,7");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count).join(" "), "0 999 1,000 1,234,567");
        assert_eq!([1, 119_000, 120_000, 7_200_000].map(took).join(", "), "1 s, 119 s, 2 min, 2 h");
    }
}
