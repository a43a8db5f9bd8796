//! Figures for a monitoring system, in the text form that Prometheus reads. They are made when they are
//! asked for, so there is nothing to keep up to date.

use axum::{
    extract::{Extension, State},
    http::header,
    response::{IntoResponse, Response},
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::ConstCounter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use std::sync::atomic::AtomicU64;
use vigie_core::{
    Timestamp,
    command::{SessionView, Status},
    session::Life,
};

use super::{
    api::{self, runs},
    fault::Fault,
    people::Caller,
    serve::App,
};

/// As the text form is called. Source: the specification of `OpenMetrics`, 1.0.0.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The states that sessions are counted by; each stands there even when there are none.
const STATES: [&str; 8] =
    ["starting", "idle", "working", "waiting", "needs_desk", "limited", "ended", "lost"];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfBridge {
    bridge: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Version {
    version: &'static str,
}

type Seconds = Gauge<f64, AtomicU64>;

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Fault> {
    let status = api::read_status(&app, &caller).await?;
    let runs = runs::read_open(&app, &caller).await?.len();
    let seq = *app.outside.newest.borrow();
    let mut registry = Registry::with_prefix("vigie");
    let version = Family::<Version, Gauge>::default();
    version.get_or_create(&Version { version: env!("CARGO_PKG_VERSION") }).set(1);
    registry.register("build", "The version that runs", version);
    registry.register("events", "Lines of the journal", ConstCounter::new(seq));
    registry.register("runs_open", "Runs of workflows that are not over", gauge(runs));
    fill(&mut registry, &status, app.clock.now());
    let mut figures = String::new();
    text::encode(&mut figures, &registry).expect("a String takes everything");
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], figures).into_response())
}

fn fill(registry: &mut Registry, status: &Status, now: Timestamp) {
    let sessions = Family::<OfState, Gauge>::default();
    for state in STATES {
        let count = status.sessions.iter().filter(|view| state_of(view) == state).count();
        sessions.get_or_create(&OfState { state }).set(number(count));
    }
    registry.register("sessions", "Sessions that are known, by state", sessions);
    let spent: u64 = status.sessions.iter().map(|view| view.session.spent.micro_usd).sum();
    let dollars = Seconds::default();
    let part = |micro_usd: u64| f64::from(u32::try_from(micro_usd).unwrap_or(u32::MAX));
    dollars.set(part(spent / 1_000_000) + part(spent % 1_000_000) / 1e6);
    let about = "What the sessions that are known cost, by list price";
    registry.register("sessions_spent_dollars", about, dollars);

    registry.register("gates_open", "What waits for a person", gauge(status.waiting.len()));
    let oldest = Seconds::default();
    oldest.set(status.waiting.iter().map(|gate| age(gate.opened, now)).fold(0.0, f64::max));
    let about = "How long the oldest of that waits";
    registry.register_with_unit("gates_oldest", about, Unit::Seconds, oldest);
    let about = "Messages on their way to chats";
    registry.register("deliveries_pending", about, gauge(status.pending_deliveries));
    let about = "Messages that did not arrive, of those that are remembered";
    registry.register("deliveries_failed", about, gauge(status.failed_deliveries.len()));

    let (trouble, pending) = (Family::<OfBridge, Gauge>::default(), Family::default());
    let heard = Family::<OfBridge, Seconds>::default();
    for bridge in &status.bridges {
        let of = OfBridge { bridge: bridge.name.to_string() };
        trouble.get_or_create(&of).set(i64::from(bridge.trouble.is_some()));
        let pending: &Family<OfBridge, Gauge> = &pending;
        pending.get_or_create(&of).set(number(bridge.pending));
        if let Some(at) = bridge.heard {
            heard.get_or_create(&of).set(age(at, now));
        }
    }
    registry.register("bridge_trouble", "1 while a chat service is in trouble", trouble);
    registry.register("bridge_pending", "Messages on their way to a chat service", pending);
    let about = "How long ago a chat service last told everything";
    registry.register_with_unit("bridge_heard", about, Unit::Seconds, heard);
}

fn state_of(view: &SessionView) -> &'static str {
    match &view.session.life {
        Life::Ended { .. } => "ended",
        Life::Lost { .. } => "lost",
        Life::NeedsDesk { .. } => "needs_desk",
        _ if !view.open_gates.is_empty() => "waiting",
        _ if view.limited.is_some() => "limited",
        Life::Starting { .. } => "starting",
        Life::Idle { .. } => "idle",
        Life::Working { .. } => "working",
    }
}

fn gauge(count: usize) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(number(count));
    gauge
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn age(from: Timestamp, now: Timestamp) -> f64 {
    (now - from).as_seconds_f64().max(0.0)
}
