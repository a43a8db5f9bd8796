//! The pages at the desk: what is to be seen goes in, HTML comes out. Nothing in here asks, waits or
//! keeps anything; the web part reads what there is, hands it to a function of this package, and
//! serves what comes back, once or again and again while it changes.
//!
//! Whatever comes from agents, repositories and the network is text: [`maud`] escapes it, and
//! [`said`](words::said) makes characters visible that would not be seen.

pub mod audit;
pub mod board;
pub mod files;
pub mod frame;
pub mod gate;
pub mod graph;
pub mod ledger;
pub mod pieces;
pub mod rich;
pub mod run;
pub mod runs;
pub mod session;
pub mod steps;
pub mod system;
pub mod term;
pub mod waiting;
pub mod words;
pub mod workflow;

pub use frame::{Frame, Me, Page, Tab};
pub use maud::Markup;
