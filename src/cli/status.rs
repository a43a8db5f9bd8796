//! `vigie status`.

use super::{
    Desk,
    failure::Failure,
    out::{Ink, Out},
    plain, sessions,
};
use crate::web::shapes::StatusShape;

pub(super) async fn run(desk: &Desk) -> Result<(), Failure> {
    let status: StatusShape = desk.client.get("/status").await?;
    desk.out.show(&status, words)
}

fn words(out: &Out, status: &StatusShape) -> String {
    let daemon = &status.daemon;
    let about = format!("Vigie {} at {}, process {}", daemon.version, daemon.url, daemon.pid);
    let mut live = status.sessions.clone();
    let ended = sessions::drop_ended(&mut live);
    let mut parts =
        vec![waiting(out, status), sessions::words(out, &live, ended), out.ink(Ink::Dim, &about)];
    if status.pending_deliveries > 0 {
        parts.push(format!("{} undelivered so far", status.pending_deliveries));
    }
    let failed = status.failed_deliveries.iter().map(|text| format!("Not delivered: {text}"));
    let trouble = failed.chain(status.problems.iter().cloned());
    parts.extend(trouble.map(|text| out.ink(Ink::Bad, &plain::line(&text))));
    parts.join("\n")
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
