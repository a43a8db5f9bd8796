//! The one owner of live state: event → core → transaction → effects.

mod effects;
mod handle;
mod held;
mod worker;

pub use effects::Hands;
pub use handle::{AgentCall, Hub, Mail};
pub use worker::{Health, start};
