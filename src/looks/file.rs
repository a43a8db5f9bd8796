//! A file of a session's folder that a person asked for.

use nix::{
    errno::Errno,
    fcntl::{OFlag, open, openat},
    sys::stat::Mode,
};
use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::{Component, Path, PathBuf},
};
use vigie_core::{nearest::nearest, text::reveal};

/// Bytes of a path. Source: `PATH_MAX` of Linux.
const LONGEST_PATH: usize = 4096;
/// Names offered when there is no such file.
const OFFERED: usize = 3;
/// Files looked at for those names; a bigger folder is not searched to its end.
const LOOKED_AT: usize = 20_000;
/// Folders deep.
const DEEP: usize = 12;
/// Folders full of files that nobody asks for by hand.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", ".venv"];
/// Longest name a copy gets, in bytes, before what makes it unique.
const LONGEST_NAME: usize = 100;
/// Copies of one name in the outgoing folder.
const COPIES: u32 = 1000;

/// A copy, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    pub path: PathBuf,
    /// The file's own name, for the person: hidden characters written out.
    pub name: String,
    /// In bytes.
    pub size: u64,
}

/// Why a file is not sent; each is a sentence for the person who asked.
#[derive(Debug, thiserror::Error)]
pub enum NoFile {
    #[error("there is no file {asked}{}", offer(near))]
    NotThere { asked: String, near: Vec<String> },
    #[error("that is longer than a path may be, which is {most} bytes")]
    TooLong { most: usize },
    #[error("patterns are not understood; name one file")]
    Pattern,
    #[error("{asked} is outside of the session's folder, and only files in it are sent")]
    Outside { asked: String },
    #[error("{asked} is a folder; name a file in it")]
    Folder { asked: String },
    #[error("{asked} is no ordinary file")]
    Special { asked: String },
    #[error("{asked} is too large to send: {} of at most {}", megabytes(*size), megabytes(*most))]
    TooLarge { asked: String, size: u64, most: u64 },
    #[error("{asked} cannot be read: {source}")]
    Unreadable { asked: String, source: io::Error },
    #[error("no copy of it could be made in {}: {source}", folder.display())]
    NotCopied { folder: PathBuf, source: io::Error },
}

fn offer(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; there is {one}"),
        [first @ .., last] => format!("; there are {} and {last}", first.join(", ")),
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// Copies the file that `asked` names, relative to the session's `folder`, into `outgoing`, which is
/// made if need be. The copy can be read by us alone (0600) and has a name of its own there; the
/// caller removes it. Links are followed as long as they stay in `folder`.
///
/// # Errors
/// [`NoFile`] says why it is not sent, with the likeliest names when there is no such file.
pub fn file(folder: &Path, asked: &str, most: u64, outgoing: &Path) -> Result<Copy, NoFile> {
    let asked = asked.trim();
    let words = || shown(asked);
    if asked.len() > LONGEST_PATH {
        return Err(NoFile::TooLong { most: LONGEST_PATH });
    }
    let unreadable = |source| NoFile::Unreadable { asked: words(), source };
    let folder = fs::canonicalize(folder).map_err(unreadable)?;
    let path = match fs::canonicalize(folder.join(asked)) {
        Ok(path) => path,
        Err(error) if is_absent(&error) => return Err(not_there(&folder, asked)),
        Err(error) => return Err(unreadable(error)),
    };
    let Ok(inside) = path.strip_prefix(&folder) else {
        return Err(NoFile::Outside { asked: words() });
    };
    if path.is_dir() {
        return Err(NoFile::Folder { asked: words() });
    }
    let source = open_inside(&folder, inside).map_err(|errno| match errno {
        // A link or a folder that was not there a moment ago, or a socket.
        Errno::ELOOP | Errno::ENOTDIR => NoFile::Outside { asked: words() },
        Errno::ENXIO => NoFile::Special { asked: words() },
        errno => unreadable(errno.into()),
    })?;
    let meta = source.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(NoFile::Special { asked: words() });
    }
    let too_large = |size| NoFile::TooLarge { asked: words(), size, most };
    if meta.len() > most {
        return Err(too_large(meta.len()));
    }
    let name = path.file_name().unwrap_or_default();
    let not_copied = |source| NoFile::NotCopied { folder: outgoing.into(), source };
    let (target, mut copy) = fresh(outgoing, name).map_err(not_copied)?;
    // It may grow while we read.
    let size = match io::copy(&mut source.take(most.saturating_add(1)), &mut copy) {
        Ok(size) if size <= most => size,
        failed => {
            let _ = fs::remove_file(&target); // half a copy is of no use
            return Err(failed.map_or_else(not_copied, too_large));
        }
    };
    Ok(Copy { path: target, name: shown(&name.to_string_lossy()), size })
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput | InvalidFilename)
}

