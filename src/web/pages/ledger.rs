//! What was used: money and tokens, by day and by what they were used for.

use axum::{
    extract::{Extension, State},
    response::{IntoResponse as _, Response},
};
use chrono::{Days, NaiveDate};
use serde::Deserialize;
use std::{fmt::Write as _, sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};
use vigie_core::{
    command::SessionView,
    id::SessionId,
    ledger::{By, DelegationRow, UsageQuestion, UsageRow, WorkKind, is_ours, moment},
    session::Session,
};
use vigie_dashboard::{
    Page,
    ledger::{self, Amount, Compared, Day, Ledger, Row, Show, Span},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::{
    config::Role,
    web::{
        client::segment,
        csv::{self, cell},
        fault::Fault,
        people::Caller,
        query::Query,
        serve::App,
    },
};

/// Most days of one page: a bar each.
const MOST_DAYS: u32 = 400;

/// Sums are read again after this, however often the page is drawn.
const LASTS: Duration = Duration::from_secs(2);

/// What is shown, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    by: String,
    days: Option<u32>,
    since: Option<NaiveDate>,
    until: Option<NaiveDate>,
}

impl Asked {
    /// # Errors
    /// A day that no calendar here reaches.
    fn checked(self) -> Result<Self, Fault> {
        match [self.since, self.until].into_iter().flatten().find(|day| !is_ours(*day)) {
            None => Ok(self),
            Some(day) => Err(Fault::unreadable(format!("{day} is not in the years 2000 to 2100"))
                .hint("A day is written as 2026-11-30.")),
        }
    }

    fn show(&self, today: NaiveDate) -> Show {
        let by = By::ALL.into_iter().find(|by| by.as_str() == self.by).unwrap_or(By::Story);
        if let (Some(one), Some(other)) = (self.since, self.until) {
            let until = one.max(other);
            let first = until - Days::new(u64::from(MOST_DAYS) - 1);
            return Show { span: Span::Between, by, since: one.min(other).max(first), until };
        }
        let span = match self.days {
            Some(days) => Span::Days(days.clamp(1, MOST_DAYS)),
            None => Span::USUAL,
        };
        let days = match span {
            Span::Days(days) => days,
            Span::Between => 1,
        };
        let since = today - Days::new(u64::from(days) - 1);
        Show { span, by, since, until: today }
    }
}

/// What one page is drawn from.
struct Got {
    show: Show,
    days: Vec<UsageRow>,
    rows: Vec<UsageRow>,
    today: Vec<UsageRow>,
    work: Vec<DelegationRow>,
}

/// What was read last, and when.
type Kept = Arc<Mutex<Option<(Instant, Arc<Got>)>>>;

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
    how: How,
) -> Response {
    let asked = match asked.checked() {
        Ok(asked) => asked,
        Err(fault) => return fault.into_response(),
    };
    let kept = Kept::default();
    live::answer(app, caller, how, move |seen| draw(seen, asked.clone(), Arc::clone(&kept))).await
}

async fn draw(seen: Seen, asked: Asked, kept: Kept) -> Result<Page, Fault> {
    let got = got(&seen.app, &asked, &kept).await?;
    let Got { show, days, rows, today, work } = got.as_ref();
    let days: Vec<_> = each_day(show).map(|date| day(date, days)).collect();
    let rows: Vec<_> = rows.iter().map(|line| row(line, show.by, &seen.status.sessions)).collect();
    let work: Vec<_> = work.iter().map(compared).collect();
    let today = today.iter().map(amount).fold(Amount::default(), Amount::plus);
    let limit = seen.app.outside.ledger.day_limit;
    let page = Ledger { show, days: &days, rows: &rows, work: &work, today, limit };
    Ok(ledger::page(&page))
}

async fn got(app: &App, asked: &Asked, kept: &Kept) -> Result<Arc<Got>, Fault> {
    let mut kept = kept.lock().await;
    if let Some((at, got)) = kept.as_ref()
        && at.elapsed() < LASTS
    {
        return Ok(Arc::clone(got));
    }
    let got = Arc::new(read(app, asked).await?);
    *kept = Some((Instant::now(), Arc::clone(&got)));
    Ok(got)
}

