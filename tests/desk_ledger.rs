//! The ledger's page at the desk in a real browser: what was used, by day and by what it was for.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod desk;
    pub(crate) mod home;
    pub(crate) mod phone;
}

use browser_lab::Look;
use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};
use support::{
    desk::{Desk, demo_home, new},
    home::Home,
};
use vigie::{clock::Clock, store::Store};
use vigie_core::{ledger::LedgerRow, state::Row};

/// An answer of a model so many days ago; money in cents, `None`: nobody knows its price.
fn answer(number: u32, session: &Value, days_ago: i64, cents: Option<u64>) -> Row {
    let at = Clock::system().now() - TimeDelta::days(days_ago);
    let at = at.with_timezone(&Utc).to_rfc3339();
    let model = if cents.is_some() { "claude-opus-5-5" } else { "somebody-elses" };
    let (name, id) = (&session["name"], &session["id"]);
    let row = json!({
        "used": {
            "message": format!("msg_{number}"), "request": "", "model": model, "asked": at, "at": at,
            "input": 1_200, "output": 800, "cache_read": 61_400, "cache_write_5m": 2_000,
        },
        "micro_usd": cents.map(|cents| cents * 10_000),
        "owner": {
            "kind": if number.is_multiple_of(2) { "inline" } else { "subagent" }, "unit": format!("unit_{number}"),
            "session": id, "name": name, "story": name, "project": "quay", "run": null, "run_name": null,
            "step": null, "parent": null, "root": null,
        },
    });
    Row::Ledger(serde_json::from_value::<LedgerRow>(row).unwrap())
}

/// A daemon with two sessions and some days of use behind it.
async fn home() -> Home {
    let mut home = demo_home().await;
    new(&home, "PD-285", "Retry refunds <b>").await;
    new(&home, "PD-286", "Offline tickets").await;
    let (one, other) = (home.session("PD-285").await, home.session("PD-286").await);
    home.kill();
    let store = Store::open(&home.data()).unwrap();
    let rows = vec![
        answer(1, &one, 0, Some(310)),
        answer(2, &one, 2, Some(702)),
        answer(3, &other, 1, Some(40)),
        answer(4, &other, 0, None),
        answer(5, &other, 40, Some(9_900)),
    ];
    store.write(rows).await.await.unwrap().unwrap();
    drop(store);
    home.up().await;
    home
}

#[tokio::test]
async fn what_was_used_is_drawn_listed_and_leads_to_its_session() {
    let home = home().await;
    let Some(desk) = Desk::open(&home, Look::DESK, "/board").await else { return };
    desk.tap("//nav[@aria-label='Main']//a[contains(., 'Ledger')]").await;
    desk.find("//h1[.='Ledger']").await;
    desk.find("//p[@id='conn'][.='Live']").await;
    // Fourteen days: what is older is in none of it.
    desk.find("//dl//div[dt='14 days']/dd[contains(., '$10.52')]").await;
    desk.find("//dl//div[dt='Today']/dd[contains(., '$3.10')]").await;
    desk.shows("whose price Vigie does not know").await;
    desk.holds("document.querySelectorAll('svg.chart[role=img]').length === 4").await;
    desk.holds("document.querySelectorAll('svg.chart.wide-only rect.a').length > 3").await;
    desk.find("//tr[th//a[.='PD-285']][td[.='$10.12']]").await;
    desk.clean("ledger-1280-light").await;

    for (by, words) in
        [("Project", "quay"), ("Model", "claude-opus-5-5"), ("Delegation", "subagents")]
    {
        desk.tap(&format!("//nav[@aria-label='By']//a[.='{by}']")).await;
        desk.find(&format!("//section[@id='grouped']//th[contains(., '{words}')]")).await;
    }
    desk.shows("Half took under").await;
    desk.clean("ledger-delegation-1280-light").await;
    desk.tap("//nav[@aria-label='Days']//a[.='90 days']").await;
    desk.find("//dl//div[dt='90 days']/dd[contains(., '$109.52')]").await;
    desk.tap("//nav[@aria-label='By']//a[.='Story']").await;
    desk.tap("//section[@id='grouped']//a[.='PD-285']").await;
    desk.holds("location.pathname.startsWith('/sessions/ses_')").await;
    desk.close().await;
}

#[tokio::test]
async fn it_fits_a_phone_in_the_dark_and_goes_out_as_a_table() {
    let home = home().await;
    let Some(desk) = Desk::open(&home, Look::PHONE.dark(), "/ledger?days=7&by=session").await
    else {
        return;
    };
    desk.find("//tr[th//a[.='PD-286']]").await;
    desk.clean("ledger-390-dark").await;
    let read = |path: &str| {
        format!("const done = arguments[0]; fetch('{path}').then((it) => it.text()).then(done)")
    };
    let csv = desk.run_until_done(&read("/ledger.csv?days=90&by=story")).await;
    let csv = csv.as_str().unwrap().to_owned();
    assert!(csv.starts_with("\"key\",\"name\",\"micro_usd\","), "{csv}");
    assert!(csv.contains("\"PD-286\",\"PD-286\",\"99400000\","), "{csv}");
    let json = desk.run_until_done(&read("/api/v1/usage?days=7&by=story")).await;
    assert!(json.as_str().unwrap().contains("unreadable"), "a key nobody knows is said: {json}");
    let href = desk.find("//a[.='JSON']").await.attr("href").await.unwrap().unwrap();
    let json = desk.run_until_done(&read(&href)).await;
    let usage: Value = serde_json::from_str(json.as_str().unwrap()).unwrap();
    assert_eq!(usage["by"], "session");
    assert_eq!(usage["total"]["micro_usd"], 10_520_000);

    // A query that cannot be read is answered with a page.
    desk.page.goto(&format!("http://{}/ledger?days=many", home.address)).await.unwrap();
    desk.shows("days: invalid digit found in string").await;
    desk.find("//a[.='Board']").await;
    desk.close().await;
}
