//! The data folder: made for its owner alone, and held by one daemon at a time.

use fs4::{FileExt, TryLockError};
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The file whose lock the daemon holds.
pub const LOCK: &str = "vigie.lock";

/// The folder is ours until this is dropped.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("{} cannot be used: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("{} belongs to another user; set VIGIE_HOME to a folder of your own", .0.display())]
    Foreign(PathBuf),
    #[error("Vigie is running already with {}; `vigie status` shows it", .0.display())]
    Running(PathBuf),
}

impl Home {
    /// Makes the folder if need be, closes it to others, and takes its lock.
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        let refused = |source| HomeError::Folder { path: path.into(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        let meta = fs::metadata(path).map_err(refused)?;
        if meta.uid() != nix::unistd::geteuid().as_raw() {
            return Err(HomeError::Foreign(path.into()));
        }
        if meta.mode() & 0o077 != 0 {
            let owner_only = fs::Permissions::from_mode(0o700);
            fs::set_permissions(path, owner_only).map_err(refused)?;
        }
        let mut options = OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = lock.open(path.join(LOCK)).map_err(refused)?;
        match FileExt::try_lock(&lock) {
            Ok(()) => Ok(Self { path: path.into(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(HomeError::Running(path.into())),
            Err(TryLockError::Error(source)) => Err(refused(source)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_daemon_at_a_time_and_nobody_else_looks_in() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("share/vigie");
        let home = Home::open(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        assert!(matches!(Home::open(&path), Err(HomeError::Running(_))));
        drop(home);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let home = Home::open(&path).unwrap();
        assert_eq!(home.path().metadata().unwrap().mode() & 0o777, 0o700);
    }
}
