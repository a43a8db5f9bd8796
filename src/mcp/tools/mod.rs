//! The tools: what they are called, what they take, what they do, and what comes back.

mod answer;
mod args;
mod call;
mod catalog;
mod looks;
mod mail;
mod people;
mod runs;
mod sessions;
mod shapes;
mod wait;
mod words;

pub(super) use answer::{Found, Refused};
pub(super) use call::Call;
pub(super) use catalog::{known, list, scope};
pub(super) use shapes::{RunShape, SessionShape, instant};
pub(super) use wait::shown;
