use super::*;
use std::{fs, os::unix::fs::PermissionsExt, process::Command};
use tempfile::TempDir;

/// A repository with one commit of `a.txt`, and a folder beside it for what must not be run.
struct Repository {
    home: TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self::empty();
        repository.write("a.txt", "one\ntwo\nthree\n");
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-qm", "first"]);
        repository
    }

    fn empty() -> Self {
        let repository = Self { home: tempfile::tempdir().unwrap() };
        fs::create_dir(repository.folder()).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        git_in(&self.folder(), arguments);
    }

    /// A program that leaves a mark when it is run.
    fn trap(&self) -> String {
        let path = self.home.path().join("trap");
        let mark = self.mark();
        fs::write(&path, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn mark(&self) -> PathBuf {
        self.home.path().join("was-run")
    }

    async fn diff(&self) -> Changes {
        diff(&self.folder(), &unconfined).await.unwrap()
    }
}

fn git_in(folder: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let mut git = Command::new("git");
    git.args(who).args(["-c", "protocol.file.allow=always"]).args(arguments).current_dir(folder);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn changes_are_counted_and_shown() {
    let repository = Repository::new();
    repository.write("b.txt", "b\n");
    repository.write("bin", "\0\u{1}");
    repository.git(&["add", "bin"]);
    repository.git(&["mv", "a.txt", "é c.txt"]);
    repository.write("é c.txt", "one\n2\nthree\n1\t2\t\n");
    let changes = repository.diff().await;
    assert_eq!(changes.summary, "2 files, +2 −1, 1 binary; 1 not yet in git");
    assert!(changes.text.starts_with("Not yet in git:\n  b.txt\n\n"), "{}", changes.text);
    for line in ["rename to é c.txt", "-two\n", "+2\n", "Binary files /dev/null and b/bin differ"]
    {
        assert!(changes.text.contains(line), "{line}: {}", changes.text);
    }
    assert!(!changes.cut);
}

#[tokio::test]
async fn what_is_staged_counts_and_before_the_first_commit_everything_is_new() {
    let repository = Repository::empty();
    repository.write("a.txt", "one\n");
    repository.git(&["add", "-A"]);
    assert_eq!(repository.diff().await.summary, "1 file, +1 −0");
}

#[tokio::test]
async fn only_the_folder_itself_is_compared() {
    let repository = Repository::new();
    repository.write("a.txt", "changed\n");
    repository.write("inner/new.txt", "x\n");
    let changes = diff(&repository.folder().join("inner"), &unconfined).await.unwrap();
    assert_eq!(changes.summary, "1 not yet in git");
    assert_eq!(changes.text, "Not yet in git:\n  new.txt\n\n");
}

#[tokio::test]
async fn nothing_to_show_is_a_sentence() {
    let repository = Repository::new();
    let said = diff(&repository.folder(), &unconfined).await.unwrap_err().to_string();
    assert_eq!(said, "nothing changed since the last commit");
    let plain = tempfile::tempdir().unwrap();
    let said = diff(plain.path(), &unconfined).await.unwrap_err().to_string();
    assert!(
        said.ends_with("is in no git repository, so there is nothing to compare with"),
        "{said}"
    );
    let gone = diff(&plain.path().join("gone"), &unconfined).await.unwrap_err();
    assert!(matches!(gone, NoChanges::Folder { .. }), "{gone:?}");
    fs::write(repository.folder().join(".git/index"), "nonsense").unwrap();
    let broken = diff(&repository.folder(), &unconfined).await.unwrap_err();
    assert!(matches!(broken, NoChanges::Git(_)), "{broken:?}");
}

#[tokio::test]
async fn a_repository_names_programs_in_vain() {
    let repository = Repository::new();
    let trap = repository.trap();
    for name in [
        "diff.external",
        "diff.odd.textconv",
        "diff.odd.command",
        "filter.odd.clean",
        "filter.odd.smudge",
        "filter.odd.process",
        "core.fsmonitor",
        "core.pager",
        "pager.diff",
        "core.sshCommand",
    ] {
        repository.git(&["config", name, &trap]);
    }
    repository.git(&["config", "filter.odd.required", "true"]);
    repository.git(&["config", "color.ui", "always"]);
    repository.git(&["config", "diff.noprefix", "true"]);
    let hooks = repository.folder().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::copy(&trap, hooks.join("post-index-change")).unwrap();
    repository.write(".gitattributes", "* diff=odd filter=odd\n");
    repository.write("a.txt", "one\n2\nthree\n");
    let index = || fs::read(repository.folder().join(".git/index")).unwrap();
    let before = index();
    let changes = repository.diff().await;
    assert_eq!(changes.summary, "1 file, +1 −1; 1 not yet in git");
    assert!(changes.text.contains("--- a/a.txt\n+++ b/a.txt\n"), "{}", changes.text);
    assert!(!repository.mark().exists(), "something of the repository ran");
    assert_eq!(index(), before, "nothing is written");
    // The traps work: without our care they are run.
    let plain = Command::new("git").arg("diff").current_dir(repository.folder()).output();
    assert!(plain.is_ok() && repository.mark().exists());
}

#[tokio::test]
async fn a_filter_that_cannot_be_switched_off_is_refused() {
    let repository = Repository::new();
    let config = format!("[filter \"a=b\"]\n\tclean = {}\n", repository.trap());
    let path = repository.folder().join(".git/config");
    fs::write(&path, format!("{}{config}", fs::read_to_string(&path).unwrap())).unwrap();
    repository.write(".gitattributes", "* filter=a=b\n");
    repository.write("a.txt", "changed\n");
    assert!(matches!(diff(&repository.folder(), &unconfined).await, Err(NoChanges::Git(_))));
    assert!(!repository.mark().exists());
}

#[tokio::test]
async fn a_submodule_counts_by_its_commit_and_runs_nothing() {
    let repository = Repository::new();
    let inner = Repository::new();
    let from = inner.folder().display().to_string();
    repository.git(&["submodule", "--quiet", "add", &from, "sub"]);
    repository.git(&["commit", "-qm", "sub"]);
    let sub = repository.folder().join("sub");
    git_in(&sub, &["config", "core.fsmonitor", &repository.trap()]);
    repository.git(&["config", "diff.submodule", "log"]);
    fs::write(sub.join("a.txt"), "dirty\n").unwrap();
    assert!(matches!(diff(&repository.folder(), &unconfined).await, Err(NoChanges::Unchanged)));
    assert!(!repository.mark().exists());
}

#[tokio::test]
async fn a_repository_that_points_elsewhere_is_not_followed() {
    let repository = Repository::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("a.txt"), "somebody's own\n").unwrap();
    repository.git(&["config", "core.worktree", &elsewhere.path().display().to_string()]);
    let refused = diff(&repository.folder(), &unconfined).await.unwrap_err();
    assert!(matches!(refused, NoChanges::Elsewhere { .. }), "{refused:?}");
    // Nor is a link out of it: git shows where it points.
    let repository = Repository::new();
    fs::remove_file(repository.folder().join("a.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", repository.folder().join("a.txt")).unwrap();
    assert!(!repository.diff().await.text.contains("root:"));
}

#[tokio::test]
async fn secrets_and_hidden_characters_are_not_passed_on() {
    let repository = Repository::new();
    let line = "TOKEN=abcdef1234567890\nsafe\u{202e}\u{1b}[2J\r\n";
    repository.write("a.txt", line);
    repository.write("new\u{202e}\nname", "");
    let text = repository.diff().await.text;
    assert!(text.contains("+TOKEN=•••\n"), "{text}");
    assert!(text.contains("+safe⟦U+202E⟧⟦U+001B⟧[2J␍\n"), "{text}");
    assert!(text.contains("  new⟦U+202E⟧\\nname\n"), "{text}");
}

#[tokio::test]
async fn a_long_diff_is_cut_at_a_line_and_says_so() {
    let repository = Repository::new();
    repository.write("a.txt", &"a line of some length\n".repeat(100_000));
    let changes = repository.diff().await;
    assert!(changes.cut);
    assert_eq!(changes.summary, "1 file, +100000 −3");
    assert!(changes.text.len() < MOST_BYTES + 200);
    let last = "+a line of some length\n[cut here: the diff is longer than 1 MB; `git diff HEAD` shows all of it at the desk]\n";
    assert!(changes.text.ends_with(last));
}

#[tokio::test]
async fn many_new_files_are_counted_and_some_are_named() {
    let repository = Repository::new();
    for number in 0..NAMED + 5 {
        repository.write(&format!("n{number:03}"), "");
    }
    let changes = repository.diff().await;
    assert_eq!(changes.summary, "205 not yet in git");
    assert!(changes.text.ends_with("  n199\n  and 5 more\n\n"), "{}", changes.text);
}

#[tokio::test]
async fn more_names_than_are_read_are_not_taken_for_all() {
    let repository = Repository::new();
    let long = "n".repeat(200);
    for number in 0..1400 {
        repository.write(&format!("{long}{number:04}"), "");
    }
    let summary = repository.diff().await.summary;
    assert!(summary.starts_with("at least 12"), "{summary}");
}
