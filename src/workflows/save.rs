//! Puts a new text in place of one of the person's own files: the whole of it or nothing, and only in
//! place of what whoever wrote it had read.

use nix::fcntl::OFlag;
use sha2::{Digest as _, Sha256};
use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process,
};
use vigie_core::run::Origin;

use super::{FileRead, LONGEST_FILE};

/// Why a text was not kept; a sentence without its full stop.
#[derive(Debug, thiserror::Error)]
pub enum NotSaved {
    #[error("{0}")]
    NotYours(String),
    #[error("{0} changed after it was read")]
    Changed(String),
    #[error("a workflow is called {0} already")]
    Exists(String),
    #[error("`{0}` is no name of a workflow")]
    BadName(String),
    #[error("a workflow is at most {} MiB long", LONGEST_FILE >> 20)]
    TooLong,
    #[error("{file} cannot be written: {error}")]
    Disk { file: String, error: io::Error },
}

/// Longest name of a new one; it becomes that of a file.
const LONGEST_NAME: usize = 60;

/// SHA-256 of a text, in hex: says which text somebody read.
pub fn digest(text: &str) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(hex, "{byte:02x}"); // a String takes everything
    }
    hex
}

/// Why nobody writes into that file from a page; `None`: an owner may.
pub fn why_not(file: &FileRead) -> Option<String> {
    match &file.origin {
        Origin::BuiltIn => Some(format!(
            "It ships with Vigie; `vigie workflow copy {}` puts it among your own.",
            file.name
        )),
        Origin::Project { project, .. } => {
            Some(format!("It belongs to the project {project}, and is changed there."))
        }
        Origin::Own if file.text.is_empty() => Some("Its file cannot be read.".into()),
        Origin::Own => None,
    }
}

/// Writes `text` in place of the file's, if its digest is still `read`. Blocks for as long as its disk
/// does.
///
/// # Errors
/// Why it was not; the file is as it was.
pub fn save(file: &FileRead, text: &str, read: &str) -> Result<(), NotSaved> {
    if let Some(why) = why_not(file) {
        return Err(NotSaved::NotYours(why.trim_end_matches('.').into()));
    }
    if text.len() as u64 > LONGEST_FILE {
        return Err(NotSaved::TooLong);
    }
    let disk = |error| NotSaved::Disk { file: file.shown.clone(), error };
    let path = fs::canonicalize(&file.path).map_err(disk)?;
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    let there = still(file, &path, read)?;
    let mode = fs::metadata(&path).map_err(disk)?.permissions().mode() & 0o777;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.{}.new", process::id()));
    let written = write(&new, &with_its_line_ends(text, &there), mode)
        .map_err(disk)
        // It may have changed while we wrote.
        .and_then(|()| still(file, &path, read).map(drop))
        .and_then(|()| fs::rename(&new, &path).map_err(disk));
    if let Err(why) = written {
        // It may never have come to be.
        let _ = fs::remove_file(&new);
        return Err(why);
    }
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(disk)
}

/// A workflow to begin with, under that name.
pub fn sample(name: &str) -> String {
    format!(
        "name: {name}\ntitle: What it does, in a line\nsteps:\n  - id: hello\n    shell: echo \"hello\"\n"
    )
}

/// Makes a file of that name in the person's own folder, which need not be there. Blocks for as long as
/// its disk does.
///
/// # Errors
/// Why there is none; what was there is as it was.
pub fn create(folder: &Path, name: &str, text: &str) -> Result<PathBuf, NotSaved> {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let begins = name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    if !begins || name.len() > LONGEST_NAME || !name.bytes().all(letters) {
        return Err(NotSaved::BadName(name.into()));
    }
    if text.len() as u64 > LONGEST_FILE {
        return Err(NotSaved::TooLong);
    }
    let path = folder.join(format!("{name}.yaml"));
    let disk = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => NotSaved::Exists(name.into()),
        _ => NotSaved::Disk { file: path.display().to_string(), error },
    };
    fs::create_dir_all(folder).map_err(disk)?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(disk)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a workflow is worse than none.
        let _ = fs::remove_file(&path);
        return Err(disk(error));
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(disk)?;
    Ok(path)
}

/// What is there now, if that is what was read.
fn still(file: &FileRead, path: &Path, read: &str) -> Result<String, NotSaved> {
    let there = fs::read_to_string(path)
        .map_err(|error| NotSaved::Disk { file: file.shown.clone(), error })?;
    if digest(&there) == read { Ok(there) } else { Err(NotSaved::Changed(file.shown.clone())) }
}

/// Browsers end lines with `\n` whatever they were given.
fn with_its_line_ends(text: &str, before: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if before.contains("\r\n") { plain.replace('\n', "\r\n") } else { plain }
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC).bits();
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflows::read_file;

    #[test]
    fn a_new_one_runs_as_it_is_and_takes_nothings_place() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("workflows");
        let path = create(&folder, "nightly-count", &sample("nightly-count")).unwrap();
        assert_eq!(path, folder.join("nightly-count.yaml"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(!crate::workflows::check(&text).has_errors(), "{text}");
        let again = create(&folder, "nightly-count", "name: x\n");
        assert!(matches!(again, Err(NotSaved::Exists(_))), "{again:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        for name in ["", "..", "a/b", "-a", "a b", "é", &"a".repeat(61)] {
            let refused = create(&folder, name, "name: x\n");
            assert!(matches!(refused, Err(NotSaved::BadName(_))), "{name}: {refused:?}");
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    fn own(folder: &Path, text: &str) -> FileRead {
        let path = folder.join("release.yaml");
        fs::write(&path, text).unwrap();
        read_file(&path)
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode_and_line_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = own(folder.path(), "name: release\r\n");
        fs::set_permissions(&file.path, Permissions::from_mode(0o640)).unwrap();
        save(&file, "name: release\nsteps: []\n", &digest(&file.text)).unwrap();
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "name: release\r\nsteps: []\r\n");
        assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_changed_meanwhile_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = own(folder.path(), "name: release\n");
        let read = digest(&file.text);
        fs::write(&file.path, "name: other\n").unwrap();
        let why = save(&file, "name: release\nsteps: []\n", &read).unwrap_err();
        assert!(matches!(why, NotSaved::Changed(_)), "{why}");
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "name: other\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_the_persons_own_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileRead { origin: Origin::BuiltIn, ..own(folder.path(), "name: release\n") };
        let why = save(&file, "name: x\n", &digest(&file.text)).unwrap_err();
        assert!(why.to_string().contains("ships with Vigie"), "{why}");
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "name: release\n");
    }
}
