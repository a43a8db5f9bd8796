//! The one owner of live state: event → core → transaction → effects.

mod handle;

pub use handle::{Hub, Mail};
