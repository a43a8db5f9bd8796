//! The whole of `decide`, driven as a day would drive it: people, agents, crashes.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one thing")]

mod accounts;
mod again;
mod attention;
mod budget;
mod day;
mod desk;
mod gates;
mod grants;
mod handover;
mod kept;
mod late;
mod ledger;
mod lord;
mod mail;
mod nights;
mod outages;
mod outbox;
mod people;
mod quiet;
mod readers;
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
mod whose;
mod world;
