//! What is closed to a session, as far as this machine has the means.

use std::path::{Path, PathBuf};

use super::Ground;
use crate::{
    config::Agent,
    confine::{Account, Confinement, Lacking, Level, Protection},
};

/// Folders of the data folder in which sessions work.
pub(super) const WORKTREES: &str = "worktrees";
const DEMO: &str = "demo";

/// An agent cannot be confined as it must be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotConfined {
    #[error(
        "its agent is to be confined (`confine = \"required\"`), and one thing is missing here, {}: \
         {}; `vigie doctor` says what to do", .0.protection.name(), .0.why
    )]
    Lacking(Lacking),
    #[error(
        "its agent is to run as `{user}`, which would not see its own settings here: {}; `vigie \
         doctor` says what to do", .lacking.why
    )]
    User { user: String, lacking: Lacking },
    #[error("its agent is to run as `{0}`, and there is no such user any more")]
    NoUser(String),
}

impl Ground {
    /// For a program of `agent` that works in `folders`; `None`: nothing is closed to it.
    pub(crate) fn confinement(
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
                    return Err(NotConfined::Lacking(lacking.clone()));
                }
            }
            Level::Auto => {}
        }
        let account = agent.user.as_ref().map(|user| {
            // Our folders are closed to everybody else; what hides them shows what is for it.
            if let Some(lacking) = missing(&Protection::Files) {
                return Err(NotConfined::User { user: user.clone(), lacking: lacking.clone() });
            }
            Account::find(user).ok_or_else(|| NotConfined::NoUser(user.clone()))
        });
        let account = account.transpose()?;
        let by: Vec<_> = all.into_iter().filter(|each| missing(each).is_none()).collect();
        let hide: Vec<PathBuf> = self.hidden.iter().chain(&agent.hide).cloned().collect();
        let keep = folders.iter().filter(|path| self.is_worked_in(path));
        let keep = keep.map(|path| path.to_path_buf()).collect();
        let confinement =
            Confinement { by, hide, keep, show: Vec::new(), read_only: Vec::new(), account };
        Ok((!confinement.by.is_empty()).then_some(confinement))
    }

    /// It lies in our own folder and is there for sessions all the same.
    fn is_worked_in(&self, path: &Path) -> bool {
        let path = std::fs::canonicalize(path).unwrap_or_default();
        let inside = path.strip_prefix(&self.data).ok().and_then(|path| path.iter().next());
        inside.is_some_and(|first| first == WORKTREES || first == DEMO)
    }
}
