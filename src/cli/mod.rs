//! One file per command.

pub mod attach;
pub mod hook;
