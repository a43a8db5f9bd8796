//! Another user of the system, as whom an agent runs.

use nix::unistd::User;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    os::unix::fs::lchown,
    path::{Path, PathBuf},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub name: String,
    uid: u32,
    gid: u32,
    home: PathBuf,
    shell: PathBuf,
}

impl Account {
    /// The system's account of that name; `None`: there is none.
    pub fn find(name: &str) -> Option<Self> {
        let User { name, uid, gid, dir, shell, .. } = User::from_name(name).ok()??;
        Some(Self { name, uid: uid.as_raw(), gid: gid.as_raw(), home: dir, shell })
    }

    /// What a login would set.
    pub fn environment(&self) -> [(String, String); 4] {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let set = |name: &str, value: String| (name.to_owned(), value);
        [
            set("HOME", text(&self.home)),
            set("SHELL", text(&self.shell)),
            set("USER", self.name.clone()),
            set("LOGNAME", self.name.clone()),
        ]
    }

    /// Gives it a folder of ours.
    pub fn own(&self, folder: &Path) -> io::Result<()> {
        lchown(folder, Some(self.uid), Some(self.gid))
    }

    /// Gives it a folder of ours and what we put there. Once it is given, anything may be in there.
    pub fn own_all(&self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            self.own(&entry?.path())?;
        }
        self.own(folder)
    }

    /// Makes this process one of its, for good, and its terminal too.
    #[cfg(target_os = "linux")]
    pub(super) fn enter(&self) -> io::Result<()> {
        use io::IsTerminal as _;
        use nix::unistd::{Gid, Uid};
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        if io::stdin().is_terminal() {
            nix::unistd::fchown(io::stdin(), Some(uid), None)?;
        }
        let name = std::ffi::CString::new(self.name.as_bytes()).map_err(io::Error::other)?;
        nix::unistd::initgroups(&name, gid)?;
        nix::unistd::setgid(gid)?;
        nix::unistd::setuid(uid)?;
        Ok(())
    }
}
