//! The data folder and its disk.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::Finding;

/// Below this a day of recordings fills the disk.
const LITTLE: u64 = 2 << 30;
/// Below this the database may fail to write at any moment.
const NONE_LEFT: u64 = 100 << 20;

/// A page of a database, since that is what Vigie writes.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(".doctor");
    let written = fs::write(&file, [0; 4096]);
    let removed = fs::remove_file(&file);
    written.and(removed)
}

pub(super) fn data_folder(data: &Path) -> Finding {
    const TOPIC: &str = "data folder";
    let shown = data.display();
    let meta = match data.metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Finding::ok(TOPIC, format!("{shown}, made at the first start"));
        }
        Err(error) => {
            let todo = "Look at the folders above it, or set VIGIE_HOME to another one.";
            return Finding::fail(TOPIC, format!("{shown}: {error}"), todo);
        }
    };
    if !meta.is_dir() {
        return Finding::fail(
            TOPIC,
            format!("{shown} is no folder"),
            "Move it away, or set VIGIE_HOME.",
        );
    }
    if meta.uid() != nix::unistd::geteuid().as_raw() {
        let todo = "Set VIGIE_HOME to a folder of your own.";
        return Finding::fail(TOPIC, format!("{shown} belongs to another user"), todo);
    }
    if let Err(error) = try_to_write(data) {
        let todo = "Make room on its disk, or mount that for writing; Vigie takes nothing it cannot write down.";
        return Finding::fail(TOPIC, format!("nothing can be written in {shown}: {error}"), todo);
    }
    let mode = meta.mode() & 0o777;
    if mode & 0o077 != 0 {
        let words = format!("others can look into {shown} (mode {mode:03o})");
        return Finding::warn(TOPIC, words, format!("chmod 700 {shown}"));
    }
    Finding::ok(TOPIC, shown)
}

/// Room where the data is, or will be.
pub(super) fn disk(data: &Path) -> Option<Finding> {
    const TOPIC: &str = "disk";
    let there: PathBuf = data.ancestors().find(|folder| folder.exists())?.into();
    let free = match fs4::available_space(&there) {
        Ok(free) => free,
        Err(error) => {
            let todo = "Look with `df`; Vigie needs room to write.";
            return Some(Finding::warn(TOPIC, format!("free room is not known: {error}"), todo));
        }
    };
    let words = format!("{} MiB free at {}", free >> 20, there.display());
    let todo = "Make room: without it nothing is stored, and so nothing is done.";
    Some(match free {
        ..NONE_LEFT => Finding::fail(TOPIC, words, todo),
        NONE_LEFT..LITTLE => Finding::warn(TOPIC, words, todo),
        _ => Finding::ok(TOPIC, words),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn an_open_folder_is_said_with_its_cure() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let finding = data_folder(folder.path());
        assert_eq!(finding.level, Level::Warn);
        assert_eq!(finding.todo.unwrap(), format!("chmod 700 {}", folder.path().display()));

        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(data_folder(folder.path()).level, Level::Ok);
    }

    #[test]
    fn a_file_in_its_place_is_said() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(data_folder(file.path()).level, Level::Fail);
    }
}
