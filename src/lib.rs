//! The daemon as a library, so that tests run it in-process.

pub mod agents;
pub mod clock;
pub mod config;
pub mod hub;
pub mod tasks;
pub mod web;
