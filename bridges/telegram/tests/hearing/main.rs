//! The hearing half against an emulated Telegram: what people do reaches the daemon once and whole,
//! whatever fails in between.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod chats;
mod crashes;
mod files;
mod messages;
mod polls;
mod support;
mod together;
