//! One file per command.

pub mod attach;
