//! The pages at the desk: how soon a browser shows what happened while many sessions print, what that costs,
//! and how long a long journal takes to open.

mod day;

use anyhow::{Context, Result};
use browser_lab::{Browser, Look};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use tokio::time::{sleep, timeout};

use crate::{
    agent::now,
    home::{DEADLINE, Home},
    page::Page,
    runs::cpu_seconds,
    start::{Memory, fill},
    table::{Figure, median, p50_p95, percentile},
};

pub(crate) const PARTS: [&str; 3] = ["desk-live", "desk-history", "desk-day"];

/// All of them print ten lines a second.
const SESSIONS: usize = 50;
const PRINTER: &str = "[[agent]]\nname = \"printer\"\nkind = \"shell\"\nprogram = \"sh\"\n\
    prompt_ends = \"ready> \"\nenv = { PS1 = \"ready> \" }\n";
const PRINTS: &str =
    "n=0; while sleep 0.1; do n=$((n+1)); echo \"line $n of many, as a build prints them\"; done";
/// What each browser shows.
const PAGES: [&str; 3] = ["/board", "/sessions/PD-2", "/audit?show=all"];
/// How long the processor is looked at.
const WATCHED: Duration = Duration::from_secs(15);
const SAMPLES: usize = 100;
/// So that samples do not fall into step with anybody's timer.
const APART: [u64; 5] = [43, 117, 241, 68, 197];
/// Lines of the journal that is opened.
const EVENTS: u32 = 100_000;
const OPENED: usize = 40;
/// What we want: milliseconds.
const SHOWN_WITHIN: f64 = 100.;
const OPEN_WITHIN: f64 = 200.;

pub(crate) async fn measure(part: &str, folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    match part {
        "desk-live" => live(folder, vigie).await,
        "desk-history" => history(folder, vigie).await,
        _ => day::measure(folder, vigie).await,
    }
}

async fn code(home: &Home) -> Result<String> {
    let link: Value = home.desk().post("/links", &json!({})).await?;
    Ok(link["code"].as_str().context("the desk gives no code")?.to_owned())
}

/// A browser that is signed in and follows a page.
async fn browser(home: &Home, path: &str) -> Result<Browser> {
    let link = format!("http://{}/login?token={}", home.address, code(home).await?);
    let browser = browser_lab::open(&link, Look::DESK).await.context("there is no chromedriver")?;
    browser.tap("//form//button").await;
    browser.holds("location.pathname !== '/login'").await;
    browser.page.goto(&format!("http://{}{path}", home.address)).await?;
    browser.find("//p[@id='conn'][.='Live']").await;
    Ok(browser)
}

async fn live(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let mut home = Home::new(folder, vigie, PRINTER)?;
    home.up().await?;
    let names: Vec<_> = (1..=SESSIONS).map(|number| format!("PD-{number}")).collect();
    for name in &names {
        home.open_session(name, "printer").await?;
    }
    for name in &names {
        home.session_is(name, &["idle"]).await?;
        let path = format!("/sessions/{name}/send");
        let _: Value = home.desk().post(&path, &json!({ "text": PRINTS })).await?;
    }
    for name in &names {
        home.session_is(name, &["working"]).await?;
    }
    let daemon = home.daemon_pid().context("the daemon is gone")?;
    let alone = share(daemon).await?;
    let mut browsers = Vec::new();
    for path in PAGES {
        browsers.push(browser(&home, path).await?);
    }
    let watched = share(daemon).await?;
    let board = browsers.first().context("no browser")?;
    let heap_before = heap(board).await;
    let mut bare = bare(board).await?;
    let mut shown = shown(&home, board).await?;
    let heap_after = heap(board).await;
    let memory = Memory::of(daemon)?;
    for browser in browsers {
        browser.close().await;
    }
    home.down().await?;

    let [p50, p95] = p50_p95("event → on the board", &mut shown, [SHOWN_WITHIN, SHOWN_WITHIN]);
    let fetch = "fetch of /healthz there";
    let what = format!("daemon with {SESSIONS} sessions printing and 3 browsers, of a core");
    Ok(vec![
        p50,
        p95,
        Figure::new("the same, p95 beside a bare round trip", percentile(&mut shown, 95), "ms")
            .against(fetch, percentile(&mut bare, 95)),
        Figure::new(what, watched, "%").against("without browsers", alone),
        Figure::new("its memory then, resident", memory.resident, "MB"),
        Figure::new(format!("heap of the board's tab after {SAMPLES} more"), heap_after, "MB")
            .against("before", heap_before),
    ])
}

