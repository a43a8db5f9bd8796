//! The whole of `decide`, driven as a day would drive it: people, agents, crashes.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing")]

mod accounts;
mod attention;
mod budget;
mod day;
mod gates;
mod ledger;
mod late;
mod lord;
mod mail;
mod outbox;
mod people;
mod readers;
mod quiet;
mod ring;
mod routing;
mod ruled;
mod runs;
mod services;
mod sessions;
mod spawn;
mod stuck;
mod taps;
mod tickets;
mod tokens;
mod typed;
mod world;
