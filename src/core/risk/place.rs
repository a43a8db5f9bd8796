//! Where a write goes, read from the path alone.

use super::{Finding, care, code};

/// Files that a shell runs at its start.
const PROFILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".inputrc",
    "config.fish",
    ".envrc",
];

/// Folders and files that hold keys and logins.
const LOGINS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".docker",
    ".git-credentials",
];

const BUILDS: &[&str] = &[
    ".github",
    ".gitlab-ci.yml",
    ".circleci",
    ".gitea",
    ".forgejo",
    "jenkinsfile",
    ".woodpecker",
    ".buildkite",
];

const AGENT: &[&str] = &[".claude", ".claude.json", ".mcp.json", ".codex", ".vigie"];

const HARMLESS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// What a write to `path` deserves saying, seen from `cwd`; `None` for an ordinary file below it.
pub(super) fn write_to(path: &str, cwd: &str) -> Option<Finding> {
    if path.is_empty() || HARMLESS.contains(&path) {
        return None;
    }
    if is_disk(path) {
        return Some(code("overwrites a disk"));
    }
    secret_part(path).or_else(|| is_outside(path, cwd).then(|| care("writes outside its folder")))
}

/// What a read of `path` deserves saying.
pub(super) fn read_of(path: &str, cwd: &str) -> Option<Finding> {
    let parts: Vec<String> = path.split('/').map(str::to_lowercase).collect();
    if parts
        .iter()
        .any(|part| LOGINS.contains(&part.as_str()) || part == ".env" || part.starts_with(".env."))
    {
        return Some(care("reads keys or logins"));
    }
    is_outside(path, cwd).then(|| care("reads outside its folder"))
}

fn secret_part(path: &str) -> Option<Finding> {
    // Lower case, because some file systems take `.GIT` for `.git`.
    path.split('/').map(str::to_lowercase).find_map(|part| {
        let part = part.as_str();
        if part == ".git" || part == ".gitmodules" {
            Some(care("changes git's own files"))
        } else if LOGINS.contains(&part) {
            Some(care("changes keys or logins"))
        } else if PROFILES.contains(&part) {
            Some(care("changes what every shell runs at its start"))
        } else if BUILDS.contains(&part) {
            Some(care("changes what build servers run"))
        } else if AGENT.contains(&part) {
            Some(care("changes how the agent itself is set up"))
        } else {
            None
        }
    })
}

/// A block device by the usual names.
pub(super) fn is_disk(path: &str) -> bool {
    const DISKS: &[&str] = &[
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "dm-", "md", "loop",
    ];
    path.strip_prefix("/dev/").is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
}

fn is_outside(path: &str, cwd: &str) -> bool {
    if path.starts_with(['~', '$', '\\']) {
        return true;
    }
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let (whole, cwd) = (resolved(&whole), resolved(cwd));
    !whole.starts_with(&cwd)
}

/// Whether writing there leaves nothing.
pub(crate) fn is_harmless(path: &str) -> bool {
    HARMLESS.contains(&path)
}

/// The parts of a path from the root, seen from `cwd`, without `.` and `..`; links are not followed.
/// `None`: the shell fills something in at its start.
pub(crate) fn absolute(path: &str, cwd: &str) -> Option<Vec<String>> {
    if path.starts_with(['~', '$', '\\']) {
        return None;
    }
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    Some(resolved(&whole).into_iter().map(ToOwned::to_owned).collect())
}

/// The parts of an absolute path without `.` and `..`; links are not followed.
fn resolved(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_by_their_path() {
        let words = |path| write_to(path, "/home/ines/quay").map(|finding| finding.words);
        for ordinary in ["src/a.rs", "/home/ines/quay/x", "./a/../b", "/dev/null", ""] {
            assert_eq!(words(ordinary), None, "{ordinary}");
        }
        for outside in
            ["../x", "/home/ines/quay-2/x", "~/x", "$HOME/x", "/etc/hosts", "src/../../x"]
        {
            assert_eq!(words(outside), Some("writes outside its folder"), "{outside}");
        }
        assert_eq!(words(".GIT/hooks/pre-commit"), Some("changes git's own files"));
        assert_eq!(words("/home/ines/.bashrc"), Some("changes what every shell runs at its start"));
        assert_eq!(words(".github/workflows/ci.yml"), Some("changes what build servers run"));
        assert_eq!(words("/dev/nvme0n1"), Some("overwrites a disk"));
        assert!(read_of(".env.local", "/p").is_some() && read_of("a.rs", "/p").is_none());
    }
}
