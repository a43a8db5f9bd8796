//! What is said reaches a phone, once, or the daemon hears exactly why not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod desk;
mod doubt;
mod marks;
mod outcomes;
mod posts;
mod shown;
mod topics;
