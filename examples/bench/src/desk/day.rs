//! A tab that is left open for a day: whether what it holds grows.

use anyhow::{Context, Result};
use browser_lab::Browser;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use tokio::time::sleep;

use super::browser;
use crate::{home::Home, table::Figure};

const SESSIONS: usize = 50;
/// In an hour at work a page is told anew every nine seconds, day and night.
const HOURS: usize = 24;
const AN_HOUR: usize = 400;
/// What is told over and over is so many true ones, as the daemon told them.
const TOLD: usize = 40;
/// More than a page waits until it is drawn again.
const APART: Duration = Duration::from_millis(100);
/// A day may add so much to what stands after its first hour.
const GROWS: f64 = 1.1;

/// Keeps hold of the page's streams, so that they can be told more.
const HOLD: &str = "const Real = EventSource; window.streams = []; \
    window.EventSource = class extends Real { constructor(...all) { super(...all); streams.push(this); } };";

/// What a tab holds once everything that can be let go is gone.
struct Held {
    /// MB of the script's.
    heap: f64,
    /// Of the document and of whatever else is still kept.
    nodes: f64,
    listeners: f64,
}

impl Held {
    async fn of(browser: &Browser) -> Result<Self> {
        browser.ask("HeapProfiler.collectGarbage", json!({})).await;
        let told = browser.ask("Performance.getMetrics", json!({})).await;
        let figure = |name: &str| -> Result<f64> {
            let all = told["metrics"].as_array().context("the browser tells no metrics")?;
            let one = all.iter().find(|metric| metric["name"] == name);
            one.and_then(|metric| metric["value"].as_f64()).with_context(|| format!("no {name}"))
        };
        Ok(Self {
            heap: figure("JSHeapUsedSize")? / 1e6,
            nodes: figure("Nodes")?,
            listeners: figure("JSEventListeners")?,
        })
    }

    fn figures(&self, page: &str, hour: &Self) -> Vec<Figure> {
        let first = "after its first hour";
        [
            ("heap", self.heap, hour.heap, "MB"),
            ("nodes", self.nodes, hour.nodes, "×"),
            ("listeners", self.listeners, hour.listeners, "×"),
        ]
        .into_iter()
        .map(|(what, day, hour, unit)| {
            let words = format!("{page} after {HOURS} hours, {what}");
            Figure::new(words, day, unit).against(first, hour).at_most(GROWS)
        })
        .collect()
    }
}

pub(super) async fn measure(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let mut home = Home::new(folder, vigie, "[[agent]]\nname = \"demo\"\nkind = \"demo\"\n")?;
    home.env.push(("VIGIE_DEMO_PACE", "100".into()));
    home.up().await?;
    let names: Vec<_> = (1..=SESSIONS).map(|number| format!("PD-{number}")).collect();
    for name in &names {
        home.open_session(name, "demo").await?;
    }
    for name in &names {
        home.session_is(name, &["idle"]).await?;
    }
    let mut figures = Vec::new();
    for (page, path, stream, event) in [
        ("board", "/board", "!it.url.includes('/terminal')", "page"),
        ("terminal", "/sessions/PD-1", "it.url.includes('/terminal')", "rows"),
    ] {
        let browser = browser(&home, path).await?;
        browser.ask("Page.addScriptToEvaluateOnNewDocument", json!({ "source": HOLD })).await;
        browser.page.refresh().await?;
        browser.holds(&format!("window.streams?.some((it) => {stream})")).await;
        let stream = format!("streams.findLast((it) => {stream})");
        let stream = &stream;
        figures.extend(one(&home, &browser, page, stream, event).await?);
        browser.close().await;
    }
    home.down().await?;
    Ok(figures)
}

/// Lets a tab hear what the daemon tells it, then the same again for a day, by the very same way.
async fn one(
    home: &Home,
    browser: &Browser,
    page: &str,
    stream: &str,
    event: &str,
) -> Result<Vec<Figure>> {
    browser.ask("Performance.enable", json!({})).await;
    browser
        .run(&format!(
            "window.got = []; {stream}.addEventListener('{event}', ({{ data }}) => {{ if (got.length < {TOLD}) got.push(data); }})"
        ))
        .await;
    // Words that come, wait, are taken and answered: each of these changes the board.
    for number in 0..TOLD * 2 {
        let path = format!("/sessions/PD-{}/send", 1 + number % 5);
        let _: Value = home.desk().post(&path, &json!({ "text": "stream 2" })).await?;
        sleep(APART).await;
    }
    browser.holds(&format!("got.length === {TOLD}")).await;
    for number in 1..=5 {
        home.session_is(&format!("PD-{number}"), &["idle"]).await?;
    }
    let an_hour = format!(
        "const done = arguments[0]; (async () => {{ \
           for (let n = 0; n < {AN_HOUR}; n++) {{ \
             {stream}.dispatchEvent(new MessageEvent('{event}', {{ data: got[n % got.length] }})); \
             if (n % 20 === 19) await new Promise((then) => setTimeout(then)); \
           }} done(true); }})()"
    );
    browser.run_until_done(&an_hour).await;
    let hour = Held::of(browser).await?;
    for _ in 1..HOURS {
        browser.run_until_done(&an_hour).await;
    }
    Ok(Held::of(browser).await?.figures(page, &hour))
}
