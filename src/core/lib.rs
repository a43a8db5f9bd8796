//! What Vigie decides. Facts and `now` go in, a new state and a list of things to do come out;
//! there is no disk, network, clock or task in here, and the manifest keeps it so.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod account;
pub mod agent;
pub mod answer;
pub mod bridge;
pub mod caller;
#[cfg(test)]
mod cases;
pub mod command;
pub mod decide;
pub mod delivery;
pub mod gate;
pub mod grant;
pub mod id;
pub mod ids;
pub mod ledger;
pub mod limit;
pub mod mail;
pub mod menu;
pub mod money;
pub mod nearest;
pub mod outage;
pub mod policy;
pub mod prompt;
pub mod ringing;
pub mod risk;
pub mod route;
pub mod run;
pub mod runs;
pub mod session;
pub mod state;
pub mod text;

/// The instant an event happened, always UTC and always given, never asked for.
pub type Timestamp = chrono::DateTime<chrono::Utc>;
