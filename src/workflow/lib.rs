//! Workflows: the language they are written in, and what a run of one does next. Text goes in and a
//! checked [`Workflow`] or every mistake in it comes out; a numbered log goes in and the next entries
//! come out. Nothing here touches a disk, a clock or a process.

pub mod language;
pub mod problem;
pub mod run;
pub mod template;
pub mod value;

pub use language::Workflow;
pub use problem::{Problem, Problems};

/// UTC; every wait in here is compared with one that is handed in.
pub type Timestamp = chrono::DateTime<chrono::Utc>;
