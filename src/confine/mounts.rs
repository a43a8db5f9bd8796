//! What of the files is to be seen: mounts in a namespace of one's own.

use nix::{
    libc,
    mount::{MsFlags, mount},
    sys::statvfs::{FsFlags, statvfs},
    unistd::{AccessFlags, access},
};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use super::Confinement;

/// What stands for a hidden folder: nothing but places to mount on. Its size is for those.
const EMPTY: &str = "mode=0755,size=256k,nr_inodes=256";

/// Files of the system that ssh includes only from its owner or root, and root is nobody in a user
/// namespace that does not map it. Without them no `git push` over ssh works.
const SSH_INCLUDES: [&str; 2] =
    ["/etc/ssh/ssh_config.d", "/etc/crypto-policies/back-ends/openssh.config"];
/// Such a file is a few lines.
const LONGEST_INCLUDE: u64 = 64 << 10;

/// A path that could not be arranged.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub(super) struct MountError {
    path: PathBuf,
    source: io::Error,
}

trait At<T> {
    fn at(self, path: &Path) -> Result<T, MountError>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, path: &Path) -> Result<T, MountError> {
        self.map_err(|source| MountError { path: path.into(), source: source.into() })
    }
}

/// Takes away what is hidden and puts back what is kept.
pub(super) fn arrange(confinement: &Confinement) -> Result<(), MountError> {
    // What is mounted later outside shows up inside; nothing goes the other way.
    change(Path::new("/"), MsFlags::MS_SLAVE | MsFlags::MS_REC)?;
    let hidden = existing(&confinement.hide)?;
    let kept = inside(&confinement.keep, &hidden)?;
    let shown = inside(&confinement.show, &hidden)?;
    hold_in_place(&hidden)?;
    let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        hidden.iter().partition(|path| path.is_dir());
    for folder in &folders {
        mount(
            Some("vigie"),
            *folder,
            Some("tmpfs"),
            MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
            Some(EMPTY),
        )
        .at(folder)?;
    }
    if let Some(empty) = folders.first()
        && !nix::unistd::geteuid().is_root()
    {
        own_ssh_includes(empty)?;
    }
    for (path, open) in kept.iter().chain(&shown) {
        fs::create_dir_all(path).at(path)?;
        bind(&descriptor(open), path)?;
    }
    for (path, _) in &shown {
        read_only(path)?;
    }
    for folder in &folders {
        read_only(folder)?;
    }
    for file in files {
        bind(Path::new("/dev/null"), file)?;
        read_only(file)?; // the device itself takes what is written to it
    }
    own_terminals()?;
    for path in &confinement.read_only {
        close_to_writing(path)?;
    }
    if nix::unistd::geteuid().is_root() {
        // Root may write there, and some of it runs programs outside of every session.
        let kernel = Path::new("/proc/sys");
        bind(kernel, kernel)?;
        read_only(kernel)?;
    }
    Ok(())
}

/// Under every name it has, and what is mounted inside of it.
fn close_to_writing(path: &Path) -> Result<(), MountError> {
    let path = fs::canonicalize(path).at(path)?;
    let mut all = aliases(&path).at(&path)?;
    all.push(path);
    for path in all {
        bind(&path, &path)?;
        let table = fs::read_to_string("/proc/self/mountinfo").at(&path)?;
        let inside = table.lines().filter_map(Mount::read).map(|mount| mount.at);
        let inside: BTreeSet<PathBuf> = inside.filter(|at| at.starts_with(&path)).collect();
        inside.iter().try_for_each(|at| read_only(at))?;
    }
    Ok(())
}

/// The terminals of other sessions, and the person's own, are files that this user may open: who
/// reads one takes what is typed there. The program keeps its own, which it has open already.
fn own_terminals() -> Result<(), MountError> {
    let folder = Path::new("/dev/pts");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=0620");
    mount(Some("vigie"), folder, Some("devpts"), flags, options).at(folder)?;
    bind(&folder.join("ptmx"), Path::new("/dev/ptmx"))
}

