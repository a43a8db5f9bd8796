//! Matrix as a chat service of Vigie, encrypted by default. It depends on the core and on what the
//! bridges have in common.
#![recursion_limit = "256"]

pub mod account;
mod bridge;
mod connect;
mod halves;
mod hear;
pub mod markup;
mod readers;
mod say;
mod store;
pub mod verify;
mod why;

pub use bridge::{Layout, MatrixBridge, OpenFailed, Options, Pace, Policy, Rule, limits};
pub use connect::NotReady;
pub use hear::Unreadable;
pub use store::SetAside;
pub use vigie_bridge_kit::clock::Clock;

/// The bridge's name in places, in the configuration and in the database.
pub const NAME: &str = "matrix";
