//! What a step changed in its project's folder, told by content: from git where there is a
//! repository, dirty or not, and from the files themselves otherwise. What git ignores is left out.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::{self, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use vigie_workflow::run::Outcome;

use super::{
    Keeper, pour, private,
    process::{GRACE, Program, Ran, Status, Takers},
};
use crate::runner::{place::BEFORE, prepare::repository};

/// A big repository takes its time.
const GIT: Duration = Duration::from_mins(2);
/// Longest list of git's that is read, in bytes.
const LONGEST_LIST: usize = 8 << 20;
/// Without a repository: most files, and bytes, that are read.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 256 << 20;
/// Paths in the run's log. One more says how many are missing, and is no path.
const MOST_CHANGED: usize = 5_000;

/// Set over whatever the repository says: no watcher is left behind or believed, nor what was seen
/// of folders before; names are as they are.
const SETTINGS: [&str; 6] =
    ["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.quotePath=false"];

/// Settings that git itself writes while it is used, and that decide nothing of what it sees.
const HARMLESS: [&[u8]; 3] = [b"branch.", b"remote.", b"user."];

/// What is in a file: one of these is never another's.
type Content = String;

#[derive(Serialize, Deserialize)]
pub(super) struct Snapshot {
    from: From,
    /// By absolute path.
    files: BTreeMap<PathBuf, Content>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum From {
    /// What differs from `head`.
    Git { root: PathBuf, head: String },
    /// Everything there is.
    Files,
}

impl Keeper {
    /// What there was when the step was first begun. A process that goes on after a person's answer, and
    /// one that tries again, find what the first one saw, so that nothing is forgiven by trying twice.
    pub(super) fn before(&mut self) -> Option<Snapshot> {
        let path = self.task.first.join(BEFORE);
        if self.folder.file_name() != self.task.first.file_name()
            && let Ok(text) = fs::read(&path)
        {
            return serde_json::from_slice(&text).ok();
        }
        // It is looked at before anything has an effect, so what left none behind did nothing yet.
        let before = self.snapshot()?;
        let text = serde_json::to_vec(&before).ok()?;
        if self.task.first.is_dir() {
            private(&path).and_then(|mut file| file.write_all(&text)).ok()?;
        }
        Some(before)
    }

    /// `None`: it cannot be told.
    fn snapshot(&mut self) -> Option<Snapshot> {
        let project = self.task.project.clone();
        if let Some(root) = project.ancestors().find(|folder| folder.join(".git").exists()) {
            return self.snapshot_of_git(root);
        }
        let mut files = BTreeMap::new();
        read_all(&project, &mut files, &mut 0)?;
        Some(Snapshot { from: From::Files, files })
    }

    fn snapshot_of_git(&mut self, root: &Path) -> Option<Snapshot> {
        let status = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--",
            ".",
        ];
        let list = self.git(&status, |_| true)?;
        let mut head = String::new();
        let mut files = BTreeMap::new();
        for line in list.split(|byte| *byte == 0) {
            if let Some(oid) = line.strip_prefix(b"# branch.oid ") {
                head = String::from_utf8_lossy(oid).into_owned();
            } else if let Some(path) = path_of(line) {
                let path = root.join(OsStr::from_bytes(path));
                let content = content(&path, &mut { u64::MAX }).ok()?;
                // Of a submodule the line says all there is.
                let line = String::from_utf8_lossy(line).into_owned();
                files.insert(path, content.unwrap_or(line));
            }
        }
        self.what_git_overlooks(root, &mut files)?;
        Some(Snapshot { from: From::Git { root: root.into(), head }, files })
    }

