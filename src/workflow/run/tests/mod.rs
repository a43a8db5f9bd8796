//! Rules of a run, each on a small workflow built by hand, and all of them together on random ones.

mod build;
mod order;