async fn read(app: &App, asked: &Asked) -> Result<Got, Fault> {
    let ledger = &app.outside.ledger;
    let today = app.clock.now().with_timezone(&ledger.zone).date_naive();
    let show = asked.show(today);
    let of_show = |by| question(app, by, show.since, show.until);
    let days = (ledger.usage)(of_show(By::Day)).await?;
    let rows =
        if show.by == By::Day { days.clone() } else { (ledger.usage)(of_show(show.by)).await? };
    let of_today = (ledger.usage)(question(app, By::Day, today, today)).await?;
    let work = if show.by == By::Delegation {
        let UsageQuestion { since, until, .. } = of_show(By::Delegation);
        (ledger.delegations)(since, until).await?
    } else {
        Vec::new()
    };
    Ok(Got { show, days, rows, today: of_today, work })
}

/// Whole days of the ledger's zone, the last one included.
fn question(app: &App, by: By, since: NaiveDate, until: NaiveDate) -> UsageQuestion {
    let at = |day: NaiveDate| moment(&day.to_string(), app.outside.ledger.zone);
    let (since, until) = (at(since).map(|(begin, _)| begin), at(until).map(|(_, end)| end));
    UsageQuestion { by, since, until }
}

fn each_day(show: &Show) -> impl Iterator<Item = NaiveDate> + use<> {
    let until = show.until;
    show.since.iter_days().take_while(move |day| *day <= until)
}

fn day(date: NaiveDate, rows: &[UsageRow]) -> Day {
    let key = date.to_string();
    let used = rows.iter().find(|row| row.key == key).map(amount);
    Day { date, parts: used.map(|amount| (String::new(), amount)).into_iter().collect() }
}

fn amount(row: &UsageRow) -> Amount {
    Amount {
        micro_usd: row.micro_usd,
        input: row.input,
        output: row.output,
        cache_read: row.cache_read,
        cache_write: row.cache_write(),
        unpriced: row.unpriced_tokens,
    }
}

/// A line, with the way to what it is about.
fn row(line: &UsageRow, by: By, sessions: &[SessionView]) -> Row {
    let by_id = |id: &str| {
        let id: SessionId = id.parse().ok()?;
        sessions.iter().map(|view| &view.session).find(|session| session.id == id)
    };
    let by_name = |name: &str| {
        let named = sessions.iter().map(|view| &view.session);
        named.filter(|session| session.name.as_str() == name).max_by_key(|session| session.created)
    };
    let about = |session: Option<&Session>| {
        let parts = session.map(|it| [it.title.clone(), it.project.to_string()]);
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" · ")
    };
    let of_session = |session: &Session| format!("/sessions/{}", session.id);
    let key = line.key.as_str();
    if key.is_empty() {
        return Row { name: "none".into(), about: String::new(), href: None, amount: amount(line) };
    }
    let (name, about, href) = match by {
        By::Session | By::Tree => {
            let session = by_id(key);
            (line.label.clone(), about(session), session.map(of_session))
        }
        By::Story => {
            let session = by_name(key);
            (line.label.clone(), about(session), session.map(of_session))
        }
        By::Project => {
            (line.label.clone(), String::new(), Some(format!("/board?project={}", segment(key))))
        }
        By::Run => (line.label.clone(), String::new(), Some(format!("/runs/{}", segment(key)))),
        By::Step => {
            let run = key.split('/').next().unwrap_or_default();
            (line.label.clone(), String::new(), Some(format!("/runs/{}", segment(run))))
        }
        By::Day => {
            let href = format!("/ledger?since={key}&until={key}&by=story");
            (line.label.clone(), String::new(), Some(href))
        }
        By::Delegation => {
            let kind = WorkKind::ALL.into_iter().find(|kind| kind.as_str() == key);
            let words = kind.map_or_else(|| line.label.clone(), |kind| kind.words().to_owned());
            (words, String::new(), None)
        }
        By::Model => (line.label.clone(), String::new(), None),
    };
    Row { name, about: about.trim().into(), href, amount: amount(line) }
}