/// Hundredths of a core that a process takes.
async fn share(pid: u32) -> Result<f64> {
    sleep(Duration::from_secs(3)).await;
    let before = cpu_seconds(pid)?;
    sleep(WATCHED).await;
    Ok((cpu_seconds(pid)? - before) / WATCHED.as_secs_f64() * 100.)
}

/// Of the page's script, in MB.
async fn heap(browser: &Browser) -> f64 {
    browser.run("return performance.memory.usedJSHeapSize").await.as_f64().unwrap_or(f64::NAN) / 1e6
}

/// Milliseconds that a request of that page takes which asks for nothing.
async fn bare(browser: &Browser) -> Result<Vec<f64>> {
    let script = "const done = arguments[0]; (async () => { const all = []; \
        for (let n = 0; n < 100; n++) { const at = performance.now(); await (await fetch('/healthz')).text(); all.push(performance.now() - at); } \
        done(all); })()";
    Ok(serde_json::from_value(browser.run_until_done(script).await)?)
}

/// From the moment somebody writes to a session that works until the board has painted how many wait for it.
async fn shown(home: &Home, board: &Browser) -> Result<Vec<f64>> {
    let watch = "window.seen = {}; new MutationObserver(() => { \
        const row = [...document.querySelectorAll('tr')].find((it) => it.querySelector('b.key')?.textContent === 'PD-1'); \
        const count = row?.textContent.match(/(\\d+) messages? waits?/)?.[1]; \
        if (count && !(count in seen)) { seen[count] = null; requestAnimationFrame(() => { seen[count] = performance.timeOrigin + performance.now(); }); } \
        }).observe(document.getElementById('main'), { subtree: true, childList: true, characterData: true, attributes: true })";
    board.run(watch).await;
    let mut samples = Vec::new();
    for number in 1..=SAMPLES {
        sleep(Duration::from_millis(APART[number % APART.len()])).await;
        let begin = millis(now());
        let text = json!({ "text": format!("number {number}") });
        let _: Value = home.desk().post("/sessions/PD-1/send", &text).await?;
        let seen = async {
            loop {
                let at = board.run(&format!("return seen['{number}']")).await;
                if let Some(at) = at.as_f64() {
                    return at;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        let at = timeout(DEADLINE, seen).await.context("the board never showed it")?;
        samples.push(at - begin);
    }
    Ok(samples)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds are enough")]
fn millis(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}

async fn history(folder: &Path, vigie: &Path) -> Result<Vec<Figure>> {
    let mut home = Home::new(folder, vigie, "[[agent]]\nname = \"demo\"\nkind = \"demo\"\n")?;
    home.up().await?;
    home.kill();
    fill(&home.data(), EVENTS).await?;
    home.up().await?;
    let mut page = Page::sign_in(home.address, &code(&home).await?).await?;
    let mut figures = Vec::new();
    for (what, path) in [
        ("the newest 200 of 100,000 events", "/audit?show=all"),
        ("what is rare among them", "/audit?show=access"),
        ("the oldest 200", "/audit?show=all&before=201"),
    ] {
        let (mut opened, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..OPENED {
            bare.push(took(&mut page, "/healthz").await?);
            opened.push(took(&mut page, path).await?);
        }
        let p95 = percentile(&mut opened, 95);
        let words = format!("{what}, p50 of {OPENED}");
        figures.push(
            Figure::new(words, median(&mut opened), "ms")
                .against("GET /healthz", median(&mut bare)),
        );
        figures
            .push(Figure::new(format!("{what}, p95 of {OPENED}"), p95, "ms").at_most(OPEN_WITHIN));
    }
    let mut seen = opened(&home, "/audit?show=all").await?;
    let words = format!("the newest 200 in a browser, until it stands, p95 of {OPENED}");
    figures.push(Figure::new(words, percentile(&mut seen, 95), "ms").at_most(OPEN_WITHIN));
    home.down().await?;
    Ok(figures)
}

/// Milliseconds from the address until the page is loaded, as the browser itself counts them.
async fn opened(home: &Home, path: &str) -> Result<Vec<f64>> {
    let browser = browser(home, path).await?;
    let mut all = Vec::new();
    for _ in 0..OPENED {
        browser.page.refresh().await?;
        browser.holds("performance.getEntriesByType('navigation')[0].loadEventEnd > 0").await;
        let took = browser.run("return performance.getEntriesByType('navigation')[0].loadEventEnd");
        all.push(took.await.as_f64().context("the browser counts nothing")?);
    }
    browser.close().await;
    Ok(all)
}

async fn took(page: &mut Page, path: &str) -> Result<f64> {
    let begin = now();
    page.get(path).await?;
    Ok(millis(now() - begin))
}