/// Those that are there, without links in their way, and none inside another.
fn existing(paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, MountError> {
    let mut found = BTreeSet::new();
    for path in paths {
        match fs::canonicalize(path) {
            Ok(path) => {
                found.extend(aliases(&path).at(&path)?);
                found.insert(path);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at(path),
        }
    }
    let inner = |path: &PathBuf| path.ancestors().skip(1).any(|outer| found.contains(outer));
    Ok(found.iter().filter(|path| !inner(path)).cloned().collect())
}

/// The same folder or file under other names: a file system may be mounted more than once.
fn aliases(path: &Path) -> io::Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let mounts: Vec<Mount> = table.lines().filter_map(Mount::read).collect();
    let about = fs::metadata(path)?;
    let same = |other: &PathBuf| {
        fs::metadata(other).is_ok_and(|it| (it.dev(), it.ino()) == (about.dev(), about.ino()))
    };
    // The last mount on the longest of its folders is the one that `path` is in.
    let ours = mounts.iter().enumerate().filter(|(_, mount)| path.starts_with(&mount.at));
    let Some((_, ours)) = ours.max_by_key(|(place, mount)| (mount.at.as_os_str().len(), *place))
    else {
        return Ok(Vec::new());
    };
    let Ok(below) = path.strip_prefix(&ours.at) else { return Ok(Vec::new()) };
    let inside = ours.root.join(below);
    let others = mounts.iter().filter(|mount| mount.device == ours.device);
    let named =
        others.filter_map(|mount| Some(mount.at.join(inside.strip_prefix(&mount.root).ok()?)));
    Ok(named.filter(|other| other != path).filter(same).collect())
}

/// A line of `mountinfo`: `proc_pid_mountinfo(5)`.
struct Mount {
    device: String,
    root: PathBuf,
    at: PathBuf,
}

impl Mount {
    fn read(line: &str) -> Option<Self> {
        let mut columns = line.split(' ').skip(2);
        let device = columns.next()?.to_owned();
        let (root, at) = (columns.next()?, columns.next()?);
        Some(Self { device, root: unescaped(root), at: unescaped(at) })
    }
}

/// Blanks and backslashes stand as octal numbers.
fn unescaped(text: &str) -> PathBuf {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)).into()
}

/// What is there of the hidden all the same, opened while it can still be seen.
fn inside(
    paths: &[PathBuf],
    hidden: &BTreeSet<PathBuf>,
) -> Result<Vec<(PathBuf, File)>, MountError> {
    let mut kept: Vec<(PathBuf, File)> = Vec::new();
    for path in paths {
        let path = fs::canonicalize(path).at(path)?;
        let inside = path.ancestors().skip(1).any(|outer| hidden.contains(outer));
        if inside && !kept.iter().any(|(outer, _)| path.starts_with(outer)) {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY);
            let open = options.open(&path).at(&path)?;
            kept.push((path, open));
        }
    }
    Ok(kept)
}

/// A mounted folder cannot be renamed. So the folders above the hidden ones become mounts of
/// themselves, or a session could move one away and put its own Vigie in the old one's place.
fn hold_in_place(hidden: &BTreeSet<PathBuf>) -> Result<(), MountError> {
    let above = hidden.iter().flat_map(|path| path.ancestors().skip(1));
    let movable = |folder: &&Path| {
        folder.parent().is_some_and(|parent| access(parent, AccessFlags::W_OK).is_ok())
    };
    // Sorted, so that what is further up comes first.
    let folders: BTreeSet<&Path> = above.filter(movable).collect();
    folders.into_iter().try_for_each(|folder| bind(folder, folder))
}

/// Puts copies that are our own in the place of the system's.
fn own_ssh_includes(empty: &Path) -> Result<(), MountError> {
    let copy = empty.join("copy");
    for path in SSH_INCLUDES.map(Path::new).into_iter().flat_map(files_in) {
        let Ok(path) = fs::canonicalize(path) else { continue };
        let readable = fs::metadata(&path).is_ok_and(|about| about.len() <= LONGEST_INCLUDE);
        let Some(text) = readable.then(|| fs::read(&path).ok()).flatten() else { continue };
        fs::write(&copy, text).at(&copy)?;
        bind(&copy, &path)?;
        fs::remove_file(&copy).at(&copy)?; // the mount keeps it
    }
    Ok(())
}

fn files_in(path: &Path) -> Vec<PathBuf> {
    match fs::read_dir(path) {
        Ok(entries) => {
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect()
        }
        Err(_) => vec![path.into()],
    }
}

fn bind(what: &Path, at: &Path) -> Result<(), MountError> {
    mount(Some(what), at, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>).at(at)
}

fn change(at: &Path, flags: MsFlags) -> Result<(), MountError> {
    mount(None::<&str>, at, None::<&str>, flags, None::<&str>).at(at)
}

/// Whatever else the mount forbids stays forbidden, and must be said again.
fn read_only(at: &Path) -> Result<(), MountError> {
    let now = statvfs(at).at(at)?.flags();
    let kept = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let kept = kept.into_iter().filter(|(flag, _)| now.contains(*flag));
    let kept: MsFlags = kept.map(|(_, flag)| flag).collect();
    change(at, kept | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY)
}

fn descriptor(open: &File) -> PathBuf {
    format!("/proc/self/fd/{}", open.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_with_its_odd_names() {
        let line = r"36 35 98:0 /mnt\0401 /mnt\1342 rw,noatime master:1 - ext3 /dev/root rw";
        let mount = Mount::read(line).unwrap();
        assert_eq!(mount.device, "98:0");
        assert_eq!((mount.root, mount.at), ("/mnt 1".into(), r"/mnt\2".into()));
    }

    #[test]
    fn what_lies_in_something_hidden_is_hidden_with_it() {
        let home = tempfile::tempdir().unwrap();
        let outer = fs::canonicalize(home.path()).unwrap();
        let inner = outer.join("inner");
        fs::create_dir(&inner).unwrap();
        let paths = [inner, outer.clone(), outer.join("nowhere")];
        assert_eq!(existing(&paths).unwrap(), BTreeSet::from([outer]));
    }
}
