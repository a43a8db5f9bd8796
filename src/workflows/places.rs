//! Where workflows lie.

use std::path::{Path, PathBuf};
use vigie_core::run::Origin;

use crate::config::Config;

/// In a project's folder.
const IN_A_PROJECT: &str = ".vigie/workflows";
/// Beside the configuration.
const BESIDE_THE_CONFIGURATION: &str = "workflows";

/// A folder with workflows, there or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub origin: Origin,
    pub folder: PathBuf,
    /// Links may lead nowhere outside of this.
    pub within: PathBuf,
}

/// The person's own, beside the configuration.
pub fn own_folder(config_file: &Path) -> PathBuf {
    // Wherever whoever reads this was started from.
    let file = std::path::absolute(config_file).unwrap_or_else(|_| config_file.into());
    file.with_file_name(BESIDE_THE_CONFIGURATION)
}

/// The person's own, then those of the projects in the order of the configuration.
pub fn places(config: &Config, config_file: &Path) -> Vec<Place> {
    let folder = own_folder(config_file);
    let own = Place { origin: Origin::Own, within: folder.clone(), folder };
    let project = |project: &crate::config::Project| Place {
        origin: Origin::Project {
            project: project.name.clone(),
            triggers: config.workflows.triggers.contains(&project.name),
        },
        folder: project.path.join(IN_A_PROJECT),
        within: project.path.clone(),
    };
    std::iter::once(own).chain(config.projects.iter().map(project)).collect()
}
