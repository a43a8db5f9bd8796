//! The rules of the emulator, one by one, as a bot meets them over HTTP.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod conversation;
mod faults;
mod files;
mod flood;
mod groups;
mod phone;
mod receiving;
mod sending;
mod strict;
mod support;
