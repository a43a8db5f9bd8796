//! What is closed to a session, as far as this machine has the means.

use std::path::{Path, PathBuf};

use super::Ground;
use crate::{
    config::Agent,
    confine::{Confinement, Lacking, Level, Protection},
};

/// Folders of the data folder in which sessions work.
pub(super) const WORKTREES: &str = "worktrees";
const DEMO: &str = "demo";

/// An agent that must be confined cannot be.
#[derive(Debug, thiserror::Error)]
#[error(
    "its agent is to be confined (`confine = \"required\"`), and one thing is missing here, {}: \
     {}; `vigie doctor` says what to do", .0.protection.name(), .0.why
)]
pub(super) struct NotConfined(Lacking);

impl Ground {
    /// For a program of `agent` that works in `folders`; `None`: nothing is closed to it.
    pub(super) fn confinement(
        &self,
        agent: &Agent,
        folders: &[&Path],
    ) -> Result<Option<Confinement>, NotConfined> {
        let missing = |protection: &Protection| {
            self.lacking.iter().find(|each| each.protection == *protection)
        };
        let all = Protection::OF_A_SESSION;
        match agent.confine {
            Level::Off => return Ok(None),
            Level::Required => {
                if let Some(lacking) = all.iter().find_map(missing) {
                    return Err(NotConfined(lacking.clone()));
                }
            }
            Level::Auto => {}
        }
        let by: Vec<_> = all.into_iter().filter(|each| missing(each).is_none()).collect();
        let hide: Vec<PathBuf> = self.hidden.iter().chain(&agent.hide).cloned().collect();
        let keep = folders.iter().filter(|path| self.is_worked_in(path));
        let keep = keep.map(|path| path.to_path_buf()).collect();
        Ok((!by.is_empty()).then_some(Confinement { by, hide, keep, show: Vec::new() }))
    }

    /// It lies in our own folder and is there for sessions all the same.
    fn is_worked_in(&self, path: &Path) -> bool {
        let path = std::fs::canonicalize(path).unwrap_or_default();
        let inside = path.strip_prefix(&self.data).ok().and_then(|path| path.iter().next());
        inside.is_some_and(|first| first == WORKTREES || first == DEMO)
    }
}
