//! What is said reaches a phone, once, or the daemon hears exactly why not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "the client's tests use the rest of it")]
mod common;
mod desk;
mod doubt;
mod heard;
mod marks;
mod outcomes;
#[path = "../../../../tests/support/posts.rs"]
mod posts;
mod shown;
mod topics;
