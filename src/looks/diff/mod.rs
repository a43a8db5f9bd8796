//! What changed in a session's folder since the last commit.

mod git;
#[cfg(test)]
mod tests;

use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::timeout;
use vigie_core::text::{mask, reveal};

use git::{Git, Said};
pub use git::{StartGit, unconfined};

/// For everything git is asked: a person waits for it.
const GIT: Duration = Duration::from_secs(20);
/// Longest diff, in bytes; more is not read on a phone.
const MOST_BYTES: usize = 1 << 20;
/// Bytes read of each list of names.
const MOST_NAMES: usize = 256 << 10;
/// New files named one by one.
const NAMED: usize = 200;

/// What changed since the last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// `3 files, +40 −12; 2 not yet in git`.
    pub summary: String,
    /// The files git does not know yet by name, then a unified diff; secrets masked, hidden
    /// characters written out.
    pub text: String,
    /// The diff is longer than shown, and its last line says so.
    pub cut: bool,
}

/// Why there is nothing to show; each is a sentence for the person who asked.
#[derive(Debug, thiserror::Error)]
pub enum NoChanges {
    #[error("nothing changed since the last commit")]
    Unchanged,
    #[error("{} is in no git repository, so there is nothing to compare with", .0.display())]
    NoRepository(PathBuf),
    #[error("the repository of {} keeps its files in another folder ({}), which is not shown", folder.display(), elsewhere.display())]
    Elsewhere { folder: PathBuf, elsewhere: PathBuf },
    #[error("there is no git on this machine, or not on Vigie's PATH")]
    NoGit,
    #[error("{} cannot be read: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("git took longer than {} s; look at the desk", GIT.as_secs())]
    Slow,
    #[error("git said: {0}")]
    Git(String),
}

/// Compares `folder`, and nothing above it, with the last commit of its repository. The repository
/// is data: nothing that its configuration or attributes name is run, and nothing in it is written.
///
/// # Errors
/// [`NoChanges`] says why there is no diff.
pub async fn diff(folder: &Path, start: StartGit<'_>) -> Result<Changes, NoChanges> {
    timeout(GIT, changes(folder, start)).await.map_err(|_| NoChanges::Slow)?
}

async fn changes(folder: &Path, start: StartGit<'_>) -> Result<Changes, NoChanges> {
    let git = Git::open(folder, start).await?;
    let base = git.last_commit().await?;
    let counts = git.diff(&base, &["--numstat", "-z"], MOST_NAMES).await?;
    let new = git.new_files(MOST_NAMES).await?;
    let all = !counts.cut && !new.cut;
    let (counts, new) = (Counts::read(&counts), names(&new));
    if counts.files == 0 && new.is_empty() {
        return Err(NoChanges::Unchanged);
    }
    let patch = git.diff(&base, &["--unified=3", "--word-diff=none"], MOST_BYTES).await?;
    let cut = patch.cut;
    let mut text = listed(&new);
    text.push_str(&readable(&patch));
    let summary = counts.summary(new.len());
    let summary = if all { summary } else { format!("at least {summary}") };
    Ok(Changes { summary, text, cut })
}

/// Changed files that git knows, and their lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    files: usize,
    binary: usize,
    added: u64,
    removed: u64,
}

impl Counts {
    /// Source of the form: git-diff(1), "Other diff formats", `--numstat` with `-z`: two counts or
    /// two `-`, and a name, or nothing and two names where it was renamed.
    fn read(said: &Said) -> Self {
        let mut counts = Self::default();
        for record in String::from_utf8_lossy(&said.bytes).split('\0') {
            let [added, removed, _] = record.splitn(3, '\t').collect::<Vec<_>>()[..] else {
                continue; // the names of a renamed file
            };
            counts.files += 1;
            match (added.parse::<u64>(), removed.parse::<u64>()) {
                (Ok(added), Ok(removed)) => {
                    counts.added += added;
                    counts.removed += removed;
                }
                _ => counts.binary += 1,
            }
        }
        counts
    }

    fn summary(&self, new: usize) -> String {
        let mut parts = Vec::new();
        if self.files > 0 {
            let files = if self.files == 1 { "file" } else { "files" };
            let mut part = format!("{} {files}, +{} −{}", self.files, self.added, self.removed);
            if self.binary > 0 {
                let _ = write!(part, ", {} binary", self.binary); // a String takes everything
            }
            parts.push(part);
        }
        if new > 0 {
            parts.push(format!("{new} not yet in git"));
        }
        parts.join("; ")
    }
}

fn names(said: &Said) -> Vec<String> {
    let text = String::from_utf8_lossy(&said.bytes);
    let mut names: Vec<String> =
        text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if said.cut {
        names.pop(); // half a name
    }
    names
}

fn listed(new: &[String]) -> String {
    if new.is_empty() {
        return String::new();
    }
    let mut text = String::from("Not yet in git:\n");
    for name in new.iter().take(NAMED) {
        text += "  ";
        text.push_str(&shown(&name.replace('\n', "\\n")));
        text += "\n";
    }
    if new.len() > NAMED {
        let _ = writeln!(text, "  and {} more", new.len() - NAMED);
    }
    text.push('\n');
    text
}

fn readable(patch: &Said) -> String {
    let mut text = String::from_utf8_lossy(&patch.bytes).into_owned();
    if patch.cut {
        text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
    }
    let mut text = shown(&text.replace("\r\n", "␍\n"));
    if patch.cut {
        let _ = writeln!(
            text,
            "[cut here: the diff is longer than {} MB; `git diff HEAD` shows all of it at the desk]",
            MOST_BYTES >> 20
        );
    }
    text
}

fn shown(text: &str) -> String {
    reveal(&mask(text).text).text.text
}
