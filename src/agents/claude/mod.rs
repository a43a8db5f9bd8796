//! Claude Code in a terminal: how it is started, how a prompt goes in and is known to have
//! arrived, what it does, what it asks.
//!
//! Order of trust where its signals disagree: hooks with their prompt id, its registry file, its
//! transcript, its screen. The screen is read for one thing only, the input box.

mod adapter;
mod command;
mod input_box;
mod lord;
mod machine;
mod mcp;
mod probe;
mod records;
mod registry;
mod text;
mod transcript;
mod typist;
mod usage;

pub use adapter::run;
pub(in crate::agents) use adapter::{Source, drive};
pub use command::{CommandError, command_line};
pub(crate) use command::{keep_guard, keep_hooks, own_program, settings_files};
pub(in crate::agents) use text::{MAIL, PHONE};

pub use probe::{Known, Probe, probe};
pub use records::{UsageReader, read_usage};
pub use transcript::{Said, Talk, What, find_transcript, read_transcript};
