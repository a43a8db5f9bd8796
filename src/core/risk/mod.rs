//! What a request would do, in words a person can decide on: shown whole, never in the agent's own
//! words for it. The risk class is a help for readers and errs towards [`Risk::Code`]; it is no
//! sandbox, and a command can always do more than its words say.

mod command;
mod describe;
mod digest;
mod place;
mod rules;
mod shell;

pub use describe::{Described, describe};

use crate::bridge::Risk;

/// One thing a request would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Finding {
    risk: Risk,
    /// Goes on after "a command that": "deletes files".
    words: &'static str,
}

const fn code(words: &'static str) -> Finding {
    Finding { risk: Risk::Code, words }
}

const fn care(words: &'static str) -> Finding {
    Finding { risk: Risk::Care, words }
}
