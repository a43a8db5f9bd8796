//! What a request would do, in words a person can decide on: shown whole, never in the agent's own
//! words for it. The risk class is a help for readers and errs towards [`Risk::Code`]; it is no
//! sandbox, and a command can always do more than its words say.

mod command;
mod describe;
mod digest;
mod place;
mod rules;
mod shell;

pub(crate) use command::{
    LOOKED_THROUGH, RUNS_OTHERS, SHELLS, Seen, base, changes_folder, finds_and_runs, is_assignment,
    is_interpreter, runs_what_it_is_fed, seen,
};
pub use describe::{Described, describe, risk_of};
pub use digest::digest;
pub(crate) use place::{absolute as resolved, is_harmless};
pub(crate) use shell::{Command, Word, braces, read as read_words};

/// The tools whose files stand in fields of their own.
const FILE_TOOLS: [&str; 9] =
    ["Write", "Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Grep", "Glob", "LS"];

/// Whether a tool says in a field of its own which file it is about.
pub fn is_file_tool(tool: &str) -> bool {
    FILE_TOOLS.contains(&tool)
}

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
