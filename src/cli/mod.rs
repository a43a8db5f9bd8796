//! One file per command.

pub mod hook;
