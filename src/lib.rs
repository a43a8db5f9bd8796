//! The daemon as a library, so that tests run it in-process.

pub mod agents;
pub mod bridges;
pub mod cli;
pub mod clock;
pub mod config;
pub mod confine;
pub mod daemon;
pub mod doctor;
pub mod hold;
pub mod hub;
pub mod looks;
pub mod mcp;
pub mod outbox;
pub mod rules;
pub mod runner;
pub mod sessions;
pub mod store;
pub mod tasks;
pub mod telemetry;
pub mod watch;
pub mod web;
pub mod workflows;