fn compared(row: &DelegationRow) -> Compared {
    Compared {
        what: row.kind.words().into(),
        count: row.count,
        low: row.micro_usd.low,
        median: row.micro_usd.median,
        high: row.micro_usd.high,
        millis: row.millis.median,
        unpriced: row.unpriced,
    }
}

/// The same lines as a table for a spreadsheet.
pub(super) async fn table(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
) -> Response {
    let table = match asked.checked() {
        Ok(asked) => export(&app, &caller, &asked).await,
        Err(fault) => Err(fault),
    };
    csv::answer("vigie-ledger", table)
}

async fn export(app: &App, caller: &Caller, asked: &Asked) -> Result<String, Fault> {
    caller.needs(Role::Viewer)?;
    let today = app.clock.now().with_timezone(&app.outside.ledger.zone).date_naive();
    let show = asked.show(today);
    let rows = (app.outside.ledger.usage)(question(app, show.by, show.since, show.until)).await?;
    let mut text = csv::head(&[
        "key",
        "name",
        "micro_usd",
        "input",
        "output",
        "cache_read",
        "cache_write_5m",
        "cache_write_1h",
        "unpriced_tokens",
        "answers",
    ]);
    for row in rows {
        let UsageRow { input, output, cache_read, cache_write_5m, cache_write_1h, .. } = row;
        let UsageRow { micro_usd, unpriced_tokens, messages, .. } = row;
        let (key, name) = (cell(&row.key), cell(&row.label));
        let _ = write!(
            text,
            "{key},{name},\"{micro_usd}\",\"{input}\",\"{output}\",\"{cache_read}\",\"{cache_write_5m}\",\"{cache_write_1h}\",\"{unpriced_tokens}\",\"{messages}\"\r\n"
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(days: Option<u32>, since: Option<&str>, until: Option<&str>) -> Show {
        let date = |text: &str| text.parse::<NaiveDate>().unwrap();
        let asked =
            Asked { by: "model".into(), days, since: since.map(date), until: until.map(date) };
        asked.show("2026-11-30".parse().unwrap())
    }

    #[test]
    fn a_span_ends_today_or_is_what_was_asked_for_and_has_an_end() {
        let shown = asked(Some(7), None, None);
        assert_eq!((shown.since.to_string(), shown.by), ("2026-11-24".into(), By::Model));
        assert_eq!(each_day(&shown).count(), 7);
        assert_eq!(asked(Some(0), None, None).since, asked(Some(1), None, None).since);
        let turned = asked(None, Some("2026-11-20"), Some("2026-11-18"));
        assert_eq!(
            (turned.since.to_string(), turned.until.to_string()),
            ("2026-11-18".into(), "2026-11-20".into())
        );
        let long = asked(None, Some("1900-01-01"), Some("2026-11-30"));
        assert_eq!(each_day(&long).count(), 400);
        assert_eq!(each_day(&asked(Some(u32::MAX), None, None)).count(), 400);
    }

    #[test]
    fn a_day_that_no_calendar_reaches_is_refused_with_words() {
        for (since, until) in [("-262143-01-01", "-262143-01-01"), ("2026-11-30", "+262142-12-31")]
        {
            let day = |text: &str| Some(text.parse().unwrap());
            let asked = Asked { since: day(since), until: day(until), ..Asked::default() };
            let fault = asked.checked().unwrap_err();
            assert!(fault.words().contains("years 2000 to 2100"), "{}", fault.words());
        }
        assert!(Asked::default().checked().is_ok());
    }

    #[test]
    fn each_line_leads_to_what_it_is_about() {
        let line =
            |key: &str| UsageRow { key: key.into(), label: key.into(), ..UsageRow::default() };
        let href = |key: &str, by| row(&line(key), by, &[]).href;
        assert_eq!(href("run_1/build", By::Step).unwrap(), "/runs/run_1");
        assert_eq!(href("quay & co", By::Project).unwrap(), "/board?project=quay%20%26%20co");
        assert_eq!(
            href("2026-11-30", By::Day).unwrap(),
            "/ledger?since=2026-11-30&until=2026-11-30&by=story"
        );
        assert_eq!(href("PD-1", By::Story), None, "there is no such session");
        assert_eq!(row(&line(""), By::Run, &[]).name, "none");
    }
}
