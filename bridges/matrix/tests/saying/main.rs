//! What is said reaches a phone, once and encrypted, or the daemon hears exactly why not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod cards;
mod crashes;
mod desk;
mod marks;
mod outcomes;
mod posts;
mod shown;
mod threads;
