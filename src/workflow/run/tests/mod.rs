//! Rules of a run, each on a small workflow built by hand, and all of them together on random ones.

mod again;
mod agents;
mod build;
mod crash;
mod data;
mod expect;
mod order;
mod random;
mod size;
mod stop;
mod waits;