    /// A step may tell git not to look: by marks on files, by what is ignored, by settings. Such files
    /// are read, and the rest counts as changed where it changes.
    fn what_git_overlooks(
        &mut self,
        root: &Path,
        files: &mut BTreeMap<PathBuf, Content>,
    ) -> Option<()> {
        let project = self.task.project.clone();
        let marked = self.git(&["ls-files", "-v", "-z", "--", "."], |entry| {
            entry.first().is_some_and(|mark| mark.is_ascii_lowercase() || *mark == b'S')
        })?;
        for entry in marked.split(|byte| *byte == 0).filter(|entry| entry.len() > 2) {
            let path = project.join(OsStr::from_bytes(&entry[2..]));
            if let Some(content) = content(&path, &mut { u64::MAX }).ok()? {
                files.insert(path, content);
            }
        }
        let settings = self.git(&["config", "--list", "--show-origin", "-z"], |_| true)?;
        let mut digests: BTreeMap<&[u8], Sha256> = BTreeMap::new();
        let mut entries = settings.split(|byte| *byte == 0);
        while let (Some(origin), Some(setting)) = (entries.next(), entries.next()) {
            if let Some(file) = origin.strip_prefix(b"file:")
                && !HARMLESS.iter().any(|harmless| setting.starts_with(harmless))
            {
                let digest = digests.entry(file).or_default();
                digest.update(setting);
                digest.update([0]);
            }
        }
        for (file, digest) in digests {
            let path = root.join(OsStr::from_bytes(file));
            files.insert(path, format!("settings {:x}", digest.finalize()));
        }
        let variable = |name: &str| {
            let found = self.task.env.iter().find(|(key, value)| key == name && !value.is_empty());
            found.map(|(_, value)| PathBuf::from(value))
        };
        let home = variable("HOME").map(|home| home.join(".config"));
        let own = variable("XDG_CONFIG_HOME").or(home).map(|folder| folder.join("git"));
        let own = own.iter().flat_map(|git| [git.join("ignore"), git.join("attributes")]);
        let kept = repository(root).into_iter().skip(1).chain([root.join(".git")]);
        let kept = kept.flat_map(|git| [git.join("info/exclude"), git.join("info/attributes")]);
        for path in kept.chain(own) {
            if let Some(content) = content(&path, &mut { u64::MAX }).ok()? {
                files.insert(path, content);
            }
        }
        Some(())
    }

    /// Paths that changed since, relative to the step's folder.
    pub(super) fn changed_since(&mut self, before: &Snapshot) -> Option<Vec<String>> {
        let now = self.snapshot()?;
        let mut changed: BTreeSet<PathBuf> = BTreeSet::new();
        for path in before.files.keys().chain(now.files.keys()) {
            let (old, new) = (before.files.get(path), now.files.get(path));
            let same = match (old, new, &before.from) {
                (Some(old), Some(new), _) => old == new,
                // As the commit has it now: perhaps it was only committed.
                (Some(old), None, From::Git { .. }) => {
                    content(path, &mut { u64::MAX }).ok().flatten().as_ref() == Some(old)
                }
                (Some(_) | None, _, _) => false,
            };
            if !same {
                changed.insert(path.clone());
            }
        }
        if let (From::Git { head: old, .. }, From::Git { root, head: new }) =
            (&before.from, &now.from)
            && old != new
        {
            let root = root.clone();
            for path in self.between(&old.clone(), &new.clone())? {
                let path = root.join(path);
                // What was dirty before was compared by its content.
                if !before.files.contains_key(&path) {
                    changed.insert(path);
                }
            }
        }
        let cwd = self.task.cwd.clone();
        let mut paths: Vec<String> = changed
            .iter()
            .map(|path| relative(path, &cwd).to_string_lossy().into_owned())
            .collect();
        if paths.len() > MOST_CHANGED {
            let more = paths.len() - MOST_CHANGED;
            paths.truncate(MOST_CHANGED);
            paths.push(format!("(and {more} more)"));
        }
        Some(paths.iter().map(|path| self.mask.text(path)).collect())
    }

    /// Paths that differ between two commits; a repository without one has an empty tree.
    fn between(&mut self, old: &str, new: &str) -> Option<Vec<PathBuf>> {
        /// Git knows it without having it.
        const EMPTY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let tree = |head: &str| if head == "(initial)" { EMPTY.into() } else { head.to_owned() };
        let (old, new) = (tree(old), tree(new));
        let diff = ["diff", "--name-only", "-z", "--no-renames", &old, &new, "--", "."];
        let list = self.git(&diff, |_| true)?;
        let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Some(paths.map(|path| OsStr::from_bytes(path).into()).collect())
    }

    /// What git says, asked as the step would ask it: it runs what the repository says. Of its
    /// entries, each behind which a zero stands, those that are `wanted`.
    fn git(&mut self, arguments: &[&str], wanted: fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let args: Vec<String> =
            SETTINGS.iter().chain(arguments).map(|text| (*text).to_owned()).collect();
        let said = Arc::new(Mutex::new(Vec::new()));
        let to = said.clone();
        let takers = Takers {
            out: Box::new(move |from, _| {
                let mut entry = Vec::new();
                pour::pieces(from, |piece| {
                    let mut said = to.lock().unwrap_or_else(PoisonError::into_inner);
                    for part in piece.split_inclusive(|byte| *byte == 0) {
                        if said.len() + entry.len() <= LONGEST_LIST {
                            entry.extend_from_slice(part);
                        }
                        if part.ends_with(&[0]) {
                            if wanted(&entry) {
                                said.append(&mut entry);
                            }
                            entry.clear();
                        }
                    }
                });
            }),
            err: Box::new(|from, _| pour::pieces(from, |_| {})),
        };
        let env = [
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"), // a commit is what its name says
            ("LC_ALL", "C"),
        ];
        let grace = Some(GRACE);
        let program =
            Program { name: "git", args: &args, input: None, env: &env, grace, goes_on: false };
        let cwd = std::mem::replace(&mut self.task.cwd, self.task.project.clone());
        let ran = self.run(program, takers, Instant::now() + GIT);
        self.task.cwd = cwd;
        let said = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
        (ran == Ran::Exited(Status::Code(0)) && said.len() <= LONGEST_LIST).then_some(said)
    }
}

