//! What agents as users cost: calls of tools, messages between sessions, and what lies about for them.

mod calls;
mod client;
mod connected;
mod delivery;
mod inbox;
mod letters;
pub(crate) mod program;
mod rows;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;

use super::{
    home::{Home, quoted},
    latency::{Agent, Meeting},
    table::Figure,
};

/// What is measured of it, in this order.
pub(crate) const PARTS: [&str; 5] = ["calls", "letters", "delivery", "inbox", "connected"];

/// `ours` plays the daemon where the agents are ours too, `vigie` is what is shipped.
pub(crate) async fn measure(
    part: &str,
    folder: &Path,
    (ours, vigie): (&Path, &Path),
) -> Result<Vec<Figure>> {
    match part {
        "calls" => calls::measure(folder, vigie).await,
        "letters" => letters::measure(folder, vigie).await,
        "delivery" => delivery::measure(folder, ours).await,
        "inbox" => inbox::measure(folder, ours).await,
        _ => connected::measure(folder, ours).await,
    }
}

/// A new token of a program outside of every session.
async fn token(home: &Home, name: &str) -> Result<String> {
    let made: Value = home.desk().post("/tokens", &json!({ "name": name })).await?;
    Ok(made["token"].as_str().context("the desk gives no token")?.to_owned())
}

/// An agent of ours that plays this part (see [`program`]) and meets us there.
fn agent(ours: &Path, part: &str, meeting: &Meeting) -> String {
    format!(
        "[[agent]]\nname = \"{part}\"\nkind = \"demo\"\nprogram = {}\nargs = [\"--{part}\", \"{}\"]\n\n",
        quoted(ours),
        meeting.address
    )
}

/// Opens a session and waits for its program.
async fn session(home: &Home, name: &str, agent: &str, meeting: &Meeting) -> Result<Agent> {
    home.open_session(name, agent).await?;
    let program = meeting.agent().await?;
    home.session_is(name, &["idle", "working"]).await?;
    Ok(program)
}
