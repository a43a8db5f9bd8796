//! Git, asked about a repository that may belong to anybody.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
};

use super::NoChanges;

/// What of our environment git needs: to be found, and to find the person's own ignore file.
const PASSED: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

/// Nothing waits for a person, is fetched, or is written into the repository.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_PAGER", "cat"),
];

/// Set over whatever the repository says. Programs that git would run: a file watcher, hooks, an
/// external diff. A repository in the shape of a bare one is none.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.pager=cat",
    "diff.external=",
    "safe.bareRepository=explicit",
];

/// What a diff is, whatever the configuration says. A submodule counts by its commit alone: to look
/// inside, git would run itself there, under that repository's own configuration.
const DIFF: [&str; 10] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--color=never",
    "--no-indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--relative",
];

/// Bytes of complaints kept.
const COMPLAINTS: usize = 4 << 10;
/// Bytes of short answers.
const SHORT: usize = 64 << 10;

/// Starts git with these arguments in a folder. A repository can make git run what it names, and who
/// changes it meanwhile can make it do so whatever is set here: so git is confined like the agent.
pub type StartGit<'a> = &'a (dyn Fn(&Path, &[String]) -> Command + Send + Sync);

/// Git as it is, for a repository of one's own.
pub fn unconfined(folder: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder);
    command
}

pub(super) struct Git<'a> {
    start: StartGit<'a>,
    folder: PathBuf,
    settings: Vec<String>,
}

/// What git printed, up to a limit.
pub(super) struct Said {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
}

struct Answer {
    said: Said,
    complaint: String,
    /// `None` when it was stopped because it said too much.
    status: Option<ExitStatus>,
}

impl<'a> Git<'a> {
    pub(super) async fn open(folder: &Path, start: StartGit<'a>) -> Result<Self, NoChanges> {
        let unreadable = |source| NoChanges::Folder { folder: folder.into(), source };
        let folder_itself = fs::canonicalize(folder).map_err(unreadable)?;
        let settings = SETTINGS.map(str::to_owned).to_vec();
        let mut git = Self { start, folder: folder_itself, settings };
        let top = git.ask(&["rev-parse", "--show-toplevel"], SHORT).await?;
        if !top.succeeded() {
            let none = ["not a git repository", "must be run in a work tree", "bare repository"];
            return Err(if none.iter().any(|words| top.complaint.contains(words)) {
                NoChanges::NoRepository(folder.into())
            } else {
                top.failure()
            });
        }
        let top = PathBuf::from(OsStr::from_bytes(top.said.bytes.trim_ascii_end()));
        // `core.worktree` may name any folder of the machine.
        if !git.folder.starts_with(fs::canonicalize(&top).map_err(unreadable)?) {
            return Err(NoChanges::Elsewhere { folder: folder.into(), elsewhere: top });
        }
        git.without_filters().await?;
        Ok(git)
    }

    /// Attributes choose filters, and the configuration says which program a filter is: an empty one
    /// is none. Source: gitattributes(5), `filter`.
    async fn without_filters(&mut self) -> Result<(), NoChanges> {
        let ask = ["config", "--null", "--name-only", "--get-regexp", r"^filter\."];
        let answer = self.ask(&ask, SHORT).await?;
        if answer.said.cut {
            return Err(NoChanges::Git("its configuration has too many filters".into()));
        }
        let names = String::from_utf8(answer.said.bytes).unwrap_or_else(|_| "=".into());
        // The command line cannot name a setting with `=` in it, so such a filter stays in force.
        if names.contains('=') {
            return Err(NoChanges::Git("a filter of its configuration has an odd name".into()));
        }
        let mut filters: Vec<&str> =
            names.split('\0').filter_map(|name| Some(name.rsplit_once('.')?.0)).collect();
        filters.sort_unstable();
        filters.dedup();
        for filter in filters {
            for setting in ["clean=", "smudge=", "process=", "required=false"] {
                self.settings.push(format!("{filter}.{setting}"));
            }
        }
        Ok(())
    }

    /// What to compare with: the last commit, or nothing at all before the first.
    pub(super) async fn last_commit(&self) -> Result<String, NoChanges> {
        let head = self.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], SHORT).await?;
        if head.succeeded() {
            return Ok(head.line());
        }
        let empty = self.ask(&["hash-object", "-t", "tree", "--stdin"], SHORT).await?;
        if empty.succeeded() { Ok(empty.line()) } else { Err(empty.failure()) }
    }

    pub(super) async fn diff(
        &self,
        base: &str,
        form: &[&str],
        most: usize,
    ) -> Result<Said, NoChanges> {
        let arguments = [&DIFF[..], form, &[base, "--", "."]].concat();
        self.ask(&arguments, most).await?.done()
    }

    pub(super) async fn new_files(&self, most: usize) -> Result<Said, NoChanges> {
        self.ask(&["ls-files", "--others", "--exclude-standard", "-z", "--", "."], most)
            .await?
            .done()
    }

    async fn ask(&self, arguments: &[&str], most: usize) -> Result<Answer, NoChanges> {
        let settings = self.settings.iter().flat_map(|setting| ["-c", setting]);
        let all = ["--no-pager"].into_iter().chain(settings).chain(arguments.iter().copied());
        let all: Vec<String> = all.map(str::to_owned).collect();
        let mut command = (self.start)(&self.folder, &all);
        let passed = PASSED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        command
            .env_clear()
            .envs(passed)
            .envs(ENVIRONMENT)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let broken = |error: io::Error| NoChanges::Git(error.to_string());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NoChanges::NoGit,
            _ => broken(error),
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (said, complaint) =
            tokio::try_join!(up_to(stdout, most), up_to(stderr, COMPLAINTS)).map_err(broken)?;
        let status = if said.cut {
            let _ = child.start_kill(); // it may have ended by itself
            let _ = child.wait().await;
            None
        } else {
            Some(child.wait().await.map_err(broken)?)
        };
        let complaint = String::from_utf8_lossy(&complaint.bytes).trim().to_owned();
        Ok(Answer { said, complaint, status })
    }
}

async fn up_to(pipe: Option<impl AsyncRead + Unpin>, most: usize) -> io::Result<Said> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(most as u64 + 1).read_to_end(&mut bytes).await?;
    }
    let cut = bytes.len() > most;
    bytes.truncate(most);
    Ok(Said { bytes, cut })
}

impl Answer {
    fn succeeded(&self) -> bool {
        self.status.is_none_or(|status| status.success())
    }

    fn line(&self) -> String {
        String::from_utf8_lossy(&self.said.bytes).trim().to_owned()
    }

    fn done(self) -> Result<Said, NoChanges> {
        if self.succeeded() { Ok(self.said) } else { Err(self.failure()) }
    }

    fn failure(&self) -> NoChanges {
        let last = self.complaint.lines().next_back().unwrap_or("it failed and gave no reason");
        NoChanges::Git(super::shown(last))
    }
}
