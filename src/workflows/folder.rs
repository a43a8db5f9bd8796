//! One folder with workflows. Agents can write to a project's, so nothing in there is followed out of
//! it, waited for, or taken in without a bound.

use nix::fcntl::OFlag;
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};
use vigie_core::{Timestamp, run::Origin};

use super::{
    file::{FileRead, LONGEST_FILE, parse},
    places::Place,
};

/// Workflows of one folder.
pub(super) const MOST_FILES: usize = 500;
/// Names in one folder that are looked at: more is no folder of workflows.
const MOST_NAMES: usize = 10_000;
/// Of all files of one folder together, in bytes.
const MOST_BYTES: usize = 8 << 20;
/// A file that changed within this time may change again without another look: the clock of a disk
/// ticks more coarsely than one writes.
const YOUNG: Duration = Duration::from_secs(2);

/// What a folder had in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderRead {
    /// In the order of their names.
    pub files: Vec<FileRead>,
    /// Why not all of it was read, a sentence without its full stop.
    pub fault: Option<String>,
    pub(super) listing: Listing,
}

/// What a look from afar shows: enough to tell that nothing changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    stamps: BTreeMap<PathBuf, Stamp>,
    too_many: bool,
    /// Something changed so short a time ago that the stamps prove nothing.
    young: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// Reads a folder that may not be there. Blocks for as long as its disk does.
pub fn read(place: &Place, now: Timestamp) -> FolderRead {
    read_if_changed(place, None, now).unwrap_or_default()
}

/// Reads one file, wherever it lies, as if it were one of the person's own.
pub fn read_file(path: &Path) -> FileRead {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).unwrap_or_default();
    let shown = path.display().to_string();
    // Whoever names it may have linked it there.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let within = real.parent().unwrap_or(&folder);
    let beside = |name: &str| beside(&folder, name);
    match text(within, &real) {
        Ok(text) => parse(path, shown, Origin::Own, text, &beside),
        Err((why, hint)) => FileRead::unreadable(path, Origin::Own, &why, hint),
    }
}

/// `None`: it is as it was at `before`.
pub(super) fn read_if_changed(
    place: &Place,
    before: Option<&Listing>,
    now: Timestamp,
) -> Option<FolderRead> {
    let (folder, listing) = match list(place, now) {
        Ok(found) => found,
        Err(fault) => {
            let listing = Listing::default();
            let unchanged = before == Some(&listing) && fault.is_none();
            return (!unchanged).then(|| FolderRead { fault, listing, ..FolderRead::default() });
        }
    };
    if before == Some(&listing) && !listing.young {
        return None;
    }
    let files = files(place, &folder, &listing);
    let fault = listing.too_many.then(|| {
        format!("{} has more than {MOST_FILES} workflows; the rest is not read", folder.display())
    });
    Some(FolderRead { files, fault, listing })
}

/// The folder behind all links, and what is in it; `Err(None)`: there is none.
fn list(place: &Place, now: Timestamp) -> Result<(PathBuf, Listing), Option<String>> {
    let shown = place.folder.display();
    let wrong = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => None,
        _ => Some(format!("{shown} cannot be read: {error}")),
    };
    let folder = fs::canonicalize(&place.folder).map_err(wrong)?;
    let within = fs::canonicalize(&place.within).map_err(wrong)?;
    if !folder.starts_with(&within) {
        return Err(Some(format!("{shown} is a link that leads out of {}", within.display())));
    }
    let mut listing = Listing::default();
    let young = now - YOUNG;
    for entry in fs::read_dir(&folder).map_err(wrong)?.take(MOST_NAMES) {
        let path = entry.map_err(wrong)?.path();
        if !matters(&path) {
            continue;
        }
        // Whatever it is: what cannot be read is said when it is read.
        let Ok(meta) = fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path)) else {
            continue;
        };
        let changed = (meta.ctime(), meta.ctime_nsec());
        listing.young |= changed.0 >= young.timestamp();
        let stamp = Stamp { inode: meta.ino(), size: meta.size(), changed };
        listing.stamps.insert(path, stamp);
    }
    let workflows = listing.stamps.keys().filter(|path| is_workflow(path));
    listing.too_many = workflows.count() > MOST_FILES;
    Ok((folder, listing))
}

/// Workflows, and what they name beside them.
fn matters(path: &Path) -> bool {
    is_workflow(path) || path.extension().is_some_and(|ending| ending == "json")
}

fn is_workflow(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

fn files(place: &Place, folder: &Path, listing: &Listing) -> Vec<FileRead> {
    let mut room = MOST_BYTES;
    let beside = |name: &str| beside(folder, name);
    let mut read = |path: &PathBuf| {
        // As people wrote it, not where links lead.
        let shown = path.file_name().map_or_else(|| path.clone(), |n| place.folder.join(n));
        let found = text(folder, path).and_then(|text| {
            room = room.checked_sub(text.len()).ok_or_else(|| {
                let why = format!("its folder has more than {} MiB of workflows", MOST_BYTES >> 20);
                (why, "make them smaller, or fewer")
            })?;
            Ok(text)
        });
        match found {
            Ok(text) => {
                let name = shown.display().to_string();
                parse(&shown, name, place.origin.clone(), text, &beside)
            }
            Err((why, hint)) => FileRead::unreadable(&shown, place.origin.clone(), &why, hint),
        }
    };
    let workflows = listing.stamps.keys().filter(|path| is_workflow(path));
    workflows.take(MOST_FILES).map(&mut read).collect()
}

/// What a workflow names beside it.
fn beside(folder: &Path, name: &str) -> Result<String, String> {
    let path = Path::new(name);
    if path.components().count() != 1 {
        return Err(format!("`{name}` is not the name of a file in the same folder"));
    }
    text(folder, &folder.join(path)).map_err(|(why, _)| format!("`{name}`: {why}"))
}

/// A file of that folder, or why it cannot be read and what to do.
fn text(folder: &Path, path: &Path) -> Result<String, (String, &'static str)> {
    let unreadable =
        |error: io::Error| (format!("it cannot be read: {error}"), "look at its owner and mode");
    let real = fs::canonicalize(path).map_err(unreadable)?;
    if !real.starts_with(folder) {
        let why = "it is a link that leads out of its folder".to_owned();
        return Err((why, "put the file itself there"));
    }
    let file = open(&real).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(("it is no file".into(), "put a file there, or take it away"));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST_FILE {
        let why = format!("it is longer than {} MiB", LONGEST_FILE >> 20);
        return Err((why, "nothing a person wrote is as long: look what it is"));
    }
    String::from_utf8(bytes).map_err(|_| ("it is no UTF-8 text".into(), "save it as UTF-8"))
}

/// Neither follows a link that was put there just now, nor waits for the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}
