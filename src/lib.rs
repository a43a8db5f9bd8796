//! The daemon as a library, so that tests run it in-process.

pub mod agents;
pub mod cli;
pub mod hold;
