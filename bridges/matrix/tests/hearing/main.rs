//! Hearing, against a real homeserver and an independent phone.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod crashes;
mod keys;
mod lies;
mod messages;
mod readers;
mod rooms;
mod support;
mod taps;
mod troubles;
