//! Hearing, against a real homeserver and an independent phone.

mod crashes;
mod keys;
mod messages;
mod rooms;
mod support;
mod taps;
mod troubles;
