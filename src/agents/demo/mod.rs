//! The demo agent: a program in our own binary that behaves like a coding agent, without any
//! account. It speaks Claude Code's hooks to the same address, so what it shows is the real path:
//! prompts, progress, permissions that race with its own dialog, questions, plans, failures.

mod adapter;
mod keys;
mod memory;
mod program;
mod stage;
mod tasks;
mod terminal;

pub use adapter::{command_line, run};
pub use program::{DemoArgs, main};

/// The demo says so when a turn was interrupted; Claude Code says nothing and shows it in its
/// registry, which the demo does not keep.
pub(in crate::agents) const INTERRUPTED_EVENT: &str = "VigieDemoInterrupted";
