//! The file that a running Claude Code keeps about itself: what it does right now.
//!
//! `<config>/sessions/<pid>.json`, rewritten at each change, removed on a clean exit and left
//! behind by KILL (observed with 2.1.197 and 2.1.332; undocumented, so read leniently).

use nix::unistd::{Pid, getsid};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Longest registry file we read; seen: under 1 kB.
const LONGEST: u64 = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pid: i32,
    #[serde(default)]
    proc_start: Option<String>,
    #[serde(default)]
    pub(super) version: Option<String>,
    /// Missing in the first moments.
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    waiting_for: Option<String>,
}

/// What it does, in its own words made ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::agents) enum Status {
    /// At its prompt; a background command may run.
    Idle,
    Busy,
    /// In a dialog; what for, in its words.
    Waiting(String),
    /// A word this version of ours does not know.
    Unknown(String),
}

impl Entry {
    /// `None` before it says one.
    pub(super) fn status(&self) -> Option<Status> {
        Some(match self.status.as_deref()? {
            "idle" | "shell" => Status::Idle,
            "busy" => Status::Busy,
            "waiting" => Status::Waiting(self.waiting_for.clone().unwrap_or_default()),
            other => Status::Unknown(other.into()),
        })
    }
}

/// Where one session's entry is.
pub(in crate::agents) struct Registry {
    folder: PathBuf,
    /// The child we started; its terminal session holds the program even behind a wrapper.
    child: i32,
}

impl Registry {
    /// `config` is where Claude Code keeps its files.
    pub(super) fn new(config: &Path, child: u32) -> Self {
        Self { folder: config.join("sessions"), child: i32::try_from(child).unwrap_or_default() }
    }

    /// `None` before the program is at its prompt for the first time, and once it is gone.
    pub(super) fn read(&self) -> Option<Entry> {
        let own = self.folder.join(format!("{}.json", self.child));
        entry(&own).filter(alive).or_else(|| {
            // The program may be a wrapper's child: same terminal session, other pid.
            fs::read_dir(&self.folder)
                .ok()?
                .flatten()
                .filter(|file| file.path().extension().is_some_and(|ext| ext == "json"))
                .filter_map(|file| entry(&file.path()))
                .find(|entry| entry.pid != self.child && self.descends(entry.pid) && alive(entry))
        })
    }

    fn descends(&self, pid: i32) -> bool {
        getsid(Some(Pid::from_raw(pid))).is_ok_and(|session| session.as_raw() == self.child)
    }
}

/// Where Claude Code keeps its files: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub(super) fn config_folder(env: &BTreeMap<String, String>) -> PathBuf {
    env.get("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty()).map_or_else(
        || Path::new(env.get("HOME").map_or("/", String::as_str)).join(".claude"),
        PathBuf::from,
    )
}

fn entry(path: &Path) -> Option<Entry> {
    if fs::metadata(path).ok()?.len() > LONGEST {
        return None;
    }
    // It may be read in the middle of a write; the next look finds it whole.
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// A stale file's pid may belong to another process by now: the start time tells.
fn alive(entry: &Entry) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", entry.pid)) else {
        return !Path::new("/proc/self/stat").exists(); // without /proc nothing can be checked
    };
    entry.proc_start.as_ref().is_none_or(|start| started(&stat) == Some(start))
}

/// Field 22 of `/proc/<pid>/stat`, proc(5): start time. The name in field 2 may hold blanks.
fn started(stat: &str) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn registry(folder: &Path) -> Registry {
        fs::create_dir_all(folder.join("sessions")).unwrap();
        Registry::new(folder, std::process::id())
    }

    fn write(folder: &Path, start: &str, status: &str) {
        let pid = std::process::id();
        let json = json!({ "pid": pid, "procStart": start, "status": status, "waitingFor": "x", "new": 1 });
        fs::write(folder.join(format!("sessions/{pid}.json")), json.to_string()).unwrap();
    }

    #[test]
    fn only_the_living_process_counts() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry(folder.path());
        assert_eq!(registry.read(), None);
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        write(folder.path(), started(&stat).unwrap(), "shell");
        assert_eq!(registry.read().unwrap().status(), Some(Status::Idle));
        write(folder.path(), "1", "idle");
        assert_eq!(registry.read(), None, "left behind by another process of this number");
    }

    #[test]
    fn a_word_nobody_knows_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry(folder.path());
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        write(folder.path(), started(&stat).unwrap(), "dreaming");
        assert_eq!(registry.read().unwrap().status(), Some(Status::Unknown("dreaming".into())));
    }

    #[test]
    fn a_process_name_with_blanks_and_brackets_is_read_over() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 93711 0 0";
        assert_eq!(started(stat), Some("93711"));
    }
}