/// The path of a line of `git status --porcelain=v2 -z`.
fn path_of(line: &[u8]) -> Option<&[u8]> {
    let blanks = match line.first()? {
        b'1' => 8,
        b'u' => 10,
        b'?' => 1,
        _ => return None,
    };
    line.splitn(blanks + 1, |byte| *byte == b' ').nth(blanks)
}

/// What is at `path`, for comparing; `None`: a folder, or neither file nor link. `bytes`: how many
/// may still be read.
fn content(path: &Path, bytes: &mut u64) -> io::Result<Option<Content>> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(Some("absent".into()));
        }
        Err(error) => return Err(error),
    };
    if about.is_symlink() {
        return Ok(Some(format!("link to {}", fs::read_link(path)?.display())));
    }
    if !about.is_file() {
        return Ok(None);
    }
    *bytes = bytes.checked_sub(about.len()).ok_or_else(|| io::Error::other("too much to read"))?;
    let mut digest = Sha256::new();
    io::copy(&mut fs::File::open(path)?, &mut digest)?;
    let kind = if about.permissions().mode() & 0o100 == 0 { "file" } else { "program" };
    Ok(Some(format!("{kind} {:x}", digest.finalize())))
}

/// Every file below `folder`; `None`: there is too much of it.
fn read_all(folder: &Path, files: &mut BTreeMap<PathBuf, Content>, read: &mut u64) -> Option<()> {
    let mut left = MOST_BYTES.checked_sub(*read)?;
    for entry in fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        if files.len() >= MOST_FILES {
            return None;
        }
        match content(&path, &mut left).ok()? {
            Some(content) => drop(files.insert(path, content)),
            None if path.is_dir() => {
                *read = MOST_BYTES - left;
                read_all(&path, files, read)?;
                left = MOST_BYTES.checked_sub(*read)?;
            }
            None => {}
        }
    }
    *read = MOST_BYTES - left;
    Some(())
}

/// `path` as seen from `from`; both are absolute and without links.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let common = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}

/// Of a step that was to change nothing, where nothing kept it from that.
pub(super) fn must_be_none(changed: Option<&[String]>) -> Outcome {
    let why = match changed {
        Some([]) => return Outcome::Done,
        Some([one]) => format!("it may only read, and `{one}` has changed"),
        Some([first, more @ ..]) => {
            format!("it may only read, and `{first}` and {} more have changed", more.len())
        }
        None => "it may only read, and what it changed cannot be told".into(),
    };
    Outcome::Failed { why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_steps_folder() {
        let seen = |path: &str, from: &str| relative(Path::new(path), Path::new(from));
        assert_eq!(seen("/p/src/a", "/p"), Path::new("src/a"));
        assert_eq!(seen("/p/back/a", "/p/front"), Path::new("../back/a"));
    }

    #[test]
    fn a_line_of_status_names_its_path_whole() {
        let changed = b"1 .M N... 100644 100644 100644 aa bb a file";
        assert_eq!(path_of(changed), Some(&b"a file"[..]));
        let torn = b"u UU N... 100644 100644 100644 100644 aa bb cc x y";
        assert_eq!(path_of(torn), Some(&b"x y"[..]));
        assert_eq!(path_of(b"? new file"), Some(&b"new file"[..]));
        assert_eq!(path_of(b"# branch.head main"), None);
        assert_eq!(path_of(b""), None);
    }

    #[test]
    fn content_is_told_apart_by_more_than_its_bytes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        let seen = || content(&path, &mut { u64::MAX }).unwrap();
        assert_eq!(seen().unwrap(), "absent");
        fs::write(&path, "a").unwrap();
        let file = seen();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(seen(), file);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("a", &path).unwrap();
        assert_eq!(seen().unwrap(), "link to a");
        assert!(content(home.path(), &mut 0).unwrap().is_none());
    }
}
