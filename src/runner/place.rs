//! Where attempts keep their files.
//!
//! `runs/RUN/STEP@ATTEMPT`, and behind each answer of a person `+2`, `+3` …: what goes on is a
//! process of its own. A folder tells all that is to be known of its process, whoever asks and
//! whenever: `ended.json` is there: it ended so; else its lock is held: it runs; else `began` is
//! there: nobody knows how it ended; else nothing of it ever took effect.

use sha2::{Digest as _, Sha256};
use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};
use vigie_core::id::RunId;
use vigie_workflow::value::StepPath;

/// Held by the process for as long as it lives; in it its number and when it started.
pub(super) const LOCK: &str = "lock";
/// From here on something may have happened.
pub(super) const BEGAN: &str = "began";
/// How it ended, written whole.
pub(super) const ENDED: &str = "ended.json";
/// It was told to stop.
pub(super) const STOP: &str = "stop";
/// Why the process left before it began, as a sentence.
pub(super) const FAILED: &str = "failed";
/// What it printed, or what came back for it.
pub(super) const OUT: &str = "out";
/// What it complained about.
pub(super) const ERR: &str = "err";
/// What was in its project's folder before it began, where that is measured.
pub(super) const BEFORE: &str = "before.json";
/// Files that it left, by the names its step gives them.
pub(super) const FILES: &str = "files";

/// Longest name of a folder, in bytes; file systems take 255.
const LONGEST: usize = 160;

/// How often one attempt can go on after a person's answer.
pub(super) const MOST_ANSWERS: u32 = 1_000;

/// Of all runs.
pub(super) fn all(data: &Path) -> PathBuf {
    data.join("runs")
}

pub(super) fn of_run(data: &Path, run: RunId) -> PathBuf {
    all(data).join(run.to_string())
}

/// The folders of files that steps of a run left.
pub(super) fn kept(data: &Path, run: RunId) -> Vec<PathBuf> {
    let all = fs::read_dir(of_run(data, run)).into_iter().flatten().flatten();
    all.map(|entry| entry.path().join(FILES)).filter(|folder| folder.is_dir()).collect()
}

/// The folder of an attempt, after `answers` answers of people.
pub(super) fn folder(
    data: &Path,
    run: RunId,
    step: &StepPath,
    attempt: u32,
    answers: u32,
) -> PathBuf {
    let mut name = step.to_string();
    if name.len() > LONGEST {
        let digest = format!("{:x}", Sha256::digest(name.as_bytes()));
        let digest = &digest[..16];
        name.truncate(LONGEST - digest.len() - 1); // a path is ASCII
        name = format!("{name}~{digest}");
    }
    let again = if answers == 0 { String::new() } else { format!("+{}", answers + 1) };
    of_run(data, run).join(format!("{name}@{attempt}{again}"))
}

/// The last folder there is of an attempt, and how many answers it comes after.
pub(super) fn latest(
    data: &Path,
    run: RunId,
    step: &StepPath,
    attempt: u32,
) -> Option<(PathBuf, u32)> {
    let all =
        (0..=MOST_ANSWERS).map(|answers| (folder(data, run, step, attempt, answers), answers));
    all.take_while(|(folder, _)| folder.is_dir()).last()
}

/// What a step prints while it runs, and what it printed. It only grows, by at most 2 GiB; secrets
/// are masked in it. Read it in pieces: `None` when the attempt was never begun.
pub fn output_path(data: &Path, run: RunId, step: &StepPath, attempt: u32) -> Option<PathBuf> {
    latest(data, run, step, attempt).map(|(folder, _)| folder.join(OUT))
}

/// The same of what it complained about.
pub fn complaints_path(data: &Path, run: RunId, step: &StepPath, attempt: u32) -> Option<PathBuf> {
    latest(data, run, step, attempt).map(|(folder, _)| folder.join(ERR))
}

/// Makes a folder that is ours alone, with those above it.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Where an attempt stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Ended,
    Runs,
    /// It had begun, its process is gone, and it did not say how it ended.
    Gone,
    Never,
}

impl Standing {
    pub(super) fn of(folder: &Path) -> Self {
        if folder.join(ENDED).exists() {
            return Self::Ended;
        }
        if alive(folder) {
            return Self::Runs;
        }
        // It may have ended since we looked first.
        if folder.join(ENDED).exists() {
            Self::Ended
        } else if folder.join(BEGAN).exists() {
            Self::Gone
        } else {
            Self::Never
        }
    }
}

/// A process carries it out. Told by its lock, which ends with it, never by a process id.
pub(super) fn alive(folder: &Path) -> bool {
    File::open(folder.join(LOCK))
        .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The process that holds the lock, by its number and the moment it started: a number alone may be
/// somebody else's by now.
pub(super) fn holder(folder: &Path) -> Option<u32> {
    let text = fs::read_to_string(folder.join(LOCK)).ok()?;
    let (pid, started) = text.trim_end().split_once(' ')?;
    let pid = pid.parse().ok()?;
    (alive(folder) && started_at(pid).as_deref() == Some(started)).then_some(pid)
}

/// When a process started, in the system's own count; `None`: there is no such process.
#[cfg(target_os = "linux")]
pub(super) fn started_at(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 22 of proc_pid_stat(5); the second may hold anything, brackets too.
    stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(19).map(str::to_owned)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn started_at(pid: u32) -> Option<String> {
    let asked = std::process::Command::new("ps").args(["-o", "lstart=", "-p", &pid.to_string()]);
    let text = asked.output().ok()?.stdout;
    Some(String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::Timestamp;

    fn run() -> RunId {
        RunId::from_parts(Timestamp::default(), 7)
    }

    #[test]
    fn every_attempt_has_a_folder_of_its_own() {
        let name = |step: &str, attempt, answers| {
            let folder = folder(Path::new("/d"), run(), &step.parse().unwrap(), attempt, answers);
            folder.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("lenses[2].read", 1, 0), "lenses[2].read@1");
        assert_eq!(name("a", 3, 1), "a@3+2");
        let deep = |last: char| {
            let id = "x".repeat(60);
            format!("{id}[0].{id}[1].{id}[2].{id}{last}")
        };
        let (one, other) = (name(&deep('a'), 1, 0), name(&deep('b'), 1, 0));
        assert_ne!(one, other);
        assert!(one.len() < 255, "{one}");
    }

    #[test]
    fn a_folder_tells_where_its_attempt_stands() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path();
        assert_eq!(Standing::of(folder), Standing::Never);
        let lock = File::create(folder.join(LOCK)).unwrap();
        assert_eq!(Standing::of(folder), Standing::Never, "it left before it began");
        lock.try_lock().unwrap();
        assert_eq!(Standing::of(folder), Standing::Runs);
        File::create(folder.join(BEGAN)).unwrap();
        assert_eq!(Standing::of(folder), Standing::Runs);
        drop(lock);
        assert_eq!(Standing::of(folder), Standing::Gone);
        File::create(folder.join(ENDED)).unwrap();
        assert_eq!(Standing::of(folder), Standing::Ended);
    }

    #[test]
    fn a_process_is_known_by_its_start_too() {
        let home = tempfile::tempdir().unwrap();
        let ours = std::process::id();
        let lock = File::create(home.path().join(LOCK)).unwrap();
        lock.try_lock().unwrap();
        let write = |text: String| fs::write(home.path().join(LOCK), text).unwrap();
        write(format!("{ours} {}", started_at(ours).unwrap()));
        assert_eq!(holder(home.path()), Some(ours));
        write(format!("{ours} 1"));
        assert_eq!(holder(home.path()), None, "another process has that number now");
    }
}
