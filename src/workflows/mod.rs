//! Files with workflows, read from where they lie: those that ship with Vigie, the person's own and
//! each project's. One that is broken hides no other, and a folder that does not answer hides none.

mod built_in;
mod called;
mod catalog;
mod file;
mod folder;
mod places;
mod save;
mod secrets;
mod sketch;
mod watch;

pub use catalog::{Reading, build, build_with};
pub use file::{FileRead, LONGEST_FILE, check};
pub use folder::{FolderRead, read, read_file};
pub use places::{Place, own_folder, places};
pub use save::{NotSaved, create, digest, sample, save, why_not};
pub use watch::{Workflows, start};
