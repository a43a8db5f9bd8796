//! `vigie status`.

use super::{
    Desk,
    failure::Failure,
    out::{Ink, Out},
    pair::service_name,
    plain, sessions, workflow,
};
use crate::web::shapes::{BridgeShape, ProtectionShape, StatusShape};

pub(super) async fn run(desk: &Desk) -> Result<(), Failure> {
    let status: StatusShape = desk.client.get("/status").await?;
    desk.out.show(&status, words)
}

fn words(out: &Out, status: &StatusShape) -> String {
    let daemon = &status.daemon;
    let about = format!("Vigie {} at {}, process {}", daemon.version, daemon.url, daemon.pid);
    let mut live = status.sessions.clone();
    let ended = sessions::drop_ended(&mut live);
    let mut parts = vec![waiting(out, status), sessions::words(out, &live, ended)];
    if !status.runs.is_empty() {
        parts.push(workflow::table_of_runs(out, &status.runs));
    }
    parts.push(out.ink(Ink::Dim, &about));
    parts.extend(status.bridges.iter().map(|each| bridge(out, each)));
    parts.push(protections(out, &status.protections));
    if status.pending_deliveries > 0 {
        parts.push(format!("{} undelivered so far", status.pending_deliveries));
    }
    let failed = status.failed_deliveries.iter().map(|text| format!("Not delivered: {text}"));
    let trouble = failed.chain(status.problems.iter().cloned());
    parts.extend(trouble.map(|text| out.ink(Ink::Bad, &plain::line(&text))));
    parts.join("\n")
}

/// What keeps agents from Vigie itself, and what does not.
fn protections(out: &Out, all: &[ProtectionShape]) -> String {
    let names = |holds: bool| {
        let those = all.iter().filter(|each| each.holds == holds);
        those.map(|each| each.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (holding, missing) = (names(true), names(false));
    let holding = if holding.is_empty() { "nothing" } else { &holding };
    let words = out.ink(Ink::Dim, &format!("Closed to agents: {holding}"));
    if missing.is_empty() {
        return words;
    }
    let missing = format!("open: {missing}; `vigie doctor` says what to do");
    format!("{words}; {}", out.ink(Ink::Wait, &missing))
}

/// `Telegram heard 8 s ago, 2 chats, 1 on the way`, or what is wrong with it.
fn bridge(out: &Out, bridge: &BridgeShape) -> String {
    let name = service_name(&bridge.name);
    if let Some(trouble) = &bridge.trouble {
        return out.ink(Ink::Bad, &format!("{name}: {}", plain::line(trouble)));
    }
    let heard = bridge.heard.map(|at| format!(" heard {}", out.ago(at))).unwrap_or_default();
    let chats = match bridge.chats {
        1 => "1 chat".into(),
        count => format!("{count} chats"),
    };
    let pending = match bridge.pending {
        0 => String::new(),
        count => format!(", {count} on the way"),
    };
    let comma = if heard.is_empty() { ":" } else { "," };
    out.ink(Ink::Dim, &format!("{name}{heard}{comma} {chats}{pending}"))
}

fn waiting(out: &Out, status: &StatusShape) -> String {
    let open = status.waiting.iter().filter(|gate| gate.state == "open");
    let oldest = open.clone().map(|gate| gate.opened).min();
    match (open.count(), oldest) {
        (0, _) | (_, None) => "Nothing waits for you.".into(),
        (1, Some(at)) => {
            out.ink(Ink::Wait, &format!("1 waits for you, {}: vigie waiting", out.when(at)))
        }
        (count, Some(at)) => {
            let words = format!("{count} wait for you, oldest {}: vigie waiting", out.when(at));
            out.ink(Ink::Wait, &words)
        }
    }
}
