//! The workflows that ship with Vigie, as they were when this binary was built.

use std::path::Path;
use vigie_core::run::Origin;

use super::file::{FileRead, parse};

/// What people read as the place of such a file.
pub(super) const PLACE: &str = "built in";

macro_rules! embedded {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../workflows/", $name)))),+]
    };
}

const ALL: [(&str, &str); 7] = embedded![
    "baseline-measure-analyse-design.yaml",
    "bug.yaml",
    "feature.yaml",
    "nightly-audit.yaml",
    "quick-change.yaml",
    "review-panel.yaml",
    "test-then-deploy.yaml",
];

pub(super) fn read() -> Vec<FileRead> {
    // What these name beside them ships with them, or not at all.
    let beside = |name: &str| Err(format!("no file `{name}` ships with it"));
    let file = |(name, text): &(&str, &str)| {
        parse(Path::new(name), PLACE.into(), Origin::BuiltIn, (*text).into(), &beside)
    };
    ALL.iter().map(file).collect()
}
