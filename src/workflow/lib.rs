//! Workflows: the language they are written in, and what a run of one does next. Text goes in and a
//! checked [`Workflow`] or every mistake in it comes out; a numbered log goes in and the next entries
//! come out. Nothing here touches a disk, a clock or a process.

pub mod cron;
mod keys;
pub mod language;
mod nearest;
pub mod params;
pub mod parse;
pub mod plan;
pub mod problem;
pub mod run;
pub mod schema;
pub mod template;
pub mod value;
mod values;
mod yaml;

pub use language::Workflow;
pub use parse::parse;
pub use problem::{Problem, Problems};
pub use schema::json_schema;

/// UTC; every wait in here is compared with one that is handed in.
pub type Timestamp = chrono::DateTime<chrono::Utc>;