/// Step by step from `folder` down a path without links, so that nobody can put one in its way
/// after it was checked. Never waits: a pipe that nobody writes to is opened and then refused.
fn open_inside(folder: &Path, inside: &Path) -> Result<File, Errno> {
    let step = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let mut at: OwnedFd = open(folder, step | OFlag::O_DIRECTORY, Mode::empty())?;
    let mut rest = inside.components().peekable();
    while let Some(component) = rest.next() {
        let Component::Normal(name) = component else { return Err(Errno::ELOOP) };
        let kind = if rest.peek().is_some() { OFlag::O_DIRECTORY } else { OFlag::empty() };
        at = openat(&at, name, step | kind, Mode::empty())?;
    }
    Ok(at.into())
}

/// A new file in `outgoing` whose name is like `name` and harmless anywhere.
fn fresh(outgoing: &Path, name: &OsStr) -> io::Result<(PathBuf, File)> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(outgoing)?;
    let name = safe(&name.to_string_lossy());
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        Some(_) | None => (name.as_str(), String::new()),
    };
    for number in 1..=COPIES {
        let name = if number == 1 { name.clone() } else { format!("{stem}-{number}{ending}") };
        let path = outgoing.join(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{COPIES} copies of {name} wait there already")))
}

/// Letters, digits and `.-_`; not hidden, no option, not too long, its ending kept.
fn safe(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_start_matches(['.', '-']);
    let cut = name.char_indices().map(|(at, _)| at).find(|at| name.len() - at <= LONGEST_NAME);
    let name = &name[cut.unwrap_or(name.len())..];
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "file".into() } else { name.into() }
}

fn not_there(folder: &Path, asked: &str) -> NoFile {
    if asked.contains(['*', '?', '[']) {
        return NoFile::Pattern;
    }
    let mut names = Vec::new();
    walk(folder, folder, 0, &mut names);
    names.sort_unstable();
    let near = likeliest(asked, &names);
    NoFile::NotThere {
        asked: shown(asked),
        near: near.into_iter().map(|name| shown(&name)).collect(),
    }
}

/// Files by their paths from `folder` on; links are not followed.
fn walk(folder: &Path, at: &Path, depth: usize, names: &mut Vec<String>) {
    for entry in fs::read_dir(at).into_iter().flatten().flatten() {
        if names.len() >= LOOKED_AT {
            return;
        }
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        let passed_over = PASSED_OVER.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && depth < DEEP && !passed_over {
            walk(folder, &path, depth + 1, names);
        } else if kind.is_file()
            && let Ok(inside) = path.strip_prefix(folder)
        {
            names.push(inside.to_string_lossy().into_owned());
        }
    }
}

/// Files of that very name elsewhere, then near ones.
fn likeliest(asked: &str, names: &[String]) -> Vec<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let wanted = last(asked);
    let same = names.iter().filter(|name| last(name) == wanted).map(String::as_str);
    let near = nearest(asked, names.iter().map(String::as_str), OFFERED);
    let ends: Vec<String> = names.iter().map(|name| last(name)).collect();
    let near_ends = nearest(&wanted, ends.iter().map(String::as_str), OFFERED);
    let of_end = near_ends
        .iter()
        .filter_map(|end| names.iter().zip(&ends).find(|(_, other)| other == end))
        .map(|(name, _)| name.as_str());
    let mut found: Vec<String> = Vec::new();
    for name in same.chain(near).chain(of_end) {
        if !found.iter().any(|other| other == name) {
            found.push(name.into());
        }
    }
    found.truncate(OFFERED);
    found
}

