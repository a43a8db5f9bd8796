//! The whole of `decide`, driven as a day would drive it: people, agents, crashes.

mod gates;
mod outbox;
mod routing;
mod sessions;
mod world;
