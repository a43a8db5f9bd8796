//! The holder: a small process that owns one session's terminal, so that agents outlive the
//! daemon. [`run`] is that process, [`client`] is how everybody else speaks to it, [`protocol`]
//! is what they say.

pub mod ancestry;
pub mod client;
pub(crate) mod clock;
pub(crate) mod environment;
mod hooks;
mod journal;
mod namespace;
mod orders;
mod process;
pub mod protocol;
mod pty;
mod record;
mod server;
mod session;
mod sorter;
mod start;
mod terminal;
mod token;
pub(crate) mod tree;
mod view;
mod vitals;

pub(crate) use process::close_inherited;
pub use process::{HoldError, run};
pub(crate) use terminal::Terminal;