fn shown(text: &str) -> String {
    reveal(text).text.text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const MOST: u64 = 1000;

    struct Place {
        home: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            fs::create_dir_all(home.path().join("work/src/inner")).unwrap();
            fs::write(home.path().join("secret"), "not theirs").unwrap();
            let place = Self { home };
            for name in ["README.md", "src/main.rs", "src/inner/mod.rs", "report.pdf"] {
                fs::write(place.folder().join(name), name).unwrap();
            }
            place
        }

        fn folder(&self) -> PathBuf {
            self.home.path().join("work")
        }

        fn outgoing(&self) -> PathBuf {
            self.home.path().join("outgoing")
        }

        fn ask(&self, asked: &str) -> Result<Copy, NoFile> {
            file(&self.folder(), asked, MOST, &self.outgoing())
        }

        fn refused(&self, asked: &str) -> String {
            let refused = self.ask(asked).unwrap_err().to_string();
            let left = fs::read_dir(self.outgoing()).map_or(0, Iterator::count);
            assert_eq!(left, 0, "nothing is left behind");
            refused
        }
    }

    #[test]
    fn a_file_is_copied_for_us_alone_under_a_name_of_its_own() {
        let place = Place::new();
        let first = place.ask("src/main.rs").unwrap();
        let second = place.ask(" ./src/../src/main.rs ").unwrap();
        assert_eq!(fs::read_to_string(&first.path).unwrap(), "src/main.rs");
        assert_eq!((first.name.as_str(), first.size), ("main.rs", 11));
        assert_eq!(first.path, place.outgoing().join("main.rs"));
        assert_eq!(second.path, place.outgoing().join("main-2.rs"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&first.path), mode(&place.outgoing())), (0o600, 0o700));
    }

    #[test]
    fn nothing_outside_of_the_folder_is_sent() {
        let place = Place::new();
        let folder = place.folder();
        symlink("../secret", folder.join("link")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        symlink("src/main.rs", folder.join("stays")).unwrap();
        let secret = place.home.path().join("secret").display().to_string();
        for asked in ["link", "up/secret", "../secret", "/etc/passwd", &secret, "src/../../secret"]
        {
            let refused = place.refused(asked);
            assert_eq!(
                refused,
                format!(
                    "{asked} is outside of the session's folder, and only files in it are sent"
                )
            );
        }
        assert_eq!(place.ask("stays").unwrap().name, "main.rs");
        // Whoever names it whole means it as well.
        assert!(place.ask(&folder.join("README.md").display().to_string()).is_ok());
    }

    #[test]
    fn a_link_put_in_the_way_after_the_check_is_not_followed() {
        let place = Place::new();
        let folder = place.folder();
        symlink("../../secret", folder.join("src/link")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        for late in ["src/link", "up/secret", "../secret"] {
            assert!(open_inside(&folder, Path::new(late)).is_err(), "{late}");
        }
        assert!(open_inside(&folder, Path::new("src/inner/mod.rs")).is_ok());
    }

    #[test]
    fn only_ordinary_files_are_sent_and_nothing_waits() {
        let place = Place::new();
        let folder = place.folder();
        nix::unistd::mkfifo(&folder.join("pipe"), Mode::S_IRWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        assert_eq!(place.refused("pipe"), "pipe is no ordinary file");
        assert_eq!(place.refused("socket"), "socket is no ordinary file");
        assert_eq!(place.refused("src"), "src is a folder; name a file in it");
        assert_eq!(place.refused(""), " is a folder; name a file in it");
        assert!(place.refused("loop").starts_with("loop cannot be read: "));
    }

    #[test]
    fn a_file_over_the_limit_is_refused_with_both_sizes() {
        let place = Place::new();
        let path = place.folder().join("big");
        File::create(&path).unwrap().set_len(MOST + 1).unwrap();
        assert_eq!(place.refused("big"), "big is too large to send: 0.1 MB of at most 0.1 MB");
        File::create(&path).unwrap().set_len(60_000_000).unwrap();
        assert_eq!(place.refused("big"), "big is too large to send: 60.0 MB of at most 0.1 MB");
        File::create(&path).unwrap().set_len(MOST).unwrap();
        assert_eq!(place.ask("big").unwrap().size, MOST);
    }

    #[test]
    fn a_wrong_name_is_answered_with_likely_ones() {
        let place = Place::new();
        assert_eq!(place.refused("READEM.md"), "there is no file READEM.md; there is README.md");
        assert_eq!(place.refused("mod.rs"), "there is no file mod.rs; there is src/inner/mod.rs");
        assert_eq!(
            place.refused("src/mian.rs"),
            "there is no file src/mian.rs; there is src/main.rs"
        );
        assert_eq!(place.refused("x.rs/y"), "there is no file x.rs/y");
        assert_eq!(place.refused("nothing like it"), "there is no file nothing like it");
        assert_eq!(place.refused("src/*.rs"), "patterns are not understood; name one file");
        fs::write(place.folder().join("rëport.pdf"), "").unwrap();
        assert_eq!(
            place.refused("raport.pdf"),
            "there is no file raport.pdf; there are report.pdf and rëport.pdf"
        );
    }

    #[test]
    fn odd_names_are_made_harmless_and_visible() {
        let place = Place::new();
        for (name, safe, said) in [
            ("-rf a", "rf_a", "-rf a"),
            (".env", "env", ".env"),
            ("a\u{202e}gpj.sh", "a_gpj.sh", "a⟦U+202E⟧gpj.sh"),
            ("a\nb", "a_b", "a b"),
            ("*", "_", "*"),
            ("...", "file", "..."),
            ("été.txt", "été.txt", "été.txt"),
        ] {
            fs::write(place.folder().join(name), "x").unwrap();
            let copy = place.ask(name).unwrap();
            assert_eq!((copy.path, copy.name.as_str()), (place.outgoing().join(safe), said));
        }
        assert_eq!(
            place.ask("no\u{202e}\nsuch").unwrap_err().to_string(),
            "there is no file no⟦U+202E⟧ such"
        );
        assert!(place.ask("a\0b").is_err());
        assert!(place.ask(&"x".repeat(5000)).is_err());
    }

    proptest! {
        #[test]
        fn a_safe_name_is_one_plain_name(name in "(\\PC|\\p{Cc}|\\.|/|-|é){0,200}") {
            let safe = safe(&name);
            prop_assert!(!safe.is_empty() && safe.len() <= LONGEST_NAME);
            prop_assert!(!safe.starts_with(['.', '-']) && !safe.contains('/'));
            prop_assert!(safe.chars().all(|c| c.is_alphanumeric() || "._-".contains(c)));
        }
    }
}
