//! A new login takes the place of an old one: made beside it, then put in place at once, so that a login
//! that fails changes nothing and nothing is ever deleted.

use std::{
    fs, io,
    path::{Path, PathBuf},
};
use vigie_core::Timestamp;

use super::{Folder, FolderError, Held, folder::removed};

/// What set-aside logins are called, before the time it was done.
const ASIDE: &str = "old-";

impl Folder {
    /// Where a login is made until it has succeeded: a folder like this one. What a broken one left
    /// behind is removed, unless it had succeeded: then it is put in place first.
    pub(super) fn staging(&self, held: &Held, now: Timestamp) -> Result<Self, FolderError> {
        self.settle(held, now)?;
        let staging = self.staged();
        removed(staging.path(), fs::remove_dir_all(staging.path()))?;
        Ok(staging)
    }

    fn staged(&self) -> Self {
        Self::new(self.path().join("new"))
    }

    /// Puts a login in place that had succeeded when its process ended.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn settle(&self, held: &Held, now: Timestamp) -> Result<(), FolderError> {
        if self.staged().is_set_up() { self.adopt(held, now).map(drop) } else { Ok(()) }
    }

    /// Puts the staged login in place, and what was there aside; returns where that lies.
    pub(super) fn adopt(&self, _: &Held, now: Timestamp) -> Result<Option<PathBuf>, FolderError> {
        let account = self.account();
        let is_empty =
            |folder: &Path| folder.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        let aside = if !account.exists() || is_empty(&account) {
            removed(&account, fs::remove_dir(&account))?;
            None
        } else {
            let aside = self.free_name(now);
            moved(&account, &aside)?;
            Some(aside)
        };
        moved(&self.staged().account(), &account)?;
        removed(self.staged().path(), fs::remove_dir_all(self.staged().path()))?;
        Ok(aside)
    }

    /// A name that nothing has yet: two logins within a second are two.
    fn free_name(&self, now: Timestamp) -> PathBuf {
        let name = format!("{ASIDE}{}", now.format("%Y-%m-%dT%H-%M-%S"));
        let names =
            std::iter::once(name.clone()).chain((2..).map(|count| format!("{name}-{count}")));
        let mut free = names.map(|name| self.path().join(name)).filter(|path| !path.exists());
        free.next().expect("some number is free")
    }

    /// Logins that were put aside, oldest first.
    pub fn aside(&self) -> Vec<PathBuf> {
        let entries = self.path().read_dir().into_iter().flatten().filter_map(Result::ok);
        let named =
            |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(ASIDE));
        let old = entries.filter(|entry| named(&entry.file_name())).map(|entry| entry.path());
        let mut old: Vec<PathBuf> = old.collect();
        old.sort();
        old
    }
}

fn moved(from: &Path, to: &Path) -> Result<(), FolderError> {
    let done = fs::rename(from, to).and_then(|()| sync_above(to));
    done.map_err(|source| FolderError::File { file: to.into(), source })
}

fn sync_above(path: &Path) -> io::Result<()> {
    fs::File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}
