//! Rules of a run, each on a small workflow built by hand, and all of them together on random ones.

mod again;
mod agents;
mod build;
mod data;
mod expect;
mod order;
mod random;
mod stop;
mod waits;
