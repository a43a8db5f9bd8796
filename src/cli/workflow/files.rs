//! The files with workflows, as a daemon on this configuration would read them.

use std::path::Path;
use vigie_core::nearest::nearest;

use crate::{
    cli::{Desk, failure::Failure},
    config::{Config, Named},
    workflows::{self, FileRead, FolderRead, Reading},
};

/// Names offered for one that does not exist.
const MOST_NEAR: usize = 3;

pub(super) fn folders(named: bool, desk: &Desk) -> Result<Vec<FolderRead>, Failure> {
    Ok(folders_of(&config(named, desk)?, desk))
}

pub(super) fn config(named: bool, desk: &Desk) -> Result<Config, Failure> {
    let named = if named { Named::Yes } else { Named::No };
    Config::load(&desk.around, named).map_err(Failure::usage)
}

pub(super) fn folders_of(config: &Config, desk: &Desk) -> Vec<FolderRead> {
    let places = workflows::places(config, &desk.around.config);
    places.iter().map(|place| workflows::read(place, desk.clock.now())).collect()
}

/// Whether somebody means a file and no name.
pub(super) fn is_file(which: &str) -> bool {
    let path = Path::new(which);
    let ending = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    ending || path.is_file()
}

/// That file among all others, wherever it lies: its calls are looked up as if it were one's own.
pub(super) fn with_file(
    path: &Path,
    folders: &[FolderRead],
) -> Result<(Reading, FileRead), Failure> {
    let real = path
        .canonicalize()
        .map_err(|error| Failure::outside(format!("{} cannot be read: {error}", path.display())))?;
    let reading = workflows::build(folders);
    let known =
        reading.files.iter().find(|file| file.path.canonicalize().is_ok_and(|other| other == real));
    if let Some(file) = known {
        let file = file.clone();
        return Ok((reading, file));
    }
    Ok(workflows::build_with(folders, workflows::read_file(path)))
}

/// The file of that name.
pub(super) fn named<'a>(name: &str, reading: &'a Reading) -> Result<&'a FileRead, Failure> {
    reading.named(name).next().ok_or_else(|| {
        let names: Vec<&str> = reading.catalog.all.keys().map(String::as_str).collect();
        let near = nearest(name, names.iter().copied(), MOST_NEAR);
        let hint = match near.as_slice() {
            [] => format!("Workflows: {}.", names.join(", ")),
            near => format!("Did you mean {}?", near.join(", ")),
        };
        let words = format!("no workflow is called `{name}`");
        Failure::refused("no_workflow", words).hint(hint)
    })
}

/// The file that is meant, by path or by name, and all others.
pub(super) fn one(which: &str, folders: &[FolderRead]) -> Result<(Reading, FileRead), Failure> {
    if is_file(which) {
        return with_file(Path::new(which), folders);
    }
    let reading = workflows::build(folders);
    let file = named(which, &reading)?.clone();
    Ok((reading, file))
}

/// `name=value` as it was typed.
pub(super) fn assignment(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("`{text}` gives no param a value"))
            .hint("Write NAME=VALUE, such as target=staging.")
    })?;
    Ok((name.into(), value.into()))
}
